"""One HTTP/1.1 exchange with a stranger's server, as pure code: bytes in, events out.

A plain head is read at once. Any other, and chunks, is read by h11, which knows the grammar and refuses a 101 that
nobody asked for. What it leaves to its caller is judged here: how much may come, counted to the byte and alike however
the bytes were cut (h11's own limit looks only at what is still incomplete); both framings at once; versions it has no
word on; and heads of status 1xx without end.

Nothing a server sends raises out of here. What is not HTTP, or over a bound, becomes ``Failed(kind="protocol")``; a
connection that closes too early becomes ``Failed(kind="reset")``. The details are our own sentences: h11's quote what
the server sent, and that is nothing for a journal.
"""

import re
from functools import cached_property

import h11

from hostcall.data import Bounds, Headers, HttpRequest
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, FailureKind, RequestEvent, ResponseEnded, ResponseStarted
from hostcall_drivers.plain_head import PlainHead, read_plain_head

_SLICE = 4096
"""h11 tells how far it has read only by a copy of what it has not, so it is fed pieces that are cheap to copy."""

_TOO_EARLY = "the connection closed before the answer was whole"
_VERSIONS = frozenset({b"1.0", b"1.1"})

# The state of h11 depends on no more than that something was asked with GET; the bytes are our own.
_ASKED = h11.Request(method="GET", target="/", headers=[("Host", "")])
_HEAD = re.compile(r"GET /[!-~]* HTTP/1\.1\r\n(?:[A-Za-z-]+: [ -~]+\r\n)+\r\n")


