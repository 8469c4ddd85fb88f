"""What is put together of a body, and that nothing waits for what has not come. h11 says what is at hand."""

from collections.abc import Iterator

import h11
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall_drivers.reads import Reads, Together
from tests.strategies import cuts

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nDate: abc\r\n\r\n"
END = b"0\r\n\r\n"

pieces = st.binary(min_size=1, max_size=40) | st.sampled_from([b"\r\n", b"5\r\n", b"a", b"1", b"\r\n1\r\na"])


def chunked(parts: list[bytes], *, extension: bytes = b"") -> bytes:
    return b"".join(f"{len(part):x}".encode() + extension + b"\r\n" + part + b"\r\n" for part in parts)


def client() -> h11.Connection:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    return connection


def handed_on(reads: list[bytes]) -> Iterator[list[tuple[bytes, bool]]]:
    """Yield for each read what an HTTP client hands on of it: a piece, and whether `Reads` says that more is there."""
    connection, noted, body = client(), Reads(), False
    for read in reads:
        noted.took(read)
        connection.receive_data(read)
        out: list[tuple[bytes, bool]] = []
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA or isinstance(event, h11.EndOfMessage):
                break
            if isinstance(event, h11.Response):
                noted.head_ended()
                body = True
            if isinstance(event, h11.Data) and body:
                data = bytes(event.data)
                out.append((data, noted.more_behind(data)))
        yield out


@settings(max_examples=500)
@given(parts=st.lists(pieces, max_size=8), data=st.data(), extension=st.sampled_from([b"", b"", b";x=1", b"  "]))
def test_what_is_said_to_be_there_is_there(parts: list[bytes], data: st.DataObject, extension: bytes) -> None:
    whole = HEAD + chunked(parts, extension=extension) + END
    for out in handed_on([read for read in data.draw(cuts(whole)) if read]):
        for at, (_, more) in enumerate(out):
            if more:
                assert at + 1 < len(out)


def test_whole_chunks_of_one_read_go_together_and_a_read_never_waits_for_the_next() -> None:
    parts = [f"data: {number}\n\n".encode() for number in range(100)]
    whole = HEAD + chunked(parts) + END
    for size in (len(whole), 500, 64, 17):
        reads = [whole[at : at + size] for at in range(0, len(whole), size)]
        told = [[more for _, more in out] for out in handed_on(reads)]
        assert all(not out or not out[-1] for out in told)
        if size > 100:
            # One piece a read, and one more where a chunk was cut in two.
            assert sum(not more for out in told for more in out) <= 2 * len(reads)


@given(parts=st.lists(pieces, max_size=8), data=st.data())
def test_nothing_is_lost_and_the_order_is_kept(parts: list[bytes], data: st.DataObject) -> None:
    connection, noted = client(), Reads()
    body: Together | None = None
    out = b""
    for read in data.draw(cuts(HEAD + chunked(parts) + END)):
        if not read:
            continue
        noted.took(read)
        connection.receive_data(read)
        while (event := connection.next_event()) is not h11.NEED_DATA and not isinstance(event, h11.EndOfMessage):
            if isinstance(event, h11.Response):
                body = Together(noted)
            elif isinstance(event, h11.Data):
                assert body is not None
                out += body.add(bytes(event.data))
        assert body is None or body.rest() == b""
    assert out == b"".join(parts)


def test_without_reads_each_piece_is_handed_on() -> None:
    body = Together(None)
    assert [body.add(b"a"), body.add(b"b"), body.rest()] == [b"a", b"b", b""]


def test_a_body_of_known_length_is_handed_on_as_it_comes() -> None:
    noted = Reads()
    noted.took(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
    body = Together(noted)
    assert body.add(b"ab") == b"ab"
    noted.took(b"cd")
    assert body.add(b"cd") == b"cd"
