"""The demo's world on the loopback: engine and search over HTTP, and the pages over real TLS.

``async with demo_world() as world`` starts two servers on ports of the system's choice and ends them with the block.
The servers hold no state but the pages, and bound what they take in.
"""

import datetime as dt
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import attrs
import h11
import trio
import trustme

from hostcall_drivers.demo import engine, pages, search
from hostcall_drivers.demo.network import DOMAIN, Mapping, resolve

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_HEAD_BYTES = 65_536
IDLE_SECONDS = 60.0
_READ_BYTES = 65_536

_Headers = tuple[tuple[str, str], ...]


@attrs.frozen
class Request:
    """One request, read."""

    method: str
    target: str
    host: str
    body: bytes


@attrs.frozen
class Answer:
    """What is sent back; a stream is sent chunk by chunk."""

    status: int
    headers: _Headers
    chunks: Iterable[bytes]


Handler = Callable[[Request], Answer]


@attrs.frozen(kw_only=True)
class World:
    """The running demo."""

    engine_url: str
    search_url: str
    ca: ssl.SSLContext
    """For clients of the pages: trusts the demo's own authority and no other."""
    mapping: Mapping

    def resolve(self, host: str) -> list[str]:
        """Return the addresses of a name; `socket.gaierror` for every name that is not the demo's."""
        return resolve(host)

    def map_address(self, ip: str, port: int) -> tuple[str, int]:
        """Return where a public address leads on the loopback; `KeyError` for every one that is not the demo's."""
        return self.mapping(ip, port)


@asynccontextmanager
async def demo_world(*, pace: float = 0.0) -> AsyncIterator[World]:
    """Run the demo's engine, search and pages on the loopback.

    Args:
        pace: Seconds between two pieces of a streamed reply, for those who want to see it written.
    """
    library = await trio.to_thread.run_sync(pages.all_pages)
    index = await trio.to_thread.run_sync(search.Index, library.values())

    def services(request: Request) -> Answer:
        if request.target.startswith("/search"):
            found = search.respond(index, request.method, request.target, request.body, dt.datetime.now(dt.UTC).date())
            return Answer(found[0], found[1], (found[2],))
        reply = engine.respond(request.method, request.target, request.body, created=int(time.time()))
        return Answer(reply.status, reply.headers, reply.chunks)

    def web(request: Request) -> Answer:
        status, headers, body = pages.respond(library, request.host, request.target)
        return Answer(status, headers, (body,))

    server_context, client_context = _tls()
    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        http_listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        tls_listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")

        async def serve_http(stream: trio.SocketStream) -> None:
            await _serve(stream, services, pace)

        async def serve_tls(stream: trio.SocketStream) -> None:
            await _serve(trio.SSLStream(stream, server_context, server_side=True, https_compatible=True), web, 0.0)

        nursery.start_soon(trio.serve_listeners, serve_http, http_listeners)
        nursery.start_soon(trio.serve_listeners, serve_tls, tls_listeners)
        url = f"http://127.0.0.1:{_port(http_listeners[0])}"
        mapping = Mapping(tls_port=_port(tls_listeners[0]))
        try:
            yield World(engine_url=url, search_url=url, ca=client_context, mapping=mapping)
        except BaseException as error:  # noqa: BLE001  raised again below, where the nursery does not wrap it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _port(listener: trio.SocketListener) -> int:
    return int(listener.socket.getsockname()[1])


def _tls() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the server's context and the clients', with an authority made for this run alone."""
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(pages.HOST, f"*.{DOMAIN}").configure_cert(server)
    # No `create_default_context`: it would trust the system's authorities too.
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    return server, client


async def _serve(stream: trio.abc.Stream, handler: Handler, pace: float) -> None:
    """Answer the requests of one connection, one after the other, until it ends or is idle."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
    try:
        async with stream:
            while await _one_request(stream, connection, handler, pace):
                connection.start_next_cycle()
    except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, h11.RemoteProtocolError):
        # The client went away, fell silent, or does not speak HTTP: there is nobody to answer.
        return


async def _one_request(stream: trio.abc.Stream, connection: h11.Connection, handler: Handler, pace: float) -> bool:
    """Answer one request; return whether another may follow."""
    head: h11.Request | None = None
    body = bytearray()
    with trio.fail_after(IDLE_SECONDS):
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(bytes(await stream.receive_some(_READ_BYTES)))
            elif isinstance(event, h11.Request):
                head = event
                if connection.they_are_waiting_for_100_continue:
                    await stream.send_all(connection.send(h11.InformationalResponse(status_code=100, headers=[])))
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_BODY_BYTES:
                    return False
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
    if head is None:
        raise AssertionError("h11 gives the head of a request before its end")
    await _send(stream, connection, _answered(handler, _request(head, bytes(body))), pace)
    return connection.our_state is h11.DONE and connection.their_state is h11.DONE


def _answered(handler: Handler, request: Request) -> Answer:
    try:
        return handler(request)
    except Exception as error:  # noqa: BLE001  one odd request must not end the demo; the client is told
        detail = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        return Answer(500, (("Content-Type", "text/plain; charset=utf-8"),), (detail,))


def _request(head: h11.Request, body: bytes) -> Request:
    fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    host = fields.get("host", "").rpartition(":")[0] or fields.get("host", "")
    return Request(head.method.decode("latin-1"), head.target.decode("latin-1"), host.lower(), body)


async def _send(stream: trio.abc.Stream, connection: h11.Connection, answer: Answer, pace: float) -> None:
    chunks = list(answer.chunks)
    headers = list(answer.headers)
    if len(chunks) == 1:
        headers.append(("Content-Length", str(len(chunks[0]))))
    start = connection.send(h11.Response(status_code=answer.status, headers=headers))
    await stream.send_all(start or b"")
    for chunk in chunks:
        await stream.send_all(connection.send(h11.Data(data=chunk)) or b"")
        if pace and len(chunks) > 1:
            await trio.sleep(pace)
    await stream.send_all(connection.send(h11.EndOfMessage()) or b"")
