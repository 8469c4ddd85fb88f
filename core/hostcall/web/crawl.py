"""A page and what it links to: breadth-first, on one site, within a budget.

Pages are fetched side by side, and still the report is the same whatever arrives first. Three things see to that. The
order of the pages is that of the links: a page's links are lined up only when every page before it is done. What a page
costs of the budget is settled in the same order: a lookup that comes back before an earlier page has asked for its
connection waits for that. And the report is written when all is done.
"""

from collections.abc import Callable

import attrs

from hostcall.commands import Command, Connect, LogFetch
from hostcall.data import FetchRecord, Refused
from hostcall.errors import LocalProtocolError
from hostcall.events import RequestEvent, Resolved
from hostcall.limits import Limits
from hostcall.machine import Live, Slots
from hostcall.web.address import Address, parse_address
from hostcall.web.fetch import BUDGET_SPENT, CANCELLED, Fetch, Fetched
from hostcall.web.networks import Networks
from hostcall.web.report import CrawlReport, ReadPage, report_text
from hostcall.web.seen import SeenHosts, same_site, site_of
from hostcall.web.settings import Web

_SAME_PAGE = "leads to a page that was read already"


@attrs.define(eq=False)
class _Page:
    """One page of a crawl, from when it is lined up."""

    fetch: Fetch
    depth: int
    site: str | None
    """Where it takes up room, from when it is begun; None while it waits for some."""
    outcome: ReadPage | Refused | None = None
    settled: bool = False
    """Whether it is known if the page takes from the budget: it has asked for its connection, or never will."""
    held: tuple[Resolved, float] | None = None
    """A lookup that came back before its turn."""


