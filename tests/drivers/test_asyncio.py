"""What only the asyncio driver has to bear: cancels of every origin, loops of every kind, and what will not end."""

import asyncio
import concurrent.futures
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.reading import Reading
from hostcall.answer.tools import Tool
from hostcall.commands import Finish, ShowText
from hostcall.data import HttpRequest, Result
from hostcall.errors import SettingsError
from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.asyncio_network import in_thread
from hostcall_drivers.threads import Threads
from tests.drivers.driving import open_descriptors, settled_descriptors
from tests.drivers.onloop import ASYNCIO, UVLOOP, On
from tests.drivers.servers import Connection, ScriptedEngine, Server, never, send_chunk

on_both = pytest.mark.parametrize("on", [ASYNCIO, UVLOOP], ids=lambda on: on.name)

QUESTION = [{"role": "user", "content": "What time is it?"}]


async def result_of(driver: AsyncioDriver, answer: Answer | Reading) -> Result:
    async with driver.run(answer) as notices:
        async for notice in notices:
            if isinstance(notice, Finish):
                return notice.result
    raise AssertionError("every answer ends with Finish")


def tool(**settings: Any) -> Tool:
    return Tool("get_time", "Get the time.", {"type": "object"}, **{"side_effects": False, **settings})


def told(on: On, handler: Callable[..., Any], **settings: Any) -> str:
    """Return what a model is told of a handler's run."""

    async def main(url: str) -> None:
        async with AsyncioDriver(url, handlers={"get_time": handler}, deny_networks=()) as driver:
            await result_of(driver, Answer(QUESTION, web=False, tools=[tool(**settings)]))

    engine = ScriptedEngine([reply_calls(("get_time", {})), reply_text("Done.")])
    with Server(engine) as server:
        on.run(main, server.url)
    return str(engine.bodies[1]["messages"][-1]["content"])


def endless(connection: Connection) -> None:
    """Stream for ever."""
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        send_chunk(connection, stream({"content": "again "}, finish=None, done=False))
        time.sleep(0.005)


# Cancels.


@on_both
@pytest.mark.parametrize("how", ["task", "timeout", "run", "leave"])
@pytest.mark.parametrize("engine", [never, endless], ids=["silent", "streaming"])
def test_whichever_way_an_answer_is_stopped_nothing_of_it_is_left(on: On, how: str, engine: Any) -> None:
    async def reads(driver: AsyncioDriver) -> str:
        async with driver.run(Answer(QUESTION, web=False)) as run:
            if how == "run":
                asyncio.get_running_loop().call_later(0.1, run.cancel)
            async for notice in run:
                if how == "leave" and isinstance(notice, ShowText):
                    break
                if isinstance(notice, Finish):
                    return notice.result.why_stopped
            else:
                raise AssertionError("every answer ends with Finish")
        return "left"

    async def main(url: str) -> str:
        async with AsyncioDriver(url, deny_networks=()) as driver:
            if how == "task":
                task = asyncio.create_task(reads(driver))
                asyncio.get_running_loop().call_later(0.1, task.cancel)
                with pytest.raises(asyncio.CancelledError):
                    await task
                stopped = "cancelled"
            elif how == "timeout":
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await reads(driver)
                stopped = "cancelled"
            else:
                stopped = await reads(driver)
            # The cancel was one: what comes after it is not cancelled.
            assert asyncio.all_tasks() == {asyncio.current_task()}
            await asyncio.sleep(0)
        return stopped

    on.run(asyncio.sleep, 0)
    if how == "leave" and engine is never:
        engine = endless
    before = open_descriptors()
    with Server(ScriptedEngine([engine])) as server:
        stopped = on.run(main, server.url)
        assert server.closed.wait(5)
    assert stopped == ("left" if how == "leave" else "cancelled")
    assert settled_descriptors(before) <= before


@on_both
@pytest.mark.parametrize("cancelled", [False, True])
def test_an_answer_may_be_read_in_a_generator_that_is_left(on: On, *, cancelled: bool) -> None:
    """As a route does whose body is one: it is closed, or its task is cancelled, when the client leaves."""

    async def texts(driver: AsyncioDriver) -> AsyncIterator[str]:
        async with driver.run(Answer(QUESTION, web=False)) as notices:
            async for notice in notices:
                if isinstance(notice, ShowText):
                    yield notice.text

    async def stopped(body: AsyncIterator[str]) -> None:
        async with asyncio.timeout(0.1):
            async for _ in body:
                continue

    async def main(url: str) -> None:
        async with AsyncioDriver(url, deny_networks=()) as driver:
            body = texts(driver)
            assert "again" in await anext(body)
            if cancelled:
                with pytest.raises(TimeoutError):
                    await stopped(body)
            else:
                await body.aclose()  # type: ignore[attr-defined]  # it is a generator
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with Server(ScriptedEngine([endless])) as server:
        on.run(main, server.url)
        assert server.closed.wait(5)


