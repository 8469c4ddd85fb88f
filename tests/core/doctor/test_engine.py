"""The doctor names what is odd about an engine, and nothing else: events in, findings out."""

from collections.abc import Iterator
from typing import Any

import pytest

from hostcall.commands import CallEngine, Finish, Request, ShowProgress
from hostcall.doctor import Doctor, Report
from hostcall.engine.capabilities import Row
from hostcall.errors import LocalProtocolError
from hostcall.events import Failed, HostCancelled, ResponseEnded
from hostcall.testing import TODAY, ScriptedDriver, Timed, response
from hostcall_drivers.engines import known_rows
from tests.standins import Kind, StandIn


def world_of(standin: StandIn) -> Any:
    def world(request: Request) -> Iterator[Timed]:
        assert isinstance(request, CallEngine)
        status, kind, body = standin.answer(request.request.target, request.request.body)
        yield from response(request.id, status, body, kind)

    return world


def examined(standin: StandIn, **settings: Any) -> tuple[Report, ScriptedDriver]:
    driver = ScriptedDriver(world_of(standin))
    doctor = Doctor(known_rows(), **settings)
    driver.run(doctor)  # type: ignore[arg-type]  # it is run as an answer is
    assert doctor.report is not None
    return doctor.report, driver


def odd(report: Report) -> dict[str, str]:
    return {finding.topic: finding.verdict for finding in report.findings if finding.verdict != "ok"}


KINDS: tuple[Kind, ...] = ("openai", "llama-server", "vllm", "lm-studio", "ollama")


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_without_a_quirk_is_healthy_and_recognised(kind: Kind) -> None:
    standin = StandIn(kind)
    report, driver = examined(standin)
    assert odd(report) == {}
    assert report.healthy
    assert report.row is not None
    assert (report.row.name, report.row.model) == (kind, "m")
    assert not report.row.capabilities.guided
    assert not report.row.capabilities.rescue
    assert len(standin.asked) <= 13
    assert {notice.kind for notice in driver.notices if isinstance(notice, ShowProgress)} == {"running"}


QUIRKS: list[tuple[Kind, str, dict[str, str], str]] = [
    # Ollama.
    ("ollama", "no tools", {"tools": "trouble"}, "does not support tools"),
    ("ollama", "schema ignored", {"schema": "trouble"}, "a JSON schema is ignored"),
    ("ollama", "short context", {"context": "trouble"}, "4096 tokens"),
    ("ollama", "error line", {"parallel": "note"}, "error parsing tool call"),
    # vLLM.
    ("vllm", "empty required", {"tool_choice": "note"}, "required is ignored (it answered with nothing)"),
    ("vllm", "no auto flag", {"tools": "trouble"}, "--enable-auto-tool-choice"),
    ("vllm", "text calls", {"text calls": "note"}, "calls come as text"),
    ("vllm", "one call", {"parallel": "note"}, "1 of two calls"),
    # LM Studio.
    ("lm-studio", "empty required", {"tool_choice": "note"}, "the first call is forced by schema"),
    ("lm-studio", "tool requests", {"text calls": "note"}, "calls come as text"),
    ("lm-studio", "xml calls", {"text calls": "note"}, "calls come as text"),
    ("lm-studio", "short context", {"context": "trouble"}, "4096 tokens"),
    # llama-server, strict hosts and proxies.
    ("llama-server", "no template", {"tools": "trouble"}, "the chat template knows no tools"),
    ("llama-server", "required ignored", {"tool_choice": "note"}, "required is ignored (it answered in prose)"),
    ("llama-server", "short context", {"context": "trouble"}, "4096 tokens"),
    ("llama-server", "cites nothing", {"citations": "note"}, "it is led"),
    ("openai", "required refused", {"tool_choice": "note"}, "is refused (tool_choice required is not supported"),
    ("openai", "strips tools", {"tools": "trouble"}, "the tools do not reach the model"),
    ("openai", "schema ignored", {"schema": "note"}, "a JSON schema is ignored"),
    ("openai", "index zero", {"index": "note"}, "several calls have one index"),
    ("openai", "no index", {"index": "note"}, "calls have no index"),
    ("openai", "no ids", {"ids": "note"}, "calls have no id"),
    ("openai", "no usage", {"usage": "note"}, "not counted"),
    ("openai", "plain errors", {"errors": "note"}, "400 without JSON"),
    ("openai", "not streamed", {"stream": "note"}, "one JSON body"),
    ("openai", "no tool results", {"tool results": "trouble"}, "roles must alternate"),
    ("openai", "thinks to the end", {"reasoning": "note", "tool_choice": "note"}, "used up all of the forced round"),
]


