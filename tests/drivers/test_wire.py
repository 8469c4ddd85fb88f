"""One exchange as bytes: what is sent, what is told, and every bound counted alike however the bytes were cut."""

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.data import Bounds, HttpRequest
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall_drivers.wire import Exchange

REQUEST = HttpRequest("GET", "/a?b", (("Host", "example.org"), ("User-Agent", "x"), ("Connection", "close")))
BOUNDS = Bounds(
    head_bytes=65_536,
    headers=256,
    wire_bytes=3_000_000,
    data_events=65_536,
    chunk_line_bytes=65_536,
    connect_seconds=3.0,
)
SMALL = attrs.evolve(BOUNDS, head_bytes=120, headers=4, wire_bytes=400, data_events=5, chunk_line_bytes=40)


def _run(*pieces: bytes, bounds: Bounds = BOUNDS, eof: bool = True) -> list[RequestEvent]:
    """Return what an exchange tells of `pieces`, with the pieces of the body joined."""
    exchange = Exchange(REQUEST, bounds, "x", peer="93.184.215.14", tls_version="TLSv1.3")
    events: list[RequestEvent] = []
    for piece in pieces:
        events += exchange.receive(piece)
    if eof:
        events += exchange.receive_eof()
        assert exchange.done
    assert exchange.done == any(isinstance(event, ResponseEnded | Failed) for event in events)
    return _joined(events)


def _joined(events: Sequence[RequestEvent]) -> list[RequestEvent]:
    joined: list[RequestEvent] = []
    for event in events:
        if isinstance(event, BodyReceived) and joined and isinstance(joined[-1], BodyReceived):
            joined[-1] = BodyReceived("x", joined[-1].data + event.data)
        else:
            joined.append(event)
    return joined


