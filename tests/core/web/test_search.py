"""One search, over SearXNG's real answers."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.commands import CallSearch, Cancel
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, FailureKind, Resolved, ResponseEnded, ResponseStarted
from hostcall.limits import Limits
from hostcall.testing import fields_of
from hostcall.web.search import Search, SearchOutcome, plain, read_date, read_results, read_unanswered, recency
from hostcall.web.settings import Web
from hostcall.web.widen import TimeRange

RECORDINGS = Path(__file__).parents[2] / "recordings"
TODAY = dt.date(2026, 11, 30)


def make(time_range: TimeRange | None = None, limits: Limits = Limits(), web: Web | None = None) -> Search:
    return Search("r1.c0.s0", "rust news", time_range, web or Web(), limits, TODAY, 600.0)


def answer(search: Search, body: bytes | Any, status: int = 200, kind: str = "application/json") -> list[Any]:
    """Answer the search's open request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    id_ = "r1.c0.s0.again" if search._again else "r1.c0.s0"
    commands = search.receive(ResponseStarted(id_, status, (("Content-Type", kind),)), 1.0)
    for start in range(0, len(data), 1000):
        commands += search.receive(BodyReceived(id_, data[start : start + 1000]), 1.0)
    return commands + search.receive(ResponseEnded(id_), 1.0)


def outcome(
    body: Any, status: int = 200, kind: str = "application/json", time_range: TimeRange | None = None
) -> SearchOutcome:
    search = make(time_range)
    search.start(0.0)
    answer(search, body, status, kind)
    assert search.result is not None
    return search.result


def recorded(name: str) -> bytes:
    return (RECORDINGS / name).read_bytes()


def test_the_request_holds_the_query_and_the_settings_and_nothing_else() -> None:
    (command,) = make("week", web=Web(language="nl", safesearch=2, categories=("general", "news"))).start(5.0)
    assert isinstance(command, CallSearch)
    assert command.deadline == 25.0
    assert fields_of(command) == {
        "q": "rust news",
        "format": "json",
        "language": "nl",
        "safesearch": "2",
        "categories": "general,news",
        "time_range": "week",
    }
    assert {name for name, _ in command.request.headers} == {
        "Accept",
        "Accept-Language",
        "Accept-Encoding",
        "User-Agent",
    }


def test_a_search_ends_with_the_answer() -> None:
    search = make()
    search.deadline = 7.0
    (command,) = search.start(0.0)
    assert isinstance(command, CallSearch)
    assert command.deadline == 7.0


def test_recorded_results_are_read_with_their_dates() -> None:
    found = outcome(recorded("searxng-01-results-with-dates.json"))
    assert found.health == "healthy"
    assert found.results
    assert all(result.address.startswith("http") and result.title for result in found.results)
    assert any(result.published for result in found.results)
    assert all("<" not in result.snippet for result in found.results)


def test_recorded_key_value_results_without_an_address_are_left_out() -> None:
    body = json.loads(recorded("searxng-06-offline-engine-key-value.json"))
    with_address = [result for result in body["results"] if result.get("url")]
    assert len(outcome(body).results) == len(with_address)


def test_some_engines_failing_is_degraded_and_names_them() -> None:
    found = outcome(recorded("searxng-09-some-engines-fail.json"))
    assert found.health == "degraded"
    assert found.unanswered


@pytest.mark.parametrize("name", ["searxng-03-all-engines-fail.json", "searxng-04-all-engines-suspended.json"])
def test_all_engines_failing_is_unavailable_and_no_empty_result(name: str) -> None:
    found = outcome(recorded(name))
    assert (found.health, found.results) == ("unavailable", ())
    assert found.unanswered


def test_nothing_from_a_working_search_is_healthy() -> None:
    assert outcome(recorded("searxng-05-empty-but-healthy.json")).health == "healthy"


@pytest.mark.parametrize(
    ("status", "kind", "body", "says"),
    [
        (403, "text/html", b"<html>403</html>", "search.formats"),
        (429, "text/plain", b"Too Many Requests", "too many requests"),
        (302, "text/html", b"", "redirects"),
        (200, "text/html", b"<html></html>", "HTML instead of JSON"),
        (200, "application/json", b"{", "not readable JSON"),
        (200, "application/json", b"[]", "no search result"),
        (200, "application/json", b'{"results": 3}', "no search result"),
        (400, "application/json", b'{"error": "No query"}', "answered 400: No query"),
        (500, "text/plain", b"oops", "answered 500"),
        (500, "application/json", b"[1]", "answered 500"),
    ],
)
def test_a_service_that_failed_says_how(status: int, kind: str, body: bytes, says: str) -> None:
    found = outcome(body, status, kind)
    assert found.health == "unavailable"
    assert says in found.trouble


