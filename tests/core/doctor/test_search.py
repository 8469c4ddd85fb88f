"""The doctor and the search service: JSON, limiter, engines that answer, ranges."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hostcall.commands import CallEngine, CallSearch, Request
from hostcall.doctor import Doctor, Report
from hostcall.events import Failed
from hostcall.testing import ScriptedDriver, Timed, fields_of, response
from hostcall_drivers.engines import known_rows
from tests.standins import StandIn

Found = Callable[[dict[str, str], int], tuple[int, str, bytes]]
JSON = "application/json"
RESULTS = [
    {"url": "https://a.example.org/", "title": "A", "engines": ["duckduckgo", "brave"], "engine": "brave"},
    {"url": "https://b.example.org/", "title": "B", "engine": "wikipedia"},
    "odd",
]


def found(results: list[Any], silent: list[Any] | None = None) -> bytes:
    return json.dumps({"results": results, "unresponsive_engines": silent or []}).encode()


def searxng(results: list[Any], ranged: list[Any], silent: list[Any] | None = None) -> Found:
    def answer(fields: dict[str, str], _: int) -> tuple[int, str, bytes]:
        if not fields["q"]:
            return 400, JSON, b'{"error": "No query"}'
        return 200, JSON, found(ranged if "time_range" in fields else results, silent)

    return answer


def examined(answer: Found) -> tuple[Report, list[dict[str, str]]]:
    standin, asked = StandIn("openai"), []

    def world(request: Request) -> Iterator[Timed]:
        if isinstance(request, CallSearch):
            asked.append(fields_of(request))
            status, kind, body = answer(asked[-1], len(asked))
            if status == 0:
                yield 0.0, Failed(request.id, "connect", "refused")
            else:
                yield from response(request.id, status, body, kind)
            return
        assert isinstance(request, CallEngine)
        status, kind, body = standin.answer(request.request.target, request.request.body)
        yield from response(request.id, status, body, kind)

    doctor = Doctor(known_rows(), search=True)
    assert doctor.web_on
    ScriptedDriver(world).run(doctor)  # type: ignore[arg-type]  # it is run as an answer is
    assert doctor.report is not None
    return doctor.report, asked


def said(report: Report) -> dict[str, tuple[str, str]]:
    found = [finding for finding in report.findings if finding.topic.startswith("search")]
    return {finding.topic: (finding.verdict, finding.saw) for finding in found}


def test_a_healthy_service_is_asked_six_times_and_its_engines_twice() -> None:
    report, asked = examined(searxng(RESULTS, RESULTS[:1]))
    assert report.healthy
    assert said(report) == {
        "search JSON": ("ok", "JSON is enabled"),
        "search limiter": ("ok", "it is off, or lets this host pass"),
        "search engines": ("ok", "brave, duckduckgo, wikipedia answer"),
        "search ranges": ("ok", "brave, duckduckgo keep a time range; without a range of their own: wikipedia"),
    }
    assert [bool(fields["q"]) for fields in asked] == [False, True, True, False, False, False]
    assert [fields.get("time_range") for fields in asked] == [None, None, "month", None, None, None]


@pytest.mark.parametrize(
    ("status", "kind", "body", "topic", "says"),
    [
        (403, "text/html", b"<html>", "search JSON", "enable json"),
        (200, "text/html", b"<html>", "search JSON", "HTML instead of JSON"),
        (429, "text/plain", b"Too Many Requests", "search limiter", "limiter"),
        (302, "text/html", b"", "search JSON", "redirects"),
    ],
)
def test_a_service_that_cannot_be_used_says_what_to_change(
    status: int, kind: str, body: bytes, topic: str, says: str
) -> None:
    report, asked = examined(lambda *_: (status, kind, body))
    (finding,) = [finding for finding in report.findings if finding.topic.startswith("search")]
    assert (finding.topic, finding.verdict) == (topic, "trouble")
    assert says in finding.saw
    assert finding.change
    assert len(asked) == 1


def test_a_limiter_shows_at_the_fifth_request() -> None:
    healthy = searxng(RESULTS, RESULTS)
    report, _ = examined(lambda fields, n: healthy(fields, n) if n < 5 else (429, "text/plain", b"Too Many"))
    assert said(report)["search limiter"] == ("trouble", "it refuses after 4 requests")
    report, _ = examined(lambda fields, n: healthy(fields, n) if n < 2 else (429, "text/plain", b"Too Many"))
    assert set(said(report)) == {"search JSON", "search limiter"}


def test_engines_that_do_not_answer_are_named() -> None:
    silent = [["google", "CAPTCHA"], ["bing", "timeout"]]
    report, _ = examined(searxng(RESULTS, [], silent))
    verdict, saw = said(report)["search engines"]
    assert verdict == "note"
    assert saw.endswith("these do not answer: google (CAPTCHA), bing (timeout)")
    assert said(report)["search ranges"][0] == "note"
    report, _ = examined(searxng([], [], silent))
    assert said(report)["search engines"][0] == "trouble"
    assert "search ranges" not in said(report)


def test_a_search_that_fails_is_trouble() -> None:
    def answer(fields: dict[str, str], _: int) -> tuple[int, str, bytes]:
        return (500, JSON, b'{"error": "boom"}') if fields["q"] else (400, JSON, b"{}")

    report, _ = examined(answer)
    assert said(report)["search engines"] == ("trouble", "the search service answered 500: boom")


def test_a_body_that_is_no_result_or_too_long_is_trouble() -> None:
    def odd(body: bytes) -> Found:
        return lambda fields, _: (200, JSON, body) if fields["q"] else (400, JSON, b"{}")

    report, _ = examined(odd(b"{nonsense"))
    assert said(report)["search engines"][0] == "trouble"
    report, _ = examined(odd(b" " * 2_000_001))
    assert said(report)["search engines"] == ("trouble", "more than may be read was sent")


def test_a_service_that_is_not_there_is_named_beside_what_the_engine_can_do() -> None:
    report, _ = examined(lambda *_: (0, "", b""))
    assert report.unusable == "the search service: it does not answer (refused); start it, or give another --search"
    assert report.row is not None
    assert not said(report)
