"""A page is stopped at every point where a driver waits, one run for each; no descriptor and no thread is left."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest
import trio

from hostcall.answer.reading import Reading
from hostcall.commands import Finish
from hostcall.limits import Limits
from hostcall_drivers.demo.mapped import MappedSyncNetwork, MappedTrioNetwork
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.sync_network import Clock
from hostcall_drivers.trio import TrioDriver
from tests.drivers.driving import descriptors, open_descriptors, settled_descriptors
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