@pytest.mark.parametrize(("kind", "quirk", "expected", "says"), QUIRKS)
def test_a_quirk_is_named_and_nothing_else(kind: Kind, quirk: str, expected: dict[str, str], says: str) -> None:
    report, _ = examined(StandIn(kind, frozenset({quirk})))
    assert odd(report) == expected
    assert any(says in finding.saw for finding in report.findings if finding.verdict != "ok")
    assert report.healthy == ("trouble" not in expected.values())
    for finding in report.findings:
        assert finding.change or finding.verdict != "trouble"


def row_with(kind: Kind, *quirks: str) -> Row:
    report, _ = examined(StandIn(kind, frozenset(quirks)))
    assert report.row is not None
    return report.row


def test_the_row_has_what_was_seen() -> None:
    assert row_with("vllm", "empty required").capabilities.tool_choice == ("none", "auto")
    assert row_with("openai", "required refused").capabilities.tool_choice == ("none", "auto")
    assert row_with("openai", "schema ignored").capabilities.schema is False
    assert row_with("openai", "strips tools").capabilities.rescue
    assert row_with("openai", "strips tools").capabilities.tool_choice == ()
    assert row_with("ollama", "no tools").capabilities.rescue
    assert row_with("ollama").capabilities.probed
    assert row_with("llama-server", "cites nothing").capabilities.guided
    assert not row_with("openai", "cites nothing", "schema ignored").capabilities.guided
    assert row_with("vllm", "reasons").capabilities.reasoning_field == "reasoning"
    assert row_with("openai").capabilities.answer_round == "same_tools"
    assert row_with("openai", "text calls").capabilities.dialects == ("auto",)


def test_where_no_call_can_be_forced_there_is_trouble() -> None:
    report, _ = examined(StandIn("openai", frozenset({"required ignored", "schema ignored"})))
    assert odd(report) == {"tool_choice": "trouble", "schema": "note"}


def test_a_model_that_cites_nothing_and_cannot_be_led_is_trouble() -> None:
    report, _ = examined(StandIn("openai", frozenset({"cites nothing", "schema ignored"})))
    assert odd(report) == {"citations": "trouble", "schema": "note"}


def test_a_model_that_calls_nothing_by_itself_is_led() -> None:
    """Told to use a tool it answers in prose: so do small models that cite well when the sources lie before them."""
    report, _ = examined(StandIn("llama-server", frozenset({"never calls", "required ignored"})))
    assert odd(report) == {"tools": "trouble", "tool_choice": "note", "parallel": "note"}
    assert "it is led" in report.findings[0].saw
    assert report.row is not None
    assert report.row.capabilities.guided


def test_lost_tools_are_tried_by_description() -> None:
    report, _ = examined(StandIn("openai", frozenset({"strips tools"})))
    assert "described in the prompt, they are called" in report.findings[0].saw


def test_keep_alives_and_reasoning_are_told() -> None:
    report, _ = examined(StandIn("vllm", frozenset({"keep-alives", "reasons"})))
    said = {finding.topic: finding.saw for finding in report.findings}
    assert "comment lines in the streams" in said["keep-alive"]
    assert said["reasoning"] == "comes as reasoning"
    report, _ = examined(StandIn("ollama", frozenset({"reasons"})))
    assert {finding.topic: finding.saw for finding in report.findings}["reasoning"] == "comes as thinking"


def test_a_stream_that_is_cut_is_trouble() -> None:
    report, _ = examined(StandIn("openai", frozenset({"cut streams"})))
    assert odd(report)["stream"] == "trouble"


def test_two_calls_with_one_id_are_told_apart() -> None:
    report, _ = examined(StandIn("openai", frozenset({"same id"})))
    assert odd(report)["ids"] == "note"


