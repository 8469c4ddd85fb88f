"""What the async drivers do: many things at once, a slow reader, cancellation from outside."""

import contextlib
import contextvars
import gc
import socket
import threading
import time
from typing import Any

import httpcore
import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import Finish, Notice, ShowText
from hostcall.data import HttpRequest
from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.async_run import Run
from hostcall_drivers.demo.mapped import led
from tests.drivers.driving import open_descriptors, settled_descriptors
from tests.drivers.onloop import ALL, On
from tests.drivers.servers import PUBLIC_V4, Authority, Connection, ScriptedEngine, Server, never, page, searxng, site

on_all = pytest.mark.parametrize("on", ALL, ids=lambda on: on.name)

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
RESULTS = [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
HTML = "<title>The guide</title><p>The kettle boils at ninety-four degrees.</p>"
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
FETCH = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"}))


async def text_of(driver: AsyncDriver, answer: Answer) -> str:
    async with driver.run(answer) as notices:
        async for notice in notices:
            if isinstance(notice, Finish):
                return notice.result.text
    raise AssertionError("every answer ends with Finish")


def answered(on: On, answer: Answer, url: str, **settings: Any) -> str:
    """Run one answer, and return its text."""

    async def main() -> str:
        async with on.driver(url, deny_networks=(), **settings) as driver:
            return await text_of(driver, answer)

    return on.run(main)


@on_all
def test_many_answers_at_once_share_one_driver(on: On) -> None:
    texts: list[str] = []

    async def main(url: str) -> None:
        async with on.driver(url, deny_networks=()) as driver, on.loop.beside() as tasks:

            async def one() -> None:
                texts.append(await text_of(driver, Answer(QUESTION, web=False)))

            for _ in range(40):
                tasks.start_soon(one)
            await on.until(lambda: len(texts) == 40, 60)

    with Server(ScriptedEngine([reply_text("Yes.")])) as server:
        on.run(main, server.url)
    assert texts == ["Yes."] * 40


@on_all
def test_a_slow_reader_slows_the_engine(on: On) -> None:
    """The engine writes 30 MB; a reader that stops after one notice leaves nearly all of it unsent."""
    sent = 0
    piece = stream({"content": "x" * 60_000}, finish=None, done=False)
    framed = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"

    def flood(connection: Connection) -> None:
        nonlocal sent
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(500):
            connection.send(framed)
            sent += len(framed)

    async def main(url: str) -> None:
        answer = Answer(QUESTION, web=False, limits=Limits(engine_bytes=1 << 30))
        async with on.driver(url, deny_networks=()) as driver, driver.run(answer) as notices:
            async for notice in notices:
                if isinstance(notice, ShowText):
                    break
            before = -1
            while before != sent:
                before = sent
                await on.loop.sleep(0.5)
            assert sent < 20_000_000

    with Server(ScriptedEngine([flood])) as server:
        on.run(main, server.url)


@on_all
def test_a_reader_may_take_what_is_there_be_woken_and_be_told_at_once(on: On) -> None:
    told: list[object] = []
    batches: list[list[object]] = []

    async def main(url: str) -> None:
        async with (
            on.driver(url, deny_networks=()) as driver,
            driver.run(Answer(QUESTION, web=False)) as run,
            on.loop.beside() as tasks,
        ):

            async def read() -> None:
                while not run.ended:
                    batches.append([*await run.batch()])

            def at_once(notices: list[Notice]) -> bool:
                told.extend(notices)
                return all(isinstance(notice, ShowText) for notice in notices)

            run.at_once = at_once
            tasks.start_soon(read)
            await on.until(lambda: run.ended)
            assert await run.batch() == []

    with Server(ScriptedEngine([reply_text("One ", "two.")])) as server:
        on.run(main, server.url)
    # Text went past the batches: its reader was not woken for it.
    read = [notice for batch in batches for notice in batch]
    assert "".join(notice.text for notice in told if isinstance(notice, ShowText)) == "One two."
    assert not any(isinstance(notice, ShowText) for notice in read)
    assert isinstance(read[-1], Finish)


@on_all
def test_wake_gives_a_reader_nothing(on: On) -> None:
    async def main(url: str) -> None:
        async with (
            on.driver(url, deny_networks=()) as driver,
            driver.run(Answer(QUESTION, web=False)) as run,
            on.loop.beside() as tasks,
        ):
            batches: list[object] = []

            async def read() -> None:
                while True:
                    batches.append(await run.batch())

            tasks.start_soon(read)

            def woken() -> bool:
                run.wake()
                return [] in batches

            await on.until(woken)

    with Server(ScriptedEngine([never])) as server:
        on.run(main, server.url)


@on_all
@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.04, 0.08])
@pytest.mark.parametrize("stall", ["nothing", "engine", "search", "page", "lookup"])
def test_a_cancelled_scope_leaves_nothing_behind(on: On, moment: float, stall: str) -> None:
    authority = Authority()
    release = threading.Event()

    async def resolve(host: str) -> list[str]:
        if stall == "lookup":
            await on.loop.sleep(5)
        return [PUBLIC_V4]

    async def main(engine: str, search: str, port: int) -> None:
        async with on.driver(
            engine,
            search,
            resolver=resolve,
            network=on.mapped(lambda ip, to: ("127.0.0.1", port)),
            page_tls=authority.client(),
            deny_networks=(),
        ) as driver:
            with on.loop.scope(on.loop.now() + moment):
                await text_of(driver, Answer(QUESTION))
        release.set()

    on.run(on.loop.sleep, 0)  # uvloop opens a pipe for all its loops with the first
    engine = ScriptedEngine([never if stall == "engine" else SEARCH, FETCH, reply_text("Done.")])
    with (
        Server(engine) as server,
        Server(never if stall == "search" else searxng(RESULTS)) as search,
        site(authority, never if stall == "page" else page(HTML)) as docs,
    ):
        before = open_descriptors()
        on.run(main, server.url, search.url, docs.port)
        assert settled_descriptors(before) <= before


