"""``python -m tests.bench.fetch``: what the guard costs, against plain TLS sockets to the same server in the same run.

The floor is an `ssl` socket that sends the same request on a connection of its own and reads until it has the bytes.
The guarded fetch does all that is asked of it beside: the address, rule 1, the lookup, the check of what was found, the
certificate, the bounds of the wire, type and coding, and the line in the journal. Making text of a page's bytes is not
in it; ``tests.bench.page`` measures that. The server is a process of its own.

Rounds take turns, floor and guard, and a ratio is the middle one of the rounds': a busy machine slows both. Two hostile
servers are measured first: a gigabyte of zeros as gzip, and a body in chunks of one byte. CPU and memory are those of
a fetching process that has done nothing else. The exit status is 1 when a target is missed.
"""

import asyncio
import datetime as dt
import gc
import gzip
import logging
import multiprocessing
import resource
import socket
import ssl
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import attrs
import trio

from hostcall.commands import Command
from hostcall.data import Refused
from hostcall.events import Event, HostCancelled
from hostcall.limits import Limits
from hostcall.web.address import Address
from hostcall.web.fetch import Fetch, Fetched
from hostcall.web.networks import Networks
from hostcall.web.request import page_bounds, page_request
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.demo.mapped import MappedAsyncioNetwork, MappedSyncNetwork, MappedTrioNetwork
from hostcall_drivers.journal import Journal
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.trio import TrioDriver
from hostcall_drivers.wire import Exchange
from tests.drivers.servers import PUBLIC_V4, Authority

HOST = "docs.example.org"
LIMITS = Limits()
WEB = Web()
LARGE = 1_999_000
ROUNDS, SMALL_A_ROUND, LARGE_A_ROUND = 11, 100, 8


def _journal() -> Journal:
    """Return a journal that makes every line, as one that is kept would."""
    logger = logging.getLogger("hostcall.bench")
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return Journal(logger)


_JOURNAL = _journal()

LEAST_RATE, LEAST_SPEED = 0.75, 0.6
MOST_BOMB_SECONDS, MOST_BOMB_MEGABYTES, MOST_PIECES_SECONDS = 0.05, 10.0, 1.0


# The server.


FORK = multiprocessing.get_context("fork")


