"""Both drivers, one set of cases: real sockets and real TLS on the loopback."""

import contextlib
import json
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.reading import Reading
from hostcall.answer.tools import Tool
from hostcall.commands import AskApproval, ShowPage, ShowRefusal, ShowSearch, ShowText
from hostcall.data import CheckedAddress
from hostcall.errors import SettingsError
from hostcall.events import ApprovalGiven
from hostcall.limits import Limits
from hostcall.record import recording
from hostcall.record.replay import difference, replay
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.recorder import FileRecorder
from tests.drivers.driving import KINDS, QUICK, Kind, carry_out, descriptors, open_descriptors, settled_descriptors
from tests.drivers.servers import (
    PUBLIC_V4,
    PUBLIC_V6,
    Authority,
    Connection,
    ScriptedEngine,
    Server,
    drip,
    never,
    page,
    searxng,
    site,
)

pytestmark = pytest.mark.parametrize("kind", KINDS)

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
RESULTS = [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
NAMES = {"docs.example.org": [PUBLIC_V4]}
HTML = "<title>The guide</title><h1>The guide</h1><p>The kettle boils at ninety-four degrees on that hill.</p>"
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
FETCH = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"}))
ANSWER = reply_text("It boils ", "at 94 degrees [1].")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """No descriptor outlives a case, whatever happened in it."""
    before, named = open_descriptors(), descriptors()
    yield
    assert settled_descriptors(before) <= before, descriptors() - named


def ports(server: Server, ip: str = PUBLIC_V4) -> dict[tuple[str, int], tuple[str, int]]:
    return {(ip, 443): ("127.0.0.1", server.port)}


def test_the_main_job_end_to_end(kind: Kind, authority: Authority) -> None:
    engine = ScriptedEngine([SEARCH, FETCH, ANSWER])
    with Server(engine) as server, Server(searxng(RESULTS)) as search, site(authority, page(HTML)) as docs:
        carried = carry_out(
            kind,
            Answer(QUESTION),
            engine=server.url,
            search=search.url,
            ports=ports(docs),
            names=NAMES,
            page_tls=authority.client(),
        )
    assert carried.result.text == "It boils at 94 degrees [1]."
    assert carried.result.why_stopped == "answered"
    assert [(source.number, source.grade) for source in carried.result.ledger] == [(1, "read")]
    assert [citation.grade for citation in carried.result.citations] == ["read"]
    assert [notice.title for notice in carried.of(ShowPage)] == ["The guide"]
    assert len(carried.of(ShowSearch)) == 1
    assert carried.calls == [(PUBLIC_V4, 443)]
    assert carried.looked_up == ["docs.example.org"]
    assert docs.requests[0].server_name == "docs.example.org"


def test_what_a_site_receives_is_exactly_this_and_after_a_redirect_too(kind: Kind, authority: Authority) -> None:
    def handler(connection: Connection) -> None:
        if connection.target == "/guide?q":
            cookies = ("Set-Cookie", "a=b; Path=/"), ("Refresh", "0;url=/x"), ("Alt-Svc", 'h2=":443"')
            connection.answer(302, b"", ("Location", "/there"), ("WWW-Authenticate", "Basic"), *cookies)
        else:
            page(HTML)(connection)

    with site(authority, handler) as docs:
        asked = reading("https://docs.example.org/guide?q#part")
        carry_out(kind, asked, ports=ports(docs), names=NAMES, page_tls=authority.client())
    assert [(request.head, request.body) for request in docs.requests] == [
        (
            f"GET {target} HTTP/1.1\r\nHost: docs.example.org\r\nUser-Agent: Mozilla/5.0 (compatible; hostcall)\r\n"
            "Accept: text/html, text/markdown, text/plain\r\nAccept-Encoding: gzip\r\nConnection: close".encode(),
            b"",
        )
        for target in ("/guide?q", "/there")
    ]


def reading(url: str = "https://docs.example.org/guide", limits: Limits = QUICK) -> Reading:
    return Reading(url, limits=limits)


@pytest.mark.parametrize(
    ("url", "ip", "right", "other"),
    [
        ("https://docs.example.org/", PUBLIC_V4, "docs.example.org", "other.example.org"),
        (f"https://{PUBLIC_V4}/", PUBLIC_V4, PUBLIC_V4, "docs.example.org"),
        (f"https://[{PUBLIC_V6}]/", PUBLIC_V6, PUBLIC_V6, "docs.example.org"),
    ],
)
def test_a_trusted_certificate_for_another_name_is_refused(
    kind: Kind, authority: Authority, url: str, ip: str, right: str, other: str
) -> None:
    for names, opens in (((right,), True), ((other,), False)):
        with site(authority, page(HTML), *names) as docs:
            carried = carry_out(kind, reading(url), ports=ports(docs, ip), names=NAMES, page_tls=authority.client())
        assert (carried.result.why_stopped == "answered") is opens
        assert len(docs.requests) == int(opens)
        if not opens:
            assert carried.result.detail == "The site's certificate could not be verified."


def test_an_unknown_authority_is_refused(kind: Kind, authority: Authority) -> None:
    with site(Authority(), page(HTML)) as docs:
        carried = carry_out(kind, reading(), ports=ports(docs), names=NAMES, page_tls=authority.client())
    assert carried.result.detail == "The site's certificate could not be verified."


def test_a_redirect_is_looked_up_and_connected_to_anew(kind: Kind, authority: Authority) -> None:
    def handler(connection: Connection) -> None:
        if connection.target == "/guide":
            connection.answer(302, b"", ("Location", "https://moved.example.org/there"))
        else:
            page(HTML)(connection)

    with site(authority, handler, "docs.example.org", "moved.example.org") as docs:
        carried = carry_out(
            kind,
            reading(),
            ports=ports(docs) | ports(docs, "93.184.215.15"),
            names=NAMES | {"moved.example.org": ["93.184.215.15"]},
            page_tls=authority.client(),
        )
    assert carried.result.text.startswith("Untrusted text from https://moved.example.org/there.")
    assert carried.calls == [(PUBLIC_V4, 443), ("93.184.215.15", 443)]
    assert [request.server_name for request in docs.requests] == ["docs.example.org", "moved.example.org"]


def test_a_redirect_inside_is_not_connected_to(kind: Kind, authority: Authority) -> None:
    def handler(connection: Connection) -> None:
        connection.answer(302, b"", ("Location", "https://router.example.org/"))

    with site(authority, handler) as docs:
        carried = carry_out(
            kind,
            reading(),
            ports=ports(docs),
            names=NAMES | {"router.example.org": [PUBLIC_V4, "192.168.0.1"]},
            page_tls=authority.client(),
        )
    assert carried.calls == [(PUBLIC_V4, 443)]
    assert [notice.reason for notice in carried.of(ShowRefusal)] == [
        "The page redirects to an address that cannot be opened."
    ]


def test_the_second_address_is_tried_when_the_first_refuses(kind: Kind, authority: Authority) -> None:
    with site(authority, page(HTML)) as docs:
        table = {("93.184.215.15", 443): ("127.0.0.1", closed_port())} | ports(docs)
        carried = carry_out(
            kind,
            reading(),
            ports=table,
            names={"docs.example.org": ["93.184.215.15", PUBLIC_V4]},
            page_tls=authority.client(),
        )
    assert carried.result.why_stopped == "answered"
    assert carried.calls == [("93.184.215.15", 443), (PUBLIC_V4, 443)]


@contextlib.contextmanager
def black_hole() -> Iterator[int]:
    """Give a port that takes no connection and refuses none: its queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield port


def test_addresses_that_nobody_answers_at_cost_a_head_start_each(kind: Kind, authority: Authority) -> None:
    """Two of them take longer one after the other than the page may take; in a race they do not."""
    limits = Limits(page_seconds=5.0, connect_seconds=3.0)
    holes = ["93.184.215.15", "93.184.215.16"]
    with site(authority, page(HTML)) as docs, black_hole() as port:
        carried = carry_out(
            kind,
            reading(limits=limits),
            ports={(ip, 443): ("127.0.0.1", port) for ip in holes} | ports(docs),
            names={"docs.example.org": [*holes, PUBLIC_V4]},
            page_tls=authority.client(),
        )
    assert carried.result.why_stopped == "answered"
    assert [ip for ip, _ in carried.calls] == [*holes, PUBLIC_V4]


def test_a_site_that_nobody_answers_at_did_not_answer(kind: Kind, authority: Authority) -> None:
    limits = Limits(page_seconds=9.0, connect_seconds=0.3)
    with black_hole() as port:
        table = {(ip, 443): ("127.0.0.1", port) for ip in (PUBLIC_V4, "93.184.215.15")}
        names = {"docs.example.org": [PUBLIC_V4, "93.184.215.15"]}
        carried = carry_out(kind, reading(limits=limits), ports=table, names=names, page_tls=authority.client())
    assert carried.result.detail == "The site did not answer."


def closed_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def within(seconds: float, started: float) -> None:
    assert time.monotonic() - started < seconds


def drip_head(connection: Connection) -> None:
    for _ in range(200):
        connection.send(b"H")
        time.sleep(0.05)


def drip_informed(connection: Connection) -> None:
    for _ in range(200):
        connection.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("name", "handler"),
    [
        ("a body that drips", drip(b"x")),
        ("an answer that never comes", never),
        ("a head that drips", drip_head),
        ("an answer that is always about to come", drip_informed),
    ],
)
def test_a_page_that_never_ends_is_given_up_in_time(kind: Kind, authority: Authority, name: str, handler: Any) -> None:
    started = time.monotonic()
    with site(authority, handler) as docs:
        carried = carry_out(kind, reading(), ports=ports(docs), names=NAMES, page_tls=authority.client())
        within(3.0, started)
    assert carried.result.detail == f"The page took longer than {QUICK.page_seconds:g} seconds.", name
    assert carried.result.why_stopped == "blank"


def test_a_handshake_that_never_ends_is_given_up_in_time(kind: Kind, authority: Authority) -> None:
    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        table = {(PUBLIC_V4, 443): ("127.0.0.1", int(listener.getsockname()[1]))}
        carried = carry_out(kind, reading(), ports=table, names=NAMES, page_tls=authority.client())
        within(3.0, started)
    assert carried.result.detail.startswith("The page took longer than")


def test_a_handshake_that_drips_is_given_up_in_time(kind: Kind, authority: Authority) -> None:
    """Byte after byte of one long record: each read brings something, and the handshake never gets on."""
    over = threading.Event()

    def drip_record(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            peer.sendall(b"\x16\x03\x03\x40\x00")
            while not over.wait(0.02):
                peer.sendall(b"\x00")

    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip_record, args=(listener,))
        dripping.start()
        table = {(PUBLIC_V4, 443): ("127.0.0.1", int(listener.getsockname()[1]))}
        carried = carry_out(kind, reading(), ports=table, names=NAMES, page_tls=authority.client())
        within(3.0, started)
        over.set()
        dripping.join()
    assert carried.result.detail.startswith("The page took longer than")


def test_a_lookup_that_never_returns_is_left_behind(kind: Kind, authority: Authority) -> None:
    release = threading.Event()

    def stuck(host: str) -> list[str]:
        release.wait(10)
        return [PUBLIC_V4]

    started = time.monotonic()
    carried = carry_out(kind, reading(), names=stuck, page_tls=authority.client())
    within(3.0, started)
    release.set()
    assert carried.calls == []
    assert carried.result.detail == "The site's name could not be looked up just now."


def test_an_engine_that_is_not_there_is_asked_twice_and_told(kind: Kind) -> None:
    carried = carry_out(kind, Answer(QUESTION, web=False, limits=QUICK), engine=f"http://127.0.0.1:{closed_port()}")
    assert carried.result.why_stopped == "engine_failed"
    assert "could not be reached" in carried.result.detail


def test_an_engine_that_falls_silent_is_not_waited_for(kind: Kind) -> None:
    def silent(connection: Connection) -> None:
        send = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        piece = stream({"content": "Forty-"}, finish=None, done=False)
        connection.send(send + f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        never(connection)

    started = time.monotonic()
    with Server(ScriptedEngine([silent])) as server:
        limits = Limits(engine_idle=0.5)
        carried = carry_out(kind, Answer(QUESTION, web=False, limits=limits), engine=server.url)
        within(3.0, started)
        assert server.closed.wait(2)
    assert (carried.result.text, carried.result.why_stopped) == ("Forty-", "engine_failed")


def test_an_engine_that_breaks_off_leaves_a_truncated_answer(kind: Kind) -> None:
    def broken(connection: Connection) -> None:
        piece = stream({"content": "Forty-"}, finish=None, done=False)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        raise OSError("scripted")

    with Server(ScriptedEngine([broken])) as server:
        carried = carry_out(kind, Answer(QUESTION, web=False), engine=server.url)
    assert (carried.result.text, carried.result.why_stopped) == ("Forty-", "truncated")


def test_the_engines_key_goes_to_the_engine_and_nowhere_else(kind: Kind, authority: Authority) -> None:
    engine = ScriptedEngine([SEARCH, FETCH, ANSWER])
    with Server(engine) as server, Server(searxng(RESULTS)) as search, site(authority, page(HTML)) as docs:
        carry_out(
            kind,
            Answer(QUESTION),
            engine=server.url + "/v1",
            search=search.url,
            ports=ports(docs),
            names=NAMES,
            page_tls=authority.client(),
            engine_key="top-secret",
        )
    assert all(request.headers["authorization"] == "Bearer top-secret" for request in server.requests)
    for request in (*search.requests, *docs.requests):
        assert "authorization" not in request.headers
        assert "cookie" not in request.headers
        assert "top-secret" not in request.head.decode() + request.body.decode()
    assert "top-secret" not in json.dumps(engine.bodies)


def test_leaving_the_block_early_stops_the_engine(kind: Kind) -> None:
    def endless(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            piece = stream({"content": "again "}, finish=None, done=False)
            connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            time.sleep(0.01)

    with Server(ScriptedEngine([endless])) as server:
        carried = carry_out(
            kind,
            Answer(QUESTION, web=False),
            engine=server.url,
            stop_after=lambda notice: isinstance(notice, ShowText),
        )
        assert server.closed.wait(2)
    assert carried.result.why_stopped == "cancelled"
    assert carried.result.text.startswith("again")


CLOCK = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(**changed: Any) -> Tool:
    return Tool("get_time", "Get the time.", CLOCK, **{"side_effects": False, **changed})


def ask_time(kind: Kind, handler: Any, tool: Tool, **settings: Any) -> str:
    replies = [reply_calls(("get_time", {"city": "Ghent"})), reply_text("Done.")]
    engine = ScriptedEngine(replies)
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[tool], limits=QUICK)
        carry_out(kind, answer, engine=server.url, handlers={"get_time": handler}, **settings)
    return str(engine.bodies[1]["messages"][-1]["content"])


def test_a_handler_runs_with_its_arguments(kind: Kind) -> None:
    assert ask_time(kind, lambda arguments: f"14:03 in {arguments['city']}", tool()) == "14:03 in Ghent"
    assert ask_time(kind, lambda arguments: ("no such city", True), tool()) == "Error: no such city"
    assert ask_time(kind, lambda arguments: None, tool()) == ""


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError("secret detail")


def test_a_handler_that_raises_is_an_error_without_detail(kind: Kind) -> None:
    def broken(arguments: Any) -> str:
        raise RuntimeError("secret detail")

    assert ask_time(kind, broken, tool()) == "Error: the tool failed."
    assert ask_time(kind, lambda arguments: sys.exit(3), tool()) == "Error: the tool failed."
    assert ask_time(kind, lambda arguments: Unwritable(), tool()) == "Error: the tool failed."


def test_an_approval_that_fails_is_none(kind: Kind) -> None:
    def broken(request: AskApproval) -> bool:
        raise RuntimeError("secret detail")

    text = ask_time(kind, lambda arguments: "sent", tool(side_effects=True), approve=broken)
    assert "could not be asked for" in text
    assert "secret" not in text
    refused: Any = lambda request: "no"  # noqa: E731 - what is no bool allows nothing
    assert "not approved" in ask_time(kind, lambda arguments: "sent", tool(side_effects=True), approve=refused).lower()


def test_a_recorder_is_for_one_answer(kind: Kind, tmp_path: Path) -> None:
    recipe = recording.Recipe(conversation=QUESTION, web=False)
    recorder = FileRecorder(tmp_path / "run.jsonl", recipe)
    with Server(ScriptedEngine([reply_text("Done."), reply_text("Done.")])) as server:
        carry_out(kind, recipe.answer(), engine=server.url, record=recorder)
        with pytest.raises((SettingsError, ExceptionGroup)) as caught:
            carry_out(kind, recipe.answer(), engine=server.url, record=recorder)
    assert "one answer's" in messages(caught.value)


def test_a_handler_that_takes_too_long_is_left_behind(kind: Kind) -> None:
    release = threading.Event()
    started = time.monotonic()
    text = ask_time(kind, lambda arguments: release.wait(5), tool(timeout=0.3))
    within(3.0, started)
    release.set()
    assert text == "Error: the tool took longer than 0.3 seconds."


def test_a_tool_with_side_effects_asks_first(kind: Kind) -> None:
    ran: list[Any] = []

    def handler(arguments: Any) -> str:
        ran.append(arguments)
        return "sent"

    asked: list[AskApproval] = []

    def no(request: AskApproval) -> ApprovalGiven:
        asked.append(request)
        return ApprovalGiven(request.id, allowed=False, reason="not today")

    assert "nobody can be asked here" in ask_time(kind, handler, tool(side_effects=True))
    assert "not today" in ask_time(kind, handler, tool(side_effects=True), approve=no)
    assert [(request.name, request.arguments) for request in asked] == [("get_time", {"city": "Ghent"})]
    assert ran == []
    assert ask_time(kind, handler, tool(side_effects=True), approve=lambda request: True) == "sent"
    assert ran == [{"city": "Ghent"}]


def test_what_an_answer_needs_is_checked_before_it_starts(kind: Kind) -> None:
    with pytest.raises((SettingsError, ExceptionGroup)) as caught:
        carry_out(kind, Answer(QUESTION, web=False, tools=[tool()]))
    assert "has no handler" in messages(caught.value)
    with pytest.raises((SettingsError, ExceptionGroup)) as caught:
        carry_out(kind, Answer(QUESTION), search=None)
    assert "no search_url" in messages(caught.value)


def messages(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return " ".join(messages(inner) for inner in error.exceptions)
    return str(error)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080", "ftp://x/", "http://", "http://u@x/", "http://x:port/", "http://x/?a"]
)
def test_a_wrong_service_address_says_what_one_looks_like(kind: Kind, url: str) -> None:
    with pytest.raises(SettingsError, match="write it like http://127"):
        carry_out(kind, Answer(QUESTION, web=False), engine=url)


def test_a_recording_replays_to_the_same_end(kind: Kind, authority: Authority, tmp_path: Path) -> None:
    engine = ScriptedEngine([SEARCH, FETCH, ANSWER])
    recipe = recording.Recipe(conversation=QUESTION)
    path = tmp_path / "run.jsonl"
    with Server(engine) as server, Server(searxng(RESULTS)) as search, site(authority, page(HTML)) as docs:
        carried = carry_out(
            kind,
            recipe.answer(),
            engine=server.url,
            search=search.url,
            ports=ports(docs),
            names=NAMES,
            page_tls=authority.client(),
            record=FileRecorder(path, recipe),
        )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open(encoding="utf-8") as lines:
        read = recording.read(lines)
    commands = list(replay(read))
    assert difference(read, commands) is None
    assert commands[-1] == carried.notices[-1]


def test_the_networks_of_the_machine_are_refused_when_named(kind: Kind, authority: Authority) -> None:
    carried = carry_out(kind, reading(), names=NAMES, page_tls=authority.client(), deny_networks=["93.184.0.0/16"])
    assert carried.calls == []
    assert carried.result.detail == "That address is not on the public internet."


def test_a_checked_address_is_all_that_is_connected_to(kind: Kind, authority: Authority) -> None:
    """A resolver that changes its mind is asked once, and the first answer is what is connected to."""
    answers = iter([[PUBLIC_V4], ["127.0.0.1"]])
    with site(authority, page(HTML)) as docs:
        carried = carry_out(
            kind, reading(), ports=ports(docs), names=lambda host: next(answers), page_tls=authority.client()
        )
    assert carried.looked_up == ["docs.example.org"]
    assert carried.calls == [(CheckedAddress(PUBLIC_V4).ip, 443)]
