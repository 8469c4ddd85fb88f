"""The work behind one call: searches, a crawl, a tool of the host. Each is a machine that may wait for a slot.

A piece of work has `advance` beside `start` and `receive`: it starts what it can when a slot is free. Numbers, notices
and texts are not its business; `calls.py` makes them when it settles the calls in the order they were asked.
"""

import datetime as dt
from collections.abc import Callable

import attrs

from hostcall.answer.budget import PageShare
from hostcall.answer.tools import FetchAsk, SearchAsk, Tool
from hostcall.commands import AskApproval, Command, RunTool, ShowProgress
from hostcall.data import JsonObject
from hostcall.errors import LocalProtocolError
from hostcall.events import ApprovalGiven, Failed, RequestEvent, ToolFinished
from hostcall.limits import Limits
from hostcall.machine import Live, Slots
from hostcall.web.crawl import Crawl
from hostcall.web.search import Search, SearchOutcome
from hostcall.web.settings import Web


@attrs.define(kw_only=True)
class SearchWork:
    """All searches of one call, side by side, their outcomes in the order asked."""

    id: str
    number: int
    ask: SearchAsk
    queries: tuple[str, ...]
    """What is searched: as much of it as the budget allots."""
    not_run: tuple[str, ...]
    """What the budget had no room for."""
    web: Web
    limits: Limits
    today: dt.date
    slots: Slots
    deadline: Callable[[], float]
    _searches: list[Search] = attrs.Factory(list)
    _live: Live[Search] = attrs.Factory(Live)

    @property
    def done(self) -> bool:
        """Whether every search has its outcome."""
        return len(self._searches) == len(self.queries) and all(search.result for search in self._searches)

    @property
    def started(self) -> int:
        """How many searches were asked for."""
        return len(self._searches)

    @property
    def begun(self) -> bool:
        """Whether anything was asked for."""
        return bool(self._searches)

    @property
    def outcomes(self) -> tuple[SearchOutcome, ...]:
        """The outcomes, in the order asked."""
        return tuple(search.result for search in self._searches if search.result is not None)

    def advance(self, now: float) -> list[Command]:
        """Start the searches for which there is a slot."""
        commands: list[Command] = []
        while len(self._searches) < len(self.queries) and self.slots.take():
            query = self.queries[len(self._searches)]
            search = Search(
                id=f"{self.id}.s{len(self._searches)}",
                query=query,
                time_range=self.ask.time_range,
                web=self.web,
                limits=self.limits,
                today=self.today,
                deadline=self.deadline(),
            )
            self._searches.append(search)
            commands.append(ShowProgress(kind="searching", text=query, round=self.number))
            commands += self._live.track(search.start(now), search)
        return commands

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Hand an event to its search."""
        search = self._live.owner(event)
        if search is None:
            return []
        commands = self._live.track(search.receive(event, now), search)
        if search.result is not None:
            self.slots.free()
        return commands

    def cancel(self, now: float) -> list[Command]:
        """Give the slots back; the requests themselves are cancelled by the answer."""
        for search in self._searches:
            if search.result is None:
                self.slots.free()
        return []


@attrs.define(kw_only=True)
class FetchWork:
    """One page and what it links to."""

    id: str
    number: int
    ask: FetchAsk
    crawl: Crawl
    share: PageShare
    begun: bool = False
    """Whether anything was asked for."""

    @property
    def done(self) -> bool:
        """Whether the crawl has its report or its refusal."""
        return self.crawl.result is not None

    def advance(self, now: float) -> list[Command]:
        """Start the crawl, and its pages for which there is a slot."""
        if self.begun:
            return self.crawl.advance(now)
        self.begun = True
        return [
            ShowProgress(kind="opening", text=self.ask.url[:500], round=self.number),
            *self.crawl.start(now),
            *self.crawl.advance(now),
        ]

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Hand an event to the crawl."""
        return self.crawl.receive(event, now)

    def cancel(self, now: float) -> list[Command]:
        """Stop the crawl, and write the journal lines of what was open."""
        return self.crawl.cancel(now)


@attrs.define(kw_only=True)
class HostWork:
    """One run of a tool of the host, after an approval where the tool has side effects."""

    id: str
    number: int
    call_id: str
    tool: Tool
    arguments: JsonObject
    slots: Slots
    limits: Limits
    deadline: Callable[[], float]
    outcome: str = ""
    content: str = ""
    failed: bool = False
    denied: bool = False
    waiting: bool = False
    """An approval is awaited, and the answer's clock stands still."""
    _until: float = 0.0
    """When what is awaited is too late."""
    _slot: bool = False
    _asked: bool = False
    begun: bool = False
    """Whether the tool was run; an approval alone is no beginning."""

    @property
    def done(self) -> bool:
        """Whether the run has its result, or will never run."""
        return bool(self.outcome)

    def advance(self, now: float) -> list[Command]:
        """Ask for the approval, or run when there is a slot."""
        if self.done or self.waiting or self.begun:
            return []
        # The slot is kept from the approval to the end: a driver that does one thing at a time is busy while it asks.
        if not self._slot and not self.slots.take():
            return []
        self._slot = True
        if self.tool.side_effects and not self._asked:
            self._asked = self.waiting = True
            self._until = now + self.limits.approval_seconds
            return [
                ShowProgress(kind="asking", text=self.tool.name, round=self.number),
                AskApproval(
                    id=f"{self.id}.ask",
                    deadline=self._until,
                    name=self.tool.name,
                    arguments=self.arguments,
                    reason=self.tool.description,
                ),
            ]
        self.begun = True
        self._until = min(now + self.tool.timeout, self.deadline())
        return [
            ShowProgress(kind="running", text=self.tool.name, round=self.number),
            RunTool(
                id=f"{self.id}.run",
                deadline=self._until,
                name=self.tool.name,
                arguments=self.arguments,
                call_id=self.call_id,
            ),
        ]

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take the approval, or the result. What comes after its deadline counts as if it had not come."""
        if now >= self._until and isinstance(event, ApprovalGiven | ToolFinished):
            event = Failed(event.id, "timeout", "too late")
        match event:
            case ApprovalGiven() if self.waiting:
                self.waiting = False
                if event.allowed is not True:  # a text that says "no" is true
                    self._deny(event.reason or "no")
            case Failed() if self.waiting:
                self.waiting = False
                self._deny("nobody answered in time" if event.kind == "timeout" else "it could not be asked for")
            case ToolFinished() if self.begun:
                if not isinstance(event.content, str):
                    raise LocalProtocolError(f"the content of a tool is text, not {type(event.content).__name__}")
                self._finish(event.content, failed=event.is_error)
            case Failed() if self.begun:
                slow = event.kind in ("timeout", "idle")
                self._finish(
                    f"the tool took longer than {self.tool.timeout:g} seconds." if slow else "the tool failed.",
                    failed=True,
                )
            case _:
                raise LocalProtocolError(f"{type(event).__name__} does not answer the call of {self.tool.name!r}")
        return []

    def cancel(self, now: float) -> list[Command]:
        """Give the slot back."""
        if self._slot and not self.done:
            self.slots.free()
        return []

    def _deny(self, reason: str) -> None:
        self.denied = True
        self._end("denied", reason)

    def _finish(self, content: str, *, failed: bool) -> None:
        self.failed = failed
        self._end("failed" if failed else "ran", content)

    def _end(self, outcome: str, content: str) -> None:
        self.slots.free()
        self.content = content
        self.outcome = outcome


Work = SearchWork | FetchWork | HostWork
