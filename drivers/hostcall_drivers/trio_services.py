"""Requests of the trio driver to the operator's services: engines and search.

Over h11 and not over httpcore's pool: five generators stand there between the socket and a piece of a body, which for a
stream of tokens is a third of the whole cost of an answer. Its exceptions are kept, so that both drivers tell of one
failure in one way.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import TypeAlias

import attrs
import h11
import httpcore
import trio

from hostcall.data import HttpRequest
from hostcall_drivers.chunked import ChunkedBody
from hostcall_drivers.common import READ_BYTES
from hostcall_drivers.services import STALE, RawHeaders, Service, service_tls_context
from hostcall_drivers.trio_network import TrioNetwork, TrioStream

KEPT = 16
"""Connections to one service that are kept while nobody uses them."""
KEPT_SECONDS = 30.0
HEAD_BYTES = 100 * 1024
SLACK = 0.01
"""By what part of it a silence may last longer than was asked for: its end need not be moved for every token."""

Place: TypeAlias = tuple[str, str, int, str | None, ssl.SSLContext | None]
"""What a connection can be used again for: scheme, host, port, socket and TLS settings."""


@attrs.define(eq=False)
class Link:
    """One connection to a service."""

    stream: TrioStream
    fresh: bool = True
    """Whether no request was sent on it before."""
    until: float = 0.0
    """When it is let go, while nobody uses it."""

    @property
    def usable(self) -> bool:
        """Whether it may be used again: what has come on a silent connection is its end."""
        return self.fresh or (trio.current_time() < self.until and not self.stream.get_extra_info("is_readable"))


@attrs.define(eq=False)
class Response:
    """A service's response: its head, and its body as it comes."""

    status: int
    headers: RawHeaders
    stream: TrioStream
    _wire: h11.Connection
    _chunks: ChunkedBody | None
    """Reads the body, where it comes in chunks."""
    _keeps: bool
    """Whether the service keeps the connection afterwards."""
    _silence: "_Silence"
    _came: bytes = b""
    """What came behind the head."""
    _ended: bool = False
    _broken: str = ""
    """What is wrong behind the bytes that were given last. Not an exception: its frames would hold what holds it."""

    async def read(self) -> bytes:
        """Return what has come of the body, at least a byte; empty at its end.

        Raises:
            httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException: It broke off.
        """
        if self._broken:
            raise httpcore.RemoteProtocolError(self._broken)
        if self._ended:
            return b""
        return await (self._read_events() if self._chunks is None else self._read_chunks(self._chunks))

    async def _read_chunks(self, chunks: ChunkedBody) -> bytes:
        data, self._came = self._came, b""
        while True:
            body = chunks.feed(data)
            self._ended = chunks.ended
            self._broken = chunks.fault
            if body or self._ended:
                return body
            if not self._broken:
                data = await self._more()
                self._broken = "" if data else "the service closed the connection in its reply"
            if self._broken:
                raise httpcore.RemoteProtocolError(self._broken)

    async def _read_events(self) -> bytes:
        pieces: list[bytes] = []
        while True:
            try:
                event = _event(self._wire)
            except httpcore.RemoteProtocolError as error:
                self._broken = str(error)
                if not pieces:
                    raise
                break
            if isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
            elif event is h11.NEED_DATA:
                if pieces:
                    break
                _receive(self._wire, await self._more())
            else:
                self._ended = True
                break
        return b"".join(pieces)

    async def _more(self) -> bytes:
        self._silence.begin()
        return await self.stream.read(READ_BYTES)

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent on its connection."""
        if not (self._ended and self._keeps):
            return False
        return not (self._wire.trailing_data[0] if self._chunks is None else self._chunks.rest)

    def pause(self) -> None:
        """Let time pass that is not the service's, until the next read: whoever reads is slow."""
        self._silence.pause()

    def aiter_stream(self) -> "Response":
        """Return the body, to be iterated."""
        return self

    def __aiter__(self) -> "Response":
        return self

    async def __anext__(self) -> bytes:
        data = await self.read()
        if not data:
            raise StopAsyncIteration
        return data


class _Silence:
    """How long a service may be silent: a scope around the exchange whose end is moved while something is waited for.

    Args:
        seconds: How long; None for as long as it likes.
    """

    def __init__(self, seconds: float | None) -> None:
        self.scope = trio.CancelScope()
        self._seconds = seconds

    def begin(self) -> None:
        """Count from now on."""
        if self._seconds is not None:
            now = trio.current_time()
            if not now + self._seconds <= self.scope.deadline <= now + self._seconds * (1 + SLACK):
                self.scope.deadline = now + self._seconds * (1 + SLACK)

    def pause(self) -> None:
        """Let time pass that is not the service's: whoever reads is slow."""
        self.scope.deadline = float("inf")


