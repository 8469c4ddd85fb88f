"""Requests of the async drivers to their services: what a response's end and faults do to body and connection."""

import contextlib
import socket
import threading
import time
from pathlib import Path

import httpcore
import pytest

from hostcall.data import HttpRequest
from hostcall_drivers.async_services import KEPT, AsyncServices
from hostcall_drivers.services import Service
from tests.drivers.onloop import ALL, On
from tests.drivers.servers import Connection, Server

pytestmark = pytest.mark.parametrize("on", ALL, ids=lambda on: on.name)

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
def test_a_connection_is_used_again_where_that_is_safe(
    on: On, answer: bytes, wanted: tuple[int, bytes], *, kept: bool
) -> None:
    """What came behind a response would be taken for the next one's."""

    async def main(server: Server) -> None:
        services = AsyncServices(on.network())
        assert await asked(services, server) == wanted
        assert await asked(services, server) == (200, b"two")
        await services.aclose()

    with serving(answer, LENGTH + b"two") as server:
        on.run(main, server)
        assert server.accepted == (1 if kept else 2)


def test_a_body_may_end_with_the_connection(on: On) -> None:
    with serving(b"HTTP/1.1 200 OK\r\n\r\none", close=True) as server:
        assert on.run(asked, AsyncServices(on.network()), server) == (200, b"one")


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
def test_what_came_before_a_fault_is_given_and_then_the_fault_told(on: On, answer: bytes, why: str) -> None:
    async def main(server: Server) -> bytes:
        async with AsyncServices(on.network()).sent(service(server), REQUEST) as response:
            got = b""
            while len(got) < 3:
                got += await response.read()
            for _ in range(2):
                with pytest.raises(httpcore.RemoteProtocolError, match=why):
                    await response.read()
        return got

    with serving(answer, close=True) as server:
        assert on.run(main, server) == b"one"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "without a pending proposal"),
        (b"", "without a response"),
        (b"no HTTP at all\r\n\r\n", "illegal"),
    ],
)
def test_what_is_no_response_is_a_fault(on: On, answer: bytes, why: str) -> None:
    with serving(answer, close=True) as server, pytest.raises(httpcore.RemoteProtocolError, match=why):
        on.run(asked, AsyncServices(on.network()), server)


def test_a_request_that_cannot_be_sent_is_not(on: On) -> None:
    with serving(LENGTH + b"one") as server, pytest.raises(httpcore.LocalProtocolError):
        on.run(asked, AsyncServices(on.network()), server, HttpRequest("GET", "/", (("X", "a\r\nb"),)))
    assert server.requests == []


async def silent(on: On, server: Server) -> None:
    services = AsyncServices(on.network())
    async with services.sent(service(server), REQUEST, 0.2) as response:
        while await response.read():
            # Whoever reads is slow, for longer than the service may be silent.
            response.pause()
            await on.loop.sleep(0.5)
    await services.aclose()


@pytest.mark.parametrize("begun", [b"", CHUNKED, CHUNKED + b"3\r\none\r\n", LENGTH])
def test_a_silence_is_bounded(on: On, begun: bytes) -> None:
    with serving(begun) as server, pytest.raises(httpcore.ReadTimeout):
        on.run(silent, on, server)


def test_a_slow_reader_is_no_silence(on: On) -> None:
    with serving(CHUNKED + ONE) as server:
        on.run(silent, on, server)


def test_a_service_that_goes_on_is_not_silent_however_long_it_takes(on: On) -> None:
    def handler(connection: Connection) -> None:
        connection.send(CHUNKED)
        for _ in range(8):
            time.sleep(0.1)
            connection.send(b"1\r\nx\r\n")
        connection.send(b"0\r\n\r\n")

    async def main(server: Server) -> bytes:
        services = AsyncServices(on.network())
        async with services.sent(service(server), REQUEST, 0.4) as response:
            body = b"".join([piece async for piece in response.aiter_stream()])
        await services.aclose()
        return body

    with Server(handler) as server:
        assert on.run(main, server) == b"x" * 8


def test_a_block_that_is_left_early_closes_its_connection(on: On) -> None:
    async def main(server: Server) -> None:
        services = AsyncServices(on.network())
        async with services.sent(service(server), REQUEST) as response:
            assert await response.read() == b"one"
        assert await asked(services, server) == (200, b"two")
        await services.aclose()

    with serving(CHUNKED + b"3\r\none\r\n", LENGTH + b"two") as server:
        on.run(main, server)
        assert server.accepted == 2


def test_so_many_connections_are_kept_and_no_more(on: On) -> None:
    async def main(server: Server) -> None:
        services = AsyncServices(on.network())
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

    with serving(*[LENGTH + b"one"] * (KEPT + 3)) as server:
        on.run(main, server)


def test_a_service_is_found_by_its_name_and_by_its_socket(on: On, tmp_path: Path) -> None:
    async def main(where: Service) -> bytes:
        services = AsyncServices(on.network())
        async with services.sent(where, REQUEST) as response:
            body = b"".join([piece async for piece in response.aiter_stream()])
        await services.aclose()
        return body

    with serving(LENGTH + b"one") as server:
        assert on.run(main, Service.at(f"http://localhost:{server.port}", name="engine")) == b"one"
    with pytest.raises(httpcore.ConnectError):
        on.run(main, Service.at("http://no-such-name.invalid", name="engine"))
    path = tmp_path / "engine.sock"
    with pytest.raises(httpcore.ConnectError):
        on.run(main, Service.at(f"unix:{path}", name="engine"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(LENGTH + b"two")

        thread = threading.Thread(target=serve)
        thread.start()
        assert on.run(main, Service.at(f"unix:{path}", name="engine")) == b"two"
        thread.join(10)
        # With its queue full a unix socket says nothing when there is room again, and is asked again.
        fillers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(str(path))
        with pytest.raises(httpcore.ConnectTimeout):
            on.run(lambda: on.network().connect_unix_socket(str(path), timeout=0.2))
        for filler in fillers:
            filler.close()
