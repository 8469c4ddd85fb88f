"""The question what a model can do, which whatever goes wrong leaves the answer where it was."""

import pytest

from hostcall.answer.probe import PROBE_BYTES, Probe
from hostcall.commands import CallEngine, Cancel
from hostcall.data import HttpRequest
from hostcall.events import BodyReceived, Failed, ResponseEnded, ResponseStarted

REQUEST = HttpRequest("POST", "/api/show")


def test_an_answer_is_its_status_and_its_whole_body() -> None:
    probe = Probe(REQUEST, deadline=7.0)
    assert probe.start(0.0) == [CallEngine(id="probe", deadline=7.0, request=REQUEST, idle=10.0)]
    for event in (ResponseStarted("probe", 404, ()), BodyReceived("probe", b"ab"), BodyReceived("probe", b"c")):
        assert probe.receive(event, 1.0) == []
        assert probe.result is None
    assert probe.receive(ResponseEnded("probe"), 1.0) == []
    assert probe.result == (404, b"abc")


def test_a_failure_is_no_answer() -> None:
    probe = Probe(REQUEST, deadline=7.0)
    probe.receive(ResponseStarted("probe", 200, ()), 1.0)
    assert probe.receive(Failed("probe", "reset"), 1.0) == []
    assert probe.result == (0, b"")


@pytest.mark.parametrize("over", [0, 1])
def test_an_answer_has_a_bound(over: int) -> None:
    assert PROBE_BYTES == 4_194_304
    probe = Probe(REQUEST, deadline=7.0)
    half = b"x" * (PROBE_BYTES // 2)
    probe.receive(BodyReceived("probe", half), 1.0)
    assert probe.receive(BodyReceived("probe", half + b"x" * over), 1.0) == ([Cancel("probe")] if over else [])
    assert probe.result == ((0, b"") if over else None)


def test_an_answer_without_a_head_has_no_status() -> None:
    probe = Probe(REQUEST, deadline=7.0)
    probe.receive(ResponseEnded("probe"), 1.0)
    assert probe.result == (0, b"")
