"""One page, with its redirects: the machine that asks for lookups and connections, and judges what comes back.

::

    start ─► RESOLVING ─► ASKED ─► READING ─► DONE
               ▲            │
               └─ WAITING ◄─┘ redirect          every refusal and failure leads to DONE

A redirect is a new request in every respect: parsed, looked up, checked and connected to anew, under the one deadline
of the page. It may have to wait for room at the site where it leads, which takes nothing of the page's time. A literal
host skips RESOLVING. Each hop leaves one line in the journal when it ends, however it ends.
"""

from collections.abc import Callable
from enum import Enum
from typing import Literal, TypeAlias

import attrs

from hostcall.commands import Cancel, Command, Connect, LogFetch, Resolve
from hostcall.data import FetchRecord, Refused
from hostcall.errors import LocalProtocolError
from hostcall.events import (
    BodyReceived,
    Failed,
    FailureKind,
    RequestEvent,
    Resolved,
    ResponseEnded,
    ResponseStarted,
)
from hostcall.limits import Limits
from hostcall.web.address import Address, checked_addresses, join, same_ip
from hostcall.web.content import Body, content_coding, content_type, values
from hostcall.web.networks import NOT_PUBLIC, Networks
from hostcall.web.request import page_bounds, page_request
from hostcall.web.seen import SeenHosts, same_site
from hostcall.web.settings import Web

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PORT = 443

OFF_SITE = Refused(1, "off_site", "left out: on another site")
BUDGET_SPENT = Refused(0, "budget_spent", "The page budget is spent.")
CANCELLED = Refused(0, "cancelled", "Stopped before it was read.")

_MALFORMED = Refused(5, "answer_malformed", "The site's answer could not be read.")
_BROKE_OFF = Refused(0, "body_incomplete", "The page broke off.")
_FAILURES: dict[FailureKind, Refused] = {
    "not_found": Refused(0, "name_not_found", "No site has that name."),
    "lookup": Refused(0, "lookup_failed", "The site's name could not be looked up just now."),
    "connect": Refused(0, "connect_failed", "The site did not answer."),
    "tls": Refused(3, "tls_failed", "The site's certificate could not be verified."),
    "reset": _BROKE_OFF,
    "protocol": _MALFORMED,
    "handler": _MALFORMED,
}
"""What a failure of the wire is called; what is not here is a matter of time."""

Source: TypeAlias = Literal["search_result", "user_message", "page_link", "redirect", "unknown"]


@attrs.frozen(kw_only=True)
class Fetched:
    """A page that was read, as bytes."""

    asked: Address
    final: Address
    """Where the redirects led."""
    content_type: str
    data: bytes
    truncated: bool = False
    """There was more than the limit lets in."""


class State(Enum):
    """Where a fetch stands."""

    NEW = "new"
    RESOLVING = "resolving"
    ASKED = "asked"
    READING = "reading"
    WAITING = "waiting"
    DONE = "done"


ACCEPTS: dict[State, tuple[type, ...]] = {
    State.RESOLVING: (Resolved, Failed),
    State.ASKED: (ResponseStarted, Failed),
    State.READING: (BodyReceived, ResponseEnded, Failed),
}


@attrs.define
class _Hop:
    """One request of a fetch, and what the journal will say of it."""

    number: int
    address: Address
    source: Source
    started: float
    peers: tuple[str, ...] = ()
    """The addresses that may be connected to."""
    answers: tuple[str, ...] = ()
    peer: str | None = None
    status: int | None = None
    tls_version: str | None = None
    wire_bytes: int = 0
    decoded_bytes: int = 0


