"""The calls of one round: each decided, run, and answered exactly once, in the order they were asked.

A call is *decided* when it is added: it runs, or it is answered without running because it repeats one, is over a
limit, names no tool, or cannot be read. Calls run side by side. They are *settled* in the order asked: only then do
sources get their numbers, do notices go out and is the text for the model made, so that none of it depends on which
answer arrived first.

Calls may be added while the model still writes; until `close` says that it is done, what changes anything waits, and a
crawl has its first page only, for how many more it may read depends on the calls that follow.
"""

from collections.abc import Iterable

import attrs

from hostcall.answer import prompts
from hostcall.answer.budget import PageShare, share_pages
from hostcall.answer.receipts import canonical
from hostcall.answer.round import AskedCall
from hostcall.answer.settle import settle
from hostcall.answer.tools import FETCH, SEARCH, Fault, read_fetch, read_search
from hostcall.answer.work import FetchWork, HostWork, SearchWork, Work
from hostcall.answer.world import Call, World, as_arguments
from hostcall.commands import Command
from hostcall.data import AskedBy, JsonObject
from hostcall.engine.history import Message, call_message, reply_message
from hostcall.events import RequestEvent
from hostcall.web.crawl import Crawl, CrawlReport, report_text
from hostcall.web.seen import first_address
from hostcall.web.widen import widen, words_of

HOST_QUERY_CHARS = 400
"""How much of a question the host's own search asks for."""