@on_all
def test_what_the_readers_own_block_raises_is_not_wrapped(on: On) -> None:
    async def main(url: str) -> None:
        async with on.driver(url, deny_networks=()) as driver:
            with pytest.raises(ValueError, match="mine"):
                async with driver.run(Answer(QUESTION, web=False)):
                    raise ValueError("mine")

    with Server(ScriptedEngine([reply_text("Yes.")])) as server:
        on.run(main, server.url)


@on_all
def test_handlers_may_be_async_and_run_beside_each_other(on: On) -> None:
    tool = Tool("wait", "Wait.", {"type": "object"}, side_effects=False, repeatable=True)
    calls = reply_calls(*[("wait", {"n": number}) for number in range(6)])
    running = most = 0

    async def handler(arguments: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await on.loop.sleep(0.1)
        running -= 1
        return str(arguments["n"])

    engine = ScriptedEngine([calls, reply_text("Done.")])
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[tool])
        answered(on, answer, server.url, handlers={"wait": handler}, capacity=4)
    assert most == 4
    assert [message["content"] for message in engine.bodies[1]["messages"][-6:]] == [str(n) for n in range(6)]


@on_all
def test_an_awaitable_from_a_plain_function_is_awaited(on: On) -> None:
    async def later() -> str:
        return "14:03"

    tool = Tool("get_time", "Get the time.", {"type": "object"}, side_effects=True)
    engine = ScriptedEngine([reply_calls(("get_time", {})), reply_text("Done.")])

    async def allow(request: Any) -> bool:
        return True

    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[tool])
        answered(on, answer, server.url, handlers={"get_time": lambda arguments: later()}, approve=allow)
    assert engine.bodies[1]["messages"][-1]["content"] == "14:03"


@on_all
def test_a_request_can_be_passed_through_as_it_is(on: On) -> None:
    async def main(url: str) -> None:
        async with on.driver(url, engine_key="k", deny_networks=()) as driver:
            async with driver.exchange(HttpRequest("GET", "/v1/models")) as response:
                body = b"".join([piece async for piece in response.aiter_stream()])
            assert response.status == 200
            assert b'"m"' in body

    with Server(ScriptedEngine([b""])) as server:
        on.run(main, server.url)
        assert server.requests[0].headers["authorization"] == "Bearer k"


