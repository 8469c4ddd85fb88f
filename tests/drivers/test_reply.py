"""A service's reply, as bytes: however it is cut, the same comes of it."""

import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.data import HttpRequest
from hostcall_drivers.reply import Reply
from hostcall_drivers.services import Service

SERVICE = Service.at("http://127.0.0.1:8080/v1", name="engine", key="k")
REQUEST = HttpRequest("POST", "/v1/chat/completions", (("Accept", "*/*"),), b"{}")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
REPLIES = {
    "chunks": CHUNKED + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
    "chunks and more": CHUNKED + b"6\r\nonetwo\r\n0\r\n\r\nHTTP/1.1",
    "chunks cut off": CHUNKED + b"6\r\nonetwo\r\n",
    "chunks that are none": CHUNKED + b"6\r\nonetwo\r\nmore\r\n",
    "a length": LENGTH + b"onetwo",
    "a length and more": LENGTH + b"onetwothree",
    "a length cut off": LENGTH.replace(b"6", b"7") + b"onetwo",
    "to the end": b"HTTP/1.1 200 OK\r\n\r\nonetwo",
    "an answer before": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LENGTH + b"onetwo",
}


def read(pieces: list[bytes]) -> tuple[int, bytes, str, bool]:
    """Read a reply to its end: status, body, what is wrong with it, and whether its connection may be used again."""
    reply = Reply(SERVICE, REQUEST)
    left = [*pieces, b""]
    body = b""
    try:
        while not reply.read_head():
            reply.feed(left.pop(0))
        while True:
            data = reply.read()
            if data is None:
                reply.feed(left.pop(0))
            elif data:
                body += data
            else:
                return reply.status, body, "", reply.reusable
    except httpcore.RemoteProtocolError as error:
        with pytest.raises(httpcore.RemoteProtocolError):
            reply.read()  # once broken, it stays so
        return reply.status, body, str(error).partition("(")[0], reply.reusable


@pytest.mark.parametrize("name", REPLIES)
@given(cuts=st.sets(st.integers(1, 100)))
def test_whole_or_cut_a_reply_says_the_same(name: str, cuts: set[int]) -> None:
    data = REPLIES[name]
    ends = [*sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    whole = read([data])
    status, body, fault, reusable = read(pieces)
    assert (status, body, bool(fault)) == (whole[0], whole[1], bool(whole[2]))
    # What came behind the end is seen when it came with it; else the connection tells of it when it is used again.
    assert reusable is whole[3] or name.endswith("and more")
    assert body == b"onetwo"
    assert bool(fault) is (name.endswith(("cut off", "none")))


def test_what_is_sent_is_the_request_with_what_the_service_adds() -> None:
    assert Reply(SERVICE, REQUEST).to_send == (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\nAuthorization: Bearer k\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )


def test_a_reply_that_does_not_come_is_a_fault() -> None:
    reply = Reply(SERVICE, REQUEST)
    assert not reply.read_head()
    with pytest.raises(httpcore.RemoteProtocolError, match="without a response"):
        reply.feed(b"")
    cut = Reply(SERVICE, REQUEST)
    cut.feed(b"HTTP/1.1 200 OK\r\nX")
    assert not cut.read_head()
    with pytest.raises(httpcore.RemoteProtocolError):
        cut.feed(b"")


def test_a_head_without_end_is_given_up() -> None:
    reply = Reply(SERVICE, REQUEST)
    reply.feed(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 30_000)
    with pytest.raises(httpcore.RemoteProtocolError):
        reply.read_head()


def test_a_key_is_in_no_error() -> None:
    with pytest.raises(httpcore.LocalProtocolError) as caught:
        Reply(SERVICE, HttpRequest("GET", "/a b", ()))
    assert "Bearer" not in str(caught.value)
