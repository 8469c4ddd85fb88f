"""What only the blocking driver does: a cancel from another thread, and several answers in one thread."""

import contextlib
import socket
import threading
import time
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import Finish, ShowText
from hostcall.data import Result
from hostcall.errors import SettingsError
from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.demo.mapped import MappedSyncNetwork
from hostcall_drivers.sync import Run, SyncDriver
from tests.drivers.driving import open_descriptors, settled_descriptors
from tests.drivers.servers import PUBLIC_V4, Authority, Connection, ScriptedEngine, Server, never, page, searxng, site

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
RESULTS = [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
FETCH = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"}))


def finish(run: Run) -> Result:
    for notice in run:
        if isinstance(notice, Finish):
            return notice.result
    raise AssertionError("every answer ends with Finish")


@pytest.mark.parametrize("stall", ["engine", "search", "page", "handshake", "lookup", "tool", "wait"])
def test_a_cancel_from_another_thread_wakes_whatever_blocks(stall: str) -> None:
    authority = Authority()
    release = threading.Event()

    def resolve(host: str) -> list[str]:
        if stall == "lookup":
            release.wait(10)
        return [PUBLIC_V4]

    def busy(connection: Connection) -> None:
        connection.answer(503, b'{"error": "loading"}', ("Retry-After", "9"))

    tool = Tool("block", "Block.", {"type": "object"}, side_effects=False)
    first: Any = {"engine": never, "tool": reply_calls(("block", {})), "wait": busy}.get(stall, SEARCH)
    engine = ScriptedEngine([first, FETCH, reply_text("Done.")])
    before = open_descriptors()
    with (
        Server(engine) as server,
        Server(never if stall == "search" else searxng(RESULTS)) as search,
        site(authority, never if stall == "page" else page("<p>x</p>")) as docs,
        Server(never) as plain,
    ):
        port = plain.port if stall == "handshake" else docs.port
        network = MappedSyncNetwork(lambda ip, to: ("127.0.0.1", port))
        with (
            SyncDriver(
                server.url,
                search.url,
                handlers={"block": lambda arguments: release.wait(10)},
                resolver=resolve,
                network=network,
                page_tls=authority.client(),
                deny_networks=(),
            ) as driver,
            driver.run(Answer(QUESTION, tools=[tool])) as run,
        ):
            timer = threading.Timer(0.4, run.cancel)
            timer.start()
            started = time.monotonic()
            result = finish(run)
            took = time.monotonic() - started
            timer.join()
    release.set()
    assert result.why_stopped == "cancelled"
    assert took < 2.0
    assert settled_descriptors(before) <= before


def test_answers_take_turns_in_one_thread() -> None:
    engine = ScriptedEngine([reply_text("One ", "two ", "three.")])
    texts = ["", ""]
    with (
        Server(engine) as server,
        SyncDriver(server.url, deny_networks=()) as driver,
        driver.run(Answer(QUESTION, web=False)) as first,
        driver.run(Answer(QUESTION, web=False)) as second,
    ):
        runs = [first, second]
        while any(not run.answer.finished for run in runs):
            for number, run in enumerate(runs):
                notice = next(run, None)
                if isinstance(notice, ShowText):
                    texts[number] += notice.text
    assert texts == ["One two three."] * 2


def test_threads_share_a_driver_an_answer_a_thread() -> None:
    engine = ScriptedEngine([reply_text("Yes.")])
    texts: list[str] = []
    with Server(engine) as server, SyncDriver(server.url, deny_networks=()) as driver:

        def one() -> None:
            with driver.run(Answer(QUESTION, web=False)) as run:
                texts.append(finish(run).text)

        workers = [threading.Thread(target=one) for _ in range(12)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(20)
    assert texts == ["Yes."] * 12


def test_an_async_handler_is_refused_before_anything_is_asked() -> None:
    async def handler(arguments: Any) -> str:
        return "never"

    tool = Tool("get", "Get.", {"type": "object"}, side_effects=False)
    with SyncDriver("http://127.0.0.1:9", handlers={"get": handler}, deny_networks=()) as driver:  # noqa: SIM117 - only run raises
        with (
            pytest.raises(SettingsError, match="'get' has an async handler"),
            driver.run(Answer(QUESTION, web=False, tools=[tool])),
        ):
            raise AssertionError("it does not begin")


def test_what_must_be_plain_is_refused_when_it_is_async() -> None:
    async def approve(asked: Any) -> bool:
        return True

    async def resolver(host: str) -> list[str]:
        return [host]

    cases: list[dict[str, Any]] = [{"approve": approve}, {"resolver": resolver}]
    for given in cases:
        with pytest.raises(SettingsError, match=f"^{next(iter(given))} is async; SyncDriver needs a plain function$"):
            SyncDriver("http://127.0.0.1:9", deny_networks=(), **given)


def test_an_approver_that_turns_out_async_allows_nothing() -> None:
    async def later() -> bool:
        return True

    def approve(asked: Any) -> Any:
        return later()

    ran: list[Any] = []
    send = Tool("send", "Send.", {"type": "object"}, side_effects=True)
    with (
        Server(ScriptedEngine([reply_calls(("send", {})), reply_text("Not sent.")])) as server,
        SyncDriver(server.url, handlers={"send": ran.append}, approve=approve, deny_networks=()) as driver,
        driver.run(Answer(QUESTION, web=False, tools=[send])) as run,
    ):
        assert finish(run).text == "Not sent."
    assert ran == []


def test_a_handler_that_turns_out_async_is_an_error_that_the_model_is_told_of_in_general_words() -> None:
    async def later() -> str:
        return "never"

    def handler(arguments: Any) -> Any:
        return later()

    tool = Tool("get", "Get.", {"type": "object"}, side_effects=False)
    engine = ScriptedEngine([reply_calls(("get", {})), reply_text("Done.")])
    with (
        Server(engine) as server,
        SyncDriver(server.url, handlers={"get": handler}, deny_networks=()) as driver,
        driver.run(Answer(QUESTION, web=False, tools=[tool])) as run,
    ):
        finish(run)
    assert engine.bodies[1]["messages"][-1]["content"] == "Error: the tool failed."


def test_an_engine_that_drips_is_held_to_the_answers_deadline() -> None:

    def drip(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            piece = stream({"content": "x"}, finish=None, done=False)
            connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            time.sleep(0.05)

    started = time.monotonic()
    answer = Answer(QUESTION, web=False, limits=Limits(answer_seconds=0.7))
    with (
        Server(ScriptedEngine([drip])) as server,
        SyncDriver(server.url, deny_networks=()) as driver,
        driver.run(answer) as run,
    ):
        result = finish(run)
    assert result.why_stopped == "deadline"
    assert time.monotonic() - started < 2.5


def test_the_tls_settings_for_pages_check_names() -> None:
    driver = SyncDriver("http://127.0.0.1:9", deny_networks=())
    assert driver.tls_for_pages.check_hostname
    assert driver.tls_for_pages is driver.tls_for_pages


def test_a_cancel_wakes_a_connect_that_nobody_answers() -> None:
    """A listener whose queue is full takes no connection and refuses none: the connect waits."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        driver = stack.enter_context(SyncDriver(f"http://127.0.0.1:{port}", deny_networks=[]))
        run = stack.enter_context(driver.run(Answer(QUESTION, web=False)))
        timer = threading.Timer(0.3, run.cancel)
        timer.start()
        begun = time.monotonic()
        assert finish(run).why_stopped == "cancelled"
        assert time.monotonic() - begun < 5
        timer.join()