class Exchange:
    """One request and its answer on one connection.

    Args:
        request: What is sent, exactly.
        bounds: What may come back.
        id: The id of the events.
        peer: The address of the other end.
        tls_version: How the connection is encrypted.

    Security:
        Rule 5, limits on time, size and type. Threat: heads, chunk lines, trailers or pieces without end, each of which
        keeps a reader busy without ever reaching the limit of the body. Rule 7, nothing of the user's goes out: the
        request's fields are all that is sent.
    """

    def __init__(
        self,
        request: HttpRequest,
        bounds: Bounds,
        id: str,
        *,
        peer: str | None = None,
        tls_version: str | None = None,
    ) -> None:
        self.id = id
        self.done = False
        """Nothing more is read: the last event has been given."""
        self._bounds = bounds
        self._peer = peer
        self._tls_version = tls_version
        self._plain: PlainHead | None = None
        """The head, when h11 was not needed for it."""
        self._body_bytes = 0
        """How much came of the body behind it."""
        self.to_send = _head(request)
        """What to write to the connection, at once."""
        self._events: list[RequestEvent] = []
        self._pieces: list[bytes] = []
        """Body bytes of the events to come."""
        self._in_body = False
        self._chunked = False
        self._taken = 0
        """Bytes that came."""
        self._mark = 0
        """How many of them belong to what has been told or counted."""
        self._head_bytes = 0
        self._data_events = 0

    def receive(self, data: bytes) -> list[RequestEvent]:
        """Take bytes from the connection and return what they mean. After the last event there is nothing to take."""
        if self.done:
            return []
        room = self._bounds.wire_bytes - self._taken
        allowed = data[:room]
        if not self._taken and (plain := read_plain_head(allowed, self._bounds)) is not None:
            self._plain = plain
            self._tell_head(plain.status, plain.fields)
            self._read_plain(plain, allowed[plain.size :])
            self._taken = len(allowed)
        elif self._plain is not None:
            self._read_plain(self._plain, allowed)
            self._taken += len(allowed)
        else:
            self._read(allowed)
        if len(data) > room:
            self._fail("protocol", f"more than {self._bounds.wire_bytes} bytes came")
        return self._told()

    def receive_eof(self) -> list[RequestEvent]:
        """Take the end of the connection and return what it means."""
        if self.done:
            pass
        elif self._plain is None:
            self._connection.receive_data(b"")
            self._drain(closed=True)
        elif self._plain.length is None:
            self._ended()
        else:
            self._fail("reset", _TOO_EARLY)
        return self._told()

    # A body behind a plain head.

    def _read_plain(self, head: PlainHead, data: bytes) -> None:
        if head.length is not None:
            data = data[: head.length - self._body_bytes]
        if data:
            self._body_bytes += len(data)
            self._pieces.append(data)
        if self._body_bytes == head.length:
            self._ended()
        elif data:
            self._count_piece()

    # Everything else.

    @cached_property
    def _connection(self) -> h11.Connection:
        # One byte more than it is ever given unfinished, so that the bound that holds is always the one counted here.
        most = max(self._bounds.head_bytes, self._bounds.chunk_line_bytes) + 1
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=most)
        connection.send(_ASKED)
        connection.send(h11.EndOfMessage())
        return connection

    def _read(self, data: bytes) -> None:
        before = self._data_events
        at = 0
        while at < len(data) and not self.done:
            end = at + self._next_slice(len(data) - at)
            self._taken += min(end, len(data)) - at
            self._connection.receive_data(data[at:end])
            self._drain(closed=False)
            at = end
        if self._pieces and self._data_events == before:
            self._count_piece()

    def _next_slice(self, left: int) -> int:
        """Return how many bytes to look at next: never more than show that a head or a chunk line is too long.

        So it is the bound that is told of, and not what comes after it, wherever the bytes were cut.
        """
        if self._in_body and not self._chunked:
            return left
        line = self._bounds.chunk_line_bytes
        bound = line if self._in_body else self._bounds.head_bytes - self._head_bytes
        return min(_SLICE, line + 1, bound + 1 - (self._taken - self._mark))

    def _drain(self, *, closed: bool) -> None:
        """Take every event that h11 can make of the bytes so far."""
        while not self.done:
            try:
                event = self._connection.next_event()
            except h11.RemoteProtocolError:
                if closed and (self._in_body or not self._taken):
                    self._fail("reset", _TOO_EARLY)
                else:
                    self._fail("protocol", "the answer is not HTTP")
                return
            if event is h11.NEED_DATA:
                self._count_unfinished()
                return
            if isinstance(event, h11.Data):
                self._read_data(event)
            elif isinstance(event, h11.InformationalResponse | h11.Response):
                self._read_head(event)
            elif isinstance(event, h11.EndOfMessage):
                self._end()
            else:
                raise AssertionError(f"h11 gave {event!r}, which a client that reads one answer never sees")

    def _read_head(self, event: h11.InformationalResponse | h11.Response) -> None:
        self._head_bytes += self._since_mark()
        if self._head_bytes > self._bounds.head_bytes:
            self._fail("protocol", f"a head of more than {self._bounds.head_bytes} bytes")
        elif len(event.headers) > self._bounds.headers:
            self._fail("protocol", f"more than {self._bounds.headers} fields")
        elif event.http_version not in _VERSIONS:
            self._fail("protocol", "the answer is in another version of HTTP than 1.0 and 1.1")
        elif isinstance(event, h11.Response):
            names = {name for name, _ in event.headers}
            if {b"transfer-encoding", b"content-length"} <= names:
                # RFC 9112 §6.3: such a message "might indicate an attempt to perform request smuggling".
                self._fail("protocol", "the answer gives both a length and a transfer coding")
                return
            self._in_body = True
            self._chunked = b"transfer-encoding" in names
            fields: Headers = tuple(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
            )
            self._tell_head(event.status_code, fields)

    def _read_data(self, event: h11.Data) -> None:
        if self._chunked:
            self._since_mark()
        self._pieces.append(bytes(event.data))
        if event.chunk_start:
            self._count_piece()

    def _end(self) -> None:
        if self._chunked and self._since_mark() > self._bounds.chunk_line_bytes:
            self._fail("protocol", f"a trailer of more than {self._bounds.chunk_line_bytes} bytes")
            return
        self._ended()

    # Counting.

    def _since_mark(self) -> int:
        """Return how many bytes it took to the end of the event just read, and count from there on."""
        read = self._taken - len(self._connection.trailing_data[0])
        taken = read - self._mark
        self._mark = read
        return taken

    def _count_unfinished(self) -> None:
        """Refuse a head, chunk line or trailer that is too long already, although its end has not come."""
        pending = self._taken - self._mark
        if not self._in_body and self._head_bytes + pending > self._bounds.head_bytes:
            self._fail("protocol", f"a head of more than {self._bounds.head_bytes} bytes")
        elif self._chunked and pending > self._bounds.chunk_line_bytes:
            self._fail("protocol", f"a chunk line or trailer of more than {self._bounds.chunk_line_bytes} bytes")

    def _count_piece(self) -> None:
        """Count a chunk, or what one call brought of a body without chunks: each costs about the same."""
        self._data_events += 1
        if self._data_events > self._bounds.data_events:
            self._fail("protocol", f"a body in more than {self._bounds.data_events} pieces")

    # Telling.

    def _tell_head(self, status: int, fields: Headers) -> None:
        self._events.append(ResponseStarted(self.id, status, fields, self._peer, self._tls_version))

    def _ended(self) -> None:
        self._tell_body()
        self._events.append(ResponseEnded(self.id))
        self.done = True

    def _fail(self, kind: FailureKind, detail: str) -> None:
        if not self.done:
            self._tell_body()
            self._events.append(Failed(self.id, kind, detail))
            self.done = True

    def _tell_body(self) -> None:
        if self._pieces:
            self._events.append(BodyReceived(self.id, b"".join(self._pieces)))
            self._pieces = []

    def _told(self) -> list[RequestEvent]:
        self._tell_body()
        events, self._events = self._events, []
        return events


def _head(request: HttpRequest) -> bytes:
    """Lay out what is sent: the request line, the fields in their order, and nothing else.

    Security:
        Rule 7, nothing of the user's goes out. Threat: a line end in an address, which would make a field of the rest.
        The core lets none through; this is the last place to look.

    Raises:
        LocalProtocolError: It is no GET of plain ASCII, or has a body.
    """
    lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers)]
    head = "\r\n".join([*lines, "", ""])
    if request.body or _HEAD.fullmatch(head) is None or head.count("\r\n") != len(lines) + 1:
        raise LocalProtocolError("what a page is asked for with is a GET of plain ASCII without a body")
    return head.encode("ascii")