@attrs.define
class Calls:
    """The machine of one round's calls."""

    world: World
    number: int
    run: bool = True
    """False: every call is answered as not run (the last answer round)."""
    calls: list[Call] = attrs.Factory(list)
    closed: bool = False
    """Whether the model is done, and no further call will come."""

    @property
    def done(self) -> bool:
        """Whether every call is settled, and none will follow."""
        return self.closed and all(call.settled for call in self.calls)

    @property
    def asking(self) -> bool:
        """Whether an approval is awaited."""
        return any(isinstance(call.work, HostWork) and call.work.waiting for call in self.calls)

    def add(self, calls: Iterable[Call], now: float) -> None:
        """Decide further calls. What of them can start is started by `advance`."""
        for call in calls:
            call.started = now
            self.calls.append(call)
            self._decide(call, len(self.calls) - 1)
        self._share_pages()

    def close(self) -> None:
        """Say that no further call will come."""
        self.closed = True
        self._share_pages()

    def advance(self, now: float) -> list[Command]:
        """Start what has a slot, and settle what is done, both in the order asked."""
        commands: list[Command] = []
        for call in self.calls:
            if call.work is None or call.work.done:
                continue
            if self._may_go_on(call.work):
                commands += call.work.advance(now)
            elif isinstance(call.work, FetchWork):
                commands += call.work.crawl.go_on(now)
        for call in self.calls:
            if call.settled:
                continue
            if not call.outcome and (call.work is None or not call.work.done):
                break
            commands += settle(call, self.world, self.number, now)
        return commands

    def receive(self, owner: Call, event: RequestEvent, now: float) -> list[Command]:
        """Hand an event to the work of its call."""
        if owner.work is None:
            raise AssertionError("a call without work has no requests")
        return owner.work.receive(event, now)

    def cancel(self, now: float, reason: str = prompts.NOT_RUN_CANCELLED) -> list[Command]:
        """End every call where it stands; each still gets its one reply."""
        commands: list[Command] = []
        for call in self.calls:
            if call.settled:
                continue
            if call.work is not None:
                if not call.work.done:
                    commands += call.work.cancel(now)
                if isinstance(call.work, SearchWork):
                    call.searches = call.work.started
                    self.world.budget.searches -= len(call.work.queries) - call.work.started
                elif isinstance(call.work, FetchWork):
                    call.pages = call.work.share.used
                if call.work.begun and not call.outcome:
                    # It may have changed something: what is known is that it was not seen to end.
                    call.outcome, call.text = "stopped", prompts.stopped(reason)
                call.work = None
            if not call.outcome:
                call.outcome, call.text = "cancelled", reason
            commands += settle(call, self.world, self.number, now)
        return commands

    def messages(self, text: str, reasoning: str) -> list[Message]:
        """Return what enters the history: the round's message with its calls, and the reply to each."""
        return [
            call_message(text, [call.entry() for call in self.calls], reasoning),
            *(reply_message(call.id, call.text) for call in self.calls),
        ]

    # Deciding.

    def _decide(self, call: Call, position: int) -> None:
        world = self.world
        world.past.count += 1
        if not self.run:
            self._answer(call, "not run", prompts.NOT_RUN_ANSWER)
        elif call.name not in world.names:
            self._answer(call, "unknown", prompts.unknown_tool(call.name[:80], world.names))
        elif call.problem == "cut":
            world.past.cuts += 1
            self._answer(call, "cut", prompts.cut_call())
        elif call.problem == "oversize":
            self._answer(call, "fault", prompts.fault(f"Its arguments are longer than {world.limits.arguments_bytes}."))
        elif call.arguments is None:
            self._answer(call, "fault", prompts.fault("Its arguments are not a JSON object."))
        elif position >= world.limits.calls_a_round:
            self._answer(call, "over limit", prompts.over_round(world.limits.calls_a_round))
        elif world.past.count > world.limits.calls_an_answer:
            self._answer(call, "over limit", prompts.over_answer(world.limits.calls_an_answer))
        elif call.name == SEARCH:
            self._decide_search(call, call.arguments)
        elif call.name == FETCH:
            self._decide_fetch(call, call.arguments)
        else:
            self._decide_host(call, call.arguments)

    def _decide_search(self, call: Call, arguments: JsonObject) -> None:
        world = self.world
        ask = read_search(arguments, research=world.research, limits=world.limits)
        if isinstance(ask, Fault):
            self._answer(call, "fault", prompts.fault(ask.text))
            return
        words = [sorted(words_of(query)) for query in (ask.query, *ask.queries)]
        if self._repeats(call, canonical([words[0], sorted(words[1:]), ask.time_range, ask.kind])):
            return
        wanted = widen(ask.query, ask.queries, ask.kind)
        given = world.budget.take_searches(len(wanted))
        if given == 0:
            self._answer(call, "over budget", prompts.SEARCH_BUDGET)
            return
        if world.web is None:
            raise AssertionError("the search tool is known only with the web on")
        call.searches = given
        self._note(call, canonical([words[0], sorted(words[1:]), ask.time_range, ask.kind]))
        call.work = SearchWork(
            id=call.key,
            number=self.number,
            ask=ask,
            queries=wanted[:given],
            not_run=wanted[given:],
            web=world.web,
            limits=world.limits,
            today=world.today,
            slots=world.slots,
            deadline=world.deadline,
        )

    def _decide_fetch(self, call: Call, arguments: JsonObject) -> None:
        world = self.world
        ask = read_fetch(arguments)
        if isinstance(ask, Fault):
            self._answer(call, "fault", prompts.fault(ask.text))
            return
        if self._repeats(call, canonical([world.ledger.key(ask.url), ask.offset])):
            return
        number = world.ledger.number_of(ask.url)
        page = world.pages.get(number) if number is not None else None
        if ask.offset and number is not None and page is not None:
            # Read on in the text that is kept: no request, and nothing of the budget.
            self._note(call, canonical([world.ledger.key(ask.url), ask.offset]))
            window = report_text(CrawlReport(pages=(page,)), [number], world.limits, offset=ask.offset)
            self._answer(call, "ran", window)
            return
        if world.web is None:
            raise AssertionError("the page tool is known only with the web on")
        share = PageShare(world.budget, 0)
        crawl = Crawl(
            ask.url,
            seen=world.seen,
            limits=world.limits,
            id=call.key,
            web=world.web,
            networks=world.networks,
            slots=world.slots,
            take_page=share.take,
            pages_left=share.left,
        )
        call.work = FetchWork(id=call.key, number=self.number, ask=ask, crawl=crawl, share=share)
        self._note(call, canonical([world.ledger.key(ask.url), ask.offset]))

    def _decide_host(self, call: Call, arguments: JsonObject) -> None:
        world = self.world
        tool = world.tools[call.name]
        fault = tool.fault(arguments)
        if fault is not None:
            self._answer(call, "fault", prompts.fault(fault.text))
            return
        if not tool.repeatable:
            if self._repeats(call, None):
                return
            self._note(call, None)
        call.work = HostWork(
            id=call.key,
            number=self.number,
            call_id=call.id,
            tool=tool,
            arguments=arguments,
            slots=world.slots,
            limits=world.limits,
            deadline=world.deadline,
        )

    def _share_pages(self) -> None:
        """Fix how many pages each crawl of the round may open: one, while it is not known how many crawls follow."""
        works = [call.work for call in self.calls if isinstance(call.work, FetchWork)]
        left = self.world.budget.pages_left + sum(work.share.used for work in works)
        most = self.world.limits.pages_a_crawl if self.closed else 1
        for work, size in zip(works, share_pages(left, len(works), most), strict=True):
            work.share.size = size

    def _may_go_on(self, work: Work) -> bool:
        """Say whether work may start what it can while the model still writes."""
        if self.closed:
            return True
        match work:
            case HostWork():
                return not work.tool.side_effects
            case FetchWork():
                return work.share.left() > 0  # with none left it would end, and more may be given
            case SearchWork():
                return True

    def _answer(self, call: Call, outcome: str, text: str) -> None:
        call.outcome, call.text = outcome, text

    # Repeats.

    def _repeats(self, call: Call, near: str | None) -> bool:
        """Answer a call from an earlier one that asked the same, if there is one and it need not run again."""
        past = self.world.past
        exact = f"{call.name} {canonical(call.arguments)}"
        first = past.exact.get(exact)
        same_words = first is None and near is not None
        if same_words:
            first = past.near.get(f"{call.name} {near}")
        if first is None or self._may_run_again(first):
            return False
        call.first = first
        if first.outcome == "refused":
            self._answer(call, "refused", first.text)
        elif same_words:
            self._answer(call, "repeated", "")
        else:
            self._answer(call, "repeated", prompts.repeated(first.id))
        return True

    def _may_run_again(self, first: Call) -> bool:
        """Whether a call that failed may be asked again: once. A refusal by rule 1 is judged anew each time."""
        if first.outcome == "not seen":
            return True
        return first.outcome == "failed" and self.world.past.tries.get(first.asks, 0) < 2

    def _note(self, call: Call, near: str | None) -> None:
        past = self.world.past
        exact = f"{call.name} {canonical(call.arguments)}"
        call.asks = exact if near is None else f"{call.name} {near}"
        past.exact[exact] = call
        past.tries[call.asks] = past.tries.get(call.asks, 0) + 1
        if near is not None:
            past.near[call.asks] = call