def _bytes(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def _answer(*fields: str, body: bytes = b"<p>hi</p>", start: str = "HTTP/1.1 200 OK") -> bytes:
    return "\r\n".join([start, "Content-Type: text/html", *fields, "", ""]).encode("latin-1") + body


def _chunked(*lines: bytes, fields: Sequence[str] = ()) -> bytes:
    return _answer("Transfer-Encoding: chunked", *fields, body=b"".join(lines))


def _told(*pieces: bytes, bounds: Bounds = BOUNDS, eof: bool = True) -> str:
    """Return the events by their first letters: Started, Body, Ended, or the kind of the failure."""
    names = {ResponseStarted: "S", BodyReceived: "B", ResponseEnded: "E"}
    return " ".join(
        event.kind if isinstance(event, Failed) else names[type(event)]
        for event in _run(*pieces, bounds=bounds, eof=eof)
    )


class TestSending:
    def test_exactly_the_request_is_sent(self) -> None:
        exchange = Exchange(REQUEST, BOUNDS, "x")
        assert exchange.to_send == (
            b"GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: x\r\nConnection: close\r\n\r\n"
        )

    @pytest.mark.parametrize(
        "request_",
        [
            HttpRequest("GET", "/ x", (("Host", "example.org"),)),
            HttpRequest("GET", "x", (("Host", "example.org"),)),
            HttpRequest("GET", "/\r\nCookie: a", (("Host", "example.org"),)),
            HttpRequest("GET", "/\xe9", (("Host", "example.org"),)),
            HttpRequest("GET", "/", (("Host", "example.org\r\nCookie: a"),)),
            HttpRequest("GET", "/", (("Host", "example.org\n"),)),
            HttpRequest("GET", "/", (("Host", "example.org\r\n\r\nGET / HTTP/1.1"),)),
            HttpRequest("GET", "/", (("Ho st", "example.org"),)),
            HttpRequest("GET", "/", ()),
            HttpRequest("HEAD", "/", (("Host", "example.org"),)),
            HttpRequest("POST", "/", (("Host", "example.org"), ("Content-Length", "2")), b"{}"),
        ],
    )
    def test_a_request_that_is_no_plain_get_is_the_callers_mistake(self, request_: HttpRequest) -> None:
        """Above all a line end, which would make a field, or a second request, of what stands behind it."""
        said = "^what a page is asked for with is a GET of plain ASCII without a body$"
        with pytest.raises(LocalProtocolError, match=said):
            Exchange(request_, BOUNDS, "x")


class TestReading:
    def test_an_answer_with_a_length(self) -> None:
        assert _run(_answer("X-Y: \xe9", "Content-Length: 9")) == [
            ResponseStarted(
                "x",
                200,
                (("Content-Type", "text/html"), ("X-Y", "\xe9"), ("Content-Length", "9")),
                "93.184.215.14",
                "TLSv1.3",
            ),
            BodyReceived("x", b"<p>hi</p>"),
            ResponseEnded("x"),
        ]

    @pytest.mark.parametrize(
        "data",
        [
            _answer("Content-Length: 9"),
            _answer("Content-Length: 9", "Content-Length: 9"),
            _answer("Content-Length: 9, 9"),
            _answer(),
            _answer(start="HTTP/1.0 200 OK"),
            _answer("Content-Length: 9", start="HTTP/1.1 200"),
            _answer("Content-Length: 9", start="HTTP/1.1 200 "),
            _answer("Content-Length: 9", body=b"<p>hi</p>and more that nobody asked for"),
            _answer("X: a\r\n b", "Content-Length: 9"),
            _answer("Content-Length: 9").replace(b"\r\n", b"\n"),
            b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>\r\n\r\n" * 2 + _answer("Content-Length: 9"),
            _chunked(b"9\r\n<p>hi</p>\r\n0\r\n\r\n"),
            _chunked(b"5;x=y\r\n<p>hi\r\n4 \r\n</p>\r\n0\r\nTrailer: x\r\n\r\n"),
            _chunked(b"009\r\n<p>hi</p>\r\n000\r\n\r\n"),
        ],
    )
    def test_what_a_browser_would_read_is_read(self, data: bytes) -> None:
        for pieces in ([data], _bytes(data)):
            started, body, ended = _run(*pieces)
            assert isinstance(started, ResponseStarted)
            assert (body, ended) == (BodyReceived("x", b"<p>hi</p>"), ResponseEnded("x"))

    @pytest.mark.parametrize(
        "data", [_answer("Content-Length: 0", body=b""), _answer(start="HTTP/1.1 204 No Content", body=b"")]
    )
    def test_an_answer_without_a_body_ends_at_once(self, data: bytes) -> None:
        assert _told(data, eof=False) == "S E"

    @pytest.mark.parametrize("length", [3, 9])
    def test_a_body_is_as_long_as_its_length_says(self, length: int) -> None:
        head = _answer(f"Content-Length: {length}", body=b"")
        for pieces in (
            [head, b"ab", b"c", b"defghi", b"more"],
            [head + b"ab", b"cdefghimore"],
            [head + b"abcdefghimore"],
        ):
            assert _run(*pieces)[1:] == [BodyReceived("x", b"abcdefghi"[:length]), ResponseEnded("x")]

    def test_a_body_that_looks_like_a_head_is_a_body(self) -> None:
        head, other = _answer("Content-Length: 45", body=b""), _answer("Content-Length: 0", body=b"")
        assert _run(head, other)[1:] == [BodyReceived("x", other[:45]), ResponseEnded("x")]
        assert _run(head[:9], head[9:], other)[1:] == [BodyReceived("x", other[:45]), ResponseEnded("x")]

    def test_nothing_is_told_of_what_comes_behind_an_end_before_the_answer(self) -> None:
        exchange = Exchange(REQUEST, BOUNDS, "x")
        assert exchange.receive_eof() == [Failed("x", "reset", "the connection closed before the answer was whole")]
        assert exchange.receive(_answer("Content-Length: 9")) == []

    def test_nothing_more_is_told_after_the_end(self) -> None:
        exchange = Exchange(REQUEST, BOUNDS, "x")
        assert exchange.receive(_answer("Content-Length: 9"))
        assert exchange.done
        assert exchange.receive(b"HTTP/1.1 200 OK\r\n\r\n") == []
        assert exchange.receive_eof() == []

    def test_the_pieces_of_one_call_are_told_as_one(self) -> None:
        events = Exchange(REQUEST, BOUNDS, "x").receive(_chunked(b"1\r\na\r\n" * 100))
        assert [type(event) for event in events] == [ResponseStarted, BodyReceived]


class TestRefusing:
    @pytest.mark.parametrize(
        "data",
        [
            b"\x16\x03\x01\x00\r\n\r\n",
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"<html>\r\n\r\n",
            b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            _answer(start="HTTP/2.0 200 OK"),
            _answer(start="HTTP/1.2 200 OK"),
            _answer(start="HTTP/9.9 200 OK"),
            _answer(start="HTTP/1.1 abc OK"),
            _answer(start="HTTP/1.1 99 OK"),
            _answer(start="HTTP/1.1 20 OK"),
            _answer("Upgrade: x", "Connection: upgrade", start="HTTP/1.1 101 Switching Protocols"),
            b"HTTP/2.0 103 Hints\r\n\r\n",
            _answer("Content-Length: 9", "Content-Length: 10"),
            _answer("Content-Length: 9, 10"),
            _answer("Content-Length: +9"),
            _answer("Content-Length: -9"),
            _answer("Content-Length: 0x9"),
            _answer("Content-Length: nine"),
            _answer("Content-Length: "),
            _answer("Content-Length: " + "9" * 5000),
            _answer("Bad Header"),
            _answer("Bad : x"),
            _answer("Ba d: x"),
            _answer(": x"),
            _answer("X: a\x00b"),
            _answer("X: a\rb"),
            _answer("Transfer-Encoding: gzip"),
            _answer("Transfer-Encoding: xchunked"),
            _answer("Transfer-Encoding: chunked, chunked"),
            _answer("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
            _chunked(b"9\r\n<p>hi</p>\r\n0\r\n\r\n", fields=["Content-Length: 9"]),
            _chunked(b"9\r\n<p>hi</p>\r\n0\r\n\r\n", fields=["Content-Length: 3"]),
        ],
    )
    def test_a_head_that_is_not_plain_http_is_refused(self, data: bytes) -> None:
        for pieces in ([data], _bytes(data)):
            assert _told(*pieces) == "protocol"

    @pytest.mark.parametrize(
        "lines",
        [b"ZZ\r\n", b"-5\r\nhello\r\n", b"+5\r\nhello\r\n", b"0x5\r\nhello\r\n", b"\r\nhello\r\n",
         b"5\r\nhelloXX0\r\n\r\n", b"f" * 30 + b"\r\n", b" 5\r\nhello\r\n", b"5\r\nhello\r\n0\r\nBad Trailer\r\n\r\n"],
    )  # fmt: skip
    def test_chunks_that_are_not_plain_are_refused(self, lines: bytes) -> None:
        for pieces in ([_chunked(lines)], _bytes(_chunked(lines))):
            assert _told(*pieces).split()[-1] == "protocol"

    def test_what_is_refused_is_never_quoted(self) -> None:
        failed = _run(_answer("Bad secret text"))[-1]
        assert isinstance(failed, Failed)
        assert "secret" not in failed.detail

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (b"", "reset"),
            (b"HTTP/1.1 20", "protocol"),
            (b"HTTP/1.1 103 Hints\r\n\r\n", "protocol"),
            (_answer("Content-Length: 100"), "S B reset"),
            (_answer("Content-Length: 9", body=b""), "S reset"),
            (_chunked(b"9\r\n<p>hi"), "S B reset"),
            (_chunked(b"9\r\n<p>hi</p>\r\n"), "S B reset"),
            (_chunked(b"9\r\n<p>hi</p>\r\n0\r\n"), "S B reset"),
            (_chunked(b""), "S reset"),
        ],
    )
    def test_a_connection_that_closes_too_early(self, data: bytes, told: str) -> None:
        for pieces in ([data], _bytes(data)):
            assert _told(*pieces) == told

    def test_an_early_close_is_told_as_one(self) -> None:
        failed = Failed("x", "reset", "the connection closed before the answer was whole")
        assert _run() == [failed]
        assert _run(_answer("Content-Length: 100"))[-1] == failed


