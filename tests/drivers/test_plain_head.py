"""A head that is read at once is read as h11 reads it; every other is left to h11."""

import attrs
import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostcall.data import Bounds, Headers
from hostcall_drivers.plain_head import PlainHead, read_plain_head

BOUNDS = Bounds(
    head_bytes=65_536,
    headers=256,
    wire_bytes=3_000_000,
    data_events=65_536,
    chunk_line_bytes=65_536,
    connect_seconds=3.0,
)


def _read(head: str, bounds: Bounds = BOUNDS) -> PlainHead | None:
    return read_plain_head(head.encode("latin-1"), bounds)


@pytest.mark.parametrize(
    ("head", "status", "fields", "length"),
    [
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\ncontent-length: 12\r\n\r\nhello,\r\n\r\nwd",
            200,
            (("Content-Type", "text/html"), ("content-length", "12")),
            12,
        ),
        ("HTTP/1.0 404 Not Found\r\n\r\n", 404, (), None),
        ("HTTP/1.1 302\r\nLocation:\t/a bX \t\r\n\r\n", 302, (("Location", "/a bX"),), None),
        ("HTTP/1.1 599 \r\nX:\r\n\r\n", 599, (("X", ""),), None),
        ("HTTP/1.1 200 \xc5\xbd\r\nX: :\xff: \r\n\r\n", 200, (("X", ":\xff:"),), None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: b\r\n\r\n", 200, (("Content-Length", "0"), ("A", "b")), 0),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: " + "9" * 18 + "\r\n\r\n",
            200,
            (("Content-Length", "9" * 18),),
            10**18 - 1,
        ),
    ],
)
def test_a_plain_head_is_read(head: str, status: int, fields: Headers, length: int | None) -> None:
    assert _read(head) == PlainHead(head.index("\r\n\r\n") + 4, status, fields, length)


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 200 OK\r\nA: b\r\n",  # not whole yet
        "HTTP/1.1 200 OK\r\nA: b",
        "HTTP/1.1 200 OK\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\n\r\nC: d\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\xe9: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\x7f\r\n\r\n",
        "HTTP/1.1 200 O\x01K\r\n\r\n",
        "HTTP/1.1 200OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n",
        "HTTP/1.1 0200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        " HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: identity\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: " + "1" * 19 + "\r\n\r\n",
        "\r\n\r\n",
        "",
    ],
)
def test_a_doubtful_head_is_left_to_h11(head: str) -> None:
    assert _read(head) is None


def test_a_head_over_its_bounds_is_left_to_h11() -> None:
    head = "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"
    assert _read(head, attrs.evolve(BOUNDS, head_bytes=len(head), headers=2)) is not None
    assert _read(head, attrs.evolve(BOUNDS, head_bytes=len(head) - 1)) is None
    assert _read(head, attrs.evolve(BOUNDS, headers=1)) is None


_LINES = st.lists(
    st.one_of(
        st.from_regex(r"[!-~]{1,5}:[ \t]{0,2}[ -~\t\x80-\xff\x00\x0b\x0c\x1c\x1f\x85]{0,8}", fullmatch=True),
        st.sampled_from(["Content-Length: 3", "content-length:03", "Transfer-Encoding: chunked", "Connection: close"]),
        st.text(st.characters(max_codepoint=255), max_size=6),
    ),
    max_size=4,
)
_STARTS = st.one_of(
    st.sampled_from(["HTTP/1.1 200 OK", "HTTP/1.0 500", "HTTP/1.1 999  \t", "HTTP/1.1 204 No", "HTTP/0.9 200 OK"]),
    st.from_regex(r"HTTP/[0-2]\.[0-2] [0-9]{2,4} ?[ -~\x80-\xff]{0,4}", fullmatch=True),
)
_ENDS = st.sampled_from(["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r"])


@given(_STARTS, _LINES, st.lists(_ENDS, min_size=6, max_size=6))
@example("HTTP/1.1 200 OK", ["A: b\x0b"], ["\r\n"] * 6)
@example("HTTP/1.1 200 OK", ["Content-Length: 007"], ["\r\n"] * 6)
def test_what_is_read_is_what_h11_reads(start: str, lines: list[str], ends: list[str]) -> None:
    data = "".join(line + end for line, end in zip([start, *lines, ""], ends, strict=False)).encode("latin-1")
    head = read_plain_head(data + b"abc", BOUNDS)
    if head is None:
        return
    wire = h11.Connection(h11.CLIENT)
    wire.send(h11.Request(method="GET", target="/", headers=[("Host", "")]))
    wire.send(h11.EndOfMessage())
    wire.receive_data(data + b"abc")
    event = wire.next_event()
    assert isinstance(event, h11.Response)
    fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items())
    assert (head.status, head.fields) == (event.status_code, fields)
    rest, _ = wire.trailing_data
    assert rest == (data + b"abc")[head.size :]
    body = wire.next_event()
    if head.length == 0:
        assert isinstance(body, h11.EndOfMessage)
    else:
        assert isinstance(body, h11.Data)
        assert bytes(body.data) == rest[: head.length]