@on_both
def test_a_sweep_over_all_tasks_ends_an_answer_without_a_word(on: On) -> None:
    """As `asyncio.run` does at its end with what was left running."""

    async def main(url: str) -> list[object]:
        driver = AsyncioDriver(url, deny_networks=())
        task = asyncio.create_task(result_of(driver, Answer(QUESTION, web=False)))
        await asyncio.sleep(0.1)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(others) > 1
        for other in others:
            other.cancel()
        assert task in others
        return [type(outcome) for outcome in await asyncio.gather(*others, return_exceptions=True)]

    with Server(ScriptedEngine([never])) as server:
        assert set(on.run(main, server.url)) <= {asyncio.CancelledError, type(None)}


@on_both
def test_who_stops_a_task_of_an_answer_stops_the_answer(on: On) -> None:
    async def main(url: str) -> str:
        async with AsyncioDriver(url, deny_networks=()) as driver:
            task = asyncio.create_task(result_of(driver, Answer(QUESTION, web=False)))
            await asyncio.sleep(0.1)
            for other in asyncio.all_tasks() - {asyncio.current_task(), task}:
                other.cancel()
            return (await task).why_stopped

    with Server(ScriptedEngine([never])) as server:
        assert on.run(main, server.url) == "cancelled"


@on_both
def test_a_cancel_that_a_handler_makes_itself_is_its_failure(on: On) -> None:
    async def handler(arguments: Any) -> str:
        inner = asyncio.create_task(asyncio.sleep(60))
        inner.cancel()
        await inner
        raise AssertionError("it was cancelled")

    assert told(on, handler) == "Error: the tool failed."


@on_both
def test_a_cancel_that_a_resolver_makes_itself_is_its_failure(on: On) -> None:
    async def resolve(host: str) -> list[str]:
        raise asyncio.CancelledError

    async def main() -> str:
        async with AsyncioDriver("http://127.0.0.1:9", resolver=resolve, deny_networks=()) as driver:
            return (await result_of(driver, Reading("https://docs.example.org/"))).detail

    assert on.run(main) == "The site's name could not be looked up just now."


@on_both
def test_a_handler_that_will_not_be_cancelled_holds_no_deadline(on: On) -> None:
    """It holds the block alone, and there only as long as it takes."""
    ended: list[float] = []

    async def handler(arguments: Any) -> str:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                continue
        ended.append(time.monotonic())
        return "too late"

    async def main(url: str) -> float:
        async with AsyncioDriver(url, handlers={"get_time": handler}, deny_networks=()) as driver:
            async with driver.run(Answer(QUESTION, web=False, tools=[tool(timeout=0.2)])) as run:
                async for notice in run:
                    if isinstance(notice, Finish):
                        finished = time.monotonic()
            assert asyncio.all_tasks() == {asyncio.current_task()}
        return finished

    engine = ScriptedEngine([reply_calls(("get_time", {})), reply_text("Done.")])
    with Server(engine) as server:
        assert on.run(main, server.url) < ended[0]
    assert engine.bodies[1]["messages"][-1]["content"] == "Error: the tool took longer than 0.2 seconds."


@on_both
def test_a_resolver_that_will_not_be_cancelled_holds_no_deadline(on: On) -> None:
    ended: list[float] = []

    async def resolve(host: str) -> list[str]:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                continue
        ended.append(time.monotonic())
        return []

    async def main() -> tuple[str, float]:
        async with AsyncioDriver("http://127.0.0.1:9", resolver=resolve, deny_networks=()) as driver:
            reading = Reading("https://docs.example.org/", limits=Limits(lookup_seconds=0.2))
            async with driver.run(reading) as run:
                last = [notice async for notice in run][-1]
                finished = time.monotonic()
        assert isinstance(last, Finish)
        return last.result.detail, finished

    detail, finished = on.run(main)
    assert detail == "The site's name could not be looked up just now."
    assert finished < ended[0]


@on_both
def test_a_handler_may_raise_anything(on: On) -> None:
    async def exits(arguments: Any) -> str:
        sys.exit(3)

    def stops(arguments: Any) -> str:
        raise StopIteration

    assert told(on, exits) == "Error: the tool failed."
    assert told(on, stops) == "Error: the tool failed."


# What blocks.


