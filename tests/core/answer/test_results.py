"""What the model reads of a search, and what it is told of search engines that stay silent."""

import json
from collections.abc import Iterator
from typing import Any

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
