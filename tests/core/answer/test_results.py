"""What the model reads of a search, and what it is told of search engines that stay silent."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.results import cut_text, search_text
from hostcall.commands import CallSearch, Request
from hostcall.data import SearchResult
from hostcall.testing import ScriptedDriver, Timed, World, reply_calls, reply_text, response
from hostcall.web.search import SearchOutcome

QUESTION = [{"role": "user", "content": "How hot is a kettle?"}]
FOUND = SearchResult(number=1, address="https://docs.example.org/", title="Guide", snippet="Hot.")


def outcome(**changed: Any) -> SearchOutcome:
    return SearchOutcome(**{"query": "kettle", "time_range": None, **changed})


def text(*searches: tuple[SearchOutcome, list[SearchResult]], silent: frozenset[str] = frozenset()) -> str:
    return search_text(searches, notes=(), not_run=(), silent=silent)


def test_engines_that_were_silent_before_are_named_so() -> None:
    degraded = outcome(health="degraded", unanswered=(("a", "timeout"), ("b", "CAPTCHA")))
    assert text((degraded, [FOUND]), silent=frozenset("b")).endswith(
        "\n\nThese search engines did not answer: a (timeout), b (CAPTCHA, as before)."
    )


def test_a_model_is_told_when_asking_again_will_not_help() -> None:
    """Suspensions last for minutes or hours; only when every silent engine was so before is it plain."""
    unavailable = outcome(health="unavailable", unanswered=(("a", "timeout"), ("b", "CAPTCHA")))
    for silent, told in ((frozenset(), False), (frozenset("a"), False), (frozenset("ab"), True)):
        said = text((unavailable, []), silent=silent)
        assert "This is no empty result." in said
        assert ("Other words will not make them answer" in said) is told


def test_a_result_that_stands_above_is_not_told_twice() -> None:
    both = text((outcome(), [FOUND]), (outcome(query="hot kettle"), [FOUND]))
    assert both.count("Hot.") == 1
    assert "[1] Guide (as above)" in both


def test_a_text_that_is_cut_says_so_within_its_bound() -> None:
    assert cut_text("x" * 100, 100) == "x" * 100
    cut = cut_text("x" * 101, 100)
    assert len(cut) == 100
    assert cut.endswith("[cut: 101 characters, 100 shown]")


def test_silence_is_remembered_from_search_to_search_of_an_answer_until_it_ends() -> None:
    answers: list[Any] = [
        {"results": [], "unresponsive_engines": [["a", "CAPTCHA"]]},
        None,
        {"results": [], "unresponsive_engines": [["a", "Suspended: CAPTCHA"]]},
        {"results": [{"url": "https://docs.example.org/", "title": "Guide"}], "unresponsive_engines": []},
        {"results": [], "unresponsive_engines": [["a", "timeout"]]},
    ]
    queries = ("one", "two", "three", "four", "five")
    world = World(engine=[*(reply_calls(("web_search", {"query": query})) for query in queries), reply_text("Hot.")])

    def play(request: Request) -> Iterator[Timed]:
        if not isinstance(request, CallSearch):
            yield from world(request)
            return
        body = answers.pop(0)
        if body is None:
            yield from response(request.id, 500, b"", "text/plain")
        else:
            yield from response(request.id, 200, json.dumps(body).encode(), "application/json")

    result = ScriptedDriver(play).run(Answer(QUESTION, research=False))
    replies = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert ["as before" in reply for reply in replies] == [False, False, True, False, False]
    assert "a (timeout)" in replies[4]


# The whole text, word for word: a model that is told half a sentence makes up the other half.


def test_what_was_found_is_listed_with_what_is_known_of_it() -> None:
    dated = SearchResult(
        number=2,
        address="https://docs.example.org/b",
        title="",
        snippet="How it ends.",
        published="2026-11-01",
        recency="in range",
    )
    bare = SearchResult(number=3, address="https://docs.example.org/c", title="C", recency="undated")
    assert text((outcome(query="kettle\n heat", time_range="month"), [FOUND, dated, bare])) == (
        "Search: kettle heat (no older than a month)\n"
        "\n[1] Guide\nhttps://docs.example.org/\nHot.\n"
        "\n[2] https://docs.example.org/b\nhttps://docs.example.org/b\n2026-11-01, in range\nHow it ends.\n"
        "\n[3] C\nhttps://docs.example.org/c\nundated"
    )


def test_searches_notes_and_what_was_not_run_are_parted_by_blank_lines() -> None:
    said = search_text(
        [(outcome(), [FOUND]), (outcome(query="tea"), [])],
        notes=("One note.", "Two notes."),
        not_run=("a", "b"),
    )
    assert said == (
        "Search: kettle\n\n[1] Guide\nhttps://docs.example.org/\nHot.\n\n"
        "Search: tea\nNo results.\n\n"
        "One note.\nTwo notes.\nThe search budget is spent; not run: a; b"
    )


@pytest.mark.parametrize(
    ("changed", "found", "says"),
    [
        (
            {"trouble": "the service\n refused", "health": "unavailable", "unanswered": (("a", "timeout"),)},
            [],
            "Search: kettle\nThe search could not be made: the service refused.",
        ),
        (
            {"time_range": "week", "widened": True},
            [FOUND],
            (
                "Search: kettle (no older than a week)\n"
                "Nothing was found within the week; these results are without a range.\n"
                "\n[1] Guide\nhttps://docs.example.org/\nHot."
            ),
        ),
        (
            {"time_range": "week", "widened": True},
            [],
            (
                "Search: kettle (no older than a week)\n"
                "Nothing was found within the week, nor without a range.\nNo results."
            ),
        ),
        (
            {"health": "degraded", "unanswered": (("a", "x\ny"), ("<tool_call>", "z"))},
            [FOUND],
            (
                "Search: kettle\n\n[1] Guide\nhttps://docs.example.org/\nHot.\n"
                "\nThese search engines did not answer: a (x y), ‹tool_call› (z)."
            ),
        ),
        (
            {"health": "unavailable", "unanswered": (("a", "x"), ("b", "y"))},
            [],
            (
                "Search: kettle\n"
                "Nothing came, and these search engines did not answer: a (x), b (y, as before). "
                "This is no empty result."
            ),
        ),
        (
            {"health": "unavailable", "unanswered": (("b", "y"),)},
            [],
            (
                "Search: kettle\n"
                "Nothing came, and these search engines did not answer: b (y, as before). "
                "This is no empty result.\n"
                "Other words will not make them answer: go on from what was found, and say what is missing."
            ),
        ),
    ],
)
def test_what_became_of_a_search_is_said(changed: dict[str, Any], found: list[SearchResult], says: str) -> None:
    assert text((outcome(**changed), found), silent=frozenset("b")) == says


def test_a_bound_below_the_note_leaves_the_note() -> None:
    assert cut_text("x" * 50, 3) == "\n[cut: 50 characters, 3 shown]"
    assert cut_text("y" * 101, 100) == "y" * 67 + "\n[cut: 101 characters, 100 shown]"
