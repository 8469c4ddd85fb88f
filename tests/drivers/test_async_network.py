"""Sockets on a loop: what is read in what order, what is raised, and that the others have their turn."""

import socket
import threading
import time
from collections.abc import Iterator

import httpcore
import pytest

from hostcall_drivers.async_network import AsyncNetwork, AsyncStream
from hostcall_drivers.sockets import finish_connecting, start_connecting
from tests.drivers.driving import open_descriptors, settled_descriptors
from tests.drivers.onloop import ALL, On
from tests.drivers.servers import Authority, Connection, Server

NAME = "docs.example.org"
on_all = pytest.mark.parametrize("on", ALL, ids=lambda on: on.name)


@pytest.fixture
def port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


async def shaken(on: On, server: Server, authority: Authority) -> AsyncStream:
    stream = await on.network().connect_tcp("127.0.0.1", server.port)
    stream = await stream.start_tls(authority.client(), NAME)
    await stream.write(b"GET / HTTP/1.1\r\n\r\n")
    return stream


@on_all
def test_what_came_before_a_fault_is_read_and_then_the_fault_told(on: On) -> None:
    """A fault that passed for an end would make a whole page of half a one."""
    authority, done = Authority(), threading.Event()

    def handler(connection: Connection) -> None:
        connection.send(b"one " * 1500)
        connection.send(b"two ")
        socket.socket.send(connection.sock, b"no record of TLS at all")
        done.set()

    async def main(server: Server) -> None:
        stream = await shaken(on, server, authority)
        try:
            await on.until(done.is_set)
            assert await stream.read(65_536) == b"one " * 1500 + b"two "
            with pytest.raises(httpcore.ReadError):
                await stream.read(65_536)
        finally:
            await stream.aclose()
            await stream.aclose()

    with Server(handler, authority.server(NAME)) as server:
        on.run(main, server)


@on_all
def test_a_read_takes_no_more_than_it_is_asked_for(on: On) -> None:
    authority, done = Authority(), threading.Event()

    def handler(connection: Connection) -> None:
        for _ in range(3):
            connection.send(b"x" * 20_000)
        done.set()

    async def main(server: Server) -> list[int]:
        stream = await shaken(on, server, authority)
        await on.until(done.is_set)
        lengths = [len(await stream.read(25_000)) for _ in range(2)]
        await stream.aclose()
        return lengths

    with Server(handler, authority.server(NAME)) as server:
        assert all(0 < length <= 25_000 for length in on.run(main, server))


@on_all
def test_a_peer_that_never_pauses_leaves_the_others_their_turn(on: On) -> None:
    def handler(connection: Connection) -> None:
        while True:
            connection.send(b"x" * 65_536)

    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await on.loop.sleep(0)
            turns += 1

    async def main(server: Server) -> None:
        stream = await on.network().connect_tcp("127.0.0.1", server.port)
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        async with on.loop.beside() as tasks:
            tasks.start_soon(other)
            for _ in range(200):
                await stream.read(1024)
        await stream.aclose()

    with Server(handler) as server:
        on.run(main, server)
    assert turns >= 190


@on_all
def test_a_write_waits_for_room_and_is_bounded(on: On) -> None:
    def handler(connection: Connection) -> None:
        threading.Event().wait(2)

    async def main(server: Server) -> None:
        stream = await on.network().connect_tcp("localhost", server.port)
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 50_000_000, timeout=0.2)
        await stream.aclose()
        with pytest.raises(httpcore.ReadError):
            await stream.read(1)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"x")

    with Server(handler) as server:
        on.run(main, server)


@on_all
@pytest.mark.parametrize("writes", [False, True])
def test_who_waits_for_a_connection_that_is_closed_is_woken(on: On, port: int, *, writes: bool) -> None:
    async def main() -> None:
        stream = await on.network().connect_tcp("127.0.0.1", port)
        woken: list[Exception] = []

        async def wait() -> None:
            try:
                await (stream.write(b"x" * 50_000_000) if writes else stream.read(1))
            except httpcore.NetworkError as error:
                woken.append(error)

        async with on.loop.beside() as tasks:
            tasks.start_soon(wait)
            await on.loop.sleep(0.1)
            stream.close()
            await on.until(lambda: woken)

    on.run(main)


