"""Whole or cut, the same bytes are told as the same events, within the bounds, and nothing is raised."""

import sys

from hostcall.data import Bounds, HttpRequest
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall_drivers.wire import Exchange

REQUEST = HttpRequest("GET", "/", (("Host", "example.org"),))
BOUNDS = Bounds(
    head_bytes=200,
    headers=6,
    wire_bytes=1000,
    data_events=2000,
    chunk_line_bytes=40,
    connect_seconds=3.0,
)
"""Small, so that inputs reach them; more pieces than bytes, because their number is that of the cuts."""


def test_one_input(data: bytes) -> None:
    """Read `data` after its first byte, which says how it is cut."""
    size, data = (data[0] % 32) + 1 if data else 1, data[1:]
    whole = _run([data])
    assert whole == _run([data[at : at + size] for at in range(0, len(data), size)])
    assert isinstance(whole[-1], ResponseEnded | Failed)
    assert [type(event) for event in whole[:-1]] in ([], [ResponseStarted], [ResponseStarted, BodyReceived])
    for event in whole:
        if isinstance(event, ResponseStarted):
            assert len(event.headers) <= BOUNDS.headers
            assert 200 <= event.status <= 999
        elif isinstance(event, BodyReceived):
            assert 0 < len(event.data) <= BOUNDS.wire_bytes
        elif isinstance(event, Failed):
            assert event.kind in {"protocol", "reset"}


def _run(pieces: list[bytes]) -> list[RequestEvent]:
    exchange = Exchange(REQUEST, BOUNDS, "x")
    events: list[RequestEvent] = []
    for piece in pieces:
        events += exchange.receive(piece)
    events += exchange.receive_eof()
    assert exchange.done
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
