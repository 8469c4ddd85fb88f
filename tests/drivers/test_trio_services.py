"""Requests of the trio driver to its services: what a response's end and faults do to body and connection."""

import contextlib
import socket

import httpcore
import pytest
import trio

from hostcall.data import HttpRequest
from hostcall_drivers.async_services import KEPT, AsyncServices
from hostcall_drivers.services import Service
from hostcall_drivers.trio_network import TrioNetwork
from tests.drivers.servers import Connection, Server

REQUEST = HttpRequest("GET", "/v1/models")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
ONE = b"3\r\none\r\n0\r\n\r\n"


def serving(*answers: bytes, close: bool = False) -> Server:
    """Return a server that gives these answers in turn, to however many requests a connection brings."""
    left = list(answers)

    def handler(connection: Connection) -> None:
        connection.send(left.pop(0))
        if close:
            connection.sock.shutdown(socket.SHUT_RDWR)

    return Server(handler)


def service(server: Server) -> Service:
    return Service.at(server.url, name="engine")


async def asked(services: AsyncServices, server: Server, request: HttpRequest = REQUEST) -> tuple[int, bytes]:
    async with services.sent(service(server), request) as response:
        return response.status, b"".join([piece async for piece in response.aiter_stream()])


@pytest.mark.parametrize(
    ("answer", "wanted", "kept"),
    [
        (CHUNKED + ONE, (200, b"one"), True),
        (CHUNKED + b"3\r\none\r\n0\r\nX: y\r\n\r\n", (200, b"one"), True),
        (LENGTH + b"one", (200, b"one"), True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b""), True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH + b"one", (200, b"one"), True),
        (
            CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"3\r\none\r\n0\r\n\r\n",
            (200, b"one"),
            False,
        ),
        (LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"one", (200, b"one"), False),
        (LENGTH.replace(b"1.1", b"1.0") + b"one", (200, b"one"), False),
        (CHUNKED + b"3\r\none\r\n0\r\n\r\nmore", (200, b"one"), False),
        (LENGTH + b"onemore", (200, b"one"), False),
    ],
)
async def test_a_connection_is_used_again_where_that_is_safe(
    answer: bytes, wanted: tuple[int, bytes], *, kept: bool
) -> None:
    """What came behind a response would be taken for the next one's."""
    with serving(answer, LENGTH + b"two") as server:
        services = AsyncServices(TrioNetwork())
        assert await asked(services, server) == wanted
        assert await asked(services, server) == (200, b"two")
        assert server.accepted == (1 if kept else 2)
        await services.aclose()


async def test_a_body_may_end_with_the_connection() -> None:
    with serving(b"HTTP/1.1 200 OK\r\n\r\none", close=True) as server:
        assert await asked(AsyncServices(TrioNetwork()), server) == (200, b"one")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (CHUNKED + b"3\r\none\r\nnone\r\n", "size"),
        (CHUNKED + b"3\r\noneandmore\r\n", "longer"),
        (CHUNKED + b"3\r\none\r\n", "closed"),
        (CHUNKED + b"5\r\none", "closed"),
        (LENGTH.replace(b"3", b"5") + b"one", "closed"),
    ],
)
async def test_what_came_before_a_fault_is_given_and_then_the_fault_told(answer: bytes, why: str) -> None:
    with serving(answer, close=True) as server:
        async with AsyncServices(TrioNetwork()).sent(service(server), REQUEST) as response:
            got = b""
            while len(got) < 3:
                got += await response.read()
            for _ in range(2):
                with pytest.raises(httpcore.RemoteProtocolError, match=why):
                    await response.read()
        assert got == b"one"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "without a pending proposal"),
        (b"", "without a response"),
        (b"no HTTP at all\r\n\r\n", "illegal"),
    ],
)
async def test_what_is_no_response_is_a_fault(answer: bytes, why: str) -> None:
    with serving(answer, close=True) as server, pytest.raises(httpcore.RemoteProtocolError, match=why):
        await asked(AsyncServices(TrioNetwork()), server)


async def test_a_request_that_cannot_be_sent_is_not() -> None:
    with serving(LENGTH + b"one") as server, pytest.raises(httpcore.LocalProtocolError):
        await asked(AsyncServices(TrioNetwork()), server, HttpRequest("GET", "/", (("X", "a\r\nb"),)))
    assert server.requests == []


async def silent(server: Server) -> None:
    services = AsyncServices(TrioNetwork())
    async with services.sent(service(server), REQUEST, 0.2) as response:
        while await response.read():
            # Whoever reads is slow, for longer than the service may be silent.
            response.pause()
            await trio.sleep(0.5)
    await services.aclose()


@pytest.mark.parametrize("begun", [b"", CHUNKED, CHUNKED + b"3\r\none\r\n", LENGTH])
async def test_a_silence_is_bounded(begun: bytes) -> None:
    with serving(begun) as server, trio.fail_after(20), pytest.raises(httpcore.ReadTimeout):
        await silent(server)


async def test_a_slow_reader_is_no_silence() -> None:
    with serving(CHUNKED + ONE) as server:
        await silent(server)


async def test_a_block_that_is_left_early_closes_its_connection() -> None:
    with serving(CHUNKED + b"3\r\none\r\n", LENGTH + b"two") as server:
        services = AsyncServices(TrioNetwork())
        async with services.sent(service(server), REQUEST) as response:
            assert await response.read() == b"one"
        assert await asked(services, server) == (200, b"two")
        assert server.accepted == 2
        await services.aclose()


async def test_so_many_connections_are_kept_and_no_more() -> None:
    with serving(*[LENGTH + b"one"] * (KEPT + 3)) as server:
        services = AsyncServices(TrioNetwork())
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(KEPT + 2):
                response = await stack.enter_async_context(services.sent(service(server), REQUEST))
                while await response.read():
                    pass
        (links,) = services._kept.values()
        assert len(links) == KEPT
        await services.aclose()
        assert services._kept == {}
        assert all(link.stream.sock.fileno() == -1 for link in links)