class TestBounds:
    """Each bound holds to the byte, and alike however the bytes were cut."""

    @staticmethod
    def _both(data: bytes, bounds: Bounds = BOUNDS, *, eof: bool = True) -> str:
        told = {_told(*pieces, bounds=bounds, eof=eof) for pieces in ([data], _bytes(data), [data[:70], data[70:]])}
        assert len(told) == 1
        return told.pop()

    def test_the_bytes_of_a_head(self) -> None:
        head = len(_answer("X: ", "Content-Length: 0", body=b""))
        data = _answer("X: " + "a" * (120 - head), "Content-Length: 0", body=b"")
        assert len(data) == 120
        assert self._both(data, SMALL) == "S E"
        assert self._both(data.replace(b"aaa", b"aaaa", 1), SMALL) == "protocol"

    def test_a_head_that_has_not_ended_is_refused_as_soon_as_it_is_too_long(self) -> None:
        assert self._both(_answer("X: " + "a" * 200), SMALL, eof=False) == "protocol"

    def test_a_head_as_long_as_it_may_be_is_not_too_long_yet(self) -> None:
        data = _answer("X: " + "a" * 200)
        for length, detail in ((120, "the answer is not HTTP"), (121, "a head of more than 120 bytes")):
            for pieces in ([data[:length]], _bytes(data[:length])):
                assert _run(*pieces, bounds=SMALL) == [Failed("x", "protocol", detail)]

    def test_the_heads_of_an_answer_are_counted_together_so_that_1xx_cannot_go_on_forever(self) -> None:
        hint = b"HTTP/1.1 102 Processing\r\n\r\n"
        assert self._both(hint * 2 + _answer("Content-Length: 0", body=b""), SMALL) == "S E"
        assert self._both(hint * 10, SMALL, eof=False) == "protocol"
        exchange = Exchange(REQUEST, BOUNDS, "x")
        for _ in range(10_000):
            if events := exchange.receive(hint):
                break
        assert [type(event) for event in events] == [Failed]

    @pytest.mark.parametrize(
        ("data", "detail"),
        [
            (_answer("X: " + "a" * 200), "a head of more than 120 bytes"),
            (_answer("X: " + "a" * 72, body=b""), "a head of more than 120 bytes"),
            (_chunked(b"1\r\na\r\n0\r\nT: " + b"x" * 29 + b"\r\n\r\n"), "a trailer of more than 40 bytes"),
            (b"HTTP/1.1 102 Wait\r\n\r\n" * 20, "a head of more than 120 bytes"),
            (_answer("X: " + "a" * 90 + "\nBad"), "a head of more than 120 bytes"),
            (_chunked(b"1;" + b"x" * 60), "a chunk line or trailer of more than 40 bytes"),
            (_chunked(b"1;" + b"x" * 60 + b"\nBad"), "a chunk line or trailer of more than 40 bytes"),
            (_chunked(b"1\r\na\r\n0\r\nT: " + b"x" * 60), "a chunk line or trailer of more than 40 bytes"),
            (_answer("A: 1", "B: 2", "C: 3", "D: 4"), "more than 4 fields"),
            (_answer(body=b"x" * 1000), "more than 400 bytes came"),
            (_chunked(b"1\r\na\r\n" * 6), "a body in more than 5 pieces"),
            (_answer(start="HTTP/2.0 200 OK"), "the answer is in another version of HTTP than 1.0 and 1.1"),
            (_chunked(fields=["Content-Length: 3"]), "the answer gives both a length and a transfer coding"),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
                "the answer gives both a length and a transfer coding",
            ),
            (b"nothing\r\n\r\n", "the answer is not HTTP"),
        ],
    )
    def test_the_bound_is_told_of_and_not_what_comes_after_it(self, data: bytes, detail: str) -> None:
        bounds = attrs.evolve(SMALL, data_events=1000) if "pieces" not in detail else SMALL
        for pieces in ([data], _bytes(data), [data[:70], data[70:]]):
            assert _run(*pieces, bounds=bounds, eof=False)[-1] == Failed("x", "protocol", detail)

    def test_the_number_of_fields(self) -> None:
        assert self._both(_answer("A: 1", "B: 2", "Content-Length: 0", body=b""), SMALL) == "S E"
        assert self._both(_answer("A: 1", "B: 2", "C: 3", "Content-Length: 0", body=b""), SMALL) == "protocol"

    def test_the_bytes_of_a_chunk_line_are_those_between_two_pieces_of_body(self) -> None:
        def data(size: int) -> bytes:
            return _chunked(b"1;" + b"x" * (size - 4) + b"\r\na\r\n0\r\n\r\n")

        assert self._both(data(40), SMALL) == "S B E"
        assert self._both(data(41), SMALL) == "S protocol"
        assert self._both(_chunked(b"1;" + b"x" * 60), SMALL, eof=False) == "S protocol"

    def test_a_chunk_line_is_counted_for_each_chunk_anew(self) -> None:
        assert (
            self._both(
                _chunked(b"1;" + b"x" * 30 + b"\r\na\r\n" * 1) + b"1;" + b"x" * 30 + b"\r\nb\r\n0\r\n\r\n", SMALL
            )
            == "S B E"
        )

    def test_the_bytes_of_a_trailer(self) -> None:
        def data(size: int) -> bytes:
            return _chunked(b"1\r\na\r\n0\r\nT: " + b"x" * (size - 12) + b"\r\n\r\n")

        assert self._both(data(40), SMALL) == "S B E"
        assert self._both(data(41), SMALL) == "S B protocol"
        assert self._both(_chunked(b"1\r\na\r\n0\r\nT: " + b"x" * 60), SMALL, eof=False) == "S B protocol"

    def test_the_bytes_in_all(self) -> None:
        start = len(_answer(body=b""))
        assert self._both(_answer(body=b"x" * (400 - start)), attrs.evolve(SMALL, data_events=1000)) == "S B E"
        for body in (b"x" * (401 - start), b"x" * 1000):
            assert self._both(_answer(body=body), attrs.evolve(SMALL, data_events=1000)) == "S B protocol"
        (_, body_received, _) = _run(_answer(body=b"x" * 1000), bounds=SMALL)
        assert isinstance(body_received, BodyReceived)
        assert len(body_received.data) == 400 - start

    def test_the_number_of_chunks(self) -> None:
        assert self._both(_chunked(b"1\r\na\r\n" * 5 + b"0\r\n\r\n"), SMALL) == "S B E"
        assert self._both(_chunked(b"1\r\na\r\n" * 6 + b"0\r\n\r\n"), SMALL) == "S B protocol"

    def test_the_number_of_pieces_of_a_body_without_chunks(self) -> None:
        head, pieces = _answer("Content-Length: 7", body=b""), [b"a"] * 7
        assert _told(head, *pieces[:5], bounds=SMALL, eof=False) == "S B"
        assert _told(head, *pieces, bounds=SMALL) == "S B protocol"

    def test_pieces_of_one_chunk_count_too(self) -> None:
        assert _told(_chunked(b"9\r\n"), *[b"a"] * 9, bounds=SMALL) == "S B protocol"

    def test_two_megabytes_in_chunks_of_one_byte_are_left_where_the_bound_stands(self) -> None:
        data = _chunked(b"1\r\na\r\n" * 2_000_000)
        exchange = Exchange(REQUEST, BOUNDS, "x")
        events: list[RequestEvent] = []
        calls = 0
        for at in range(0, len(data), 65_536):
            calls += bool(more := exchange.receive(data[at : at + 65_536]))
            events += more
        assert events[-1] == Failed("x", "protocol", "a body in more than 65536 pieces")
        assert calls == 65_536 * 6 // 65_536 + 1