class Unused(concurrent.futures.ThreadPoolExecutor):
    """The loop's own threads, which `asyncio.run` waits for at its end."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("it would hold the end of the loop")


@on_both
def test_nothing_is_done_in_threads_that_the_loop_waits_for(on: On) -> None:
    async def main(url: str) -> None:
        asyncio.get_running_loop().set_default_executor(Unused())
        settings: dict[str, Any] = {"handlers": {"get_time": lambda arguments: "14:03"}, "deny_networks": ()}
        # A name in place of a number: it is looked up.
        async with AsyncioDriver(
            url.replace("127.0.0.1", "localhost"), approve=lambda asked: True, **settings
        ) as driver:
            result = await result_of(driver, Answer(QUESTION, web=False, tools=[tool(side_effects=True)]))
            assert result.text == "Done."
            with pytest.raises(socket.gaierror):
                await driver.resolve("no-such-name.invalid")

    with Server(ScriptedEngine([reply_calls(("get_time", {})), reply_text("Done.")])) as server:
        on.run(main, server.url)


HANGING = """
import asyncio, socket, threading
from hostcall import Reading
from hostcall.limits import Limits
from hostcall_drivers import AsyncioDriver

socket.getaddrinfo = lambda *_, **__: threading.Event().wait()

async def main():
    async with AsyncioDriver("http://127.0.0.1:9", deny_networks=()) as driver:
        async with driver.run(Reading("https://docs.example.org/", limits=Limits(lookup_seconds=0.3))) as notices:
            last = [notice async for notice in notices][-1]
    print(last.result.detail)

asyncio.run(main())
"""


def test_a_lookup_that_hangs_holds_neither_the_block_nor_the_loop_nor_the_process() -> None:
    run = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "The site's name could not be looked up just now.\n"
    assert run.stderr == ""


def test_a_loop_that_has_ended_is_not_told_what_came_too_late() -> None:
    release = threading.Event()
    threads = Threads("late", 1)

    async def main() -> asyncio.Task[bool]:
        task = asyncio.create_task(in_thread(threads, lambda: release.wait(10)))
        await asyncio.sleep(0.1)
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(main())
    loop.close()
    before = [thread for thread in threading.enumerate() if thread.name == "late"]
    release.set()
    # The thread has borne it, and takes what comes next.
    assert asyncio.run(in_thread(threads, threading.current_thread)) in before
    threads.close()
    task.get_coro().close()  # it waits for ever, and is not to be told of
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # the same


# Loops.


@pytest.mark.parametrize("driver", ["AsyncioDriver", "SyncDriver"])
def test_who_has_no_trio_needs_none(driver: str) -> None:
    without = (
        f"import sys; sys.modules['trio'] = None; from hostcall_drivers import {driver}; {driver}('http://127.0.0.1:9')"
    )
    run = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""


class NoWaits(asyncio.SelectorEventLoop):
    """A loop as Windows has by default."""

    add_reader = asyncio.AbstractEventLoop.add_reader


def test_a_loop_that_cannot_wait_for_sockets_is_told_before_anything_is_asked() -> None:
    async def main() -> None:
        async with AsyncioDriver("http://127.0.0.1:9", deny_networks=()) as driver:
            with pytest.raises(SettingsError, match="NoWaits cannot wait for sockets; use "):
                async with driver.run(Answer(QUESTION, web=False)):
                    raise AssertionError("it does not begin")
            with pytest.raises(SettingsError, match="NoWaits"):
                async with driver.exchange(HttpRequest("GET", "/v1/models")):
                    raise AssertionError("it does not begin")

    with asyncio.Runner(loop_factory=NoWaits) as runner:
        runner.run(main())


def test_one_driver_serves_one_loop_after_the_other() -> None:
    with Server(ScriptedEngine([reply_text("Yes.")])) as server:
        driver = AsyncioDriver(server.url, deny_networks=())
        for on in (ASYNCIO, UVLOOP, ASYNCIO):
            assert on.run(result_of, driver, Answer(QUESTION, web=False)).text == "Yes."
        ASYNCIO.run(driver.aclose)
        assert server.accepted == 1


@on_both
def test_waits_and_deadlines_are_kept_on_every_loop(on: On) -> None:
    def loading(connection: Connection) -> None:
        connection.answer(503, b'{"error": "loading"}')

    async def main(url: str) -> tuple[str, float]:
        async with AsyncioDriver(url, deny_networks=()) as driver:
            started = time.monotonic()
            limits = Limits(retry_seconds=0.3)
            result = await result_of(driver, Answer(QUESTION, web=False, limits=limits))
            return result.text, time.monotonic() - started

    with Server(ScriptedEngine([loading, reply_text("Yes.")])) as server:
        text, took = on.run(main, server.url)
    assert text == "Yes."
    assert took >= 0.29
