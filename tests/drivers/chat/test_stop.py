"""A client that leaves ends its answer, whatever the answer is doing: engine, search and page are left at once.

How fast is measured by `make load`; here it is enough that each is left at all, long before its own time limit.
"""

import contextlib
import gc
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hostcall import Answer
from hostcall.limits import Limits
from hostcall.testing import reply_calls
from hostcall_drivers.chat.answering import Answering
from hostcall_drivers.trio import Run
from tests.drivers.chat.serving import Service
from tests.drivers.chat.test_server import until
from tests.drivers.chat.world import FETCH, SEARCH, Held, World, world
from tests.drivers.servers import Authority, Connection

SECONDS = 10.0
"""Far less than any time limit of an answer, far more than a loaded machine takes."""

STREAMING = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"It "},"finish_reason":null}]}\n\n'
STARTED = STREAMING + b"%x\r\n%s\r\n" % (len(TOKEN), TOKEN)
HTML_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>Half"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def ask(service: Service, *, web: bool, stream: bool) -> socket.socket:
    import json

    asked = {"messages": [{"role": "user", "content": "x"}], "thor_web_search": web, "stream": stream}
    body = json.dumps(asked).encode()
    sock = socket.create_connection(("127.0.0.1", service.port), timeout=10)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body)
    return sock


def leaves(sock: socket.socket) -> None:
    sock.close()


def resets(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sock.close()


def sends_ahead_and_leaves(sock: socket.socket) -> None:
    sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n")
    sock.close()


@pytest.mark.parametrize("leave", [leaves, resets, sends_ahead_and_leaves])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "phase",
    ["passed, before the head", "passed, in the stream", "engine, before the head", "engine, in the stream", "search",
     "page, before the head", "page, in the body"],
)  # fmt: skip
def test_a_client_that_leaves_ends_its_answer(
    authority: Authority, phase: str, stream: bool, leave: Callable[[socket.socket], None]
) -> None:
    held = Held(before=STARTED if "stream" in phase else HTML_HEAD if "body" in phase else b"")
    settings: dict[str, Any] = {}
    replies: tuple[Any, ...] = (SEARCH, FETCH, held)
    if phase.startswith("passed"):
        replies = (held,)
    elif phase == "search":
        settings = {"searching": held}
    elif phase.startswith("page"):
        settings = {"reading": held}
    with world(*replies, authority=authority, **settings) as here:
        sock = ask(here.service, web=not phase.startswith("passed"), stream=stream)
        assert held.began.wait(SECONDS)
        leave(sock)
        assert held.gone.wait(SECONDS)
        assert idle(here)


@pytest.mark.parametrize("calls", [1, 3])
def test_all_searches_of_a_call_are_left(authority: Authority, calls: int) -> None:
    held = Held()
    more = reply_calls(("web_search", {"query": "a", "queries": [f"b{n}" for n in range(calls)]}))
    with world(more, authority=authority, searching=held) as here:
        sock = ask(here.service, web=True, stream=True)
        assert until(lambda: here.search.accepted == calls + 1, SECONDS)
        sock.close()
        assert until(lambda: not here.search._open, SECONDS)
        assert idle(here)


def idle(here: World) -> bool:
    """Whether nothing is left of any answer: no count, no task, no connection to engine, search or page."""
    chat = here.service.chat
    return until(lambda: chat.gate.running == 0 and not chat.running, SECONDS)


@contextlib.contextmanager
def nothing_is_collected() -> Iterator[list[object]]:
    """Turn the collector of cycles off, and give at the end what it would have found of answers."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += [type(item).__name__ for item in gc.garbage if isinstance(item, Answer | Run | Answering)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_has_ended_leaves_no_cycle(authority: Authority, *, stream: bool) -> None:
    """The service has the collector look rarely: what it was left would pile up."""
    with world(authority=authority) as here, nothing_is_collected() as found:
        status, _, _ = here.service.complete(
            messages=[{"role": "user", "content": "x"}], stream=stream, thor_web_search=True
        )
        assert status == 200
        assert until(lambda: not here.service.chat.running)
        time.sleep(0.05)
    assert found == []


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_was_left_leaves_no_cycle(authority: Authority, *, stream: bool) -> None:
    held = Held(before=STARTED)
    with world(SEARCH, FETCH, held, authority=authority) as here, nothing_is_collected() as found:
        sock = ask(here.service, web=True, stream=stream)
        assert held.began.wait(SECONDS)
        resets(sock)
        assert held.gone.wait(SECONDS)
        assert until(lambda: not here.service.chat.running)
        time.sleep(0.05)
    assert found == []


@pytest.mark.parametrize("web", [True, False])
@pytest.mark.parametrize("said", [b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", STARTED, STREAMING + b"no chunk\r\n"])
def test_an_answer_whose_engine_fails_leaves_no_cycle(authority: Authority, said: bytes, *, web: bool) -> None:
    def fails(connection: Connection) -> None:
        connection.send(said)
        connection.sock.shutdown(socket.SHUT_RDWR)

    with world(fails, authority=authority, limits=Limits(retry_seconds=0.01)) as here, nothing_is_collected() as found:
        with ask(here.service, web=web, stream=True) as sock:
            sock.settimeout(SECONDS)
            assert sock.recv(65_536)
        assert until(lambda: not here.service.chat.running)
        time.sleep(0.05)
    assert found == []