_FIELDS = st.sampled_from(
    ["Content-Length: 9", "Content-Length: 4", "Transfer-Encoding: chunked", "X: " + "a" * 50, "A: b", "Bad", "C:\x01d"]
)
_BODIES = st.sampled_from(
    [
        b"<p>hi</p>",
        b"",
        b"9\r\n<p>hi</p>\r\n0\r\n\r\n",
        b"1;" + b"e" * 45 + b"\r\na\r\n0\r\n\r\n",
        b"1\r\na\r\n" * 8,
        b"4\r\nabcd\r\n4\r\nefgh\r\n0\r\nT: " + b"t" * 45 + b"\r\n\r\n",
        b"x" * 500,
    ]
)
_STARTS = st.sampled_from(["HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 302 Found", "HTTP/2 200", "HTTP/1.1 204 No"])


@settings(deadline=None, max_examples=400)
@given(_STARTS, st.lists(_FIELDS, max_size=4), _BODIES, st.integers(0, 2), st.data())
def test_whole_or_cut_the_same_is_told(
    start: str, fields: list[str], body: bytes, hints: int, draw: st.DataObject
) -> None:
    data = b"HTTP/1.1 103 Hi\r\n\r\n" * hints + _answer(*fields, body=body, start=start)
    for at in draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=2)):
        data = data[:at] + draw.draw(st.sampled_from([b"\r", b"\n", b"0", b":", b"\x00", b""])) + data[at + 1 :]
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=8)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]
    # A body without chunks comes in as many pieces as it is cut into: enough are allowed.
    bounds = attrs.evolve(SMALL, data_events=20)
    assert _run(data, bounds=bounds) == _run(*pieces, bounds=bounds)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_nothing_that_a_server_sends_raises(pieces: list[bytes]) -> None:
    _run(*pieces)
    _run(b"HTTP/1.1 200 OK\r\n", *pieces)
    _run(_chunked(), *pieces)