def make_calls(
    asked: Iterable[AskedCall], *, number: int, taken: set[str], first: int = 0, asked_by: AskedBy = "model"
) -> list[Call]:
    """Return calls of a round, with ids that are unique in the conversation.

    Args:
        asked: What the reply holds.
        number: The round.
        taken: Ids that the conversation uses; the new ones are added.
        first: How many calls of the round were made before.
        asked_by: Who asks.
    """
    calls = []
    for position, call in enumerate(asked, first):
        id_ = call.id
        if not id_ or id_ in taken or len(id_) > 128 or not id_.isprintable():
            id_ = _free_id(number, position, taken)
        taken.add(id_)
        calls.append(
            Call(
                key=f"r{number}.c{position}",
                id=id_,
                name=call.name,
                arguments=call.arguments,
                raw=call.raw,
                asked_by=asked_by,
                problem=call.problem,
            )
        )
    return calls


def host_call(question: str, world: World) -> AskedCall:
    """Return the call that the host makes in the model's place: the question's first address, or a search for it."""
    address = first_address(question, world.limits)
    arguments: JsonObject = {"query": " ".join(question.split())[:HOST_QUERY_CHARS] or "?"}
    name = SEARCH
    if address is not None and world.budget.pages_left:
        name, arguments = FETCH, {"url": address.text}
    return AskedCall(id="", name=name, arguments=arguments, raw=as_arguments(arguments))


def _free_id(number: int, position: int, taken: set[str]) -> str:
    id_ = f"hc_{number}_{position}"
    suffix = 0
    while id_ in taken:
        suffix += 1
        id_ = f"hc_{number}_{position}_{suffix}"
    return id_
