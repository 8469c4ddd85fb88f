"""Requests of the async drivers to the operator's services: engines and search.

Over h11 and not over httpcore's pool: five generators stand there between the socket and a piece of a body, which for a
stream of tokens is a third of the whole cost of an answer. Its exceptions are kept, so that all drivers tell of one
failure in one way.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TypeAlias

import attrs
import httpcore

from hostcall.data import HttpRequest
from hostcall_drivers.async_network import AsyncNetwork, AsyncStream
from hostcall_drivers.common import READ_BYTES
from hostcall_drivers.loops import Loop
from hostcall_drivers.reply import Reply
from hostcall_drivers.services import STALE, RawHeaders, Service, service_tls_context

KEPT = 16
"""Connections to one service that are kept while nobody uses them."""
KEPT_SECONDS = 30.0
SLACK = 0.01
"""By what part of it a silence may last longer than was asked for: its end need not be moved for every token."""

Place: TypeAlias = tuple[str, str, int, str | None, ssl.SSLContext | None]
"""What a connection can be used again for: scheme, host, port, socket and TLS settings."""


@attrs.define(eq=False)
class Link:
    """One connection to a service."""

    stream: AsyncStream
    fresh: bool = True
    """Whether no request was sent on it before."""
    until: float = 0.0
    """When it is let go, while nobody uses it."""

    @property
    def usable(self) -> bool:
        """Whether it may be used again: what has come on a silent connection is its end."""
        return self.fresh or (self.stream.loop.now() < self.until and not self.stream.get_extra_info("is_readable"))


@attrs.define(eq=False)
class Response:
    """A service's response: its head, and its body as it comes."""

    stream: AsyncStream
    _reply: Reply
    _silence: "Silence"

    @property
    def status(self) -> int:
        """The status of the head."""
        return self._reply.status

    @property
    def headers(self) -> RawHeaders:
        """The fields of the head."""
        return self._reply.headers

    async def read(self) -> bytes:
        """Return what has come of the body, at least a byte; empty at its end.

        Raises:
            httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException: It broke off.
        """
        reply = self._reply
        while (data := reply.read()) is None:
            self._silence.begin()
            reply.feed(await self.stream.read(READ_BYTES))
        return data

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent on its connection."""
        return self._reply.reusable

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


class Silence:
    """How long a service may be silent: a scope around the exchange whose end is moved while something is waited for.

    Args:
        loop: Whose time it is.
        seconds: How long; None for as long as it likes.
    """

    def __init__(self, loop: Loop, seconds: float | None) -> None:
        self._now = loop.now
        self._scope = loop.scope()
        self._seconds = seconds

    def __enter__(self) -> "Silence":
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise httpcore.ReadTimeout("silent")

    def begin(self) -> None:
        """Count from now on."""
        if self._seconds is not None:
            now = self._now()
            if not now + self._seconds <= self._scope.deadline <= now + self._seconds * (1 + SLACK):
                self._scope.deadline = now + self._seconds * (1 + SLACK)

    def pause(self) -> None:
        """Let time pass that is not the service's: whoever reads is slow."""
        self._scope.deadline = float("inf")


class AsyncServices:
    """The connections to the services, kept from request to request.

    Args:
        network: What connects.
        tls: TLS for those that bring none of their own; None: the system's authorities.
    """

    def __init__(self, network: AsyncNetwork, tls: ssl.SSLContext | None = None) -> None:
        self.network = network
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
        with Silence(self.network.loop, idle) as silence:
            place = self._place(service)
            response = await self._response(place, service, request, silence, idle)
            try:
                yield response
            except BaseException:
                response.stream.close()
                raise
            self._done_with(response, place)

    async def _response(
        self, place: Place, service: Service, request: HttpRequest, silence: Silence, idle: float | None
    ) -> Response:
        while True:
            reply = Reply(service, request)
            link = self._again(place) or await self._connected(service, place[4], idle)
            try:
                await _asked(link.stream, reply, silence, idle)
            except BaseException as error:
                link.stream.close()
                if link.fresh or not isinstance(error, STALE):
                    raise
                # It met the end of a kept connection: llama-server says that it keeps one and closes it after a
                # stream. Such a request is sent again, as every client of HTTP does (RFC 9112 §9.3.1).
            else:
                return Response(link.stream, reply, silence)

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
            links.append(Link(response.stream, fresh=False, until=self.network.loop.now() + KEPT_SECONDS))
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


async def _asked(stream: AsyncStream, reply: Reply, silence: Silence, idle: float | None) -> None:
    """Send a request, and wait for the head of its reply."""
    with contextlib.suppress(httpcore.WriteError):  # a service may answer, and close, before it has read all
        await stream.write(reply.to_send, idle)
    while not reply.read_head():
        silence.begin()
        reply.feed(await stream.read(READ_BYTES))