def test_a_chunk_line_as_long_as_it_may_be_is_not_too_long_yet() -> None:
    line = b"5;" + b"x" * (SMALL.chunk_line_bytes - 2)
    assert _told(*_bytes(_answer("Transfer-Encoding: chunked", body=line)), bounds=SMALL) == "S reset"
    assert _told(*_bytes(_answer("Transfer-Encoding: chunked", body=line + b"x")), bounds=SMALL) == "S protocol"


@pytest.mark.parametrize("cut", [False, True])
def test_a_whole_chunk_line_is_bounded_to_the_byte(*, cut: bool) -> None:
    def told(length: int) -> str:
        line = b"5;" + b"x" * (length - 4) + b"\r\n"
        data = _chunked(line, b"hello\r\n0\r\n\r\n")
        return _told(*(_bytes(data) if cut else [data]), bounds=SMALL)

    assert told(SMALL.chunk_line_bytes) == "S B E"
    assert told(SMALL.chunk_line_bytes + 1) == "S protocol"


def test_all_that_may_come_may_come_in_a_large_piece_and_a_small_one() -> None:
    """The bytes are looked at in slices, and counted once each."""
    data = _chunked(*[b"800\r\n" + b"x" * 2048 + b"\r\n"] * 8, b"0\r\n\r\n")
    bounds = attrs.evolve(BOUNDS, wire_bytes=len(data))
    assert _told(data[:-9], data[-9:], bounds=bounds) == "S B E"
    assert _told(data[:-9], data[-9:], bounds=attrs.evolve(bounds, wire_bytes=len(data) - 1)) == "S B protocol"
