"""The exchange of one request and its reply with a service of the operator's, as pure code: bytes in, the body out.

The head goes by h11, and so does a body with a length or up to the connection's end; chunks are read together. What is
wrong is one of httpcore's exceptions, so that all drivers tell of one failure in one way.
"""

import h11
import httpcore

from hostcall.data import HttpRequest
from hostcall_drivers.chunked import ChunkedBody
from hostcall_drivers.services import RawHeaders, Service

HEAD_BYTES = 100 * 1024
_CUT = "the service closed the connection in its reply"


class Reply:
    """One request and its reply.

    Args:
        service: Who is asked.
        request: For what.

    Raises:
        httpcore.LocalProtocolError: It cannot be sent as it is.
    """

    def __init__(self, service: Service, request: HttpRequest) -> None:
        self.status = 0
        self.headers: RawHeaders = []
        self._wire = wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._chunks: ChunkedBody | None = None
        """Reads the body, where it comes in chunks."""
        self._keeps = False
        """Whether the service keeps the connection afterwards."""
        self._came = b""
        """What came of the chunks and was not read yet."""
        self._ended = False
        self._broken = ""
        """What is wrong behind the bytes given last. Not an exception: its frames would hold what holds it."""
        try:
            head = h11.Request(method=request.method, target=service.target(request), headers=service.headers(request))
            pieces = [wire.send(head), wire.send(h11.Data(data=request.body)), wire.send(h11.EndOfMessage())]
        except h11.LocalProtocolError as error:
            raise httpcore.LocalProtocolError(str(error)) from error
        self.to_send = b"".join(piece or b"" for piece in pieces)
        """What to write to the connection, at once."""

    def feed(self, data: bytes) -> None:
        """Take what the connection gave; nothing is its end.

        Raises:
            httpcore.RemoteProtocolError: It ended without a response.
        """
        if self._chunks is not None:
            self._came += data
            if not data:
                self._broken = _CUT
        elif not data and self._wire.their_state is h11.SEND_RESPONSE:
            raise httpcore.RemoteProtocolError("the service closed the connection without a response")
        else:
            self._wire.receive_data(data)

    def read_head(self) -> bool:
        """Read the head, and say whether all of it has come.

        Raises:
            httpcore.RemoteProtocolError: It is none.
        """
        while True:
            event = self._next()
            if isinstance(event, h11.Response):
                self._take(event)
                return True
            if event is h11.NEED_DATA:  # else an answer before the answer, of which nothing is needed
                return False

    def read(self) -> bytes | None:
        """Return what has come of the body, at least a byte; empty at its end, None while nothing has come.

        Raises:
            httpcore.RemoteProtocolError: It broke off, or is none.
        """
        if self._ended:
            return b""
        if self._broken:
            raise httpcore.RemoteProtocolError(self._broken)
        return self._read_events() if self._chunks is None else self._read_chunks(self._chunks)

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent on its connection."""
        if not (self._ended and self._keeps):
            return False
        return not (self._wire.trailing_data[0] if self._chunks is None else self._chunks.rest)

    def _take(self, event: h11.Response) -> None:
        fields = event.headers
        bodiless = event.status_code in (204, 304)
        framed = not bodiless and any(name == b"transfer-encoding" for name, _ in fields)
        ends = bodiless or framed or any(name == b"content-length" for name, _ in fields)
        closes = any(name == b"connection" and b"close" in value.lower() for name, value in fields)
        self.status, self.headers = event.status_code, fields.raw_items()
        self._keeps = ends and not closes and event.http_version != b"1.0"
        if framed:
            self._chunks = ChunkedBody()
            self._came = self._wire.trailing_data[0]

    def _read_chunks(self, chunks: ChunkedBody) -> bytes | None:
        if not self._came:
            return None
        data, self._came = self._came, b""
        body = chunks.feed(data)
        self._ended = chunks.ended
        self._broken = chunks.fault
        if not body and self._broken:
            raise httpcore.RemoteProtocolError(self._broken)
        return body if body or self._ended else None

    def _read_events(self) -> bytes | None:
        pieces: list[bytes] = []
        while True:
            try:
                event = self._next()
            except httpcore.RemoteProtocolError as error:
                self._broken = str(error)
                if not pieces:
                    raise
                break
            if isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
            elif event is h11.NEED_DATA:
                if not pieces:
                    return None
                break
            else:
                self._ended = True
                break
        return b"".join(pieces)

    def _next(self) -> object:
        try:
            return self._wire.next_event()
        except h11.RemoteProtocolError as error:
            raise httpcore.RemoteProtocolError(str(error)) from error
