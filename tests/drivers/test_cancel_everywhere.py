"""A page is stopped at every point where a driver waits, one run for each; no descriptor and no thread is left."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
import trio

from hostcall.answer.reading import Reading
from hostcall.commands import Finish
from hostcall.limits import Limits
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.asyncio_network import in_thread
from hostcall_drivers.demo.mapped import MappedAsyncioNetwork, MappedSyncNetwork, MappedTrioNetwork
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.sync_network import Clock
from hostcall_drivers.threads import Threads
from hostcall_drivers.trio import TrioDriver
from tests.drivers.driving import descriptors, open_descriptors, settled_descriptors
from tests.drivers.onloop import ASYNCIO, UVLOOP, On
from tests.drivers.servers import PUBLIC_V4, Authority, Connection, Server, page, site

LIMITS = Limits(page_seconds=8.0, connect_seconds=2.0)
ADDRESSES = ("93.184.215.15", PUBLIC_V4)
"""The first is refused, so that the race of the attempts is stopped half-way too."""
HTML = "<title>The guide</title><p>The kettle boils.</p><a href='/more'>More</a>" + "<p>and so on</p>" * 8_000


def play(connection: Connection) -> None:
    if connection.target == "/guide":
        connection.answer(302, b"", ("Location", "/there"))
    else:
        page(HTML)(connection)


@pytest.fixture
def served() -> Iterator[tuple[Authority, Server, int]]:
    authority = Authority()
    with ExitStack() as stack:
        docs = stack.enter_context(site(authority, play))
        with Server(lambda connection: None) as gone:
            closed = gone.port
        yield authority, docs, closed


class StopsAtStep(trio.abc.Instrument):
    """Cancels a scope when so many steps of tasks were made."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self._scope = scope
        self._left = step

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self._left -= 1
        if self._left == 0:
            self._scope.cancel()


def test_on_trio(served: tuple[Authority, Server, int]) -> None:
    authority, docs, closed = served
    tls = authority.client()

    async def look_up(host: str) -> Sequence[str]:
        return await trio.to_thread.run_sync(lambda: ADDRESSES, abandon_on_cancel=True)

    def lead(ip: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", (docs.port if ip == PUBLIC_V4 else closed)

    async def main(step: int) -> bool:
        driver = TrioDriver(
            "http://127.0.0.1:9", resolver=look_up, network=MappedTrioNetwork(lead), page_tls=tls, deny_networks=()
        )
        finished = False
        async with driver:
            with trio.CancelScope() as scope:
                trio.lowlevel.add_instrument(StopsAtStep(scope, step))
                async with driver.run(Reading("https://docs.example.org/guide", limits=LIMITS)) as notices:
                    async for notice in notices:
                        finished = isinstance(notice, Finish)
        return finished and not scope.cancelled_caught

    before, named, running = open_descriptors(), descriptors(), threading.active_count()
    for step in itertools.count(1):
        finished = trio.run(main, step)
        assert settled_descriptors(before) <= before, (step, descriptors() - named)
        if finished:
            break
    assert step > 20
    # trio keeps idle workers for a while. They are as many as lookups ran at once, and not as many as were stopped.
    assert len([thread for thread in threading.enumerate() if "rio" in thread.name]) <= 3
    assert threading.active_count() <= running + 3


class Counted(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are counted."""

    def __init__(self, inner: Coroutine[Any, Any, Any], stepped: Callable[[], None]) -> None:
        self._inner = inner
        self._stepped = stepped

    def send(self, value: Any) -> Any:
        try:
            return self._inner.send(value)
        finally:
            self._stepped()

    def throw(self, *error: Any) -> Any:
        try:
            return self._inner.throw(*error)
        finally:
            self._stepped()

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise AssertionError("a task sends and throws")


class StopsAfterSteps:
    """Cancels a task when so many steps of tasks were made, be it within its own step."""

    def __init__(self, left: int) -> None:
        self._left = left
        self.task: asyncio.Task[Any] | None = None

    def stepped(self) -> None:
        self._left -= 1
        if self._left == 0 and self.task is not None:
            self.task.cancel()

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any) -> "asyncio.Task[Any]":
        return asyncio.Task(Counted(coroutine, self.stepped), loop=loop, **settings)


@pytest.mark.parametrize("on", [ASYNCIO, UVLOOP], ids=lambda on: on.name)
def test_on_asyncio(served: tuple[Authority, Server, int], on: On) -> None:
    authority, docs, closed = served
    tls = authority.client()
    threads = Threads("lookup", 16)

    async def look_up(host: str) -> Sequence[str]:
        return await in_thread(threads, lambda: ADDRESSES)

    def lead(ip: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", (docs.port if ip == PUBLIC_V4 else closed)

    async def read(stops: StopsAfterSteps) -> bool:
        driver = AsyncioDriver(
            "http://127.0.0.1:9", resolver=look_up, network=MappedAsyncioNetwork(lead), page_tls=tls, deny_networks=()
        )
        stops.task = asyncio.current_task()
        finished = False
        async with driver, driver.run(Reading("https://docs.example.org/guide", limits=LIMITS)) as notices:
            async for notice in notices:
                finished = isinstance(notice, Finish)
        stops.task = None
        return finished

    async def main(step: int) -> bool:
        stops = StopsAfterSteps(step)
        asyncio.get_running_loop().set_task_factory(stops)
        (outcome,) = await asyncio.gather(asyncio.create_task(read(stops)), return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        # A cancel is never swallowed: what was cancelled has not gone on.
        assert outcome is True or isinstance(outcome, asyncio.CancelledError), outcome
        return outcome is True

    on.run(asyncio.sleep, 0)  # uvloop opens a pipe for all its loops with the first
    before, named, running = open_descriptors(), descriptors(), threading.active_count()
    for step in itertools.count(1):
        finished = on.run(main, step)
        assert settled_descriptors(before) <= before, (step, descriptors() - named)
        if finished:
            break
    assert step > 20
    threads.close()
    for thread in threading.enumerate():
        if thread.name == "lookup":
            thread.join(10)
    assert threading.active_count() <= running


class StopsAtOperation(Clock):
    """Cancels a run when so many operations on the network were begun."""

    def __init__(self) -> None:
        self.left = 0
        self.stop: Callable[[], None] = lambda: None

    def remaining(self, timeout: float | None = None) -> float:
        self.left -= 1
        if self.left == 0:
            self.stop()
        return super().remaining(timeout)


def test_on_blocking_sockets(served: tuple[Authority, Server, int]) -> None:
    authority, docs, closed = served
    tls = authority.client()

    def lead(ip: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", (docs.port if ip == PUBLIC_V4 else closed)

    before, named, running = open_descriptors(), descriptors(), threading.active_count()
    for operation in itertools.count(1):
        network = MappedSyncNetwork(lead)
        network.clock = clock = StopsAtOperation()
        driver = SyncDriver(
            "http://127.0.0.1:9",
            resolver=lambda host: ADDRESSES,
            network=network,
            page_tls=tls,
            deny_networks=(),
        )
        reading = Reading("https://docs.example.org/guide", limits=LIMITS)
        with driver, driver.run(reading) as notices:
            clock.left, clock.stop = operation, notices.cancel
            last = list(notices)[-1]
        assert isinstance(last, Finish)
        assert settled_descriptors(before) <= before, (operation, descriptors() - named)
        if last.result.why_stopped == "answered":
            break
        assert last.result.why_stopped == "cancelled"
    assert operation > 20
    for thread in threading.enumerate():
        if thread.name == "lookup":
            thread.join(10)
    assert threading.active_count() <= running