@on_all
def test_a_tool_that_blocks_a_thread_does_not_hold_the_answer(on: On) -> None:
    release = threading.Event()
    tool = Tool("block", "Block.", {"type": "object"}, side_effects=False, timeout=0.3)
    engine = ScriptedEngine([reply_calls(("block", {})), reply_text("Done.")])
    started = time.monotonic()
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[tool])
        text = answered(on, answer, server.url, handlers={"block": lambda arguments: release.wait(10)})
    assert time.monotonic() - started < 3
    release.set()
    assert text == "Done."


@on_all
def test_a_handler_sees_the_context_of_the_run(on: On) -> None:
    tools = [Tool(name, "Ask.", {"type": "object"}, side_effects=False) for name in ("blocks", "waits")]
    engine = ScriptedEngine([reply_calls(("blocks", {}), ("waits", {})), reply_text("Done.")])
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    async def waits(arguments: Any) -> str:
        return user.get()

    async def main(url: str) -> None:
        user.set("ada")
        handlers = {"blocks": lambda arguments: user.get(), "waits": waits}
        async with on.driver(url, handlers=handlers, deny_networks=()) as driver:
            await text_of(driver, Answer(QUESTION, web=False, tools=tools))

    with Server(engine) as server:
        on.run(main, server.url)
    assert [message["content"] for message in engine.bodies[1]["messages"][-2:]] == ["ada", "ada"]


@on_all
def test_the_systems_resolver_is_the_default_and_runs_in_a_thread(on: On) -> None:
    async def main() -> None:
        async with on.driver("http://127.0.0.1:9", deny_networks=()) as driver:
            with pytest.raises(socket.gaierror):
                await driver.resolve("no-such-name.invalid")
        assert driver.tls_for_pages.check_hostname
        assert driver.tls_for_pages is driver.tls_for_pages

    on.run(main)


def test_a_mapping_network_never_leaves_the_loopback() -> None:
    def knows_nothing(ip: str, port: int) -> tuple[str, int]:
        raise KeyError(ip)

    with pytest.raises(httpcore.ConnectError, match="does not know"):
        led(knows_nothing, "93.184.215.14", 443)
    with pytest.raises(httpcore.ConnectError, match="does not leave the loopback"):
        led(lambda ip, port: ("192.168.0.1", 443), "93.184.215.14", 443)


async def fails(arguments: Any) -> str:
    raise ValueError("mine")


def breaks_off(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc")
    raise OSError("scripted")


CALL = reply_calls(("try", {}))


@on_all
@pytest.mark.parametrize(
    ("replies", "handler", "leave"),
    [
        ([reply_text("One ", "two.")], fails, ""),
        ([reply_text("One ", "two.")], fails, "break"),
        ([reply_text("One ", "two.")], fails, "raise"),
        ([breaks_off], fails, ""),
        ([CALL, reply_text("Done.")] * 4, fails, ""),
        ([CALL, reply_text("Done.")] * 4, lambda arguments: 1 / 0, ""),
    ],
    ids=["ended", "left", "raised", "broken off", "async handler failed", "blocking handler failed"],
)
def test_an_answer_that_is_over_leaves_no_cycle(on: On, replies: Any, handler: Any, leave: str) -> None:
    """A service looks for cycles rarely: what it was left would pile up, with all its text."""
    tool = Tool("try", "Try.", {"type": "object"}, side_effects=False)

    async def one(driver: AsyncDriver) -> None:
        async with driver.run(Answer(QUESTION, web=False, tools=[tool])) as run:
            async for notice in run:
                if isinstance(notice, ShowText) and leave == "break":
                    break
                if isinstance(notice, ShowText) and leave == "raise":
                    raise ValueError("mine")

    async def main(url: str) -> list[object]:
        async with on.driver(url, handlers={"try": handler}, deny_networks=()) as driver:
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for _ in range(3):
                    with contextlib.suppress(ValueError):
                        await one(driver)
                gc.collect()
                return [type(item) for item in gc.garbage if isinstance(item, Answer | Run)]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()

    with Server(ScriptedEngine(replies)) as server:
        assert on.run(main, server.url) == []
