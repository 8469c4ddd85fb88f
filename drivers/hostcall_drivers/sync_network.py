"""The network under the blocking driver: httpcore's backend interface over plain sockets, with one deadline a request.

A per-read timeout never fires against a server that drips a byte a second. So every operation here gets the *remaining*
time of the request in hand as its timeout, and a stream can be woken from another thread.
"""

import contextlib
import socket
import ssl
import threading
import time
import typing
from collections.abc import Iterable, Iterator, Sequence

import httpcore

from hostcall_drivers.reads import Reads
from hostcall_drivers.sockets import is_readable, start_connecting
from hostcall_drivers.sync_race import Race


class Clock(threading.local):
    """The deadline of the request that this thread works on."""

    deadline: float = float("inf")

    def remaining(self, timeout: float | None = None) -> float:
        """Return the seconds that the next operation may take.

        Raises:
            TimeoutError: None are left.
        """
        left = self.deadline - time.monotonic()
        if timeout is not None:
            left = min(left, timeout)
        if left <= 0:
            raise TimeoutError("no time is left")
        return min(left, threading.TIMEOUT_MAX)


class Wakeable:
    """What another thread can wake: the sockets on which a run waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: tuple[socket.socket, ...] = ()
        self.woken = threading.Event()

    @contextlib.contextmanager
    def waiting_on(self, *sockets: socket.socket) -> Iterator[None]:
        """Let `wake` end what is done with `sockets` inside this block.

        Raises:
            OSError: The run was woken before.
        """
        with self._lock:
            if self.woken.is_set():
                raise OSError("the run was cancelled")
            self._sockets = sockets
        try:
            yield
        finally:
            with self._lock:
                self._sockets = ()

    def wake(self) -> None:
        """End whatever blocks, now or later."""
        with self._lock:
            self.woken.set()
            for sock in self._sockets:
                _shut(sock)


class SyncStream(httpcore.NetworkStream):
    """One connection."""

    def __init__(self, sock: socket.socket, network: "SyncNetwork") -> None:
        self.sock = sock
        self.reads = Reads()
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return up to `max_bytes`, empty at the end."""
        with _mapped(httpcore.ReadTimeout, httpcore.ReadError), self._network.waiting_on(self.sock):
            self.sock.settimeout(self._network.clock.remaining(timeout))
            data = self.sock.recv(max_bytes)
        self.reads.took(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`. The time of `sendall` is that of the whole."""
        if not buffer:
            return
        with _mapped(httpcore.WriteTimeout, httpcore.WriteError), self._network.waiting_on(self.sock):
            self.sock.settimeout(self._network.clock.remaining(timeout))
            self.sock.sendall(buffer)

    def close(self) -> None:
        """Close at once."""
        self.sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "SyncStream":
        """Shake hands.

        Security:
            Rule 3. Threat: a certificate for another name. The name is never None, which would take any.
        """
        if not server_hostname:
            raise AssertionError("a handshake without a name would take a certificate for any")
        try:
            with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
                self.sock = ssl_context.wrap_socket(
                    self.sock, server_hostname=server_hostname, do_handshake_on_connect=False
                )
                with self._network.waiting_on(self.sock):
                    self.sock.settimeout(self._network.clock.remaining(timeout))
                    self.sock.do_handshake()
        except BaseException:
            self.close()
            raise
        return self

    def get_extra_info(self, info: str) -> typing.Any:
        """Return `server_addr` (the other end), `tls_version`, `reads` (what was read), the socket or its state."""
        match info:
            case "reads":
                return self.reads
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


class SyncNetwork(httpcore.NetworkBackend):
    """The real network."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._run = _Run()

    def begin(self, run: Wakeable | None) -> None:
        """Say which run this thread works for."""
        self._run.wakeable = run

    def waiting_on(self, *sockets: socket.socket) -> contextlib.AbstractContextManager[None]:
        """Let this thread's run be woken while it waits on `sockets`."""
        run = self._run.wakeable
        return contextlib.nullcontext() if run is None else run.waiting_on(*sockets)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[typing.Any] | None = None,
    ) -> SyncStream:
        """Connect to an address or, for a service of the operator's, a name."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            error: OSError = OSError(f"{host} has no address")
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                sock = socket.socket(family, kind, protocol)
                try:
                    with self.waiting_on(sock):
                        sock.settimeout(self.clock.remaining(timeout))
                        sock.connect(address)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return SyncStream(sock, self)
                except OSError as failed:
                    sock.close()
                    error = failed
            raise error

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[typing.Any] | None = None
    ) -> SyncStream:
        """Connect to a service on this machine."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                with self.waiting_on(sock):
                    sock.settimeout(self.clock.remaining(timeout))
                    sock.connect(path)
            except OSError:
                sock.close()
                raise
            return SyncStream(sock, self)

    def connect_first(self, ips: Sequence[str], port: int, timeout: float, stagger: float) -> SyncStream:
        """Connect to the first of some addresses that answers; each attempt may take so long, and has so much start."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            race = Race(lambda ip: self.start_connecting(ip, port), self.clock.remaining, self.waiting_on)
            return self.connected(*race.winner(ips, timeout, stagger), port)

    def start_connecting(self, ip: str, port: int) -> socket.socket:
        """Return a socket on its way to an address."""
        return start_connecting(ip, port)

    def connected(self, ip: str, sock: socket.socket, port: int) -> SyncStream:
        """Return the stream of a connection to an address that stands."""
        return SyncStream(sock, self)

    def sleep(self, seconds: float) -> None:
        """Wait: httpcore does so between its own retries."""
        time.sleep(min(seconds, self.clock.remaining()))


class _Run(threading.local):
    wakeable: Wakeable | None = None


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The base class's own: an SSL socket's would take the TLS object from under the thread that reads it.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


@contextlib.contextmanager
def _mapped(slow: type[Exception], broken: type[Exception]) -> Iterator[None]:
    """Turn what the network raises into httpcore's own exceptions."""
    try:
        yield
    except TimeoutError as error:
        raise slow(str(error)) from error
    except (OSError, ValueError) as error:
        raise broken(str(error)) from error
