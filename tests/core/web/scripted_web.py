"""A web of a few pages, and a driver that answers the requests of a machine in any order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import attrs

from hostcall.commands import Cancel, Command, Connect, LogFetch, Resolve
from hostcall.data import FetchRecord, Headers
from hostcall.events import BodyReceived, Failed, RequestEvent, Resolved, ResponseEnded, ResponseStarted
from hostcall.web.crawl import Crawl

PUBLIC = "93.184.215.14"
HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)


@attrs.frozen
class Answer:
    """What a page answers."""

    body: str = ""
    status: int = 200
    headers: Headers = HTML


def page(title: str, *links: str, text: str = "") -> Answer:
    """Return a page with links and a text that is its own."""
    anchors = "".join(f'<p>More about it on <a href="{link}">the page at {link}</a>.</p>' for link in links)
    return Answer(f"<title>{title}</title><main><h1>{title}</h1><p>{text or f'All about {title}.'}</p>{anchors}</main>")


def moved(location: str) -> Answer:
    """Return a redirect."""
    return Answer(status=302, headers=(("Location", location),))


@attrs.define
class ScriptedWeb:
    """Answers a crawl.

    Args:
        pages: By address without its scheme.
        choose: Which of the open requests is answered next.
        hosts: Addresses by name, where they are not public ones.
    """

    pages: Mapping[str, Answer]
    choose: Callable[[int], int] = lambda count: 0
    hosts: Mapping[str, str] = attrs.field(factory=dict)
    now: float = 0.0
    asked: list[str] = attrs.field(factory=list)
    """The addresses that were connected to, in order."""
    looked_up: list[str] = attrs.field(factory=list)
    """The names that were asked for, in order."""
    most_open: int = 0
    most_at_a_site: int = 0
    """How many requests were open at once to one host, ``www.`` aside."""
    records: list[FetchRecord] = attrs.field(factory=list)
    open: list[Resolve | Connect] = attrs.field(factory=list)

    def run(self, crawl: Crawl, *, others: Sequence[Crawl] = ()) -> None:
        """Bring crawls, which may share their slots, to their ends."""
        crawls = [crawl, *others]
        for each in crawls:
            self.take(each.start(self.now))
        self._advance(crawls)
        while self.open:
            request = self.open.pop(self.choose(len(self.open)))
            owner = next(each for each in crawls if request.id.startswith(each.id + "."))
            for event in self.answer(request):
                self.now += 0.001
                self.take(owner.receive(event, self.now))
                self._advance(crawls)

    def _advance(self, crawls: Sequence[Crawl]) -> None:
        for each in crawls:
            self.take(each.advance(self.now))

    def take(self, commands: Sequence[Command]) -> None:
        """Note commands as a driver would."""
        for command in commands:
            match command:
                case Resolve():
                    self.open.append(command)
                    self.looked_up.append(command.host)
                case Connect():
                    self.open.append(command)
                    self.asked.append(command.server_name + command.request.target)
                case Cancel():
                    self.open = [request for request in self.open if request.id != command.id]
                case LogFetch():
                    self.records.append(command.record)
                case _:
                    raise AssertionError(command)
        self.most_open = max(self.most_open, len(self.open))
        hosts = [request.host if isinstance(request, Resolve) else request.server_name for request in self.open]
        sites = Counter(host.removeprefix("www.") for host in hosts)
        self.most_at_a_site = max(self.most_at_a_site, *sites.values(), 0)

    def answer(self, request: Resolve | Connect) -> list[RequestEvent]:
        """Return the events that answer one request."""
        if isinstance(request, Resolve):
            address = self.hosts.get(request.host, PUBLIC)
            return [Resolved(request.id, (address,)) if address else Failed(request.id, "not_found")]
        answer = self.pages.get(request.server_name + request.request.target, Answer(status=404))
        return [
            ResponseStarted(request.id, answer.status, answer.headers, request.addresses[0].ip),
            BodyReceived(request.id, answer.body.encode()),
            ResponseEnded(request.id),
        ]
