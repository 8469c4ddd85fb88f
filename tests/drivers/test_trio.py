"""What only the trio driver does: many things at once, a slow reader, cancellation from outside."""

import socket
import threading
import time
from typing import Any

import httpcore
import pytest
import trio

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import Finish, ShowText
from hostcall.data import HttpRequest
from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.demo.mapped import MappedTrioNetwork, led
from hostcall_drivers.trio import TrioDriver
from tests.drivers.driving import open_descriptors, settled_descriptors, threads
from tests.drivers.servers import PUBLIC_V4, Authority, Connection, ScriptedEngine, Server, never, page, searxng, site

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
RESULTS = [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
HTML = "<title>The guide</title><p>The kettle boils at ninety-four degrees.</p>"
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
FETCH = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"}))


async def text_of(driver: TrioDriver, answer: Answer) -> str:
    async with driver.run(answer) as notices:
        async for notice in notices:
            if isinstance(notice, Finish):
                return notice.result.text
    raise AssertionError("every answer ends with Finish")


async def test_many_answers_at_once_share_one_driver() -> None:
    engine = ScriptedEngine([reply_text("Yes.")])
    texts: list[str] = []
    with Server(engine) as server:
        async with TrioDriver(server.url, deny_networks=()) as driver, trio.open_nursery() as nursery:

            async def one() -> None:
                texts.append(await text_of(driver, Answer(QUESTION, web=False)))

            for _ in range(40):
                nursery.start_soon(one)
    assert texts == ["Yes."] * 40


async def test_a_slow_reader_slows_the_engine() -> None:
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

    with Server(ScriptedEngine([flood])) as server:
        limits = Limits(engine_bytes=1 << 30)
        answer = Answer(QUESTION, web=False, limits=limits)
        async with TrioDriver(server.url, deny_networks=()) as driver, driver.run(answer) as notices:
            async for notice in notices:
                if isinstance(notice, ShowText):
                    break
            before = -1
            while before != sent:
                before = sent
                await trio.sleep(0.5)
            assert sent < 20_000_000


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.04, 0.08])
@pytest.mark.parametrize("stall", ["nothing", "engine", "search", "page", "lookup"])
async def test_a_cancelled_scope_leaves_nothing_behind(moment: float, stall: str) -> None:
    authority = Authority()
    release = threading.Event()

    async def resolve(host: str) -> list[str]:
        if stall == "lookup":
            await trio.to_thread.run_sync(release.wait, 5, abandon_on_cancel=True)
        return [PUBLIC_V4]

    engine = ScriptedEngine([never if stall == "engine" else SEARCH, FETCH, reply_text("Done.")])
    with (
        Server(engine) as server,
        Server(never if stall == "search" else searxng(RESULTS)) as search,
        site(authority, never if stall == "page" else page(HTML)) as docs,
    ):
        before = open_descriptors()
        network = MappedTrioNetwork(lambda ip, port: ("127.0.0.1", docs.port))
        driver = TrioDriver(
            server.url,
            search.url,
            resolver=resolve,
            network=network,
            page_tls=authority.client(),
            deny_networks=(),
        )
        async with driver:
            with trio.move_on_after(moment):
                await text_of(driver, Answer(QUESTION))
        release.set()
        assert await trio.to_thread.run_sync(settled_descriptors, before) <= before


async def test_what_the_readers_own_block_raises_is_not_wrapped() -> None:
    with Server(ScriptedEngine([reply_text("Yes.")])) as server:
        async with TrioDriver(server.url, deny_networks=()) as driver:
            with pytest.raises(ValueError, match="mine"):
                async with driver.run(Answer(QUESTION, web=False)):
                    raise ValueError("mine")


async def test_handlers_may_be_async_and_run_beside_each_other() -> None:
    tool = Tool("wait", "Wait.", {"type": "object"}, side_effects=False, repeatable=True)
    calls = reply_calls(*[("wait", {"n": number}) for number in range(6)])
    running = most = 0

    async def handler(arguments: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(0.1)
        running -= 1
        return str(arguments["n"])

    engine = ScriptedEngine([calls, reply_text("Done.")])
    with Server(engine) as server:
        async with TrioDriver(server.url, handlers={"wait": handler}, deny_networks=(), capacity=4) as driver:
            await text_of(driver, Answer(QUESTION, web=False, tools=[tool]))
    assert most == 4
    assert [message["content"] for message in engine.bodies[1]["messages"][-6:]] == [str(n) for n in range(6)]


async def test_an_awaitable_from_a_plain_function_is_awaited() -> None:
    async def later() -> str:
        return "14:03"

    tool = Tool("get_time", "Get the time.", {"type": "object"}, side_effects=True)
    engine = ScriptedEngine([reply_calls(("get_time", {})), reply_text("Done.")])

    async def allow(request: Any) -> bool:
        return True

    with Server(engine) as server:
        async with TrioDriver(
            server.url, handlers={"get_time": lambda arguments: later()}, approve=allow, deny_networks=()
        ) as driver:
            await text_of(driver, Answer(QUESTION, web=False, tools=[tool]))
    assert engine.bodies[1]["messages"][-1]["content"] == "14:03"


async def test_a_request_can_be_passed_through_as_it_is() -> None:
    with Server(ScriptedEngine([b""])) as server:
        async with TrioDriver(server.url, engine_key="k", deny_networks=()) as driver:
            async with driver.exchange(HttpRequest("GET", "/v1/models")) as response:
                body = b"".join([piece async for piece in response.aiter_stream()])
            assert response.status == 200
            assert b'"m"' in body
            assert server.requests[0].headers["authorization"] == "Bearer k"


async def test_a_tool_that_blocks_a_thread_does_not_hold_the_answer() -> None:
    release = threading.Event()
    tool = Tool("block", "Block.", {"type": "object"}, side_effects=False, timeout=0.3)
    engine = ScriptedEngine([reply_calls(("block", {})), reply_text("Done.")])
    started = time.monotonic()
    with Server(engine) as server:
        async with TrioDriver(
            server.url, handlers={"block": lambda arguments: release.wait(10)}, deny_networks=()
        ) as driver:
            assert await text_of(driver, Answer(QUESTION, web=False, tools=[tool])) == "Done."
    assert time.monotonic() - started < 3
    release.set()


async def test_the_systems_resolver_is_the_default_and_runs_in_a_thread() -> None:
    async with TrioDriver("http://127.0.0.1:9", deny_networks=()) as driver:
        with pytest.raises(socket.gaierror):
            await driver.resolve("no-such-name.invalid")
    assert driver.tls_for_pages.check_hostname
    assert driver.tls_for_pages is driver.tls_for_pages


def test_a_mapping_network_never_leaves_the_loopback() -> None:
    def knows_nothing(ip: str, port: int) -> tuple[str, int]:
        raise KeyError(ip)

    with pytest.raises(httpcore.ConnectError, match="does not know"):
        led(knows_nothing, "93.184.215.14", 443)
    with pytest.raises(httpcore.ConnectError, match="does not leave the loopback"):
        led(lambda ip, port: ("192.168.0.1", 443), "93.184.215.14", 443)


def test_no_thread_is_left_by_all_this() -> None:
    assert not [name for name in threads() if name.startswith("lookup ")]