@pytest.mark.parametrize(
    ("kind", "says"), [("timeout", "in time"), ("connect", "reached"), ("reset", "broke off"), ("tls", "certificate")]
)
def test_a_request_that_failed_says_how(kind: FailureKind, says: str) -> None:
    search = make()
    search.start(0.0)
    assert search.receive(Failed("r1.c0.s0", kind), 1.0) == []
    assert search.result is not None
    assert says in search.result.trouble


def test_an_empty_range_is_tried_once_without() -> None:
    search = make("week")
    search.start(0.0)
    (again,) = answer(search, {"results": [], "unresponsive_engines": [["brave", "timeout"]]})
    assert isinstance(again, CallSearch)
    assert again.id == "r1.c0.s0.again"
    assert "time_range" not in fields_of(again)
    results = [{"url": "https://a.example.org/", "title": "A", "publishedDate": "2020-01-01T00:00:00"}]
    assert answer(search, {"results": results}) == []
    assert search.result is not None
    assert search.result.widened
    assert search.result.results[0].recency == "out of range"
    assert search.result.unanswered == (("brave", "timeout"),)
    assert search.result.health == "degraded"


def test_an_empty_range_is_not_tried_twice() -> None:
    search = make("day")
    search.start(0.0)
    answer(search, {"results": []})
    assert answer(search, {"results": []}) == []
    assert search.result is not None
    assert (search.result.health, search.result.widened) == ("healthy", True)


def test_a_body_over_its_bound_is_stopped() -> None:
    search = make(limits=Limits(search_bytes=10))
    search.start(0.0)
    search.receive(ResponseStarted("r1.c0.s0", 200), 1.0)
    assert search.receive(BodyReceived("r1.c0.s0", b"x" * 11), 1.0) == [Cancel("r1.c0.s0")]
    assert search.result is not None
    assert search.result.health == "unavailable"


def test_an_event_of_another_kind_is_the_drivers_mistake() -> None:
    search = make()
    search.start(0.0)
    with pytest.raises(LocalProtocolError):
        search.receive(Resolved("r1.c0.s0", ()), 1.0)


def test_at_most_six_results_and_each_address_once() -> None:
    values: list[Any] = [{"url": "https://a.example.org/"}] * 3 + [
        {"url": f"https://a.example.org/{n}"} for n in range(9)
    ]
    results = read_results([*values, "x", {"url": None}, {"url": " "}], 6, None, TODAY)
    assert [result.address for result in results] == ["https://a.example.org/"] + [
        f"https://a.example.org/{n}" for n in range(5)
    ]
    assert read_results(["x", {"url": None}, {"url": " "}], 6, None, TODAY) == ()


@pytest.mark.parametrize(
    ("published", "time_range", "label"),
    [
        ("2026-11-30", "day", "in range"),
        ("2026-11-29", "day", "in range"),
        ("2026-11-28", "day", "out of range"),
        ("2026-11-23", "week", "in range"),
        ("2026-11-22", "week", "out of range"),
        ("2027-01-01", "day", "in range"),
        ("2026-10-30", "month", "in range"),
        ("2025-11-29", "year", "in range"),
        (None, "day", "undated"),
        ("2026-11-30", None, ""),
    ],
)
def test_results_are_labelled_against_the_range(
    published: str | None, time_range: TimeRange | None, label: str
) -> None:
    assert recency(read_date(published), time_range, TODAY) == label


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2026-11-28T09:10:11+00:00", dt.date(2026, 11, 28)),
        ("2026-11-28", dt.date(2026, 11, 28)),
        (" 2026-11-28 10:00", dt.date(2026, 11, 28)),
        ("yesterday", None),
        (None, None),
        (7, None),
        ("", None),
    ],
)
def test_dates_are_read_or_none(value: Any, date: dt.date | None) -> None:
    assert read_date(value) == date


def test_unanswered_engines_in_any_shape() -> None:
    assert read_unanswered([["a", "timeout"], ["b"], "c", [], [3, "x"], ["d", None]]) == (
        ("a", "timeout"),
        ("b", "no answer"),
        ("c", "no answer"),
        ("d", "no answer"),
    )
    assert read_unanswered(None) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("How <b>it</b> begins &amp; ends.", "How it begins & ends."),
        ("a < b and c > d", "a < b and c > d"),
        ("x\n\n  y", "x y"),
        (None, ""),
        ("abcdef", "abcd…"),
    ],
)
def test_titles_and_snippets_become_plain(value: Any, text: str) -> None:
    assert plain(value, 5 if value == "abcdef" else 100) == text


@given(st.binary(max_size=300), st.sampled_from([200, 403, 500]))
def test_no_answer_of_a_service_raises(body: bytes, status: int) -> None:
    search = make()
    search.start(0.0)
    answer(search, body, status)
    assert search.result is not None
