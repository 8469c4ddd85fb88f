"""The demo's search: SearXNG's shape and refusals, and the right page first."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from hostcall_drivers.demo.pages import built
from hostcall_drivers.demo.search import key_words, respond, snippet, terms
from tests.drivers.demo_library import index

TODAY = built() + dt.timedelta(days=100)
RECORDINGS = Path(__file__).parents[1] / "recordings"


def ask(target: str, method: str = "GET", body: bytes = b"", today: dt.date = TODAY) -> tuple[int, str, Any]:
    status, headers, answer = respond(index(), method, target, body, today)
    kind = dict(headers)["Content-Type"]
    return status, kind, json.loads(answer) if kind == "application/json" else answer.decode()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("What does functools.lru_cache do?", "/functools/lru_cache"),
        ("least common multiple", "/math/lcm"),
        ("How can I compute the median of data?", "/statistics/median"),
        ("escape html special characters", "/html/escape"),
        ("What is the with statement", "/topics/with"),
        ("parse command line arguments", "/argparse"),
    ],
)
def test_the_page_that_holds_the_answer_comes_first(query: str, path: str) -> None:
    assert index().search(query)[0].page.path == path


def test_an_answer_has_the_members_of_searxngs_own() -> None:
    status, kind, answer = ask("/search?q=lru+cache&format=json&language=auto&safesearch=0&categories=general")
    recorded = json.loads((RECORDINGS / "searxng-01-results-with-dates.json").read_text())
    assert (status, kind) == (200, "application/json")
    assert list(answer) == list(recorded)
    dated = next(result for result in recorded["results"] if result["publishedDate"])
    plain = next(result for result in recorded["results"] if not result["publishedDate"])
    assert set(answer["results"][0]) == set(plain) | {"pubdate"} <= set(plain) | set(dated)
    assert answer["results"][0]["url"] == "https://docs.example.org/functools/lru_cache"
    assert "Least-recently-used cache decorator." in answer["results"][0]["content"]
    assert len(answer["results"]) == 10


def test_pages_of_results_go_on() -> None:
    first, second = (ask(f"/search?q=file&format=json&pageno={page}")[2]["results"] for page in (1, 2))
    assert {result["url"] for result in first}.isdisjoint(result["url"] for result in second)
    assert second[0]["positions"] == [11]


def test_a_form_can_be_posted() -> None:
    assert ask("/search", "POST", b"q=json&format=json")[2]["query"] == "json"


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ("", "No query"),
        ("&q=+", "No query"),
        ("&q=x&time_range=fortnight", "Invalid value fortnight for parameter time_range"),
        ("&q=x&safesearch=3", "Invalid value 3 for parameter safesearch"),
        ("&q=x&pageno=0", "Invalid value 0 for parameter pageno"),
        ("&q=x&pageno=two", "Invalid value two for parameter pageno"),
    ],
)
def test_bad_parameters_are_refused_in_searxngs_words(parameters: str, error: str) -> None:
    assert ask(f"/search?format=json{parameters}")[::2] == (400, {"error": error})


def test_a_range_keeps_what_is_young_enough() -> None:
    for time_range, found in (("day", False), ("week", False), ("month", False), ("year", True), ("", True)):
        results = ask(f"/search?q=json&format=json&time_range={time_range}")[2]["results"]
        assert bool(results) == found
    assert ask("/search?q=json&format=json&time_range=day", today=built())[2]["results"]


def test_nothing_found_is_an_empty_and_healthy_answer() -> None:
    answer = ask("/search?q=zzzz&format=json")[2]
    assert answer == json.loads((RECORDINGS / "searxng-05-empty-but-healthy.json").read_text())


def test_other_forms_and_paths() -> None:
    assert ask("/search?q=x&format=rss")[0] == 403
    assert ask("/search?q=x")[:2] == (200, "text/html; charset=utf-8")
    assert ask("/stats")[0] == 404


def test_key_words_leave_out_what_tells_nothing_unless_nothing_is_left() -> None:
    assert key_words("How do I parse a date?") == ["parse", "date"]
    assert key_words("What is this?") == ["What", "is", "this"]
    assert key_words("what is json", least=1) == ["json"]


def test_terms_are_names_their_parts_and_words_without_their_endings() -> None:
    assert terms("lru_cache") == ["lru_cach", "lru", "cach"]
    assert terms("HTMLParser parses lines") == ["htmlparser", "pars", "lin"]
    assert terms("JSONDecodeError 3.14") == ["jsondecodeerror", "jsondecod", "error", "3.14"]


def test_a_snippet_is_short_and_shows_the_words_asked_for() -> None:
    text = "\n".join([f"line number {at}" for at in range(50)] + ["the needle is here " + "and on " * 60])
    assert snippet(text, "needle").startswith("the needle is here")
    assert len(snippet(text, "needle")) < 300
    assert snippet("", "needle") == ""
