"""The texts of tool results, as the model reads them."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from hostcall.answer.prompts import listed_address
from hostcall.data import SearchResult
from hostcall.web.defuse import defuse
from hostcall.web.search import SearchOutcome


def search_text(
    searches: Sequence[tuple[SearchOutcome, Sequence[SearchResult]]],
    *,
    notes: Sequence[str],
    not_run: Sequence[str],
    silent: AbstractSet[str] = frozenset(),
) -> str:
    """Return the result of a search call: each search with its numbered results, then what there is to know.

    Args:
        searches: What each search came to, with its results as they were numbered.
        notes: What is to be said of how the call was read.
        not_run: Queries that the budget had no room for.
        silent: Search engines that did not answer in the last search before this call. They are suspended for minutes
            or hours then, and a model that is not told spends its budget on asking them in other words.
    """
    blocks: list[str] = []
    shown: set[int] = set()
    for outcome, results in searches:
        blocks.append(_one_search(outcome, results, shown, silent))
        shown.update(result.number for result in results)
    tail = list(notes)
    if not_run:
        tail.append("The search budget is spent; not run: " + "; ".join(not_run))
    if tail:
        blocks.append("\n".join(tail))
    return "\n\n".join(blocks)


def _one_search(
    outcome: SearchOutcome, results: Sequence[SearchResult], shown: set[int], silent: AbstractSet[str]
) -> str:
    asked = f" (no older than a {outcome.time_range})" if outcome.time_range else ""
    lines = [f"Search: {_line(outcome.query)}{asked}"]
    if outcome.trouble:
        lines.append(f"The search could not be made: {_line(outcome.trouble)}.")
        return "\n".join(lines)
    if outcome.widened and results:
        lines.append(f"Nothing was found within the {outcome.time_range}; these results are without a range.")
    elif outcome.widened:
        lines.append(f"Nothing was found within the {outcome.time_range}, nor without a range.")
    for result in results:
        lines.append("")
        lines += _one_result(result, again=result.number in shown)
    if not results and outcome.health == "healthy":
        lines.append("No results.")
    if outcome.unanswered:
        named = ", ".join(
            f"{_line(name)} ({_line(why)}{', as before' if name in silent else ''})" for name, why in outcome.unanswered
        )
        if results:
            lines += ["", f"These search engines did not answer: {named}."]
        else:
            lines.append(f"Nothing came, and these search engines did not answer: {named}. This is no empty result.")
            if all(name in silent for name, _ in outcome.unanswered):
                lines.append(
                    "Other words will not make them answer: go on from what was found, and say what is missing."
                )
    return "\n".join(lines)


def _one_result(result: SearchResult, *, again: bool) -> list[str]:
    title = result.title or listed_address(result.address)
    if again:
        return [f"[{result.number}] {title} (as above)"]
    lines = [f"[{result.number}] {title}", listed_address(result.address)]
    dated = ", ".join(part for part in (result.published, result.recency) if part)
    if dated:
        lines.append(dated)
    if result.snippet:
        lines.append(result.snippet)
    return lines


def _line(text: str) -> str:
    """Return a text from outside on one line and without power."""
    return " ".join(defuse(text).split())


def cut_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters, which says when it was cut."""
    if len(text) <= most:
        return text
    note = f"\n[cut: {len(text)} characters, {most} shown]"
    return text[: max(most - len(note), 0)] + note
