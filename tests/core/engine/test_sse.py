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