class TrioServices:
    """The connections to the services, kept from request to request.

    Args:
        tls: TLS for those that bring none of their own; None: the system's authorities.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.network = TrioNetwork()
        self._tls = tls
        self._kept: dict[Place, list[Link]] = {}

    @contextlib.asynccontextmanager
    async def sent(self, service: Service, request: HttpRequest, idle: float | None = None) -> AsyncIterator[Response]:
        """Send a request to a service, and give its response until the block is left.

        Args:
            service: Where to.
            request: What.
            idle: Seconds that the service may be silent, within a hundredth; None: as long as it likes. The time that
                the block takes between two reads counts, unless it says so (`Response.pause`).

        Raises:
            httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException: There was no response.
        """
        silence = _Silence(idle)
        with silence.scope:
            place = self._place(service)
            response = await self._response(place, service, request, silence, idle)
            try:
                yield response
            except BaseException:
                response.stream.close()
                raise
            self._done_with(response, place)
        if silence.scope.cancelled_caught:
            raise httpcore.ReadTimeout("silent")

    async def _response(
        self, place: Place, service: Service, request: HttpRequest, silence: _Silence, idle: float | None
    ) -> Response:
        while True:
            link = self._again(place) or await self._connected(service, place[4], idle)
            try:
                return await _asked(link, service, request, silence, idle)
            except BaseException as error:
                link.stream.close()
                if link.fresh or not isinstance(error, STALE):
                    raise
                # It met the end of a kept connection: llama-server says that it keeps one and closes it after a
                # stream. Such a request is sent again, as every client of HTTP does (RFC 9112 §9.3.1).

    def _again(self, place: Place) -> Link | None:
        """Return a connection that was kept, the one used last first."""
        links = self._kept.get(place, [])
        while links:
            link = links.pop()
            if link.usable:
                return link
            link.stream.close()
        return None

    async def _connected(self, service: Service, tls: ssl.SSLContext | None, idle: float | None) -> Link:
        if service.socket is not None:
            stream = await self.network.connect_unix_socket(service.socket, idle)
        else:
            stream = await self.network.connect_tcp(service.host, service.port, idle)
        if tls is not None:
            await stream.start_tls(tls, service.host, idle)
        return Link(stream)

    def _done_with(self, response: Response, place: Place) -> None:
        """Keep a connection whose response was read to its end; close any other."""
        links = self._kept.setdefault(place, [])
        if response.reusable and len(links) < KEPT:
            links.append(Link(response.stream, fresh=False, until=trio.current_time() + KEPT_SECONDS))
        else:
            response.stream.close()

    def _place(self, service: Service) -> Place:
        tls: ssl.SSLContext | None = None
        if service.scheme == "https":
            if service.tls is None and self._tls is None:
                self._tls = service_tls_context()
            tls = service.tls or self._tls
        return service.scheme, service.host, service.port, service.socket, tls

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        for links in self._kept.values():
            for link in links:
                link.stream.close()
        self._kept.clear()


async def _asked(link: Link, service: Service, request: HttpRequest, silence: _Silence, idle: float | None) -> Response:
    """Send a request, and return the response once its head is there."""
    wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    try:
        head = h11.Request(method=request.method, target=service.target(request), headers=service.headers(request))
        pieces = [wire.send(head), wire.send(h11.Data(data=request.body)), wire.send(h11.EndOfMessage())]
    except h11.LocalProtocolError as error:
        raise httpcore.LocalProtocolError(str(error)) from error
    with contextlib.suppress(httpcore.WriteError):  # a service may answer, and close, before it has read all
        await link.stream.write(b"".join(piece or b"" for piece in pieces), idle)
    while True:
        event = _event(wire)
        if isinstance(event, h11.Response):
            fields = event.headers
            bodiless = event.status_code in (204, 304)
            framed = not bodiless and any(name == b"transfer-encoding" for name, _ in fields)
            ends = bodiless or framed or any(name == b"content-length" for name, _ in fields)
            closes = any(name == b"connection" and b"close" in value.lower() for name, value in fields)
            return Response(
                status=event.status_code,
                headers=fields.raw_items(),
                stream=link.stream,
                wire=wire,
                chunks=ChunkedBody() if framed else None,
                keeps=ends and not closes and event.http_version != b"1.0",
                silence=silence,
                came=wire.trailing_data[0] if framed else b"",
            )
        if event is h11.NEED_DATA:  # else an answer before the answer, of which nothing is needed
            silence.begin()
            _receive(wire, await link.stream.read(READ_BYTES))


def _event(wire: h11.Connection) -> object:
    try:
        return wire.next_event()
    except h11.RemoteProtocolError as error:
        raise httpcore.RemoteProtocolError(str(error)) from error


def _receive(wire: h11.Connection, data: bytes) -> None:
    if not data and wire.their_state is h11.SEND_RESPONSE:
        raise httpcore.RemoteProtocolError("the service closed the connection without a response")
    wire.receive_data(data)
