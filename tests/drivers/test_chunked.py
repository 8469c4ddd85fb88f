"""The body in chunks: h11 says what is right, however the bytes are cut."""

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall_drivers.chunked import LONGEST_LINE, ChunkedBody

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def read(pieces: list[bytes]) -> tuple[bytes, bool, bytes, bool]:
    """Return the body, whether it ended, what came behind it, and whether something is wrong."""
    reader = ChunkedBody()
    body = b"".join([reader.feed(piece) for piece in pieces])
    return body, reader.ended, reader.rest, bool(reader.fault)


def h11_reads(data: bytes) -> tuple[bytes, bool, bytes, bool]:
    """Return the same as h11 sees it."""
    wire = h11.Connection(h11.CLIENT)
    wire.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    wire.send(h11.EndOfMessage())
    wire.receive_data(HEAD + data)
    body = b""
    while True:
        try:
            event = wire.next_event()
        except h11.RemoteProtocolError:
            return body, False, b"", True
        if isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return body, True, wire.trailing_data[0], False
        elif event is h11.NEED_DATA or event is h11.PAUSED:
            return body, False, b"", False


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(at)]


CHUNK = st.builds(
    lambda body, extension, zeros: b"%s%x%s\r\n%s\r\n" % (b"0" * zeros, len(body), extension, body),
    st.binary(min_size=1, max_size=40),
    st.sampled_from([b"", b";a=b", b";x", b" "]),
    st.integers(0, 3),
)
WHOLE = st.builds(
    lambda chunks, trailers, rest: b"".join(chunks) + b"0\r\n" + trailers + b"\r\n" + rest,
    st.lists(CHUNK, max_size=5),
    st.sampled_from([b"", b"X: y\r\n", b"X: y\r\nZ: w\r\n"]),
    st.binary(max_size=10),
)


@given(data=WHOLE, places=st.lists(st.integers(0, 400), max_size=8))
def test_a_body_is_read_as_h11_reads_it_however_it_is_cut(data: bytes, places: list[int]) -> None:
    assert read(cut(data, places)) == h11_reads(data)


@given(
    data=WHOLE,
    at=st.integers(0, 200),
    # h11 lets a carriage return of its own stand in an extension; here it is refused.
    byte=st.binary(min_size=1, max_size=1).filter(lambda byte: byte != b"\r"),
    places=st.lists(st.integers(0, 400)),
)
def test_a_changed_byte_never_makes_more_of_a_body_than_h11_makes_of_it(
    data: bytes, at: int, byte: bytes, places: list[int]
) -> None:
    at %= len(data)
    changed = data[:at] + byte + data[at + 1 :]
    body, ended, _, fault = read(cut(changed, places))
    theirs = h11_reads(changed)
    if theirs[1]:
        assert (body, ended, fault) == (theirs[0], True, False)
    else:
        assert theirs[0].startswith(body) or body.startswith(theirs[0])


@given(data=WHOLE, places=st.lists(st.integers(0, 400), max_size=3), end=st.integers(0, 200))
def test_half_a_body_has_not_ended(data: bytes, places: list[int], end: int) -> None:
    whole = h11_reads(data)
    before = data[: min(end, len(data) - len(whole[2]) - 1)]
    body, ended, _, fault = read(cut(before, places))
    assert not ended
    assert not fault
    assert whole[0].startswith(body)


@pytest.mark.parametrize(
    "data",
    [
        b"x\r\n",
        b"-1\r\na\r\n",
        b"+1\r\na\r\n",
        b"1\nab\r\n",
        b"\r\n",
        b"1\r\nab\r\n",
        b"1\r\na\n1\r\n",
        b"0x1\r\na\r\n",
        b"1" * 16 + b"\r\n",
        b"1;" + b"x" * LONGEST_LINE,
        b"0\r\nX: " + b"y" * LONGEST_LINE,
        b"1\r\na" + b"b" * 4,
    ],
)
def test_a_fault_is_told_alike_whole_and_byte_by_byte(data: bytes) -> None:
    whole, single = read([data]), read([data[at : at + 1] for at in range(len(data))])
    assert whole[3]
    assert whole == single
