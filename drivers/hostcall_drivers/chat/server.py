"""HTTP/1.1 for one ASGI app, on trio and h11.

Small because it does little: no HTTP/2, no WebSocket, no TLS (the reverse proxy's work). What it does, it does for a
service whose answers are long streams and whose clients are strangers. The servers for ASGI on trio that there are do
not: one that was measured ran an answer on when its client had sent a byte ahead, could not cancel a send, stood still
when an answer came before the body, and let a client change to HTTP/2. Here:

- The end of a connection is seen at once, whatever the app is doing and whatever the client has sent ahead.
- A send can be cancelled, and ends by itself when a client takes nothing for `send_seconds`.
- Nothing a client sends is held without a bound, and an answer that comes before the body has ended is still read.
- A fault on one connection ends that connection alone.
"""

import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from email.utils import formatdate
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

import h11
import trio

from hostcall_drivers.chat.allowed import Bounds
from hostcall_drivers.chat.faults import error_body, phrase

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

READ_BYTES = 65_536
LINGER_SECONDS = 2.0
"""How long a client that was answered early may go on sending, so that it reads the answer and not a reset."""
LAST_SECONDS = 2.0
"""What is left for goodbyes when the grace of a shutdown is over."""

_LOG = logging.getLogger("hostcall.chat")


class ClientGoneError(OSError):
    """The client is no longer there: it closed the connection, or took nothing for too long."""


class Server:
    """Serves an app on listeners until it is told to stop."""

    def __init__(self, app: App, bounds: Bounds) -> None:
        self.app = app
        self.bounds = bounds
        self.stopping = False
        self.open = 0
        self.idle: dict[int, trio.CancelScope] = {}
        """The connections that wait for their next request."""
        self.sending: dict[Connection, float] = {}
        """The connections that send, and since when: one task looks at all of them, where a scope for each send would
        cost a tenth of the time of a stream."""

    async def serve(
        self,
        listeners: Sequence[trio.SocketListener],
        stop: trio.Event,
        *,
        grace: float,
        last_call: Callable[[], None],
    ) -> None:
        """Serve until `stop` is set and what is being answered has ended.

        Args:
            listeners: Where clients connect; closed at the end.
            stop: Set to end: no new connection and no new request is taken.
            grace: Seconds that running answers have from then on.
            last_call: Called when they are over, to end what still runs.
        """
        async with trio.open_nursery() as connections:
            connections.start_soon(self._let_go)
            async with trio.open_nursery() as accepting:
                accepting.start_soon(
                    partial(trio.serve_listeners, self._connection, list(listeners), handler_nursery=connections)
                )
                await stop.wait()
                accepting.cancel_scope.cancel()
            self.stopping = True
            for scope in self.idle.values():
                scope.cancel()
            connections.start_soon(self._end, grace, last_call, connections.cancel_scope)

    async def _let_go(self) -> None:
        """Let clients go that take nothing for `send_seconds`."""
        while True:
            await trio.sleep(self.bounds.send_seconds / 8)
            late = trio.current_time() - self.bounds.send_seconds
            for connection in [one for one, since in self.sending.items() if since < late]:
                connection.let_go()

    async def _end(self, grace: float, last_call: Callable[[], None], connections: trio.CancelScope) -> None:
        end = trio.current_time() + grace
        while self.open and trio.current_time() < end:
            await trio.sleep(0.05)
        last_call()
        with trio.move_on_after(LAST_SECONDS):
            while self.open:
                await trio.sleep(0.02)
        connections.cancel()

    async def _connection(self, stream: trio.SocketStream) -> None:
        self.open += 1
        try:
            connection = Connection(self, stream)
            if self.open > self.bounds.connections:
                await connection.turn_away()
            else:
                await connection.run()
        except (trio.BrokenResourceError, trio.ClosedResourceError, ClientGoneError):
            return
        except Exception as error:  # noqa: BLE001 - a fault on one connection must not end the others
            log_fault(error)
        finally:
            self.open -= 1
            await trio.aclose_forcefully(stream)


