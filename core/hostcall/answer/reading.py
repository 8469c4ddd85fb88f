"""One page, read for a person instead of a model: the fetch tool without an engine around it.

A driver runs a `Reading` as it runs an `Answer`: both are started, fed and finished in the same way.
"""

import datetime as dt
from collections.abc import Sequence

from hostcall.answer.prompts import PAGE_BUDGET
from hostcall.answer.settle import FAILURES
from hostcall.commands import Cancel, Command, Finish, ShowPage, ShowRefusal
from hostcall.data import Capabilities, Refused, Result, Source, Spent
from hostcall.errors import LocalProtocolError, SettingsError
from hostcall.events import Event, HostCancelled
from hostcall.limits import Limits
from hostcall.machine import Live, Slots
from hostcall.web.crawl import Crawl, CrawlReport, report_text
from hostcall.web.networks import Networks
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web


class Reading:
    """The machine that reads one page and what it links to.

    Args:
        address: The page, as somebody typed it.
        seen: Hosts that may be opened; None: whoever typed the address wants it, so its host counts as the user's.
        web: The settings.
        limits: The bounds.

    Raises:
        SettingsError: One of `seen` is no host.

    Security:
        Rule 1. Threat: a script that passes on an address from a stranger. With `seen` the address alone opens nothing.
    """

    def __init__(
        self,
        address: str,
        *,
        seen: Sequence[str] | None = None,
        web: Web | None = None,
        limits: Limits = Limits(),
    ) -> None:
        self._address = address
        self._web = web or Web()
        self._limits = limits
        self._seen = SeenHosts(limits, self._web.provenance)
        if seen is None:
            self._seen.add_user_text(address)
        for host in seen or ():
            if not self._seen.add_host(host):
                raise SettingsError(f"{host!r} is no host name")
        self._live: Live[Crawl] = Live()
        self._crawl: Crawl | None = None
        self._pages = 0
        self.answer_id = ""
        self.refused: Refused | None = None
        self.result: Result | None = None

    @property
    def engine(self) -> None:
        """No engine is asked."""
        return

    @property
    def tool_names(self) -> tuple[str, ...]:
        """No tool of a host is run."""
        return ()

    @property
    def web_on(self) -> bool:
        """No search is asked for, so a driver needs no search service."""
        return False

    @property
    def finished(self) -> bool:
        """Whether `Finish` was given."""
        return self.result is not None

    def start(
        self, now: float, *, answer_id: str, today: dt.date, capacity: int, deny_networks: Sequence[str] = ()
    ) -> list[Command]:
        """Return the first commands; the arguments are those of `Answer.start`."""
        if self._crawl is not None:
            raise LocalProtocolError("the reading was started before")
        self.answer_id = answer_id
        self._crawl = Crawl(
            self._address,
            seen=self._seen,
            limits=self._limits,
            id="r1.c0",
            web=self._web,
            networks=Networks.of(self._web, deny_networks),
            slots=Slots(min(self._limits.parallel, capacity), self._limits.requests_a_host),
            take_page=self._take,
            pages_left=lambda: self._limits.pages - self._pages,
        )
        commands = self._crawl.start(now)
        return self._go_on(self._crawl, commands, now)

    def receive(self, event: Event, now: float) -> list[Command]:
        """Take one event and return what to do next.

        Raises:
            LocalProtocolError: The event does not fit.
        """
        crawl = self._crawl
        if crawl is None:
            raise LocalProtocolError(f"{type(event).__name__} before start")
        if isinstance(event, HostCancelled):
            return [] if self.finished else self._cancel(crawl, now)
        if self.finished:
            raise LocalProtocolError(f"{type(event).__name__} after Finish")
        if self._live.owner(event) is None:
            return []
        return self._go_on(crawl, crawl.receive(event, now), now)

    def _go_on(self, crawl: Crawl, commands: list[Command], now: float) -> list[Command]:
        if crawl.result is None:
            commands = commands + crawl.advance(now)
        commands = self._live.track(commands, crawl)
        match crawl.result:
            case None:
                return commands
            case CrawlReport():
                return commands + self._finish(crawl.result)
            case Refused():
                return commands + self._refuse(crawl.result)

    def _finish(self, report: CrawlReport) -> list[Command]:
        numbers = list(range(1, len(report.pages) + 1))
        shown: list[Command] = [
            ShowPage(number=number, title=page.page.title, address=page.final, asked_by="host")
            for number, page in zip(numbers, report.pages, strict=True)
        ]
        ledger = tuple(
            Source(number=number, address=page.asked, title=page.page.title, grade="read")
            for number, page in zip(numbers, report.pages, strict=True)
        )
        return shown + self._end(report_text(report, numbers, self._limits), ledger)

    def _refuse(self, refused: Refused) -> list[Command]:
        self.refused = refused
        reason = PAGE_BUDGET if refused.code == "budget_spent" else refused.reason
        shown: list[Command] = [] if refused.code in FAILURES else [ShowRefusal("fetch", reason)]
        return shown + self._end("", (), reason)

    def _cancel(self, crawl: Crawl, now: float) -> list[Command]:
        cancelled = self._live.cancel()
        # The crawl would cancel its requests too; what is wanted of it are its lines for the journal.
        lines = [command for command in crawl.cancel(now) if not isinstance(command, Cancel)]
        self.refused = Refused(0, "cancelled", "Stopped before it was read.")
        return [*cancelled, *lines, *self._end("", (), "cancelled")]

    def _end(self, text: str, ledger: tuple[Source, ...], detail: str = "") -> list[Command]:
        self.result = Result(
            text=text,
            why_stopped="answered" if text else ("cancelled" if detail == "cancelled" else "blank"),
            detail=detail,
            ledger=ledger,
            budget=Spent(searches=0, searches_allowed=0, pages=self._pages, pages_allowed=self._limits.pages),
            capabilities=Capabilities(),
        )
        return [*self._live.cancel(), Finish(self.result)]

    def _take(self) -> bool:
        if self._pages >= self._limits.pages:
            return False
        self._pages += 1
        return True
