"""Settling a call: numbers for its sources, notices for the reader, one text for the model, one receipt.

Calls are settled in the order they were asked, whatever order they ended in.
"""

from collections.abc import Iterable

from hostcall.answer import prompts
from hostcall.answer.results import cut_text, search_text
from hostcall.answer.work import FetchWork, HostWork, SearchWork
from hostcall.answer.world import Call, World
from hostcall.commands import Command, ShowPage, ShowProgress, ShowRefusal, ShowSearch
from hostcall.data import Refused, SearchResult
from hostcall.web.address import parse_address
from hostcall.web.crawl import CrawlReport, report_text
from hostcall.web.defuse import defuse
from hostcall.web.search import SearchOutcome

FAILURES = frozenset(
    {
        "name_not_found",
        "lookup_failed",
        "connect_failed",
        "tls_failed",
        "timed_out",
        "status",
        "body_incomplete",
        "answer_malformed",
        "cancelled",
    }
)
"""Codes that say a page could not be read just now; every other one says that it may not be."""


def settle(call: Call, world: World, number: int, now: float) -> list[Command]:
    commands: list[Command] = []
    match call.work:
        case SearchWork():
            commands = _settle_search(call, world, call.work)
        case FetchWork():
            commands = _settle_fetch(call, world, call.work, number)
        case HostWork():
            commands = _settle_host(call, call.work)
        case None:
            if call.outcome == "repeated" and not call.text and call.first is not None:
                call.text = prompts.near_repeat(call.first.id, _without_line(call.first.text))
            if call.outcome in ("over budget", "over limit"):
                commands = [ShowRefusal(call.name, _first_sentence(call.text))]
            elif call.outcome == "refused":
                commands = [ShowRefusal(call.name, _first_sentence(_without_line(call.text)))]
    text = cut_text(_without_line(call.text) if call.outcome == "refused" else call.text, _limit(call, world))
    if world.web is not None:
        world.budget.settle(call.searches, call.pages)
        text = f"{text}\n\n{world.budget.line()}"
    call.text = text
    call.settled = True
    world.chain.add(
        id=call.id,
        tool=call.name,
        arguments=call.raw if call.arguments is None else call.arguments,
        asked_by=call.asked_by,
        started=call.started,
        ended=now,
        result=text,
        outcome="refused" if call.outcome == "not seen" else call.outcome,
    )
    return commands


def _limit(call: Call, world: World) -> int:
    tool = world.tools.get(call.name)
    return tool.max_result_chars if tool is not None else world.limits.tool_result_chars


def _settle_search(call: Call, world: World, work: SearchWork) -> list[Command]:
    commands: list[Command] = []
    numbered: list[tuple[SearchOutcome, tuple[SearchResult, ...]]] = []
    for outcome in work.outcomes:
        results = tuple(_number(world, outcome))
        numbered.append((outcome, results))
        commands.append(
            ShowSearch(
                query=outcome.query,
                time_range=outcome.time_range,
                results=results,
                health=outcome.health,
                asked_by=call.asked_by,
            )
        )
    failed = all(outcome.health == "unavailable" for outcome in work.outcomes)
    call.outcome = "failed" if failed else "ran"
    call.text = search_text(numbered, notes=work.ask.notes, not_run=work.not_run, silent=world.silent)
    if not all(outcome.trouble for outcome in work.outcomes):
        world.silent = frozenset(name for outcome in work.outcomes for name, _ in outcome.unanswered)
    return commands


def _number(world: World, outcome: SearchOutcome) -> Iterable[SearchResult]:
    """Number the results of a search that have an address.

    Security:
        Rule 6, page text is data. Threat: a result whose address, title or snippet speaks as the system or the loop.
    """
    for found in outcome.results:
        if isinstance(parse_address(found.address, world.limits), Refused):
            # Nothing could come of it, and it would be a stranger's text in the place of an address.
            continue
        title = defuse(found.title)
        number = world.ledger.found(found.address, title, found.published)
        world.seen.add_result(found.address)
        yield SearchResult(
            number=number,
            address=world.ledger.sources[number - 1].address,
            title=title,
            snippet=defuse(found.snippet),
            published=found.published,
            recency=found.recency,
        )


def _settle_fetch(call: Call, world: World, work: FetchWork, number: int) -> list[Command]:
    result = work.crawl.result
    call.pages = work.share.used
    match result:
        case CrawlReport():
            return _settle_report(call, world, work, result)
        case Refused():
            return _settle_refusal(call, result, number)
        case None:
            raise AssertionError("only a crawl that is done is settled")


def _settle_report(call: Call, world: World, work: FetchWork, report: CrawlReport) -> list[Command]:
    commands: list[Command] = []
    numbers = []
    for page in report.pages:
        number = world.ledger.read(page.asked, page.final, page.page.title, page.page.text)
        world.pages[number] = page
        numbers.append(number)
        title = world.ledger.sources[number - 1].title
        commands.append(ShowPage(number=number, title=title, address=page.final, asked_by=call.asked_by))
    call.outcome = "ran"
    call.text = report_text(report, numbers, world.limits, offset=work.ask.offset)
    if work.ask.notes:
        call.text = "\n".join((call.text, "", *work.ask.notes))
    return commands


def _settle_refusal(call: Call, refused: Refused, number: int) -> list[Command]:
    call.text = prompts.not_read(refused)
    if refused.code == "budget_spent":
        call.outcome = "over budget"
        call.text = prompts.PAGE_BUDGET
        return [ShowRefusal(call.name, refused.reason)]
    if refused.code in FAILURES:
        call.outcome = "failed"
        return [ShowProgress(kind="failed", text=refused.reason, round=number)]
    call.outcome = "not seen" if refused.code == "not_seen" else "refused"
    return [ShowRefusal(call.name, refused.reason)]


def _settle_host(call: Call, work: HostWork) -> list[Command]:
    call.outcome = work.outcome
    if work.denied:
        call.text = prompts.denied(defuse(work.content))
        return [ShowRefusal(call.name, f"not approved: {work.content}")]
    text = defuse(work.content)
    call.text = f"Error: {text}" if work.failed else text
    return []


def _without_line(text: str) -> str:
    """Return a reply without the budget line that ends it."""
    head, found, line = text.rpartition("\n\n")
    return head if found and line.startswith("Searches used ") else text


def _first_sentence(text: str) -> str:
    return text.split("\n", 1)[0].removeprefix("Error: ")[:300]
