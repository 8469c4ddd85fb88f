"""Whole or cut, the same bytes are told as the same events, within bounds and in our own words; nothing is raised."""

import sys

from hostcall.data import Bounds, HttpRequest
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall_drivers.wire import Exchange

REQUEST = HttpRequest("GET", "/", (("Host", "example.org"),))
BOUNDS = Bounds(
    head_bytes=160,
    headers=6,
    wire_bytes=500,
    data_events=2000,
    chunk_line_bytes=40,
    connect_seconds=3.0,
)
"""Small, so that inputs reach them; more pieces than bytes, because their number is that of the cuts."""
MOST_PIECES = 24
"""A byte at a time for short inputs. More would be nine tenths of the work and find nothing else."""
DETAILS = {
    "protocol": {
        "more than 500 bytes came",
        "a head of more than 160 bytes",
        "more than 6 fields",
        "a chunk line or trailer of more than 40 bytes",
        "a trailer of more than 40 bytes",
        "the answer is not HTTP",
        "the answer is in another version of HTTP than 1.0 and 1.1",
        "the answer gives both a length and a transfer coding",
    },
    "reset": {"the connection closed before the answer was whole"},
}
"""All that a failure may say: nothing of what a server sent."""


def test_one_input(data: bytes) -> None:
    """Read `data` after its first byte, which says how it is cut: where, and into how small pieces."""
    first, data = data[:1] or b"\0", data[1:]
    size = max(first[0] % 16 + 1, len(data) // MOST_PIECES)
    whole = _run([data])
    if size < len(data):
        start = first[0] // 16 % size
        assert whole == _run([data[:start], *(data[at : at + size] for at in range(start, len(data), size))])
    *before, last = whole
    assert [type(event) for event in before] in ([], [ResponseStarted], [ResponseStarted, BodyReceived])
    body = b"".join(event.data for event in before if isinstance(event, BodyReceived))
    assert len(body) <= min(len(data), BOUNDS.wire_bytes)
    if before and isinstance(before[0], ResponseStarted):
        _check_head(before[0], body, ended=isinstance(last, ResponseEnded))
    if isinstance(last, Failed):
        assert last.detail in DETAILS[last.kind]
    else:
        assert last == ResponseEnded("x")
        assert before


def _check_head(started: ResponseStarted, body: bytes, *, ended: bool) -> None:
    assert len(started.headers) <= BOUNDS.headers
    assert sum(len(name) + len(value) + 3 for name, value in started.headers) <= BOUNDS.head_bytes
    assert 200 <= started.status <= 999
    fields = [(name.lower(), value) for name, value in started.headers]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    lengths = {part.strip() for name, value in fields if name == "content-length" for part in value.split(",")}
    assert not (codings and lengths)
    assert len(lengths) <= 1
    if lengths and started.status not in {204, 304}:
        length = int(lengths.pop())
        assert len(body) == length if ended else len(body) <= length


def _run(pieces: list[bytes]) -> list[RequestEvent]:
    exchange = Exchange(REQUEST, BOUNDS, "x")
    events: list[RequestEvent] = []
    for piece in pieces:
        events += exchange.receive(piece)
    events += exchange.receive_eof()
    assert exchange.done
    assert exchange.receive(b"more") == exchange.receive_eof() == []
    body = b"".join(event.data for event in events if isinstance(event, BodyReceived))
    others: list[RequestEvent] = [event for event in events if not isinstance(event, BodyReceived)]
    if body:
        others.insert(-1, BodyReceived("x", body))
    return others


def main() -> None:
    """Fuzz until told to stop."""
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