def test_a_row_that_the_operator_chose_is_examined_as_such() -> None:
    standin = StandIn("ollama")
    report, _ = examined(standin, row=known_rows()["ollama-v1"])
    assert not [path for path, _ in standin.asked if path == "/api/chat"]
    assert report.row is not None
    assert report.row.name == "ollama-v1"


def test_an_ollama_is_recognised_by_its_version_where_its_models_say_nothing() -> None:
    report, _ = examined(StandIn("ollama", frozenset({"no models"})), model="m")
    assert report.row is not None
    assert report.row.name == "ollama"


# What cannot be examined.


def ended(*events: Any) -> Report:
    """Return the report after these events, the first for the first request."""
    doctor = Doctor(known_rows(), model="x")
    doctor.start(0.0, answer_id="d", today=TODAY, capacity=1)
    commands: list[Any] = []
    for event in events:
        commands = doctor.receive(event, 1.0)
    assert isinstance(commands[-1], Finish)
    assert doctor.report is not None
    return doctor.report


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, b"{}", "it wants a key"),
        (200, b"<html>", "a web page answers"),
        (503, b'{"error": {"message": "Loading model"}}', "it answers 503: Loading model"),
        (200, b'{"data": [{"id": "y"}]}', "it has no model 'x'; it has: y"),
    ],
)
def test_an_engine_that_cannot_be_examined_says_why(status: int, body: bytes, says: str) -> None:
    report = ended(*(event for _, event in response("e.models", status, body, "application/json")))
    assert says in report.unusable
    assert report.row is None
    assert not report.healthy


def test_an_engine_that_is_not_there_or_answers_no_question() -> None:
    assert "does not answer (refused)" in ended(Failed("e.models", "connect", "refused")).unusable

    def world(request: Request) -> Iterator[Timed]:
        status = 200 if request.id == "e.models" else 500
        yield from response(request.id, status, b'{"error": {"message": "out of memory"}}', "application/json")

    doctor = Doctor(known_rows())
    ScriptedDriver(world).run(doctor)  # type: ignore[arg-type]  # it is run as an answer is
    assert doctor.report is not None
    assert "a plain question was not answered: out of memory" in doctor.report.unusable


def test_an_engine_that_falls_silent_ends_in_time() -> None:
    standin = StandIn("openai")

    def world(request: Request) -> Iterator[Timed]:
        assert isinstance(request, CallEngine)
        if "required" not in request.id:
            status, kind, body = standin.answer(request.request.target, request.request.body)
            yield from response(request.id, status, body, kind)

    doctor = Doctor(known_rows())
    ScriptedDriver(world).run(doctor)  # type: ignore[arg-type]  # it is run as an answer is
    assert doctor.report is not None
    assert odd(doctor.report) == {"tool_choice": "note", "stream": "trouble"}


def test_a_visit_can_be_cancelled_at_any_moment() -> None:
    standin = StandIn("openai")
    whole = len(examined(standin)[1].log)
    for count in range(whole):
        driver = ScriptedDriver(world_of(StandIn("openai")), cancel_when=lambda d, n=count: len(d.log) >= n)  # type: ignore[misc]
        doctor = Doctor(known_rows())
        result = driver.run(doctor)  # type: ignore[arg-type]  # it is run as an answer is
        assert result.why_stopped == "cancelled"


def test_the_contract_of_machines_is_kept() -> None:
    doctor = Doctor(known_rows())
    with pytest.raises(LocalProtocolError, match="before start"):
        doctor.receive(ResponseEnded("x"), 0.0)
    doctor.start(0.0, answer_id="d", today=TODAY, capacity=1)
    with pytest.raises(LocalProtocolError, match="started before"):
        doctor.start(0.0, answer_id="d", today=TODAY, capacity=1)
    with pytest.raises(LocalProtocolError, match="no request has that id"):
        doctor.receive(ResponseEnded("x"), 0.0)
    doctor.receive(HostCancelled(), 0.0)
    assert doctor.receive(HostCancelled(), 0.0) == []
    with pytest.raises(LocalProtocolError, match="after Finish"):
        doctor.receive(ResponseEnded("e.models"), 0.0)
