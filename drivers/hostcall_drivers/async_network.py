"""The network under the async drivers: httpcore's backend interface, with streams that close on any exception.

httpcore's own trio stream leaves its socket open when a handshake is cancelled (`trio.Cancelled` is no `Exception`, and
neither is asyncio's); these do not. A test or a demo puts another network in its place, which maps addresses to the
loopback.
"""

import contextlib
import errno
import socket
import ssl
import typing
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import ClassVar

import httpcore

from hostcall_drivers.loops import Loop, Scope
from hostcall_drivers.sockets import finish_connecting, is_number, is_readable, start_connecting

ExtraInfo: typing.TypeAlias = typing.Any

RECORD_BYTES = 16_384
"""What TLS gives at a time at the most (RFC 8446 §5.1). Room for more would be found and given back for nothing."""


WELL_FILLED = 4096
"""A record of so many bytes is looked behind for more. Behind a smaller one there is mostly nothing, and to be told so
costs as much as a turn of the loop."""

BUSY_SECONDS = 0.02
"""How long a unix socket whose queue is full is left alone: nothing tells when there is room."""


class AsyncStream(httpcore.AsyncNetworkStream):
    """One connection: a socket of the standard library that never blocks, plain or TLS.

    Not `trio.SSLStream` or asyncio's transports, which move every byte through memory twice and take a turn of the loop
    at each step: a page took it twice as long as a blocking socket.
    """

    loop: ClassVar[Loop]

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._broken: OSError | None = None
        """What the socket raised after the bytes that were given last."""
        self._dry = False
        """Whether the socket gave less than it was asked for when it was read last, or was written to since."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return up to `max_bytes`, empty at the end."""
        with _mapped(httpcore.ReadTimeout, httpcore.ReadError, self.loop, timeout):
            if self._broken is not None:
                raise self._broken
            sock = self.sock
            tls = isinstance(sock, ssl.SSLSocket)
            size = min(max_bytes, RECORD_BYTES) if tls else max_bytes
            data = await self._received(sock, size)
            self._dry = len(data) < size
            if tls and len(data) >= WELL_FILLED:
                data = self._gathered(data, max_bytes)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`."""
        left = memoryview(buffer)
        with _mapped(httpcore.WriteTimeout, httpcore.WriteError, self.loop, timeout):
            await self.loop.check()
            while left:
                left = left[await self._sent(self.sock, left) :]
        self._dry = True  # what is asked for takes its time

    async def aclose(self) -> None:
        """Close at once: no goodbye is said to a peer that may never answer it."""
        self.close()

    def close(self) -> None:
        """Close at once. Nothing is waited for, so this holds in a cancelled task too."""
        if self.sock.fileno() != -1:
            self.loop.closing(self.sock)
            self.sock.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "AsyncStream":
        """Shake hands.

        Security:
            Rule 3. Threat: a certificate for another name. The name is never None, which would take any.
        """
        if not server_hostname:
            raise AssertionError("a handshake without a name would take a certificate for any")
        try:
            with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, self.loop, timeout):
                self.sock = sock = ssl_context.wrap_socket(
                    self.sock, server_hostname=server_hostname, do_handshake_on_connect=False
                )
                await self._hands_shaken(sock)
        except BaseException:
            self.close()
            raise
        return self

    def get_extra_info(self, info: str) -> ExtraInfo:
        """Return `server_addr` (the other end), `tls_version`, the socket or its state."""
        match info:
            case "ssl_object":
                return self.sock if isinstance(self.sock, ssl.SSLSocket) else None
            case "tls_version":
                return self.sock.version() if isinstance(self.sock, ssl.SSLSocket) else None
            case "server_addr":
                with contextlib.suppress(OSError):  # it was reset, and has no other end any more
                    return self.sock.getpeername()
                return None
            case "client_addr":
                return self.sock.getsockname()
            case "socket":
                return self.sock
            case "is_readable":
                return is_readable(self.sock)
            case _:
                return None

    async def _received(self, sock: socket.socket, size: int) -> bytes:
        """Return what has come, up to `size`, and wait for it where nothing has."""
        waited = self._dry and sock.fileno() != -1 and not (isinstance(sock, ssl.SSLSocket) and sock.pending())
        if waited:
            # To look first would mostly cost a call of the system and an exception for nothing.
            await self.loop.wait_readable(sock)
        else:
            await self.loop.before_read()
        while True:
            try:
                data = sock.recv(size)
            except (BlockingIOError, ssl.SSLWantReadError):
                await self.loop.wait_readable(sock)
            except ssl.SSLWantWriteError:
                await self.loop.wait_writable(sock)
            else:
                break
            waited = True
        if not waited:
            # A server that never lets the socket run dry must not keep every other task from its turn.
            await self.loop.after_read()
        return data

    async def _sent(self, sock: socket.socket, data: memoryview) -> int:
        """Send some of `data` and return how much."""
        while True:
            try:
                return sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                await self.loop.wait_writable(sock)
            except ssl.SSLWantReadError:
                await self.loop.wait_readable(sock)

    async def _hands_shaken(self, sock: ssl.SSLSocket) -> None:
        """Shake hands, waiting for whatever TLS says."""
        await self.loop.check()
        while True:
            try:
                sock.do_handshake()
            except ssl.SSLWantReadError:
                await self.loop.wait_readable(sock)
            except ssl.SSLWantWriteError:
                await self.loop.wait_writable(sock)
            else:
                return

    def _gathered(self, data: bytes, max_bytes: int) -> bytes:
        """Return `data` and what else has come: TLS gives a record at a time, and a turn of the loop costs more."""
        pieces = [data]
        room = max_bytes - len(data)
        while data and room:
            try:
                data = self.sock.recv(min(room, RECORD_BYTES))
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                # After what came before it. Asked again, the socket would only tell of an end.
                self._broken = error
                break
            pieces.append(data)
            room -= len(data)
        return b"".join(pieces)


class AsyncNetwork(httpcore.AsyncNetworkBackend):
    """The real network."""

    loop: ClassVar[Loop]
    stream: ClassVar[type[AsyncStream]]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[typing.Any] | None = None,
    ) -> AsyncStream:
        """Connect to an address or, for a service of the operator's, a name."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, self.loop, timeout):
            if not is_number(host):
                return await self._connect_named(host, port)
            sock = start_connecting(host, port)
            try:
                await self.loop.wait_writable(sock)
                finish_connecting(sock)
            except BaseException:
                sock.close()
                raise
            return self.stream(sock)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[typing.Any] | None = None
    ) -> AsyncStream:
        """Connect to a service on this machine."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, self.loop, timeout):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                while True:
                    await self.loop.check()
                    try:
                        sock.connect(path)
                    except BlockingIOError as error:
                        if error.errno != errno.EAGAIN:
                            raise
                        await self.loop.sleep(BUSY_SECONDS)
                    else:
                        return self.stream(sock)
            except BaseException:
                sock.close()
                raise

    async def connect_first(self, ips: Sequence[str], port: int, timeout: float, stagger: float) -> AsyncStream:
        """Return the first connection to stand, with a new attempt each `stagger` seconds (RFC 8305 §5)."""
        if len(ips) == 1:
            return await self.connect_tcp(ips[0], port, timeout)  # nothing to race with
        race = _Race(self, port, timeout)
        try:
            async with self.loop.beside() as attempts:
                for ip in ips:
                    attempts.start_soon(race.attempt, ip)
                    if await race.news(stagger):
                        break
                while not race.connected and race.failed < len(ips):
                    await race.news(float("inf"))
        except BaseException:
            race.close_all_but(None)
            raise
        race.close_all_but(race.winner)
        return race.winner

    async def sleep(self, seconds: float) -> None:
        """Wait: httpcore does so between its own retries."""
        await self.loop.sleep(seconds)

    async def _connect_named(self, host: str, port: int) -> AsyncStream:
        raise NotImplementedError


class _Race:
    """Several addresses of one name, connected to beside each other."""

    def __init__(self, network: AsyncNetwork, port: int, timeout: float) -> None:
        self.connected: list[AsyncStream] = []
        self.failed = 0
        self._network = network
        self._port = port
        self._timeout = timeout
        self._waiting = network.loop.lot()
        self._error: Exception = httpcore.ConnectError("there is no address to connect to")

    @property
    def winner(self) -> AsyncStream:
        """The first to stand.

        Raises:
            httpcore.NetworkError, httpcore.TimeoutException: None does; what the last of them met.
        """
        if not self.connected:
            raise self._error
        return self.connected[0]

    async def attempt(self, ip: str) -> None:
        """Take part."""
        try:
            self.connected.append(await self._network.connect_tcp(ip, self._port, self._timeout))
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            self._error = error
            self.failed += 1
        self._waiting.unpark_all()

    async def news(self, seconds: float) -> bool:
        """Wait so long for one to stand or to fail, and say whether one stands."""
        loop = self._network.loop
        failed = self.failed
        with loop.scope(loop.now() + seconds):
            while not self.connected and self.failed == failed:
                await self._waiting.park()
        return bool(self.connected)

    def close_all_but(self, winner: AsyncStream | None) -> None:
        """Close what lost."""
        for stream in self.connected:
            if stream is not winner:
                stream.close()


class _mapped:  # noqa: N801 - a context manager that reads like a word
    """Bound the time of what is done, and turn what the network raises into httpcore's own exceptions."""

    def __init__(self, slow: type[Exception], broken: type[Exception], loop: Loop, timeout: float | None) -> None:
        self._slow = slow
        self._broken = broken
        self._faults = loop.faults
        self._scope: Scope | None = None if timeout is None else loop.scope(loop.now() + max(timeout, 0.0))

    def __enter__(self) -> None:
        if self._scope is not None:
            self._scope.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scope is not None:
            self._scope.__exit__(kind, error, trace)
            if self._scope.cancelled_caught:
                raise self._slow("it took too long")
        if isinstance(error, self._faults):
            raise self._broken(str(error)) from error
