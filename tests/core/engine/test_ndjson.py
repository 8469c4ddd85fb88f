"""The decoder of newline-delimited JSON."""

from hypothesis import given

from hostcall.engine.ndjson import NdjsonDecoder
from tests.strategies import cuts

STREAM = '{"a": "é"}\n\n{"b": 2}\r\n{"c": 3}'.encode()
LINES = ['{"a": "é"}'.encode(), b'{"b": 2}\r', b'{"c": 3}']


@given(cuts(STREAM))
def test_any_cut_gives_the_same_lines(pieces: list[bytes]) -> None:
    decoder = NdjsonDecoder(1000)
    lines = [line for piece in pieces for line in decoder.feed(piece)]
    assert lines + decoder.end() == LINES


def test_nothing_is_left_after_the_end() -> None:
    decoder = NdjsonDecoder(1000)
    assert decoder.feed(b"x\n") == [b"x"]
    assert decoder.end() == []


def test_a_line_over_its_bound_is_refused() -> None:
    for pieces in ([b"ok\n0123456789a\nlate\n"], [b"ok\n01234", b"56789a\nlate\n"], [b"ok\n0123456789a", b"\n"]):
        decoder = NdjsonDecoder(10)
        assert [line for piece in pieces for line in decoder.feed(piece)] == [b"ok"]
        assert decoder.oversize


def test_a_line_in_progress_counts_from_its_own_beginning() -> None:
    decoder = NdjsonDecoder(10)
    assert decoder.feed(b"01234567\n89") == [b"01234567"]
    assert decoder.feed(b"01234567") == []
    assert not decoder.oversize
    assert decoder.feed(b"\n") == [b"8901234567"]
    assert decoder.feed(b"0123456789") == []
    assert not decoder.oversize
    assert decoder.feed(b"x") == []
    assert decoder.oversize
    assert decoder.feed(b"\n1\n") == []


def test_blank_lines_are_no_lines_even_at_the_end() -> None:
    decoder = NdjsonDecoder(10)
    assert decoder.feed(b" \n\r\n\t\na\n ") == [b"a"]
    assert decoder.end() == []
    assert decoder.feed(b"b") == []
    assert decoder.end() == [b"b"]


def test_a_first_line_may_be_as_long_as_any() -> None:
    decoder = NdjsonDecoder(10)
    assert decoder.feed(b"0123456789") == []
    assert not decoder.oversize
    assert decoder.end() == [b"0123456789"]


def test_nothing_is_read_after_a_line_that_is_too_long() -> None:
    decoder = NdjsonDecoder(10)
    assert decoder.feed(b"0123456789a\n") == []
    assert decoder.feed(b"b\n") == []
