"""Whatever is answered, only public addresses are connected to, in at most four hops, each looked up anew."""

import sys

from hostcall.commands import Cancel, Command, Connect, LogFetch, Resolve
from hostcall.data import Headers, Refused
from hostcall.events import BodyReceived, Failed, RequestEvent, Resolved, ResponseEnded, ResponseStarted
from hostcall.limits import Limits
from hostcall.web.address import Address
from hostcall.web.fetch import Fetch, Fetched
from hostcall.web.networks import Networks
from hostcall.web.ranges import is_public, read_ip
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web

LIMITS = Limits()
WEB = Web()
NETWORKS = Networks.of(WEB)
STATUSES = (200, 301, 302, 303, 307, 308, 404)


def test_one_input(data: bytes) -> None:
    """Answer a fetch with the lines of `data`: a tag, then addresses, a status with Locations, a body or a failure."""
    seen = SeenHosts(LIMITS)
    seen.add_host("example.org")
    fetch = Fetch(
        Address("example.org", "/"),
        seen,
        LIMITS,
        id="p",
        networks=NETWORKS,
        web=WEB,
        take_page=lambda: True,
    )
    now = 0.0
    answers: dict[str, tuple[str, ...]] = {}
    commands = fetch.start(now)
    for line in data.split(b"\n"):
        open_ = [command for command in commands if isinstance(command, Resolve | Connect)]
        if fetch.result is not None or not open_:
            break
        now += (line[:1] or b"\0")[0] / 100
        told = _answer(open_[-1], line[1:], reading=fetch.state.value == "reading")
        if isinstance(told, Resolved):
            answers[told.id.removesuffix(".lookup")] = told.addresses
        commands += fetch.receive(told, now)
    commands += fetch.cancel(now)
    _check(fetch, commands, answers)


def _answer(request: Resolve | Connect, line: bytes, *, reading: bool) -> RequestEvent:
    words = line[1:].decode("latin-1").split(" ")
    tag = line[:1] or b"\0"
    if tag == b"!":
        return Failed(request.id, "reset")
    if isinstance(request, Resolve):
        return Resolved(request.id, tuple(words))
    if reading:
        return BodyReceived(request.id, line[1:]) if tag < b"\x80" else ResponseEnded(request.id)
    locations: Headers = tuple(("Location", word) for word in words)
    headers: Headers = (("Content-Type", "text/html"), *locations)
    return ResponseStarted(request.id, STATUSES[tag[0] % len(STATUSES)], headers)


def _check(fetch: Fetch, commands: list[Command], answers: dict[str, tuple[str, ...]]) -> None:
    connects = [command for command in commands if isinstance(command, Connect)]
    lookups = [command.host for command in commands if isinstance(command, Resolve)]
    assert isinstance(fetch.result, Fetched | Refused)
    assert len(connects) <= LIMITS.redirects + 1
    assert len(lookups) <= LIMITS.redirects + 1
    for connect in connects:
        assert 0 < len(connect.addresses) <= LIMITS.addresses_tried
        # To what this hop's own lookup gave, or to the literal itself; and asked for by that name alone.
        given = answers.get(connect.id.removesuffix(".get"), (connect.server_name,))
        assert {read_ip(address.ip) for address in connect.addresses} <= {read_ip(answer) for answer in given}
        assert connect.port == 443
        host = f"[{connect.server_name}]" if ":" in connect.server_name else connect.server_name
        assert connect.request.headers[0] == ("Host", host)
        assert len(connect.request.headers) == 5
        assert connect.request.target.isascii()
        assert connect.request.target.isprintable()
        for address in connect.addresses:
            ip = read_ip(address.ip)
            assert ip is not None
            assert is_public(ip)
        if read_ip(connect.server_name) is None:
            lookups.remove(connect.server_name)
    records = [command.record for command in commands if isinstance(command, LogFetch)]
    assert [record.hop for record in records] == list(range(len(records)))
    assert sum(record.total_milliseconds is not None for record in records) == 1
    ended = [command.id for command in commands if isinstance(command, Cancel)]
    assert len(ended) == len(set(ended))


def main() -> None:
    """Fuzz until told to stop."""
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