class Connection:
    """One connection: its requests, one after the other."""

    def __init__(self, server: Server, stream: trio.SocketStream) -> None:
        self._server = server
        self._bounds = server.bounds
        self._stream = stream
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=server.bounds.head_bytes)
        self._changed = trio.lowlevel.ParkingLot()
        self._new_request(b"")

    def _new_request(self, method: bytes) -> None:
        self._method = method
        self._piece: bytes | None = None
        self._body_ended = False
        self._told_end = False
        self._gone = False
        self._broken = False
        """Whether what the client sent as a body is none."""
        self._head: h11.Response | None = None
        self._chunked = False
        self._unsent = b""
        """What the socket had no room for."""
        self._whole = False
        """Whether the whole response was sent."""

    async def run(self) -> None:
        """Answer requests until the connection ends."""
        while (request := await self._next_request()) is not None:
            self._new_request(request.method)
            await self._answer(request)
            again = self._whole and not self._gone and not self._server.stopping
            if not again or (self._wire.our_state, self._wire.their_state) != (h11.DONE, h11.DONE):
                break
            self._wire.start_next_cycle()
        if self._whole and not self._gone and self._wire.their_state is h11.SEND_BODY:
            await self._linger()

    def let_go(self) -> None:
        """Close the connection under whoever sends on it."""
        self._gone = True
        self._stream.socket.close()

    async def turn_away(self) -> None:
        """Tell a client that there are too many."""
        with trio.move_on_after(LINGER_SECONDS):
            await self._refuse(503, "too many connections; try again later")
            await self._linger()

    # The head.

    async def _next_request(self) -> h11.Request | None:
        """Return the head of the next request; None when there is none, whatever the reason."""
        started = self._wire.trailing_data[0] != b""
        bounds = self._bounds
        try:
            with trio.CancelScope() as scope:
                scope.deadline = trio.current_time() + (bounds.head_seconds if started else bounds.idle_seconds)
                if not started:
                    self._server.idle[id(self)] = scope
                while True:
                    event = self._wire.next_event()
                    if isinstance(event, h11.Request):
                        if event.http_version not in (b"1.0", b"1.1"):
                            await self._refuse(505, "the service speaks HTTP/1.1")
                            return None
                        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                            # RFC 9112 §6.3: it "ought to be handled as an error". A proxy in front may believe the
                            # other of the two, and take a part of the body for the next client's request.
                            await self._refuse(400, "the body has both a length and chunks")
                            return None
                        return event
                    if event is not h11.NEED_DATA:
                        return None
                    data = bytes(await self._stream.receive_some(READ_BYTES))
                    if not data and not started:
                        return None
                    if not started:
                        started = True
                        self._server.idle.pop(id(self), None)
                        scope.deadline = trio.current_time() + bounds.head_seconds
                    self._wire.receive_data(data)
            if started:
                await self._refuse(408, "the head of the request did not come in time")
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            what = f"larger than {bounds.head_bytes} bytes" if status == 431 else "no HTTP/1.1"
            await self._refuse(status, f"the head of the request is {what}")
            await self._linger()
        finally:
            self._server.idle.pop(id(self), None)
        return None

    # The exchange.

    async def _answer(self, request: h11.Request) -> None:
        path, _, query = request.target.partition(b"?")
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": request.http_version.decode("ascii"),
            "method": request.method.decode("ascii"),
            "scheme": "http",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(request.headers),
            "client": None,
            "server": None,
            "state": {},
            "hostcall.write_now": self.write_now,
        }
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            try:
                await self._server.app(scope, self._receive, self._send)
                if not self._whole and not self._gone:
                    await self._fail("the app ended before its response did")
            except Exception as error:  # noqa: BLE001 - whatever the app raises, the client is told and others go on
                if not _tells_of_a_client(error):
                    log_fault(error)
                    await self._fail(type(error).__name__)
                elif not self._gone:
                    await self._fail("the app took the client for gone")
                forget(error)
            nursery.cancel_scope.cancel()

    async def _fail(self, why: str) -> None:
        if self._broken and self._wire.our_state is h11.SEND_RESPONSE:
            await self._refuse(400, "the body is not framed as HTTP/1.1 frames one")
            await self._linger()
        elif self._wire.our_state is h11.SEND_RESPONSE and not self._gone:
            _LOG.error("a request ended without a response: %s", why)
            await self._refuse(500, "the service has a fault; its log says more")
        else:
            self._gone = True

    async def _watch(self) -> None:
        """Read the body, and then watch for the end of the connection."""
        while not self._gone:
            if not self._body_ended:
                try:
                    event = self._wire.next_event()
                except h11.RemoteProtocolError:
                    self._broken = True
                    self._changed.unpark_all()
                    return
                if isinstance(event, h11.Data):
                    self._piece = bytes(event.data)
                    self._changed.unpark_all()
                    while self._piece is not None:
                        await self._changed.park()
                    continue
                if isinstance(event, h11.EndOfMessage):
                    self._body_ended = True
                    self._changed.unpark_all()
                    continue
            # What a client sends ahead of its answer is its next request, and waits its turn, but not without end.
            if self._body_ended and len(self._wire.trailing_data[0]) > self._bounds.head_bytes:
                break
            try:
                data = bytes(await self._stream.receive_some(READ_BYTES))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                break
            if not data:
                break
            self._wire.receive_data(data)
        self._gone = True
        self._changed.unpark_all()

    async def _receive(self) -> Message:
        if self._wire.they_are_waiting_for_100_continue:
            await self._write(self._sent(h11.InformationalResponse(status_code=100, headers=[])))
        while True:
            if self._piece is not None:
                piece, self._piece = self._piece, None
                self._changed.unpark_all()
                return {"type": "http.request", "body": piece, "more_body": True}
            if self._body_ended and not self._told_end:
                self._told_end = True
                return {"type": "http.request", "body": b"", "more_body": False}
            if self._gone or self._broken:
                return {"type": "http.disconnect"}
            await self._changed.park()

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # Goes out with the first piece of the body: an app can still say that it failed.
            headers = [*message["headers"], *_own_headers()]
            if self._server.stopping:
                headers.append((b"connection", b"close"))
            status = message["status"]
            self._head = h11.Response(status_code=status, headers=headers, reason=phrase(status))
            return
        data = b""
        if self._head is not None:
            data, self._head = self._sent(self._head), None
            # Where h11 has chosen chunks, a piece is framed here (RFC 9112 §7.1): it would take its state apart and
            # put it together again for each token.
            self._chunked = b"\r\ntransfer-encoding: chunked\r\n" in data.lower() and self._method != b"HEAD"
        body = message.get("body", b"")
        if body and self._chunked:
            data += _chunk(body)
        elif body and self._method != b"HEAD":
            data += self._sent(h11.Data(data=body))
        more = message.get("more_body", False)
        if not more:
            data += self._sent(h11.EndOfMessage())
        await self._write(data)
        self._whole = not more

    def write_now(self, body: bytes) -> bool:
        """Write a piece of a body whose length was not told, without waiting; ``scope["hostcall.write_now"]``.

        False: not all of it went out. The rest goes with the next message, and the app sends one, be it empty, before
        it writes again.
        """
        if self._head is not None or self._unsent:
            raise AssertionError("a piece may be written at once only where what comes before it is out")
        if self._gone:
            return False
        if not body:
            return True  # framed, it would be the end
        data = _chunk(body) if self._chunked else body  # to a client of HTTP/1.0 the body ends with the connection
        try:
            written = os.write(self._stream.socket.fileno(), data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._lost()
            return False
        self._unsent = data[written:]
        return not self._unsent

    def _sent(self, event: Any) -> bytes:
        return self._wire.send(event) or b""

    async def _write(self, data: bytes) -> None:
        if self._gone:
            raise ClientGoneError("the client closed the connection")
        if self._unsent:
            data, self._unsent = self._unsent + data, b""
        if not data:
            return
        try:
            # A piece of a stream nearly always fits into the socket's own buffer. To write it there costs a third of
            # `send_all`, which comes by the scheduler each time; what does not fit goes that way.
            written = os.write(self._stream.socket.fileno(), data)
        except BlockingIOError:
            written = 0
        except OSError as error:
            raise self._lost() from error
        if written == len(data):
            return
        self._server.sending[self] = trio.current_time()
        try:
            await self._stream.send_all(memoryview(data)[written:])
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise self._lost() from error
        finally:
            del self._server.sending[self]

    def _lost(self) -> ClientGoneError:
        self._gone = True
        self._changed.unpark_all()
        return ClientGoneError("the client takes nothing any more")

    async def _refuse(self, status: int, text: str) -> None:
        body = error_body(status, text)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(b"connection", b"close"), *_own_headers()]
        if status == 503:
            headers.append((b"retry-after", b"5"))
        head = self._sent(h11.Response(status_code=status, headers=headers, reason=phrase(status)))
        await self._write(head + self._sent(h11.Data(data=body)) + self._sent(h11.EndOfMessage()))
        self._whole = True

    async def _linger(self) -> None:
        """Let a client that is still sending read its answer: a close at once would be a reset to it."""
        with trio.move_on_after(LINGER_SECONDS):
            await self._stream.send_eof()
            while await self._stream.receive_some(READ_BYTES):
                pass


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def _own_headers() -> list[tuple[bytes, bytes]]:
    return [(b"date", formatdate(usegmt=True).encode()), (b"server", b"hostcall")]


def _tells_of_a_client(error: Exception) -> bool:
    """Say whether all that an exception tells of is that the client has gone; several tasks may notice it at once."""
    if isinstance(error, ExceptionGroup):
        return error.split(ClientGoneError)[1] is None
    return isinstance(error, ClientGoneError)


def forget(error: BaseException) -> None:
    """Cut an exception that was dealt with from the frames it came through.

    They hold it in turn, and with it would wait for the collector of cycles, and with them a whole answer.
    """
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or (one.__traceback__, one.__context__, one.__cause__) == (None, None, None):
            continue
        left += (one.__context__, one.__cause__)
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
        one.__traceback__ = one.__context__ = one.__cause__ = None


def log_fault(error: BaseException) -> None:
    """Write one line for a fault of our own: what and where. Its text may hold what a client wrote, and stays out."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "nowhere"
    _LOG.error("a fault of the service itself: %s at %s", type(error).__name__, where)
