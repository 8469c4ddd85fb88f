"""The decoder of server-sent events: any cut of the same bytes means the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.engine.sse import ServerEvent, SseDecoder
from tests.strategies import cuts, every_byte


def decode(pieces: list[bytes], most: int = 10_000) -> list[ServerEvent]:
    decoder = SseDecoder(most)
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.end()


STREAM = (
    b"\xef\xbb\xbfdata: one\n\n"
    b": a comment\n\n"
    b"data:two\r\n\r\n"
    b"event: ping\r\rdata: three\rdata: lines\r\r"
    b"id: 7\nretry: 10\ndata: a\xe2\x80\xa8b\xc2\x85c\n\n"
    b"event: named\ndata: four\n\n"
    b"data: \n\ndata\n\ndata: : keepalive\n\n"
    b'error: {"message": "x"}\n\n'
    b'{"error": "bare"}\n\n'
    b"data: last"
)
EVENTS = [
    ServerEvent("", b"one"),
    ServerEvent("", b"two"),
    ServerEvent("", b"three\nlines"),
    ServerEvent("", b"a\xe2\x80\xa8b\xc2\x85c"),
    ServerEvent("named", b"four"),
    ServerEvent("error", b'{"message": "x"}'),
    ServerEvent("error", b'{"error": "bare"}'),
    ServerEvent("", b"last"),
]


def test_every_line_end_and_every_quirk_is_read() -> None:
    assert decode([STREAM]) == EVENTS


def test_a_byte_at_a_time_means_the_same() -> None:
    assert decode(every_byte(STREAM)) == EVENTS


@given(cuts(STREAM))
def test_any_cut_means_the_same(pieces: list[bytes]) -> None:
    assert decode(pieces) == EVENTS


@given(st.data(), st.binary(max_size=200))
def test_any_bytes_cut_anywhere_mean_the_same(data: st.DataObject, whole: bytes) -> None:
    assert decode(data.draw(cuts(whole))) == decode([whole])


def test_a_crlf_cut_between_its_bytes_is_one_line_end() -> None:
    assert decode([b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]) == [ServerEvent("", b"a\nb")]


def test_an_event_name_does_not_outlive_an_event_without_data() -> None:
    assert decode([b"event: error\n\ndata: x\n\n"]) == [ServerEvent("", b"x")]


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 50, b"data: xxxxxxxx\ndata: xxxxxxxx\ndata: xxxxxxxx\n"])
def test_an_event_over_its_bound_is_refused(piece: bytes) -> None:
    decoder = SseDecoder(20)
    assert decoder.feed(b"data: a\n\n" + piece + b"\n\ndata: late\n\n") == [ServerEvent("", b"a")]
    assert decoder.oversize
    assert decoder.feed(b"data: late\n\n") == []


def test_a_line_that_grows_over_its_bound_is_refused() -> None:
    decoder = SseDecoder(20)
    decoder.feed(b"data: 0123456789")
    assert not decoder.oversize
    decoder.feed(b"0123456789")
    assert decoder.oversize


def test_lines_are_carried_without_being_joined_at_each_byte() -> None:
    """A long event in one-byte pieces costs what its length costs: the pieces are joined once, at the line's end."""
    decoder = SseDecoder(1_000_000)
    for _ in range(100_000):
        assert decoder.feed(b"x") == []
    assert len(decoder._carry) == 100_000


@given(data=st.data(), size=st.integers(10, 30))
def test_what_is_too_large_does_not_depend_on_the_cut(data: st.DataObject, size: int) -> None:
    whole = b"data: " + b"x" * size + b"\n\n: " + b"y" * size + b"\ndata: z\n\n"

    def outcome(pieces: list[bytes]) -> tuple[list[ServerEvent], bool]:
        decoder = SseDecoder(26)
        return [event for piece in pieces for event in decoder.feed(piece)], decoder.oversize

    assert outcome(data.draw(cuts(whole))) == outcome([whole])


blocks = st.sampled_from(
    [
        b"data: a\n\n",
        b"data: b\r\n\r\n",
        b"data:c\n\n",
        b"data: d\ndata: e\n\n",
        b"event: x\ndata: f\n\n",
        b"\n",
        b": ping\n\n",
        b"data:  \n\n",
        b"data: : x\n\n",
        b"data: g\n\n\n",
        b"event: y\n\n",
        b"id: 1\ndata: h\n\n",
        b"data: i\r\r",
        b"data: \xff\n\n",
        b"data\n\n",
        b"error: {}\n",
        b"{}\n\n",
        b"data: jjjjjjjjjjjjjjjjjjjjjjj\n\n",
    ]
)


