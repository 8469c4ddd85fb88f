"""One way to carry an answer out on any driver, so that one set of cases serves all."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import attrs
import trio

from hostcall.commands import Finish, Notice
from hostcall.data import Result
from hostcall.limits import Limits
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.asyncio_network import in_thread
from hostcall_drivers.common import Runnable
from hostcall_drivers.demo.mapped import AddressMap, MappedAsyncioNetwork, MappedSyncNetwork, MappedTrioNetwork
from hostcall_drivers.engines import Engines
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.threads import Threads
from hostcall_drivers.trio import TrioDriver

Kind: TypeAlias = Literal["trio", "asyncio", "sync"]
KINDS: tuple[Kind, ...] = ("trio", "asyncio", "sync")

QUICK = Limits(page_seconds=1.0, lookup_seconds=0.6, connect_seconds=0.5, retry_seconds=0.05, engine_idle=2.0)


@attrs.define
class Carried:
    """What came of an answer."""

    notices: list[Notice]
    calls: list[tuple[str, int]]
    """Addresses that pages were asked from."""
    looked_up: list[str]

    @property
    def result(self) -> Result:
        last = self.notices[-1]
        assert isinstance(last, Finish)
        return last.result

    def of(self, kind: type) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]


def carry_out(
    kind: Kind,
    answer: Runnable,
    *,
    engine: str | Engines = "http://127.0.0.1:9",
    search: str | None = "http://127.0.0.1:9",
    ports: Mapping[tuple[str, int], tuple[str, int]] | None = None,
    names: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]] | None = None,
    stop_after: Callable[[Notice], bool] | None = None,
    **settings: Any,
) -> Carried:
    """Carry an answer out, and return what it told.

    Args:
        kind: Which driver.
        answer: The answer.
        engine: Where the engine is.
        search: Where the search service is.
        ports: Public address and port to loopback address and port.
        names: What names lead to.
        stop_after: Leave the block after a notice for which this is true.
        settings: Further arguments of the driver.
    """
    table = dict(ports or {})
    known = names if callable(names) else dict(names or {}).__getitem__
    looked_up: list[str] = []

    def resolve(host: str) -> Sequence[str]:
        looked_up.append(host)
        try:
            return known(host)
        except KeyError as error:
            raise OSError(f"no such name: {host}") from error

    def lead(ip: str, port: int) -> tuple[str, int]:
        return table[ip, port]

    settings.setdefault("deny_networks", ())
    run = {"trio": _trio, "asyncio": _asyncio, "sync": _sync}[kind]
    return run(answer, engine, search, lead, resolve, looked_up, stop_after, settings)


def _sync(
    answer: Runnable,
    engine: str | Engines,
    search: str | None,
    lead: AddressMap,
    resolve: Callable[[str], Sequence[str]],
    looked_up: list[str],
    stop_after: Callable[[Notice], bool] | None,
    settings: dict[str, Any],
) -> Carried:
    network = MappedSyncNetwork(lead)
    notices: list[Notice] = []
    with SyncDriver(engine, search, network=network, resolver=resolve, **settings) as driver:
        with driver.run(answer) as run:
            for notice in run:
                notices.append(notice)
                if stop_after is not None and stop_after(notice):
                    break
        notices += run
    return Carried(notices, network.calls, looked_up)


def _trio(
    answer: Runnable,
    engine: str | Engines,
    search: str | None,
    lead: AddressMap,
    resolve: Callable[[str], Sequence[str]],
    looked_up: list[str],
    stop_after: Callable[[Notice], bool] | None,
    settings: dict[str, Any],
) -> Carried:
    network = MappedTrioNetwork(lead)

    async def look_up(host: str) -> Sequence[str]:
        return await trio.to_thread.run_sync(resolve, host, abandon_on_cancel=True)

    driver = TrioDriver(engine, search, network=network, resolver=look_up, **settings)
    return Carried(trio.run(_read, driver, answer, stop_after), network.calls, looked_up)


def _asyncio(
    answer: Runnable,
    engine: str | Engines,
    search: str | None,
    lead: AddressMap,
    resolve: Callable[[str], Sequence[str]],
    looked_up: list[str],
    stop_after: Callable[[Notice], bool] | None,
    settings: dict[str, Any],
) -> Carried:
    network = MappedAsyncioNetwork(lead)
    threads = Threads("lookup", 2)

    async def look_up(host: str) -> Sequence[str]:
        return await in_thread(threads, lambda: resolve(host))

    driver = AsyncioDriver(engine, search, network=network, resolver=look_up, **settings)
    notices = asyncio.run(_read(driver, answer, stop_after))
    threads.close()
    return Carried(notices, network.calls, looked_up)


async def _read(driver: AsyncDriver, answer: Runnable, stop_after: Callable[[Notice], bool] | None) -> list[Notice]:
    notices: list[Notice] = []
    async with driver:
        async with driver.run(answer) as run:
            async for notice in run:
                notices.append(notice)
                if stop_after is not None and stop_after(notice):
                    break
        notices.extend([notice async for notice in run])
    return notices


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def descriptors() -> set[str]:
    """Return what is open, with names, for the report of a test that fails."""
    named = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            named.add(f"{entry.name} {entry.readlink()}")
    return named


def settled_descriptors(most: int, seconds: float = 8.0) -> int:
    """Return how many descriptors are open once there are no more than `most`, or when the time is over.

    The servers of the tests close their ends in threads of their own, and a loaded machine takes its time.
    """
    end = time.monotonic() + seconds
    while (count := open_descriptors()) > most and time.monotonic() < end:
        time.sleep(0.02)
    return count


def threads() -> list[str]:
    """Return the names of this process's threads."""
    return sorted(thread.name for thread in threading.enumerate())


__all__ = [
    "KINDS",
    "QUICK",
    "AddressMap",
    "Carried",
    "Kind",
    "carry_out",
    "open_descriptors",
    "settled_descriptors",
    "threads",
]
