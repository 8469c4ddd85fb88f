"""HTTP/1.1 for the service: what a stranger's connection may do, and what it may not."""

import socket
import time
from typing import Any

import pytest
import trio

from hostcall_drivers.chat.allowed import Bounds
from hostcall_drivers.chat.server import ClientGoneError, Message, Receive, Scope, Send
from tests.drivers.chat.serving import running


class Spy:
    """An app for one test, that notes what happens to it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await getattr(self, scope["path"][1:])(scope, receive, send)
        except ClientGoneError:
            self.seen.append("gone in send")
            raise

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        await whole(send, body or b"nothing")

    async def waits(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the request, say nothing, and note the end of the connection."""
        message: Message = {"type": ""}
        while message["type"] != "http.disconnect":
            message = await receive()
        self.seen.append("disconnect")

    async def early(self, scope: Scope, receive: Receive, send: Send) -> None:
        await whole(send, b"too large", status=413)

    async def floods(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})

    async def raises(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("what a client wrote")

    async def breaks(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("half-way")

    async def forgets(self, scope: Scope, receive: Receive, send: Send) -> None:
        return


async def whole(send: Send, body: bytes, status: int = 200) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def head(path: str, *fields: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()


def read_all(sock: socket.socket) -> bytes:
    data = b""
    while piece := sock.recv(65_536):
        data += piece
    return data


def read_one(sock: socket.socket) -> bytes:
    """Read one response with a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(1)
    length = next(int(line[15:]) for line in data.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    body = b""
    while len(body) < length:
        body += sock.recv(length - len(body))
    return data + body


def until(condition: Any, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


@pytest.mark.parametrize("ahead", [b"", b"\r\n", head("/echo"), head("/echo") * 40])
def test_the_end_of_a_connection_is_seen_whatever_was_sent_ahead(ahead: bytes) -> None:
    spy = Spy()
    with running(spy) as service, connect(service.port) as sock:
        sock.sendall(head("/waits", "Content-Length: 2") + b"{}" + ahead)
        time.sleep(0.05)
        sock.close()
        assert until(lambda: spy.seen == ["disconnect"])


def test_a_client_that_sends_without_end_while_it_should_listen_is_let_go() -> None:
    spy = Spy()
    with running(spy, Bounds(head_bytes=1000)) as service, connect(service.port) as sock:
        sock.sendall(head("/waits", "Content-Length: 0") + b"x" * 5000)
        assert until(lambda: spy.seen == ["disconnect"])


def test_a_client_that_takes_nothing_is_let_go_and_harms_nobody() -> None:
    spy = Spy()
    with (
        running(spy, Bounds(send_seconds=0.3)) as service,
        connect(service.port) as slow,
        connect(service.port) as sock,
    ):
        slow.sendall(head("/floods", "Content-Length: 0"))
        sock.sendall(head("/echo", "Content-Length: 5") + b"hello")
        assert read_one(sock).endswith(b"hello")
        assert until(lambda: spy.seen == ["gone in send"])


def test_an_answer_that_comes_before_the_body_has_ended_is_still_read() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/early", "Content-Length: 50000000"))
        sock.settimeout(2)
        for _ in range(20):
            sock.sendall(b"x" * 65_536)
        assert read_all(sock).startswith(b"HTTP/1.1 413")


def test_a_body_that_nobody_waits_for_is_not_asked_for() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/early", "Content-Length: 50000000", "Expect: 100-continue"))
        assert read_one(sock).startswith(b"HTTP/1.1 413")


def test_a_body_that_is_waited_for_is_asked_for() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/echo", "Content-Length: 5", "Expect: 100-continue"))
        assert sock.recv(1000).startswith(b"HTTP/1.1 100")
        sock.sendall(b"hello")
        assert read_one(sock).endswith(b"hello")


def test_requests_that_came_together_are_answered_in_order_on_one_connection() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(b"".join(head("/echo", "Content-Length: 1") + letter for letter in (b"a", b"b", b"c")))
        assert [read_one(sock)[-1:] for _ in range(3)] == [b"a", b"b", b"c"]


def test_a_body_in_chunks_is_put_together_however_it_is_cut() -> None:
    spy = Spy()
    with running(spy) as service, connect(service.port) as sock:
        data = head("/echo", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n"
        for offset in range(len(data)):
            sock.sendall(data[offset : offset + 1])
        assert read_one(sock).endswith(b"abcdefg")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (head("/echo", "Content-Length: 1", "Content-Length: 2"), 400),
        (head("/echo", "Content-Length: x"), 400),
        (head("/echo", "Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n", 400),
        (head("/echo", "Transfer-Encoding: gzip"), 501),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (head("/echo", *(f"X-{n}: {'y' * 100}" for n in range(5000))), 431),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_gets_a_status_and_an_error_that_clients_can_read(sent: bytes, status: int) -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(sent)
        answer = read_all(sock)
        assert answer.startswith(f"HTTP/1.1 {status}".encode())
        assert b'{"error": {"message": "' in answer


def test_an_upgrade_that_is_asked_for_is_not_made() -> None:
    fields = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA")
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/echo", *fields, method="GET"))
        assert read_one(sock).startswith(b"HTTP/1.1 200")


def test_a_head_that_does_not_come_to_its_end_is_not_waited_for() -> None:
    with running(Spy(), Bounds(head_seconds=0.2)) as service, connect(service.port) as sock:
        sock.sendall(b"POST /echo HTTP/1.1\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 408")


def test_a_connection_that_asks_nothing_is_closed_without_a_word() -> None:
    with running(Spy(), Bounds(idle_seconds=0.2)) as service, connect(service.port) as sock:
        assert read_all(sock) == b""


def test_one_connection_too_many_is_told_so() -> None:
    with running(Spy(), Bounds(connections=2)) as service:
        with connect(service.port), connect(service.port), connect(service.port) as third:
            answer = read_all(third)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 5" in answer.lower()
        assert until(lambda: answers_again(service.port))


def answers_again(port: int) -> bool:
    with connect(port) as sock:
        sock.sendall(head("/echo", "Content-Length: 1", "Connection: close") + b"a")
        return read_all(sock).startswith(b"HTTP/1.1 200")


def test_a_fault_of_the_app_is_a_500_without_its_text_and_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with running(Spy()) as service:
        for path in ("/raises", "/forgets"):
            with connect(service.port) as sock:
                sock.sendall(head(path, "Content-Length: 0"))
                answer = read_all(sock)
                assert answer.startswith(b"HTTP/1.1 500")
                assert b"Traceback" not in answer
                assert b"what a client wrote" not in answer
    assert "RuntimeError at " in caplog.text
    assert "what a client wrote" not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_response_that_breaks_off_does_not_look_whole() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/breaks", "Content-Length: 0"))
        answer = read_all(sock)
        assert b"half" in answer
        assert not answer.endswith(b"0\r\n\r\n")


def test_a_head_request_gets_the_head_alone() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(head("/early", method="HEAD") + head("/early", "Connection: close", method="HEAD"))
        answer = read_all(sock)
        assert answer.count(b"HTTP/1.1 413") == 2
        assert b"too large" not in answer


def test_a_client_of_http_1_0_gets_its_answer_and_the_end() -> None:
    with running(Spy()) as service, connect(service.port) as sock:
        sock.sendall(b"POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")
        assert read_all(sock).endswith(b"\r\n\r\nhello")


def test_the_end_waits_for_what_is_being_answered_and_for_nothing_else() -> None:
    class Slow(Spy):
        async def slow(self, scope: Scope, receive: Receive, send: Send) -> None:
            await trio.sleep(0.4)
            await whole(send, b"done")

    with running(Slow(), grace=5.0) as service, connect(service.port) as idle, connect(service.port) as sock:
        idle.sendall(head("/echo", "Content-Length: 1") + b"a")
        assert read_one(idle).endswith(b"a")
        sock.sendall(head("/slow", "Content-Length: 0"))
        time.sleep(0.1)
        service.stop()
        assert read_all(idle) == b""
        answer = read_all(sock)
        assert answer.endswith(b"done")
        assert b"connection: close" in answer.lower()
        with pytest.raises(OSError, match="refused"):
            connect(service.port)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_piece_that_is_written_at_once_is_part_of_the_body_and_an_empty_one_is_not_its_end(version: str) -> None:
    class AtOnce(Spy):
        async def at_once(self, scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"one", "more_body": True})
            for piece in (b"", b"two", b"", b"three"):
                assert scope["hostcall.write_now"](piece)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    with running(AtOnce()) as service, connect(service.port) as sock:
        sock.sendall(f"GET /at_once HTTP/{version}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        _, _, body = read_all(sock).partition(b"\r\n\r\n")
    chunks = b"3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n"
    assert body == (chunks if version == "1.1" else b"onetwothree")
