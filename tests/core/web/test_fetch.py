"""One page: lookups, connections, redirects, the answer, deadlines, and the line each hop leaves in the journal."""

import gzip
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.commands import Cancel, Command, Connect, LogFetch, Resolve
from hostcall.data import Bounds, CheckedAddress, FetchRecord, Headers, HttpRequest, Refused
from hostcall.errors import LocalProtocolError
from hostcall.events import (
    BodyReceived,
    Failed,
    FailureKind,
    RequestEvent,
    Resolved,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
    Woken,
)
from hostcall.limits import Limits
from hostcall.web.address import Address, parse_address
from hostcall.web.fetch import Fetch, Fetched, State
from hostcall.web.networks import Networks
from hostcall.web.ranges import is_public, read_ip
from hostcall.web.request import user_agent
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web

LIMITS = Limits()
WEB = Web()
HTML: Headers = (("Content-Type", "text/html"),)
PUBLIC = "93.184.215.14"
OTHER = "93.184.215.15"
LOOKUP, GET = "c1.p0.h0.lookup", "c1.p0.h0.get"


def _address(text: str) -> Address:
    address = parse_address(text, LIMITS)
    assert isinstance(address, Address), address
    return address


def _fetch(
    text: str = "https://example.org/a?b",
    *,
    web: Web = WEB,
    limits: Limits = LIMITS,
    budget: Sequence[bool] = (True,),
    seen: str | None = None,
    **more: Any,
) -> Fetch:
    hosts = SeenHosts(limits, web.provenance)
    hosts.add_result(text if seen is None else seen)
    tickets = iter(budget)
    return Fetch(
        _address(text),
        hosts,
        limits,
        id="c1.p0",
        networks=Networks.of(web),
        web=web,
        take_page=lambda: next(tickets),
        **more,
    )


def _asked(fetch: Fetch, *, now: float = 0.0) -> list[Command]:
    """Bring a fetch to where its first connection is asked for."""
    fetch.start(now)
    return fetch.receive(Resolved(LOOKUP, (PUBLIC,)), now)


def _read(fetch: Fetch, headers: Headers, *pieces: bytes) -> list[Command]:
    """Answer a fetch that has asked with a page."""
    commands = fetch.receive(ResponseStarted(GET, 200, headers, PUBLIC), 1.0)
    for piece in pieces:
        commands += fetch.receive(BodyReceived(GET, piece), 1.0)
    return commands + fetch.receive(ResponseEnded(GET), 1.0)


def _redirect(fetch: Fetch, hop: int, *locations: str, status: int = 302, now: float = 0.0) -> list[Command]:
    headers = tuple(("Location", location) for location in locations)
    return fetch.receive(ResponseStarted(f"c1.p0.h{hop}.get", status, headers, PUBLIC), now)


def _records(commands: Sequence[Command]) -> list[FetchRecord]:
    return [command.record for command in commands if isinstance(command, LogFetch)]


def _code(fetch: Fetch) -> str:
    assert isinstance(fetch.result, Refused), fetch.result
    return fetch.result.code


def _page(fetch: Fetch) -> Fetched:
    assert isinstance(fetch.result, Fetched), fetch.result
    return fetch.result