@on_all
def test_nobody_there_is_an_error_that_says_so(on: On) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        with pytest.raises(httpcore.ConnectError, match="refused"):
            on.run(lambda: on.network().connect_tcp("127.0.0.1", sock.getsockname()[1]))


# The race of several addresses.


class Staged(AsyncNetwork):
    """Addresses that stand, fail or hang as they are told to."""

    def __init__(self, on: On, port: int, **plans: str) -> None:
        self.loop = on.loop  # type: ignore[misc]  # of a class where it has but one loop
        self.begun: list[str] = []
        self.made: list[AsyncStream] = []
        self._real = on.network()
        self._port = port
        self._plans = plans

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, *_: object) -> AsyncStream:
        self.begun.append(host)
        match self._plans[host]:
            case "stands":
                self.made.append(await self._real.connect_tcp("127.0.0.1", self._port))
                return self.made[-1]
            case "fails":
                raise httpcore.ConnectError(f"{host} is gone")
        await self.loop.sleep(60)
        raise AssertionError("nobody waits so long")


@on_all
def test_the_first_to_stand_wins_and_the_others_are_closed(on: On, port: int) -> None:
    before = open_descriptors()
    network = Staged(on, port, a="stands", b="stands", c="stands")

    async def main() -> None:
        # All at once: each gets its turn before the race hears of the first.
        winner = await network.connect_first("abc", 443, 5.0, 0.0)
        assert winner in network.made
        assert all((stream.sock.fileno() == -1) is (stream is not winner) for stream in network.made)
        winner.close()

    on.run(main)
    assert settled_descriptors(before) <= before


@on_all
def test_one_that_hangs_costs_its_head_start_and_one_that_fails_costs_nothing(on: On, port: int) -> None:
    async def begun(stagger: float, **plans: str) -> list[str]:
        network = Staged(on, port, **plans)
        (await network.connect_first(list(plans), 443, 5.0, stagger)).close()
        return network.begun

    assert on.run(lambda: begun(0.1, a="hangs", b="fails", c="stands", d="stands")) == ["a", "b", "c"]
    # No head start is waited for after a failure: with one of an hour this would never end.
    assert on.run(lambda: begun(3600.0, a="fails", b="fails", c="stands")) == ["a", "b", "c"]


@on_all
def test_when_none_stands_the_last_failure_is_told(on: On, port: int) -> None:
    network = Staged(on, port, a="fails", b="fails")
    with pytest.raises(httpcore.ConnectError, match="b is gone"):
        on.run(network.connect_first, "ab", 443, 5.0, 0.0)
    with pytest.raises(httpcore.ConnectError, match="no address"):
        on.run(network.connect_first, "", 443, 5.0, 0.0)


@on_all
def test_a_race_that_is_stopped_leaves_no_attempt(on: On, port: int) -> None:
    before = open_descriptors()
    network = Staged(on, port, a="hangs", b="hangs")

    async def main() -> bool:
        with on.loop.scope(on.loop.now() + 0.2) as scope:
            await network.connect_first("ab", 443, 5.0, 0.05)
        return bool(scope.cancelled_caught)

    started = time.monotonic()
    assert on.run(main)
    assert time.monotonic() - started < 20
    assert settled_descriptors(before) <= before


# Sockets that do not block.


def test_only_numbers_are_connected_to() -> None:
    for host in ("localhost", "docs.example.org", "127.1", "fe80::1%lo", ""):
        with pytest.raises(OSError, match="no IP address"):
            start_connecting(host, 443)


def test_a_connection_that_stands_raises_nothing() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        sock = start_connecting("::1", listener.getsockname()[1])
        accepted, _ = listener.accept()
        finish_connecting(sock)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        sock.close()
        accepted.close()