@settings(max_examples=400)
@given(data=st.data(), parts=st.lists(blocks, max_size=8), cut=st.integers(0, 3))
def test_a_stream_of_any_events_reads_the_same_however_it_is_cut(
    data: st.DataObject, parts: list[bytes], cut: int
) -> None:
    whole = b"".join(parts)
    whole = whole[: len(whole) - cut]

    def outcome(pieces: list[bytes]) -> tuple[list[ServerEvent], bool]:
        decoder = SseDecoder(26)
        found = [event for piece in pieces for event in decoder.feed(piece)]
        return found + decoder.end(), decoder.oversize

    singly = outcome([whole[at : at + 1] for at in range(len(whole))])
    assert outcome([whole]) == singly
    assert outcome(data.draw(cuts(whole))) == singly


def events(*pieces: bytes, most: int = 1000) -> list[tuple[str, bytes]]:
    decoder = SseDecoder(most)
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return [(event.name, event.data) for event in [*found, *decoder.end()]]


@pytest.mark.parametrize(
    ("stream", "found"),
    [
        (b"data: a\n\n", [("", b"a")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a\n\n", [("", b" a")]),
        (b"data: a\ndata:b\ndata\n\n", [("", b"a\nb\n")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", b"a"), ("", b"b")]),
        (b"data: a\nevent: x\n\n", [("x", b"a")]),
        (b"event: x\n\ndata: a\n\n", [("", b"a")]),
        (b"event:x\nevent: y\ndata: a\n\n", [("y", b"a")]),
        (b": note\ndata: a\nid: 7\nretry: 9\nother\n\n", [("", b"a")]),
        (b"error: gone\n\n", [("error", b"gone")]),
        (b'{"error": 1}\n', [("error", b'{"error": 1}')]),
        (b"data: a\nerror: gone\n\n", [("error", b"gone"), ("", b"a")]),
        (b"data: \n\ndata: : ping\n\ndata:   \n\n", []),
        (b"data:\ndata: a\n\n", [("", b"\na")]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [("", b"a")]),
        (b"data: a", [("", b"a")]),
        (b"data: a\n", [("", b"a")]),
        (b"event: x\ndata: a", [("x", b"a")]),
        (b"error: gone", [("error", b"gone")]),
        (b"\n\n\ndata: a\n\n\n\n", [("", b"a")]),
        ("data: a\u2028b\x85\n\n".encode(), [("", "a\u2028b\x85".encode())]),
        (b"data: one\n\ndata: two\n\ndata: three\n\n", [("", b"one"), ("", b"two"), ("", b"three")]),
    ],
)
def test_a_stream_means_the_same_by_any_line_end_and_in_any_pieces(
    stream: bytes, found: list[tuple[str, bytes]]
) -> None:
    for end in (b"\n", b"\r", b"\r\n"):
        whole = stream.replace(b"\n", end)
        assert events(whole) == found
        assert events(*(whole[at : at + 1] for at in range(len(whole)))) == found
        assert events(b"data: 0\n\n", whole.removeprefix(b"\xef\xbb\xbf"))[1:] == found, "on the fast path too"
        assert events(b"", whole, b"") == found


def test_the_bound_is_met_to_the_byte_and_nothing_is_read_after_it() -> None:
    line = b"data: " + b"x" * 14
    for stream in (line + b"\n\n", line + b"\r\n\r\n", line, b"data: 0\n\n" + line + b"\n\n"):
        assert events(stream, most=20)[-1] == ("", b"x" * 14)
        for piece in ((stream,), (stream[:-5], stream[-5:])):
            decoder = SseDecoder(19)
            found = [event for part in piece for event in decoder.feed(part)]
            assert decoder.oversize
            assert not [event for event in found if event.data != b"0"]
            assert decoder.feed(b"data: a\n\n") == []
    two = b"data: 123456\ndata: 1234567\n\n"
    assert events(two, most=19) == [("", b"123456\n1234567")]
    decoder = SseDecoder(18)
    assert decoder.feed(two) == []
    assert decoder.oversize
    assert not SseDecoder(1).oversize


def test_an_event_that_was_handed_out_no_longer_counts() -> None:
    decoder = SseDecoder(20)
    for _ in range(9):
        assert len(decoder.feed(b"data: 1234567890\r\n\r\n")) == 1
    assert not decoder.oversize