class TestAPage:
    def test_a_page_is_looked_up_once_connected_to_and_read(self) -> None:
        fetch = _fetch()
        assert fetch.start(5.0) == [Resolve(id=LOOKUP, deadline=8.0, host="example.org")]
        assert fetch.receive(Resolved(LOOKUP, (PUBLIC, "2600::1")), 6.0) == [
            Connect(
                id=GET,
                deadline=15.0,
                addresses=(CheckedAddress(PUBLIC), CheckedAddress("2600::1")),
                port=443,
                server_name="example.org",
                request=HttpRequest(
                    "GET",
                    "/a?b",
                    (
                        ("Host", "example.org"),
                        ("User-Agent", "Mozilla/5.0 (compatible; hostcall)"),
                        ("Accept", "text/html, text/markdown, text/plain"),
                        ("Accept-Encoding", "gzip"),
                        ("Connection", "close"),
                    ),
                ),
                bounds=Bounds(
                    head_bytes=65_536,
                    headers=256,
                    wire_bytes=3_000_000,
                    data_events=65_536,
                    chunk_line_bytes=65_536,
                    connect_seconds=3.0,
                ),
            )
        ]
        headers = (*HTML, ("Set-Cookie", "a=b"))
        assert fetch.receive(ResponseStarted(GET, 200, headers, "2600:0::1", "TLSv1.3"), 7.0) == []
        assert fetch.receive(BodyReceived(GET, b"<p>"), 7.0) == []
        assert fetch.receive(BodyReceived(GET, b"hi"), 8.0) == []
        assert fetch.result is None
        assert fetch.receive(ResponseEnded(GET), 9.0) == [
            LogFetch(
                FetchRecord(
                    id="c1.p0.h0",
                    address="https://example.org/a?b",
                    host="example.org",
                    peer="2600:0::1",
                    status=200,
                    wire_bytes=5,
                    decoded_bytes=5,
                    milliseconds=4000,
                    total_milliseconds=4000,
                    source="search_result",
                    tls_version="TLSv1.3",
                )
            )
        ]
        address = _address("https://example.org/a?b")
        assert fetch.result == Fetched(asked=address, final=address, content_type="text/html", data=b"<p>hi")
        assert fetch.state is State.DONE

    def test_a_literal_is_never_looked_up_and_is_the_server_name_without_brackets(self) -> None:
        fetch = _fetch("https://[2606:4700::1111]/")
        (command,) = fetch.start(0.0)
        assert isinstance(command, Connect)
        assert command.addresses == (CheckedAddress("2606:4700::1111"),)
        assert command.server_name == "2606:4700::1111"
        assert command.request.headers[0] == ("Host", "[2606:4700::1111]")

    def test_a_contact_stands_in_the_user_agent(self) -> None:
        assert user_agent(Web(contact="https://example.org/bot")).endswith("; hostcall; +https://example.org/bot)")

    def test_a_packed_page_is_unpacked(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        packed = gzip.compress(b"<p>hi</p>")
        commands = _read(fetch, (*HTML, ("Content-Encoding", "gzip")), packed[:7], packed[7:])
        assert _page(fetch).data == b"<p>hi</p>"
        assert (_records(commands)[0].wire_bytes, _records(commands)[0].decoded_bytes) == (len(packed), 9)

    def test_a_driver_without_sockets_names_no_peer(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        assert fetch.receive(ResponseStarted(GET, 200, HTML), 0.0) == []
        assert fetch.state is State.READING


class TestRefusedBeforeAnyConnection:
    def test_a_host_that_was_not_seen(self) -> None:
        fetch = _fetch(seen="https://other.net/")
        (line,) = fetch.start(1.0)
        assert fetch.result == Refused(1, "not_seen", "not in this answer's search results")
        assert _records([line]) == [
            FetchRecord(
                id="c1.p0.h0",
                address="https://example.org/a?b",
                host="example.org",
                total_milliseconds=0,
                error="not_seen",
                rule=1,
            )
        ]

    def test_a_link_needs_the_site_of_the_page_asked_for_and_nothing_else(self) -> None:
        fetch = _fetch(seen="", linked_from=_address("https://www.example.org/"), depth=2)
        fetch.start(0.0)
        assert fetch.state is State.RESOLVING
        (line,) = _records(fetch.cancel(1.0))
        assert (line.source, line.depth) == ("page_link", 2)
        fetch = _fetch(linked_from=_address("https://other.net/"))
        fetch.start(0.0)
        assert fetch.result == Refused(1, "off_site", "left out: on another site")

    @pytest.mark.parametrize(
        "text", ["https://router.local/", "https://instance-data/", "https://127.0.0.1/", "https://[::1]/"]
    )
    def test_special_names_and_literals_inside_are_never_looked_up(self, text: str) -> None:
        fetch = _fetch(text)
        commands = fetch.start(0.0)
        assert len(commands) == 1
        assert _records(commands)[0].rule == 2
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (2, "not_public")
        assert fetch.result.reason == "That address is not on the public internet."

    def test_a_closed_host(self) -> None:
        fetch = _fetch(web=Web(deny_hosts=("example.org",)))
        fetch.start(0.0)
        assert _code(fetch) == "host_denied"

    def test_an_answer_of_the_lookup_that_is_not_public_is_told_to_the_journal_only(self) -> None:
        fetch = _fetch()
        fetch.start(0.0)
        commands = fetch.receive(Resolved(LOOKUP, (PUBLIC, "10.0.0.7")), 0.5)
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (2, "not_public")
        assert "10.0.0.7" not in fetch.result.reason
        (record,) = _records(commands)
        assert record.answers == (PUBLIC, "10.0.0.7")
        assert "10.0.0.7" in record.detail
        assert record.error == "not_public"

    def test_no_address(self) -> None:
        fetch = _fetch()
        fetch.start(0.0)
        fetch.receive(Resolved(LOOKUP, ()), 0.0)
        assert _code(fetch) == "name_not_found"

    @pytest.mark.parametrize(
        ("kind", "code"), [("not_found", "name_not_found"), ("lookup", "lookup_failed"), ("timeout", "lookup_failed")]
    )
    def test_a_lookup_that_failed(self, kind: FailureKind, code: str) -> None:
        fetch = _fetch()
        fetch.start(0.0)
        commands = fetch.receive(Failed(LOOKUP, kind, "EAI_AGAIN"), 0.0)
        assert _code(fetch) == code
        assert len(commands) == 1

    def test_a_page_that_the_budget_does_not_hold(self) -> None:
        fetch = _fetch(budget=(False,))
        commands = _asked(fetch)
        assert fetch.result == Refused(0, "budget_spent", "The page budget is spent.")
        assert [type(command) for command in commands] == [LogFetch]

    def test_the_budget_is_asked_once_and_not_for_a_page_that_is_refused(self) -> None:
        fetch = _fetch(budget=())
        fetch.start(0.0)
        fetch.receive(Resolved(LOOKUP, ("10.0.0.1",)), 0.0)
        assert _code(fetch) == "not_public"
        fetch = _fetch(budget=(True,))
        _asked(fetch)
        _redirect(fetch, 0, "/b")
        fetch.receive(Resolved("c1.p0.h1.lookup", (PUBLIC,)), 0.0)
        assert fetch.state is State.ASKED


class TestTheAnswer:
    @pytest.mark.parametrize(
        "status", [100, 201, 202, 203, 204, 206, 300, 304, 305, 306, 400, 401, 404, 429, 500, 503, 999]
    )
    def test_only_200_is_a_page(self, status: int) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = fetch.receive(ResponseStarted(GET, status, (*HTML, ("Location", "/b")), PUBLIC), 0.0)
        assert fetch.result == Refused(0, "status", f"The site answered {status}.")
        assert commands[0] == Cancel(GET)
        assert _records(commands)[0].status == status

    @pytest.mark.parametrize("headers", [(), (("Content-Type", "application/pdf"),)])
    def test_what_is_no_text_is_refused_at_the_head(self, headers: Headers) -> None:
        fetch = _fetch()
        _asked(fetch)
        assert fetch.receive(ResponseStarted(GET, 200, headers, PUBLIC), 0.0)[0] == Cancel(GET)
        assert _code(fetch) == "type_refused"

    def test_a_coding_that_is_not_read_is_refused_at_the_head(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, (*HTML, ("Content-Encoding", "br")), PUBLIC), 0.0)
        assert _code(fetch) == "coding_refused"

    @pytest.mark.parametrize("peer", [OTHER, "127.0.0.1", "::1", "", "nonsense"])
    def test_a_peer_that_is_none_of_the_checked_addresses_is_refused(self, peer: str) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = fetch.receive(ResponseStarted(GET, 200, HTML, peer), 0.0)
        assert commands[0] == Cancel(GET)
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (3, "not_public")

    def test_a_body_is_cut_at_the_limit_and_the_rest_is_not_waited_for(self) -> None:
        fetch = _fetch(limits=Limits(page_bytes=10))
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 0.0)
        assert fetch.receive(BodyReceived(GET, b"0123456789"), 0.0) == []
        commands = fetch.receive(BodyReceived(GET, b"x"), 0.0)
        assert commands[0] == Cancel(GET)
        assert (_page(fetch).data, _page(fetch).truncated) == (b"0123456789", True)
        assert _records(commands)[0].truncated
        assert fetch.receive(BodyReceived(GET, b"late"), 0.0) == []
        assert fetch.receive(ResponseEnded(GET), 0.0) == []

    def test_a_body_that_packs_nothing_into_much_is_stopped_by_what_came_over_the_wire(self) -> None:
        fetch = _fetch(limits=Limits(page_wire_bytes=50))
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, (*HTML, ("Content-Encoding", "deflate")), PUBLIC), 0.0)
        empty_blocks = b"\x00\x00\x00\xff\xff" * 10
        assert fetch.receive(BodyReceived(GET, empty_blocks), 0.0) == []
        assert fetch.receive(BodyReceived(GET, b"\x00"), 0.0)[0] == Cancel(GET)
        assert _code(fetch) == "answer_malformed"

    def test_a_body_that_is_not_packed_as_it_says_is_broken(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, (*HTML, ("Content-Encoding", "gzip")), PUBLIC), 0.0)
        assert fetch.receive(BodyReceived(GET, b"<p>hi</p>"), 0.0)[0] == Cancel(GET)
        assert fetch.result == Refused(0, "body_incomplete", "The page broke off.")

    def test_a_packed_body_that_ends_too_early_is_broken(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        _read(fetch, (*HTML, ("Content-Encoding", "gzip")), gzip.compress(b"<p>hi</p>")[:-3])
        assert _code(fetch) == "body_incomplete"

    @pytest.mark.parametrize(
        ("kind", "code", "rule"),
        [
            ("connect", "connect_failed", None),
            ("reset", "connect_failed", None),
            ("tls", "tls_failed", 3),
            ("timeout", "connect_failed", None),  # of one attempt: the page had more time
            ("idle", "timed_out", 5),
            ("protocol", "answer_malformed", 5),
            ("handler", "answer_malformed", 5),
        ],
    )
    def test_a_connection_that_failed(self, kind: FailureKind, code: str, rule: int | None) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = fetch.receive(Failed(GET, kind, "inner detail"), 0.5)
        assert isinstance(fetch.result, Refused)
        assert fetch.result.code == code
        assert "inner" not in fetch.result.reason
        assert [type(command) for command in commands] == [LogFetch]
        assert _records(commands)[0].rule == rule

    def test_the_detail_of_a_failure_is_for_the_journal(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        assert _records(fetch.receive(Failed(GET, "tls", "wrong name"), 0.5))[0].detail == "wrong name"

    def test_a_connection_that_breaks_in_the_body_broke_off(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 0.0)
        fetch.receive(Failed(GET, "reset"), 0.0)
        assert _code(fetch) == "body_incomplete"


class TestWhatTheReaderIsTold:
    @pytest.mark.parametrize(
        ("kind", "refused"),
        [
            ("not_found", Refused(0, "name_not_found", "No site has that name.", "d")),
            ("lookup", Refused(0, "lookup_failed", "The site's name could not be looked up just now.", "d")),
            (
                "timeout",
                Refused(
                    0, "lookup_failed", "The site's name could not be looked up just now.", "the lookup took too long"
                ),
            ),
        ],
    )
    def test_of_a_lookup(self, kind: FailureKind, refused: Refused) -> None:
        fetch = _fetch()
        fetch.start(0.0)
        fetch.receive(Failed(LOOKUP, kind, "d"), 0.0)
        assert fetch.result == refused

    @pytest.mark.parametrize(
        ("kind", "refused"),
        [
            ("connect", Refused(0, "connect_failed", "The site did not answer.", "d")),
            ("reset", Refused(0, "connect_failed", "The site did not answer.", "d")),
            ("tls", Refused(3, "tls_failed", "The site's certificate could not be verified.", "d")),
            ("protocol", Refused(5, "answer_malformed", "The site's answer could not be read.", "d")),
            ("timeout", Refused(0, "connect_failed", "The site did not answer.", "d")),
            ("idle", Refused(5, "timed_out", "The page took longer than 10 seconds.")),
        ],
    )
    def test_of_a_connection(self, kind: FailureKind, refused: Refused) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(Failed(GET, kind, "d"), 0.0)
        assert fetch.result == refused

    def test_of_what_came(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 0.0)
        fetch.receive(Failed(GET, "reset", "d"), 0.0)
        assert fetch.result == Refused(0, "body_incomplete", "The page broke off.", "d")

    @pytest.mark.parametrize(
        ("locations", "refused"),
        [
            ((), Refused(4, "redirect_malformed", "The page redirects to nowhere.", "0 Locations")),
            (("/b", "/b"), Refused(4, "redirect_malformed", "The page redirects to nowhere.", "2 Locations")),
            (
                ("",),
                Refused(4, "redirect_malformed", "The page redirects to nowhere.", "a Location that cannot be read"),
            ),
            (("/a?b",), Refused(4, "redirect_limit", "The page redirects too often.", "a loop")),
            (
                ("http://x.org",),
                Refused(4, "redirect_refused", "The page redirects to an address that cannot be opened."),
            ),
            (
                ("https://x.local",),
                Refused(
                    2, "redirect_refused", "The page redirects to an address that cannot be opened.", "a special name"
                ),
            ),
        ],
    )
    def test_of_a_redirect(self, locations: tuple[str, ...], refused: Refused) -> None:
        fetch = _fetch()
        _asked(fetch)
        _redirect(fetch, 0, *locations)
        assert fetch.result == refused

    def test_of_a_driver_that_connected_elsewhere(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, OTHER), 0.0)
        assert fetch.result == Refused(
            3,
            "not_public",
            "That address is not on the public internet.",
            "connected to an address that was not checked",
        )

    def test_of_a_stop(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.cancel(0.0)
        assert fetch.result == Refused(0, "cancelled", "Stopped before it was read.")


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_a_new_request_in_every_respect(self, status: int) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = _redirect(fetch, 0, "https://other.net/x", status=status, now=2.0)
        assert commands[0] == Cancel(GET)
        (record,) = _records(commands)
        assert (record.id, record.status, record.error, record.total_milliseconds) == ("c1.p0.h0", status, None, None)
        assert commands[2] == Resolve(id="c1.p0.h1.lookup", deadline=5.0, host="other.net")
        (command,) = fetch.receive(Resolved("c1.p0.h1.lookup", (OTHER,)), 3.0)
        assert isinstance(command, Connect)
        assert (command.id, command.deadline, command.server_name) == ("c1.p0.h1.get", 10.0, "other.net")
        assert command.addresses == (CheckedAddress(OTHER),)
        assert command.request.target == "/x"
        assert command.request.headers[0] == ("Host", "other.net")
        fetch.receive(ResponseStarted("c1.p0.h1.get", 200, HTML, OTHER), 4.0)
        commands = fetch.receive(ResponseEnded("c1.p0.h1.get"), 4.5)
        (record,) = _records(commands)
        assert (record.hop, record.source, record.milliseconds, record.total_milliseconds) == (
            1,
            "redirect",
            2500,
            4500,
        )
        assert (_page(fetch).asked.host, _page(fetch).final.text) == ("example.org", "https://other.net/x")

    def test_a_literal_that_is_refused_is_in_the_journal_as_what_was_found(self) -> None:
        fetch = _fetch("https://1.1.1.1/", web=Web(deny_networks=("1.1.1.0/24",)))
        (line,) = fetch.start(0.0)
        assert isinstance(line, LogFetch)
        assert (line.record.error, line.record.answers) == ("not_public", ("1.1.1.1",))

    def test_a_literal_is_connected_to_at_once(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        assert isinstance(_redirect(fetch, 0, "https://1.1.1.1/")[-1], Connect)

    def test_a_third_redirect_is_followed_a_fourth_is_not(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        for hop in range(3):
            _redirect(fetch, hop, f"/{hop}")
            fetch.receive(Resolved(f"c1.p0.h{hop + 1}.lookup", (PUBLIC,)), 0.0)
        assert fetch.result is None
        commands = _redirect(fetch, 3, "/3")
        assert fetch.result == Refused(4, "redirect_limit", "The page redirects too often.", "over the limit")
        assert [type(command) for command in commands] == [Cancel, LogFetch]

    @pytest.mark.parametrize("location", ["/a?b", "#x", "https://example.org/a?b#y", "//EXAMPLE.org/./a?b"])
    def test_a_loop_ends_at_once(self, location: str) -> None:
        fetch = _fetch()
        _asked(fetch)
        _redirect(fetch, 0, location)
        assert _code(fetch) == "redirect_limit"

    @pytest.mark.parametrize(
        "locations",
        [(), ("",), (" ",), ("/b", "/b"), ("/b", "https://127.0.0.1/"), ("/a\tb",), ("///x",), ("https:/x",)],
    )
    def test_no_two_or_unreadable_locations_lead_nowhere(self, locations: tuple[str, ...]) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = _redirect(fetch, 0, *locations)
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (4, "redirect_malformed")
        assert fetch.result.reason == "The page redirects to nowhere."
        assert [type(command) for command in commands] == [Cancel, LogFetch]

    @pytest.mark.parametrize(
        ("location", "cause"),
        [
            ("http://other.net/", "address_not_https"),
            ("file:///etc/passwd", "address_not_https"),
            ("https://user@other.net/", "address_user"),
            ("https://other.net:8443/", "address_port"),
        ],
    )
    def test_an_address_that_could_not_be_asked_for_is_refused_here_too(self, location: str, cause: str) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = _redirect(fetch, 0, location)
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (4, "redirect_refused")
        (record,) = _records(commands)
        assert (record.error, record.cause, record.hop, record.status) == ("redirect_refused", cause, 0, 302)

    @pytest.mark.parametrize(
        "location", ["https://127.0.0.1/", "//[::1]/", "https://169.254.169.254/latest/", "https://router.local/"]
    )
    def test_a_redirect_inside_is_refused_and_leaves_a_line_of_its_own(self, location: str) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = _redirect(fetch, 0, location)
        assert isinstance(fetch.result, Refused)
        assert (fetch.result.rule, fetch.result.code) == (2, "redirect_refused")
        assert fetch.result.reason == "The page redirects to an address that cannot be opened."
        assert [type(command) for command in commands] == [Cancel, LogFetch, LogFetch]
        first, second = _records(commands)
        assert (first.error, second.error, second.cause, second.hop) == (None, "redirect_refused", "not_public", 1)

    def test_a_name_that_turns_private_between_two_hops_is_refused(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        _redirect(fetch, 0, "/b")
        fetch.receive(Resolved("c1.p0.h1.lookup", ("192.168.0.1",)), 0.0)
        assert _code(fetch) == "redirect_refused"

    def test_a_redirect_may_leave_the_site_but_not_to_a_closed_host(self) -> None:
        fetch = _fetch(web=Web(deny_hosts=("other.net",)))
        _asked(fetch)
        assert _records(_redirect(fetch, 0, "https://other.net/"))[1].cause == "host_denied"

    def test_a_name_that_is_not_found_on_the_way_is_called_so(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        _redirect(fetch, 0, "https://other.net/")
        fetch.receive(Failed("c1.p0.h1.lookup", "not_found"), 0.0)
        assert _code(fetch) == "name_not_found"

    @pytest.mark.parametrize(
        ("location", "target"),
        [("/caf\u00c3\u00a9", "/caf%C3%A9"), ("/caf\u00e9", "/caf%C3%A9"), ("/caf\u4f8b", "/caf%E4%BE%8B")],
    )
    def test_a_location_in_raw_bytes_is_read_as_utf8_where_it_is_that(self, location: str, target: str) -> None:
        fetch = _fetch()
        _asked(fetch)
        _redirect(fetch, 0, location)
        fetch.receive(Failed("c1.p0.h1.lookup", "not_found"), 0.0)
        assert fetch._hop.address.target == target

    def test_the_time_of_a_page_counts_its_redirects(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        assert _redirect(fetch, 0, "/1", now=4.0)[-1].deadline == 7.0  # type: ignore[union-attr]
        fetch.receive(Resolved("c1.p0.h1.lookup", (PUBLIC,)), 4.0)
        assert _redirect(fetch, 1, "/2", now=8.0)[-1].deadline == 10.0  # type: ignore[union-attr]
        commands = fetch.receive(Resolved("c1.p0.h2.lookup", (PUBLIC,)), 10.5)
        assert _code(fetch) == "timed_out"
        assert [type(command) for command in commands] == [LogFetch]

    def test_to_wait_for_room_where_a_redirect_leads_takes_nothing_of_the_time_of_the_page(self) -> None:
        room: list[str] = []
        fetch = _fetch(has_room=lambda address: address.host in room)
        _asked(fetch)
        assert fetch.advance(0.0) == []
        stopped, line = _redirect(fetch, 0, "https://other.net/x", now=4.0)
        assert isinstance(stopped, Cancel)
        assert isinstance(line, LogFetch)
        assert fetch.advance(7.0) == []
        room.append("other.net")
        assert fetch.advance(54.0) == [Resolve(id="c1.p0.h1.lookup", deadline=57.0, host="other.net")]
        assert fetch.advance(54.0) == []
        (connect,) = fetch.receive(Resolved("c1.p0.h1.lookup", (PUBLIC,)), 55.0)
        assert isinstance(connect, Connect)
        assert connect.deadline == 60.0
        (record,) = _records(fetch.cancel(56.0))
        assert (record.milliseconds, record.total_milliseconds) == (2000, 56_000)


class TestTime:
    def test_a_lookup_has_its_own_time(self) -> None:
        fetch = _fetch()
        fetch.start(0.0)
        fetch.receive(Resolved(LOOKUP, (PUBLIC,)), 3.1)
        assert _code(fetch) == "lookup_failed"

    def test_an_event_at_the_deadline_counts_and_one_after_it_does_not_whatever_it_brings(self) -> None:
        for late in (ResponseStarted(GET, 200, HTML, PUBLIC), Failed(GET, "protocol")):
            fetch = _fetch()
            _asked(fetch)
            fetch.receive(late, 10.001)
            assert fetch.result == Refused(5, "timed_out", "The page took longer than 10 seconds.")
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 10.0)
        assert fetch.receive(BodyReceived(GET, b"x"), 10.0) == []
        assert fetch.receive(BodyReceived(GET, b"x"), 10.1)[0] == Cancel(GET)
        assert _code(fetch) == "timed_out"

    def test_a_whole_page_that_came_too_late_is_not_read(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 9.0)
        commands = fetch.receive(ResponseEnded(GET), 11.0)
        assert _code(fetch) == "timed_out"
        assert [type(command) for command in commands] == [LogFetch]

    def test_the_seconds_in_the_text_are_those_of_the_limits(self) -> None:
        fetch = _fetch(limits=Limits(page_seconds=2.5))
        _asked(fetch)
        fetch.receive(Failed(GET, "timeout"), 2.5)
        assert isinstance(fetch.result, Refused)
        assert fetch.result.reason == "The page took longer than 2.5 seconds."

    def test_a_connection_that_ran_out_of_the_pages_time_did(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(Failed(GET, "timeout"), 10.0)
        assert _code(fetch) == "timed_out"

    def test_a_page_that_stopped_half_way_ran_out_of_time(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 0.0)
        fetch.receive(Failed(GET, "timeout"), 5.0)
        assert _code(fetch) == "timed_out"


class TestCancel:
    def test_an_open_hop_is_stopped_and_still_leaves_its_line(self) -> None:
        fetch = _fetch()
        _asked(fetch)
        commands = fetch.cancel(2.0)
        assert commands[0] == Cancel(GET)
        (record,) = _records(commands)
        assert (record.error, record.milliseconds, record.total_milliseconds) == ("cancelled", 2000, 2000)
        assert _code(fetch) == "cancelled"
        assert fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 3.0) == []

    def test_before_the_start_and_after_the_end_there_is_nothing_to_stop(self) -> None:
        fetch = _fetch()
        assert fetch.cancel(0.0) == []
        fetch.start(0.0)
        fetch.cancel(0.0)
        assert fetch.cancel(0.0) == []


class TestTheContract:
    EVENTS: tuple[Callable[[str], RequestEvent], ...] = (
        lambda id_: Resolved(id_, (PUBLIC,)),
        lambda id_: ResponseStarted(id_, 200, HTML, PUBLIC),
        lambda id_: BodyReceived(id_, b"x"),
        ResponseEnded,
        lambda id_: Failed(id_, "reset"),
        lambda id_: ToolFinished(id_, "x"),
        Woken,
    )

    def _at(self, state: State) -> tuple[Fetch, str]:
        fetch = _fetch()
        fetch.start(0.0)
        if state is State.RESOLVING:
            return fetch, LOOKUP
        fetch.receive(Resolved(LOOKUP, (PUBLIC,)), 0.0)
        if state is not State.ASKED:
            fetch.receive(ResponseStarted(GET, 200, HTML, PUBLIC), 0.0)
        return fetch, GET

    @pytest.mark.parametrize(
        ("state", "accepted"),
        [
            (State.RESOLVING, (Resolved, Failed)),
            (State.ASKED, (ResponseStarted, Failed)),
            (State.READING, (BodyReceived, ResponseEnded, Failed)),
        ],
    )
    @pytest.mark.parametrize("event", EVENTS)
    def test_each_state_takes_its_events_and_no_other(
        self, state: State, accepted: tuple[type, ...], event: Callable[[str], RequestEvent]
    ) -> None:
        fetch, id_ = self._at(state)
        if isinstance(event(id_), accepted):
            fetch.receive(event(id_), 0.0)
        else:
            said = f"{type(event(id_)).__name__} for {id_!r}, which is {state.value}"
            with pytest.raises(LocalProtocolError, match=re.escape(said)):
                fetch.receive(event(id_), 0.0)

    @pytest.mark.parametrize("event", EVENTS)
    def test_a_redirect_that_waits_for_room_takes_nothing(self, event: Callable[[str], RequestEvent]) -> None:
        fetch = _fetch(has_room=lambda address: address.host != "other.net")
        _asked(fetch)
        fetch.receive(ResponseStarted(GET, 302, (("Location", "https://other.net/"),), PUBLIC), 1.0)
        assert fetch.state is State.WAITING
        assert fetch.receive(event(GET), 100.0) == []
        assert fetch.advance(100.0) == []
        with pytest.raises(LocalProtocolError, match="never asked"):
            fetch.receive(event("c1.p0.h1.lookup"), 100.0)
        (line,) = fetch.cancel(101.0)
        assert isinstance(line, LogFetch)
        assert (line.record.hop, line.record.error, line.record.peer) == (1, "cancelled", None)

    @pytest.mark.parametrize("event", EVENTS)
    def test_an_event_for_an_id_that_was_never_issued_is_an_error(self, event: Callable[[str], RequestEvent]) -> None:
        fetch, _ = self._at(State.ASKED)
        said = f"{type(event('x')).__name__} for 'c1.p1.h0.get', which c1.p0 never asked for"
        with pytest.raises(LocalProtocolError, match=re.escape(said)):
            fetch.receive(event("c1.p1.h0.get"), 0.0)

    def test_an_event_for_a_request_that_is_over_is_dropped(self) -> None:
        fetch, _ = self._at(State.ASKED)
        assert fetch.receive(Resolved(LOOKUP, ("127.0.0.1",)), 0.0) == []
        assert fetch.state is State.ASKED

    def test_a_fetch_starts_once(self) -> None:
        fetch, _ = self._at(State.ASKED)
        with pytest.raises(LocalProtocolError, match="twice"):
            fetch.start(0.0)


_EVENTS = st.one_of(
    st.lists(st.sampled_from([PUBLIC, OTHER, "2600::1", "10.0.0.1", "::1", "x"]), max_size=3).map(
        lambda answers: ("resolved", tuple(answers))
    ),
    st.tuples(
        st.just("head"),
        st.sampled_from([200, 200, 301, 302, 404]),
        st.lists(
            st.sampled_from(
                ["/b", "https://other.net/", "https://127.0.0.1/", "http://x.org/", "https://1.1.1.1/", "?x"]
            ),
            max_size=2,
        ),
        st.sampled_from([PUBLIC, None, "127.0.0.1"]),
    ),
    st.tuples(st.just("body"), st.binary(max_size=20)),
    st.just(("end",)),
    st.tuples(st.just("failed"), st.sampled_from(["connect", "reset", "timeout", "not_found"])),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(_EVENTS, st.floats(0, 2)), max_size=14))
def test_whatever_happens_only_checked_addresses_are_connected_to_and_every_hop_leaves_one_line(
    script: list[tuple[Any, float]],
) -> None:
    fetch = _fetch()
    now = 0.0
    commands = fetch.start(now)
    for event, wait in script:
        now += wait
        id_ = fetch._live
        if id_ is None:
            break
        match event:
            case "resolved", answers:
                told: RequestEvent = Resolved(id_, answers)
            case "head", status, locations, peer:
                told = ResponseStarted(id_, status, (*HTML, *[("Location", text) for text in locations]), peer)
            case "body", data:
                told = BodyReceived(id_, data)
            case "end", *_:
                told = ResponseEnded(id_)
            case _:
                told = Failed(id_, event[1])
        try:
            commands += fetch.receive(told, now)
        except LocalProtocolError:
            assert fetch.state in {State.RESOLVING, State.ASKED, State.READING}
    commands += fetch.cancel(now)
    assert fetch.result is not None
    connects = [command for command in commands if isinstance(command, Connect)]
    lookups = [command for command in commands if isinstance(command, Resolve)]
    assert len(connects) <= 4
    for connect in connects:
        for address in connect.addresses:
            ip = read_ip(address.ip)
            assert ip is not None
            assert is_public(ip)
        assert connect.deadline == 10.0
    names = [connect for connect in connects if connect.server_name != "1.1.1.1"]
    assert len(names) <= len(lookups)
    lines = _records(commands)
    assert [line.hop for line in lines] == list(range(len(lines)))
    assert [line.total_milliseconds is not None for line in lines] == [False] * (len(lines) - 1) + [True]
    ids = [command.id for command in connects] + [command.id for command in lookups]
    assert len(set(ids)) == len(ids)