@attrs.define
class Fetch:
    """Reads one page.

    Args:
        asked: The page.
        seen: What the answer has seen.
        limits: The bounds.
        id: The page's id; those of its requests begin with it.
        networks: What may be connected to.
        web: The operator's settings.
        depth: How many links from the page that was asked for.
        take_page: Takes a page from the budget, right before the first connection; False when there is none left.
        linked_from: The page asked for, when this one is a link of the crawl: then its site counts, not what was seen.
        has_room: Takes room at the site of an address to which a redirect leads; False when there is none yet.
    """

    asked: Address
    _seen: SeenHosts
    _limits: Limits
    id: str = attrs.field(kw_only=True)
    _networks: Networks = attrs.field(kw_only=True)
    _web: Web = attrs.field(kw_only=True)
    _depth: int = attrs.field(default=0, kw_only=True)
    _take_page: Callable[[], bool] = attrs.field(kw_only=True)
    _linked_from: Address | None = attrs.field(default=None, kw_only=True)
    _has_room: Callable[[Address], bool] = attrs.field(default=lambda _: True, kw_only=True)
    result: Fetched | Refused | None = attrs.field(default=None, init=False)
    state: State = attrs.field(default=State.NEW, init=False)
    _started: float = attrs.field(default=0.0, init=False)
    _deadline: float = attrs.field(default=0.0, init=False)
    _request_deadline: float = attrs.field(default=0.0, init=False)
    _hop: _Hop = attrs.field(init=False)
    _visited: list[Address] = attrs.field(factory=list, init=False)
    _live: str | None = attrs.field(default=None, init=False)
    """The id of the open request."""
    _issued: set[str] = attrs.field(factory=set, init=False)
    _page_taken: bool = attrs.field(default=False, init=False)
    _type: str = attrs.field(default="", init=False)
    _body: Body = attrs.field(init=False)

    def start(self, now: float) -> list[Command]:
        """Ask for the first lookup, or refuse the page.

        Security:
            Rule 1, only addresses the answer has already seen, and only links on the site of the page asked for.
            Threat: data carried out in an address that a page or a fooled model made up.
        """
        if self.state is not State.NEW:
            raise LocalProtocolError(f"{self.id} was started twice")
        self._started = now
        self._deadline = now + self._limits.page_seconds
        source = self._seen.source(self.asked) if self._linked_from is None else "page_link"
        self._hop = _Hop(0, self.asked, source, now)
        if self._linked_from is None:
            refused = self._seen.check(self.asked)
        else:
            refused = None if same_site(self._linked_from, self.asked) else OFF_SITE
        return self._end(refused, now) if refused is not None else self._look_up(now)

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take an event of the open request. One for a request that is over is dropped.

        Raises:
            LocalProtocolError: The event answers no request of this page, or not in this way.
        """
        if event.id not in self._issued:
            raise LocalProtocolError(f"{type(event).__name__} for {event.id!r}, which {self.id} never asked for")
        if event.id != self._live:
            return []
        if not isinstance(event, ACCEPTS[self.state]):
            raise LocalProtocolError(f"{type(event).__name__} for {event.id!r}, which is {self.state.value}")
        if isinstance(event, Resolved | ResponseEnded | Failed):
            self._live = None
        # Whatever it brings: a driver that waits too long must not make the limit a wish.
        if now > self._request_deadline:
            return self._end(self._late(), now)
        match event:
            case Resolved():
                return self._connect(event.addresses, now)
            case ResponseStarted():
                return self._read_head(event, now)
            case BodyReceived():
                return self._read_body(event.data, now)
            case ResponseEnded():
                return self._end(None if self._body.complete else _BROKE_OFF, now)
            case Failed():
                return self._end(self._named(event, now), now)
        raise AssertionError("the table lets nothing else through")

    def advance(self, now: float) -> list[Command]:
        """Go on to where a redirect led, if that was waited for and there is room at its site."""
        if self.state is not State.WAITING or not self._has_room(self._hop.address):
            return []
        # Others had their turn there: that is not the page's fault.
        self._deadline += now - self._hop.started
        self._hop.started = now
        return self._look_up(now)

    def cancel(self, now: float) -> list[Command]:
        """Stop, whatever is going on. The hop that was open still gets its line in the journal."""
        if self.state in {State.NEW, State.DONE}:
            return []
        return self._end(CANCELLED, now)

    # From a name to a connection.

    def _look_up(self, now: float) -> list[Command]:
        """Ask for the addresses of the hop's host; a literal is one itself.

        Security:
            Rule 2, public addresses only. Threat: names that are answered from the inside. Rule 3, one lookup, one
            connection: one `Resolve` a hop, and none that a later hop could lean on. Threat: rebinding.
        """
        address = self._hop.address
        self._visited.append(address)
        refused = self._networks.refuse_host(address.host)
        if refused is not None:
            return self._end(refused, now)
        if address.literal:
            return self._connect((address.host,), now)
        self.state = State.RESOLVING
        self._request_deadline = min(self._deadline, now + self._limits.lookup_seconds)
        id_ = self._issue("lookup")
        return [Resolve(id=id_, deadline=self._request_deadline, host=address.host)]

    def _connect(self, answers: tuple[str, ...], now: float) -> list[Command]:
        """Ask for a connection to the checked addresses and nothing else.

        Security:
            Rule 3, one lookup, one connection. Threat: rebinding; the connection goes to what was checked, by number,
            and the certificate is checked for the name. Rule 7, nothing of the user's goes out.
        """
        hop = self._hop
        hop.answers = answers
        checked = checked_addresses(hop.address, answers, self._networks, self._limits)
        if isinstance(checked, Refused):
            return self._end(checked, now)
        if not self._page_taken and not self._take_page():
            return self._end(BUDGET_SPENT, now)
        self._page_taken = True
        hop.answers = ()
        hop.peers = tuple(address.ip for address in checked)
        self.state = State.ASKED
        self._request_deadline = self._deadline
        command = Connect(
            id=self._issue("get"),
            deadline=self._deadline,
            addresses=checked,
            port=_PORT,
            server_name=hop.address.host,
            request=page_request(hop.address, self._web),
            bounds=page_bounds(self._limits),
        )
        return [command]

    # The answer.

    def _read_head(self, event: ResponseStarted, now: float) -> list[Command]:
        """Judge the head of an answer.

        Security:
            Rule 3, one lookup, one connection. Threat: a driver that connected elsewhere than it was told.
        """
        hop = self._hop
        hop.peer, hop.status, hop.tls_version = event.peer, event.status, event.tls_version
        peer = event.peer
        if not (peer is None or peer in hop.peers or any(same_ip(peer, address) for address in hop.peers)):
            return self._end(Refused(3, "not_public", NOT_PUBLIC, "connected to an address that was not checked"), now)
        if event.status in _REDIRECTS:
            return self._redirect(values(event.headers, "location"), now)
        if event.status != 200:
            return self._end(Refused(0, "status", f"The site answered {event.status}."), now)
        type_ = content_type(event.headers)
        if isinstance(type_, Refused):
            return self._end(type_, now)
        coding = content_coding(event.headers)
        if isinstance(coding, Refused):
            return self._end(coding, now)
        self._type = type_
        self._body = Body(coding, self._limits.page_bytes)
        self.state = State.READING
        return []

    def _redirect(self, locations: list[str], now: float) -> list[Command]:
        """Go where the answer points, as a new request.

        Security:
            Rule 4, every redirect is a new request, https only, at most so many. Threat: a public page that answers
            "moved" and names an address inside. Two Locations are refused even when equal: clients differ in which
            one they follow.
        """
        if len(self._visited) > self._limits.redirects:
            return self._end(_redirect_limit("over the limit"), now)
        if len(locations) != 1:
            return self._end(_redirect_malformed(f"{len(locations)} Locations"), now)
        target = join(self._hop.address, _as_utf8(locations[0]), self._limits)
        if isinstance(target, Refused):
            if target.code == "address_malformed":
                return self._end(_redirect_malformed("a Location that cannot be read"), now)
            return self._end(_redirect_refused(target, 4), now, cause=target.code)
        if target in self._visited:
            return self._end(_redirect_limit("a loop"), now)
        commands = self._stop()
        commands.append(self._line(None, now))
        self._hop = _Hop(self._hop.number + 1, target, "redirect", now)
        self.state = State.WAITING
        return commands + self.advance(now)

    def _read_body(self, data: bytes, now: float) -> list[Command]:
        """Take a piece of the body.

        Security:
            Rule 5, limits on size. Threat: a download without end, and a small one that unpacks without end.
        """
        hop = self._hop
        hop.wire_bytes += len(data)
        self._body.feed(data)
        hop.decoded_bytes = self._body.size
        if self._body.broken:
            return self._end(_BROKE_OFF, now)
        if self._body.full:
            return self._end(None, now)
        if hop.wire_bytes > self._limits.page_wire_bytes:
            return self._end(_MALFORMED, now)
        return []

    # The end.

    def _named(self, event: Failed, now: float) -> Refused:
        """Return what a failure of the wire is called here."""
        if event.kind == "reset" and self.state is State.ASKED:
            return attrs.evolve(_FAILURES["connect"], detail=event.detail)
        if event.kind == "timeout" and self.state is State.ASKED and now < self._request_deadline:
            # One attempt has less time than the page: nobody answered there, and the page itself was in time.
            return attrs.evolve(_FAILURES["connect"], detail=event.detail)
        refused = _FAILURES.get(event.kind)
        return self._late() if refused is None else attrs.evolve(refused, detail=event.detail)

    def _late(self) -> Refused:
        """Return what a request that took too long is called.

        Security:
            Rule 5, limits on time, redirects included. Threat: a page that never finishes.
        """
        if self._request_deadline < self._deadline:
            return attrs.evolve(_FAILURES["lookup"], detail="the lookup took too long")
        return Refused(5, "timed_out", f"The page took longer than {self._limits.page_seconds:g} seconds.")

    def _end(self, refused: Refused | None, now: float, *, cause: str | None = None) -> list[Command]:
        if refused is not None and self._hop.number and refused.rule == 2:
            cause = refused.code
            refused = _redirect_refused(refused, 2)
        commands = self._stop()
        self.state = State.DONE
        if refused is not None:
            self.result = refused
        else:
            self.result = Fetched(
                asked=self.asked,
                final=self._hop.address,
                content_type=self._type,
                data=self._body.data,
                truncated=self._body.full,
            )
        return [*commands, self._line(refused, now, cause=cause, last=True)]

    def _line(self, refused: Refused | None, now: float, *, cause: str | None = None, last: bool = False) -> LogFetch:
        """Write the hop's line for the journal.

        Security:
            Rule 8, a record of every fetch: of each request and each refusal, and never page text. Threat: a fetch that
            nobody can account for afterwards.
        """
        hop = self._hop
        record = FetchRecord(
            id=f"{self.id}.h{hop.number}",
            address=hop.address.text,
            host=hop.address.host,
            peer=hop.peer,
            answers=hop.answers,
            status=hop.status,
            wire_bytes=hop.wire_bytes,
            decoded_bytes=hop.decoded_bytes,
            milliseconds=round((now - hop.started) * 1000),
            total_milliseconds=round((now - self._started) * 1000) if last else None,
            error=refused.code if refused else None,
            cause=cause,
            detail=refused.detail if refused else "",
            rule=refused.rule or None if refused else None,
            hop=hop.number,
            depth=self._depth,
            source=hop.source,
            truncated=last and refused is None and self._body.full,
            tls_version=hop.tls_version,
        )
        return LogFetch(record)

    def _stop(self) -> list[Command]:
        """Stop the open request, if one is. A body that nobody wants is not read to its end."""
        if self._live is None:
            return []
        live, self._live = self._live, None
        return [Cancel(live)]

    def _issue(self, what: str) -> str:
        id_ = f"{self.id}.h{self._hop.number}.{what}"
        self._issued.add(id_)
        self._live = id_
        return id_


def _as_utf8(location: str) -> str:
    """Return a Location as text. Fields arrive as Latin-1, one character a byte; servers mean UTF-8 (RFC 9110 §5.5)."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location


def _redirect_limit(detail: str) -> Refused:
    return Refused(4, "redirect_limit", "The page redirects too often.", detail)


def _redirect_malformed(detail: str) -> Refused:
    return Refused(4, "redirect_malformed", "The page redirects to nowhere.", detail)


def _redirect_refused(inner: Refused, rule: int) -> Refused:
    return Refused(rule, "redirect_refused", "The page redirects to an address that cannot be opened.", inner.detail)
