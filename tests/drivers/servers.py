"""Real servers on the loopback, a thread each: an engine, a SearXNG, and strangers' sites behind real TLS."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl

import attrs
import trustme

from hostcall.testing import TODAY

Handler = Callable[["Connection"], None]

PUBLIC_V4 = "93.184.215.14"
PUBLIC_V6 = "2606:2800:220:1::1"


@attrs.define
class Connection:
    """One accepted connection, with its request's head already read."""

    sock: socket.socket
    head: bytes
    body: bytes
    server_name: str | None = None

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        """Send a whole answer and close."""
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.send("\r\n".join([*lines, "", ""]).encode() + body)


class Server:
    """A server whose `handler` is called with each request, in a thread of the connection's own."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None, family: int = socket.AF_INET) -> None:
        self.handler = handler
        self.tls = tls
        self.requests: list[Connection] = []
        self.accepted = 0
        self.closed = threading.Event()
        """Set when a client has closed a connection that the handler was still answering."""
        self._listener = socket.create_server(("127.0.0.1" if family == socket.AF_INET else "::1", 0), family=family)
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        self._stopped = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self._stopped:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._open.add(sock)
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        raw = sock
        try:
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
                self._open.discard(raw)
                self._open.add(sock)
            while (request := read_request(sock)) is not None:
                name = getattr(sock, "asked_name", None)
                connection = Connection(sock, *request, server_name=name)
                self.requests.append(connection)
                self.handler(connection)
                if b"connection: close" in request[0].lower():
                    return
        except OSError:
            self.closed.set()
        finally:
            self._open.discard(sock)
            sock.close()


def read_request(sock: socket.socket) -> tuple[bytes, bytes] | None:
    """Return head and body of the next request, or None at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65_536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        piece = sock.recv(65_536)
        if not piece:
            return None
        body += piece
    return head, body


# An engine and a search service.


@attrs.define
class ScriptedEngine:
    """Answers chat requests with the next of `replies`, the last one repeating; and `/v1/models`."""

    replies: Sequence[bytes | Handler]
    bodies: list[dict[str, Any]] = attrs.Factory(list)

    def __call__(self, connection: Connection) -> None:
        if connection.target == "/v1/models":
            connection.answer(200, json.dumps({"data": [{"id": "m"}]}).encode(), ("Content-Type", "application/json"))
            return
        self.bodies.append(json.loads(connection.body))
        reply = self.replies[min(len(self.bodies), len(self.replies)) - 1]
        if callable(reply):
            reply(connection)
        else:
            send_stream(connection, reply)


def send_stream(connection: Connection, body: bytes) -> None:
    """Send a stream as an engine does: chunked, an event a piece."""
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in body.split(b"\n\n"):
        if event:
            send_chunk(connection, event + b"\n\n")
    connection.send(b"0\r\n\r\n")


def send_chunk(connection: Connection, data: bytes) -> None:
    connection.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def searxng(results: list[dict[str, Any]]) -> Handler:
    """Return a search service that finds the same for every query."""

    def handle(connection: Connection) -> None:
        query = dict(parse_qsl(connection.target.partition("?")[2])).get("q", "")
        if not query:
            connection.answer(400, b'{"error": "No query"}', ("Content-Type", "application/json"))
            return
        body = json.dumps({"query": query, "results": results, "unresponsive_engines": []}).encode()
        connection.answer(200, body, ("Content-Type", "application/json"))

    return handle


def page(html: str, *headers: tuple[str, str]) -> Handler:
    """Return a site of one page."""
    return lambda connection: connection.answer(
        200, html.encode(), ("Content-Type", "text/html; charset=utf-8"), *headers
    )


def never(connection: Connection) -> None:
    """Take the request and say nothing, until the client goes away."""
    while connection.sock.recv(1024):
        continue
    raise OSError("the client closed the connection")


def drip(piece: bytes, seconds: float = 0.05) -> Handler:
    """Return a site that sends a piece again and again, for ever."""

    def handle(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            send_chunk(connection, piece)
            time.sleep(seconds)

    return handle


# TLS.


@attrs.define
class Authority:
    """A certificate authority of the tests', and what trusts it."""

    ca: trustme.CA = attrs.Factory(trustme.CA)

    def server(self, *names: str) -> ssl.SSLContext:
        """Return the TLS settings of a server with a certificate for `names`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(*names).configure_cert(context)

        def note(sock: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
            sock.asked_name = name  # type: ignore[union-attr]  # read back by the server above

        context.sni_callback = note
        return context

    def client(self) -> ssl.SSLContext:
        """Return the TLS settings of a client that trusts this authority alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.ca.configure_trust(context)
        context.set_alpn_protocols(["http/1.1"])
        return context


@contextlib.contextmanager
def site(authority: Authority, handler: Handler, *names: str, family: int = socket.AF_INET) -> Iterator[Server]:
    """Serve a site behind TLS."""
    with Server(handler, authority.server(*(names or ("docs.example.org",))), family) as server:
        yield server


__all__ = ["TODAY", "Authority", "Connection", "ScriptedEngine", "Server", "drip", "never", "page", "searxng", "site"]
