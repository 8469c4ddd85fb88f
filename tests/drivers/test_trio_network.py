"""Sockets under trio: what is read in what order, what is raised, and that the others have their turn."""

import socket
import threading

import httpcore
import pytest
import trio

from hostcall_drivers.async_network import AsyncStream
from hostcall_drivers.sockets import finish_connecting, start_connecting
from hostcall_drivers.trio_network import TrioNetwork
from tests.drivers.servers import Authority, Connection, Server

NAME = "docs.example.org"


async def shaken(server: Server, authority: Authority) -> AsyncStream:
    stream = await TrioNetwork().connect_tcp("127.0.0.1", server.port)
    stream = await stream.start_tls(authority.client(), NAME)
    await stream.write(b"GET / HTTP/1.1\r\n\r\n")
    return stream


async def test_what_came_before_a_fault_is_read_and_then_the_fault_told() -> None:
    """A fault that passed for an end would make a whole page of half a one."""
    authority, done = Authority(), threading.Event()

    def handler(connection: Connection) -> None:
        connection.send(b"one " * 1500)
        connection.send(b"two ")
        socket.socket.send(connection.sock, b"no record of TLS at all")
        done.set()

    with Server(handler, authority.server(NAME)) as server:
        stream = await shaken(server, authority)
        try:
            await trio.to_thread.run_sync(done.wait, 10)
            assert await stream.read(65_536) == b"one " * 1500 + b"two "
            with pytest.raises(httpcore.ReadError):
                await stream.read(65_536)
        finally:
            await stream.aclose()
            await stream.aclose()


async def test_a_read_takes_no_more_than_it_is_asked_for() -> None:
    authority, done = Authority(), threading.Event()

    def handler(connection: Connection) -> None:
        for _ in range(3):
            connection.send(b"x" * 20_000)
        done.set()

    with Server(handler, authority.server(NAME)) as server:
        stream = await shaken(server, authority)
        await trio.to_thread.run_sync(done.wait, 10)
        lengths = [len(await stream.read(25_000)) for _ in range(2)]
        assert all(0 < length <= 25_000 for length in lengths)
        await stream.aclose()


async def test_a_peer_that_never_pauses_leaves_the_others_their_turn() -> None:
    def handler(connection: Connection) -> None:
        while True:
            connection.send(b"x" * 65_536)

    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    with Server(handler) as server:
        stream = await TrioNetwork().connect_tcp("127.0.0.1", server.port)
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            for _ in range(200):
                await stream.read(1024)
            nursery.cancel_scope.cancel()
        await stream.aclose()
    assert turns >= 190


async def test_a_write_waits_for_room_and_is_bounded() -> None:
    def handler(connection: Connection) -> None:
        threading.Event().wait(2)

    with Server(handler) as server:
        stream = await TrioNetwork().connect_tcp("localhost", server.port)
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 50_000_000, timeout=0.2)
        await stream.aclose()
        with pytest.raises(httpcore.ReadError):
            await stream.read(1)


async def test_nobody_there_is_an_error_that_says_so() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        with pytest.raises(httpcore.ConnectError, match="refused"):
            await TrioNetwork().connect_tcp("127.0.0.1", sock.getsockname()[1])


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
