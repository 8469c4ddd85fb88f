"""The network under the trio driver: httpcore's backend interface, with streams that close on any exception.

httpcore's own trio stream leaves its socket open when a handshake is cancelled (`trio.Cancelled` is no `Exception`);
these do not. A test or a demo puts another network in its place, which maps addresses to the loopback.
"""

import contextlib
import socket
import ssl
import typing
from collections.abc import Iterable
from types import TracebackType

import httpcore
import trio

from hostcall_drivers.sockets import finish_connecting, is_number, is_readable, start_connecting

ExtraInfo: typing.TypeAlias = typing.Any

RECORD_BYTES = 16_384
"""What TLS gives at a time at the most (RFC 8446 §5.1). Room for more would be found and given back for nothing."""


WELL_FILLED = 4096
"""A record of so many bytes is looked behind for more. Behind a smaller one there is mostly nothing, and to be told so
costs as much as a turn of the loop."""


class TrioStream(httpcore.AsyncNetworkStream):
    """One connection: a socket of the standard library that never blocks, plain or TLS.

    Not `trio.SSLStream`, which moves every byte through memory twice and takes a turn of the loop at each step: a page
    took it twice as long as a blocking socket.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._broken: OSError | None = None
        """What the socket raised after the bytes that were given last."""
        self._dry = False
        """Whether the socket gave less than it was asked for when it was read last, or was written to since."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return up to `max_bytes`, empty at the end."""
        with _mapped(httpcore.ReadTimeout, httpcore.ReadError, timeout):
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
        with _mapped(httpcore.WriteTimeout, httpcore.WriteError, timeout):
            await trio.lowlevel.checkpoint_if_cancelled()
            while left:
                left = left[await self._sent(self.sock, left) :]
        self._dry = True  # what is asked for takes its time

    async def aclose(self) -> None:
        """Close at once: no goodbye is said to a peer that may never answer it."""
        self.close()

    def close(self) -> None:
        """Close at once. Nothing is waited for, so this holds in a cancelled scope too."""
        if self.sock.fileno() != -1:
            trio.lowlevel.notify_closing(self.sock)
            self.sock.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "TrioStream":
        """Shake hands.

        Security:
            Rule 3. Threat: a certificate for another name. The name is never None, which would take any.
        """
        if not server_hostname:
            raise AssertionError("a handshake without a name would take a certificate for any")
        try:
            with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, timeout):
                self.sock = sock = ssl_context.wrap_socket(
                    self.sock, server_hostname=server_hostname, do_handshake_on_connect=False
                )
                await _hands_shaken(sock)
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
            await trio.lowlevel.wait_readable(sock)
        else:
            await trio.lowlevel.checkpoint_if_cancelled()
        while True:
            try:
                data = sock.recv(size)
            except (BlockingIOError, ssl.SSLWantReadError):
                await trio.lowlevel.wait_readable(sock)
            except ssl.SSLWantWriteError:
                await trio.lowlevel.wait_writable(sock)
            else:
                break
            waited = True
        if not waited:
            # A server that never lets the socket run dry must not keep every other task from its turn.
            await trio.lowlevel.cancel_shielded_checkpoint()
        return data

    async def _sent(self, sock: socket.socket, data: memoryview) -> int:
        """Send some of `data` and return how much."""
        while True:
            try:
                return sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                await trio.lowlevel.wait_writable(sock)
            except ssl.SSLWantReadError:
                await trio.lowlevel.wait_readable(sock)

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


class TrioNetwork(httpcore.AsyncNetworkBackend):
    """The real network."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[typing.Any] | None = None,
    ) -> TrioStream:
        """Connect to an address or, for a service of the operator's, a name."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, timeout):
            if not is_number(host):
                return _taken_over(await trio.open_tcp_stream(host, port))
            sock = start_connecting(host, port)
            try:
                await trio.lowlevel.wait_writable(sock)
                finish_connecting(sock)
            except BaseException:
                sock.close()
                raise
            return TrioStream(sock)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[typing.Any] | None = None
    ) -> TrioStream:
        """Connect to a service on this machine."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError, timeout):
            return _taken_over(await trio.open_unix_socket(path))

    async def sleep(self, seconds: float) -> None:
        """Wait: httpcore does so between its own retries."""
        await trio.sleep(seconds)


async def _hands_shaken(sock: ssl.SSLSocket) -> None:
    """Shake hands, waiting for whatever TLS says."""
    await trio.lowlevel.checkpoint_if_cancelled()
    while True:
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            await trio.lowlevel.wait_readable(sock)
        except ssl.SSLWantWriteError:
            await trio.lowlevel.wait_writable(sock)
        else:
            return


def _taken_over(stream: trio.SocketStream) -> TrioStream:
    """Return trio's connection as one of ours."""
    sock = socket.socket(fileno=stream.socket.detach())
    sock.setblocking(False)
    return TrioStream(sock)


class _mapped:  # noqa: N801 - a context manager that reads like a word
    """Bound the time of what is done, and turn what the network raises into httpcore's own exceptions."""

    def __init__(self, slow: type[Exception], broken: type[Exception], timeout: float | None) -> None:
        self._slow = slow
        self._broken = broken
        self._scope = None if timeout is None else trio.move_on_after(max(timeout, 0.0))

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
        if isinstance(error, OSError | trio.ClosedResourceError):
            raise self._broken(str(error)) from error