def _answer(body: bytes, *fields: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def _whole(body: bytes, *fields: str) -> bytes:
    return _answer(body, f"Content-Length: {len(body)}", *fields)


def _zeros(size: int) -> bytes:
    """Pack zeros a piece at a time: the server needs no gigabyte either."""
    packed = bytearray()
    with gzip.GzipFile(fileobj=_Appending(packed), mode="wb", mtime=0) as packer:
        for _ in range(size // 1_000_000):
            packer.write(bytes(1_000_000))
    return bytes(packed)


class _Appending:
    """As much of a file as packing needs."""

    def __init__(self, data: bytearray) -> None:
        self._data = data

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def flush(self) -> None:
        return None


PAGES: dict[str, Callable[[], bytes]] = {
    "/small": lambda: _whole(b"<title>t</title>" + b"<p>hello, reader</p>" * 50),
    "/large": lambda: _whole(((b"<p>" + b"word " * 200 + b"</p>\n") * 2000)[:LARGE]),
    "/bomb": lambda: _whole(_zeros(1_000_000_000), "Content-Encoding: gzip"),
    "/pieces": lambda: _answer(b"1\r\nx\r\n" * 2_000_000 + b"0\r\n\r\n", "Transfer-Encoding: chunked"),
}


def _serve(listener: socket.socket, context: ssl.SSLContext, told: Connection) -> None:
    """Answer one connection after the other, for ever. A client that has had enough goes away."""
    pages = {path: make() for path, make in PAGES.items()}
    told.send({path: len(page) for path, page in pages.items()})
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with context.wrap_socket(sock, server_side=True) as stream:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += stream.recv(65_536) or b"\r\n\r\n"
                stream.sendall(pages[head.split(b" ", 2)[1].decode()])
        except OSError:
            continue


@attrs.frozen
class Site:
    """Where the server is, and what it serves."""

    port: int
    client: ssl.SSLContext
    sizes: dict[str, int]
    """Path to the bytes of the whole answer."""


@contextmanager
def serving() -> Iterator[Site]:
    """Serve in another process."""
    authority = Authority()
    told, tells = multiprocessing.Pipe(duplex=False)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    arguments = (listener, authority.server(HOST), tells)
    process = FORK.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    try:
        yield Site(int(listener.getsockname()[1]), authority.client(), told.recv())
    finally:
        process.terminate()
        process.join()
        listener.close()


# The two ways to fetch.


def floor(site: Site, path: str, count: int) -> None:
    """Fetch with a plain TLS socket."""
    # The same bytes go out, laid out once.
    request = Exchange(page_request(Address(HOST, path), WEB), page_bounds(LIMITS), "x").to_send
    size = site.sizes[path]
    for _ in range(count):
        with (
            socket.create_connection(("127.0.0.1", site.port)) as sock,
            site.client.wrap_socket(sock, server_hostname=HOST) as stream,
        ):
            stream.sendall(request)
            pieces = []
            left = size
            while left and (piece := stream.recv(65_536)):
                pieces.append(piece)
                left -= len(piece)
            if left or not b"".join(pieces):
                raise AssertionError("the server did not send the whole page")


@attrs.define
class Pages:
    """What a driver carries out: one guarded fetch of a page after the other."""

    path: str
    count: int
    answer_id: str = "bench"
    engine: None = None
    tool_names: tuple[str, ...] = ()
    web_on: bool = False
    results: list[Fetched | Refused] = attrs.field(factory=list)
    _begun: int = 0
    _networks: Networks = attrs.field(factory=lambda: Networks.of(WEB))
    _seen: SeenHosts = attrs.field(factory=lambda: SeenHosts(LIMITS))
    _fetch: Fetch | None = None

    @property
    def finished(self) -> bool:
        return len(self.results) == self.count

    def start(
        self, now: float, *, answer_id: str, today: dt.date, capacity: int, deny_networks: Sequence[str] = ()
    ) -> list[Command]:
        self._seen.add_result(f"https://{HOST}/")
        return self._next(now)

    def receive(self, event: Event, now: float) -> list[Command]:
        if self._fetch is None or isinstance(event, HostCancelled):
            raise AssertionError("nobody cancels a measurement")
        commands = self._fetch.receive(event, now)
        if self._fetch.result is not None:
            self.results.append(self._fetch.result)
            if not self.finished:
                commands += self._next(now)
        return commands

    def _next(self, now: float) -> list[Command]:
        self._begun += 1
        self._fetch = Fetch(
            Address(HOST, self.path),
            self._seen,
            LIMITS,
            id=f"p{self._begun}",
            networks=self._networks,
            web=WEB,
            take_page=lambda: True,
        )
        return self._fetch.start(now)


def guarded_sync(site: Site, path: str, count: int) -> list[Fetched | Refused]:
    """Fetch with the blocking driver."""
    pages = Pages(path, count)
    network = MappedSyncNetwork(lambda ip, port: ("127.0.0.1", site.port))
    driver = SyncDriver(
        "http://127.0.0.1:9",
        network=network,
        resolver=lambda host: (PUBLIC_V4,),
        page_tls=site.client,
        journal=_JOURNAL,
        deny_networks=(),
    )
    with driver, driver.run(pages) as notices:
        for _ in notices:
            raise AssertionError("a fetch shows nothing")
    return pages.results


def guarded_trio(site: Site, path: str, count: int) -> list[Fetched | Refused]:
    """Fetch with the trio driver."""
    pages = Pages(path, count)
    network = MappedTrioNetwork(lambda ip, port: ("127.0.0.1", site.port))
    driver = TrioDriver("http://127.0.0.1:9", network=network, **_settings(site))
    trio.run(_fetch, driver, pages)
    return pages.results


def guarded_asyncio(site: Site, path: str, count: int) -> list[Fetched | Refused]:
    """Fetch with the asyncio driver."""
    pages = Pages(path, count)
    network = MappedAsyncioNetwork(lambda ip, port: ("127.0.0.1", site.port))
    driver = AsyncioDriver("http://127.0.0.1:9", network=network, **_settings(site))
    asyncio.run(_fetch(driver, pages))
    return pages.results


def _settings(site: Site) -> dict[str, Any]:
    async def look_up(host: str) -> Sequence[str]:
        return (PUBLIC_V4,)

    return {"resolver": look_up, "page_tls": site.client, "journal": _JOURNAL, "deny_networks": ()}


async def _fetch(driver: AsyncDriver, pages: Pages) -> None:
    async with driver, driver.run(pages) as notices:
        async for _ in notices:
            raise AssertionError("a fetch shows nothing")


GUARDED: dict[str, Callable[[Site, str, int], list[Fetched | Refused]]] = {
    "trio": guarded_trio,
    "asyncio": guarded_asyncio,
    "sync": guarded_sync,
}


# The measurements.


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(site: Site, kind: str, path: str, count: int) -> tuple[float, float, float]:
    """Return the middle seconds a fetch of floor and guard, and the middle ratio of the two."""
    floors, guards = [], []
    for _ in range(ROUNDS):
        floors.append(_seconds(lambda: floor(site, path, count)) / count)
        guards.append(_seconds(lambda: _all_read(GUARDED[kind](site, path, count))) / count)
    ratios = [plain / guard for plain, guard in zip(floors, guards, strict=True)]
    return statistics.median(floors), statistics.median(guards), statistics.median(ratios)


def _all_read(results: list[Fetched | Refused]) -> None:
    for result in results:
        if isinstance(result, Refused):
            raise AssertionError(f"a page was not read: {result}")


def cost(site: Site, kind: str, path: str) -> tuple[float, float, str]:
    """Return the CPU seconds of one fetch, the megabytes that it took at most, and what came of it."""
    told, tells = multiprocessing.Pipe(duplex=False)
    process = FORK.Process(target=_measure, args=(site, kind, path, tells))
    process.start()
    cost: tuple[float, float, str] = told.recv()
    process.join()
    return cost


def _measure(site: Site, kind: str, path: str, tells: Connection) -> None:
    """Fetch in a process that has fetched small pages and nothing else: no memory is left over to be used again."""
    GUARDED[kind](site, "/small", 3)
    gc.collect()
    before = _peak_reset()
    started = time.process_time()
    (result,) = GUARDED[kind](site, path, 1)
    seconds = time.process_time() - started
    told = result.code if isinstance(result, Refused) else f"read {len(result.data):,} bytes of it"
    tells.send((seconds, (_peak() - before) / 1e6, told))


def _peak_reset() -> int:
    """Forget the highest use of memory so far, and return the present one in bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> int:
    """Measure everything and say what is missed."""
    missed = 0
    with serving() as site:
        for path, most, room in (
            ("/bomb", MOST_BOMB_SECONDS, MOST_BOMB_MEGABYTES),
            ("/pieces", MOST_PIECES_SECONDS, MOST_BOMB_MEGABYTES),
        ):
            for kind in GUARDED:
                seconds, megabytes, told = cost(site, kind, path)
                missed += seconds > most or megabytes > room
                figures = f"{seconds * 1000:4.0f} ms of CPU (at most {most * 1000:g}), {megabytes:4.1f} MB ({room:g})"
                print(f"{path[1:]:<7} {kind:<7}  {figures}: {told}", flush=True)
        for kind, path, count, least in (
            ("trio", "/small", SMALL_A_ROUND, LEAST_RATE),
            ("asyncio", "/small", SMALL_A_ROUND, None),
            ("sync", "/small", SMALL_A_ROUND, LEAST_RATE),
            ("trio", "/large", LARGE_A_ROUND, LEAST_SPEED),
            ("asyncio", "/large", LARGE_A_ROUND, None),
            ("sync", "/large", LARGE_A_ROUND, None),
        ):
            plain, guard, ratio = compare(site, kind, path, count)
            size = site.sizes[path] / 1e6
            unit, of_floor, of_guard = "a second", 1 / plain, 1 / guard
            if path == "/large":
                unit, of_floor, of_guard = "MB/s", size / plain, size / guard
            missed += least is not None and ratio < least
            target = "" if least is None else f" (at least {least})"
            figures = f"{of_guard:4.0f} {unit}, floor {of_floor:4.0f}: ratio {ratio:.2f}{target}"
            print(f"{path[1:]:<7} {kind:<7}  {figures}", flush=True)
    print("all targets met" if not missed else f"{missed} targets missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
