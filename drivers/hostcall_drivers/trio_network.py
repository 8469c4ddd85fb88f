"""The network under the trio driver: httpcore's backend interface, with streams that close on any exception.

httpcore's own trio stream leaves its socket open when a handshake is cancelled (`trio.Cancelled` is no `Exception`);
these do not. A test or a demo puts another network in its place, which maps addresses to the loopback.
"""

import contextvars
import ssl
import typing
from collections.abc import Awaitable, Callable, Iterable

import httpcore
import trio

from hostcall_drivers.reads import Reads

ExtraInfo: typing.TypeAlias = typing.Any

before_reading: contextvars.ContextVar[Callable[[], Awaitable[None]] | None] = contextvars.ContextVar(
    "before_reading", default=None
)
"""What a task waits for before it reads on: its slow reader.

It waits here, inside the read, and not between two pieces of a body. A cancel that came there would leave httpcore's
generators half-way through, to be found by the garbage collector.
"""


class Body:
    """A request's body, as an iterator that is no generator: one that is left half-way needs no closing."""

    def __init__(self, data: bytes) -> None:
        self._pieces = [data] if data else []

    def __aiter__(self) -> "Body":
        return self

    async def __anext__(self) -> bytes:
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop()


class TrioStream(httpcore.AsyncNetworkStream):
    """One connection."""

    def __init__(self, stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]) -> None:
        self.inner = stream
        self.reads = Reads()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return up to `max_bytes`, empty at the end."""
        wait = before_reading.get()
        if wait is not None:
            await wait()
        with _mapped(httpcore.ReadTimeout, httpcore.ReadError), trio.fail_after(_bound(timeout)):
            data = bytes(await self.inner.receive_some(max_bytes))
        self.reads.took(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`."""
        if not buffer:
            return
        with _mapped(httpcore.WriteTimeout, httpcore.WriteError), trio.fail_after(_bound(timeout)):
            await self.inner.send_all(buffer)

    async def aclose(self) -> None:
        """Close at once: no goodbye is said to a peer that may never answer it."""
        await trio.aclose_forcefully(self.inner)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "TrioStream":
        """Shake hands.

        Security:
            Rule 3. Threat: a certificate for another name. The name is never None, which would take any.
        """
        if not server_hostname:
            raise AssertionError("a handshake without a name would take a certificate for any")
        stream = trio.SSLStream(
            self.inner, ssl_context, server_hostname=server_hostname, https_compatible=True, server_side=False
        )
        try:
            with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError), trio.fail_after(_bound(timeout)):
                await stream.do_handshake()
        except BaseException:
            await self.aclose()
            raise
        return TrioStream(typing.cast("trio.SSLStream[trio.SocketStream]", stream))

    def get_extra_info(self, info: str) -> ExtraInfo:
        """Return `server_addr` (the other end), `tls_version`, `reads` (what was read), the socket or its state."""
        stream = self.inner
        if info == "reads":
            return self.reads
        if info == "ssl_object":
            return stream._ssl_object if isinstance(stream, trio.SSLStream) else None
        if info == "tls_version":
            return stream.version() if isinstance(stream, trio.SSLStream) else None
        while isinstance(stream, trio.SSLStream):
            stream = stream.transport_stream
        match info:
            case "server_addr":
                return stream.socket.getpeername()
            case "client_addr":
                return stream.socket.getsockname()
            case "socket":
                return stream.socket
            case "is_readable":
                return stream.socket.is_readable()
            case _:
                return None


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
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError), trio.fail_after(_bound(timeout)):
            return TrioStream(await trio.open_tcp_stream(host, port))

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[typing.Any] | None = None
    ) -> TrioStream:
        """Connect to a service on this machine."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError), trio.fail_after(_bound(timeout)):
            return TrioStream(await trio.open_unix_socket(path))

    async def sleep(self, seconds: float) -> None:
        """Wait: httpcore does so between its own retries."""
        await trio.sleep(seconds)


def _bound(timeout: float | None) -> float:
    return float("inf") if timeout is None else max(timeout, 0.0)


class _mapped:  # noqa: N801 - a context manager that reads like a word
    """Turn what the network raises into httpcore's own exceptions."""

    def __init__(self, slow: type[Exception], broken: type[Exception]) -> None:
        self._slow = slow
        self._broken = broken

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, trio.TooSlowError):
            raise self._slow(str(error)) from error
        if isinstance(error, OSError | trio.BrokenResourceError | trio.ClosedResourceError | ssl.SSLError):
            raise self._broken(str(error)) from error