@attrs.define
class Crawl:
    """Reads a page and the pages that it links to.

    A parent calls `start`, then `advance` after every event of its own: pages wait for a slot, and only the parent
    knows when one has become free.

    Args:
        asked: The address as the model gave it.
        seen: What the answer has seen.
        limits: The bounds.
        id: The crawl's id; those of its pages begin with it.
        web: The operator's settings.
        networks: What may be connected to.
        slots: How many requests may be open at once, and how many at one site. A page holds one from its start to its
            end, and with it room at the site where it is.
        take_page: Takes a page from the budget; False when there is none left.
        pages_left: How many more it will give: no more are looked up at once, beside the one that is told of none left.
    """

    asked: str
    _seen: SeenHosts = attrs.field(kw_only=True)
    _limits: Limits = attrs.field(kw_only=True)
    id: str = attrs.field(kw_only=True)
    _web: Web = attrs.field(kw_only=True)
    _networks: Networks = attrs.field(kw_only=True)
    _slots: Slots = attrs.field(kw_only=True)
    _take_page: Callable[[], bool] = attrs.field(kw_only=True)
    _pages_left: Callable[[], int] = attrs.field(kw_only=True)
    result: CrawlReport | Refused | None = attrs.field(default=None, init=False)
    _pages: list[_Page] = attrs.field(factory=list, init=False)
    """In crawl order."""
    _begun: int = attrs.field(default=0, init=False)
    """How many of them were started."""
    _parents: int = attrs.field(default=0, init=False)
    """How many of them had their links lined up."""
    _spent: bool = attrs.field(default=False, init=False)
    _live: Live[_Page] = attrs.field(factory=Live, init=False)

    def start(self, now: float) -> list[Command]:
        """Line up the first page, or refuse what is no address. Nothing is asked for before `advance`."""
        if self._pages or self.result is not None:
            raise LocalProtocolError(f"{self.id} was started twice")
        address = parse_address(self.asked, self._limits)
        if isinstance(address, Refused):
            self.result = address
            return [self._refusal_line(address)]
        self._line_up(address, 0)
        return []

    def advance(self, now: float) -> list[Command]:
        """Start the pages whose turn it is, as far as there are slots, after those that were redirected and waited."""
        commands = self.go_on(now)
        while self.result is None and self._may_begin():
            page = self._pages[self._begun]
            self._begun += 1
            commands += self._after(page, page.fetch.start(now))
        return commands

    def go_on(self, now: float) -> list[Command]:
        """Let the pages go on that wait for room at the site to which they were redirected; start no other."""
        commands: list[Command] = []
        for page in self._pages[: self._begun] if self.result is None else ():
            if page.outcome is None:
                commands += self._after(page, page.fetch.advance(now))
        return commands

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Hand an event to the page that waits for it. One for a request that is over is dropped.

        Raises:
            LocalProtocolError: The event answers no request of this crawl.
        """
        page = self._live.owner(event)
        if page is None:
            return []
        if isinstance(event, Resolved) and not page.settled and not self._is_next(page):
            page.held = (event, now)
            return []
        return self._after(page, page.fetch.receive(event, now))

    def cancel(self, now: float) -> list[Command]:
        """Stop every open page; each leaves its line in the journal."""
        commands: list[Command] = []
        if self.result is None:
            self.result = CANCELLED
            for page in self._pages[: self._begun]:
                if page.outcome is None:
                    commands += self._live.track(page.fetch.cancel(now), page)
                    self._slots.free(page.site)
        return commands

    # The order of things.

    def _may_begin(self) -> bool:
        """Say whether the next page can start, and take a slot for it: not too many of one site are open at once.

        Nor more than the budget may yet pay for: else it would depend on the network for which pages a name is looked
        up in vain.
        """
        if self._begun == len(self._pages):
            return False
        unsettled = sum(1 for page in self._pages[: self._begun] if not page.settled)
        if unsettled >= max(self._pages_left(), 1):
            return False
        return self._slots.take(self._pages[self._begun].site)

    def _has_room(self, position: int, address: Address) -> bool:
        """Let a page that is redirected leave the site where it is. Say whether there is room at the other."""
        page = self._pages[position]
        site = site_of(address)
        if page.site != site:
            page.site = site if self._slots.move(page.site, site) else None
        return page.site is not None

    def _is_next(self, page: _Page) -> bool:
        """Say whether every page before `page` has settled what it takes from the budget."""
        return all(earlier.settled for earlier in self._pages[: self._pages.index(page)])

    def _after(self, page: _Page, commands: list[Command]) -> list[Command]:
        """Note what came of an event of `page`, and let go of what waited for it."""
        passed = self._live.track(commands, page)
        if page.fetch.result is not None:
            self._finish(page, page.fetch.result)
        if not page.settled and (page.outcome is not None or any(isinstance(one, Connect) for one in commands)):
            page.settled = True
            for later in self._pages[: self._begun]:
                if later.held is not None and self._is_next(later):
                    event, came = later.held
                    later.held = None
                    # As of when it came: waiting for its turn is not the page's fault, and its deadline has not moved.
                    return passed + self._after(later, later.fetch.receive(event, came))
        return passed

    def _finish(self, page: _Page, result: Fetched | Refused) -> None:
        self._slots.free(page.site)
        if isinstance(result, Fetched):
            # The page reader and lxml are a fifth of what the import of `Answer` would cost.
            from hostcall.web.page import read_page

            # The whole text: what is shown of it is cut later, and may be read on from there.
            text = read_page(result.data, result.content_type, result.final.text, max_chars=self._limits.page_bytes)
            page.outcome = ReadPage(
                asked=result.asked.text,
                final=result.final.text,
                page=text,
                depth=page.depth,
                truncated=result.truncated,
            )
        else:
            page.outcome = result
        if page.outcome == BUDGET_SPENT:
            # Every later page would be refused for the same reason, after a lookup for nothing. None was begun: with
            # nothing left to take, one page at a time asks for some.
            self._spent = True
            del self._pages[self._begun :]
        self._line_up_links()
        if all(page.outcome is not None for page in self._pages):
            self.result = self._report()

    def _line_up_links(self) -> None:
        """Line up the links of each page that is done, in crawl order, as far as every page before it is done too.

        Security:
            Rule 1, links. Threat: a page that sends the crawl elsewhere. A link is followed only on the site of the
            address asked for, wherever redirects have led. Rule 5, limits on pages, hops and links.
        """
        site = self._pages[0].fetch.asked
        while self._parents < len(self._pages) and (outcome := self._pages[self._parents].outcome) is not None:
            parent = self._pages[self._parents]
            self._parents += 1
            if isinstance(outcome, Refused) or self._spent or parent.depth >= self._limits.hops:
                continue
            known = self._known()
            for link in outcome.page.links[: self._limits.links_a_page]:
                address = parse_address(link, self._limits)
                if isinstance(address, Refused) or not same_site(site, address) or address.text in known:
                    continue
                if len(self._pages) >= self._limits.pages_a_crawl:
                    return
                known.add(address.text)
                self._line_up(address, parent.depth + 1)

    def _known(self) -> set[str]:
        """Return the addresses that were lined up, and those where the pages so far led.

        Only pages whose links were lined up count for the second: where others led may or may not be known yet.
        """
        known = {page.fetch.asked.text for page in self._pages}
        for page in self._pages[: self._parents]:
            if isinstance(page.outcome, ReadPage):
                known.add(page.outcome.final)
        return known

    def _line_up(self, address: Address, depth: int) -> None:
        position = len(self._pages)
        fetch = Fetch(
            address,
            self._seen,
            self._limits,
            id=f"{self.id}.p{position}",
            networks=self._networks,
            web=self._web,
            depth=depth,
            take_page=self._take_page,
            linked_from=self._pages[0].fetch.asked if self._pages else None,
            has_room=lambda to: self._has_room(position, to),
        )
        self._pages.append(_Page(fetch, depth, site_of(address)))

    # The end.

    def _report(self) -> CrawlReport | Refused:
        """Return the report; a crawl whose first page could not be read is refused as that page was."""
        first = self._pages[0]
        if isinstance(first.outcome, Refused):
            return first.outcome
        pages: list[ReadPage] = []
        failures: list[tuple[str, str]] = []
        for page in self._pages:
            outcome = page.outcome
            asked = page.fetch.asked.text
            if isinstance(outcome, Refused):
                failures.append((asked, outcome.reason))
            elif outcome is None:
                raise AssertionError("the report is written when every page is done")
            elif any(outcome.final == earlier.final for earlier in pages):
                failures.append((asked, _SAME_PAGE))
            else:
                pages.append(outcome)
                self._seen.add_page_links(first.fetch.asked, outcome.page.links)
        return CrawlReport(pages=tuple(pages), failures=tuple(failures))

    def _refusal_line(self, refused: Refused) -> LogFetch:
        """Write the line for a text that is no address.

        Security:
            Rule 8, a record of every fetch, refusals before any request too. Threat: attempts that leave no trace.
        """
        text = self.asked[: self._limits.address_chars].encode("utf-8", "backslashreplace").decode("utf-8")
        record = FetchRecord(
            id=f"{self.id}.p0.h0", address=text, error=refused.code, rule=refused.rule, total_milliseconds=0
        )
        return LogFetch(record)


__all__ = ["Crawl", "CrawlReport", "ReadPage", "report_text"]
