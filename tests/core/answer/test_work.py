"""The work behind a call: when it starts, what it asks for, what it comes to, and that every slot is given back."""

from typing import Any

import pytest

from hostcall.answer.tools import SearchAsk, Tool
from hostcall.answer.work import HostWork, SearchWork
from hostcall.commands import AskApproval, CallSearch, Command, RunTool, ShowProgress
from hostcall.errors import LocalProtocolError
from hostcall.events import ApprovalGiven, Failed, ResponseEnded, ToolFinished, Woken
from hostcall.limits import Limits
from hostcall.machine import Slots
from hostcall.testing import TODAY
from hostcall.web.settings import Web

LOOK = Tool("look", "Looks.", {"type": "object"}, side_effects=False, timeout=2.5)
SEND = Tool("send", "Sends a letter.", {"type": "object"}, side_effects=True)


def free(slots: Slots) -> int:
    """Return how many slots are free, and leave them so."""
    taken = 0
    while slots.take():
        taken += 1
    for _ in range(taken):
        slots.free()
    return taken


def host(tool: Tool, slots: Slots, *, deadline: float = 600.0) -> HostWork:
    return HostWork(
        id="r2.c1",
        number=2,
        call_id="call_1",
        tool=tool,
        arguments={"n": 1},
        slots=slots,
        limits=Limits(approval_seconds=30.0),
        deadline=lambda: deadline,
    )


def asking(slots: Slots) -> HostWork:
    work = host(SEND, slots)
    assert work.advance(10.0) == [
        ShowProgress(kind="asking", text="send", round=2),
        AskApproval(id="r2.c1.ask", deadline=40.0, name="send", arguments={"n": 1}, reason="Sends a letter."),
    ]
    assert (work.waiting, work.begun, work.done) == (True, False, False)
    return work


def running(slots: Slots) -> HostWork:
    work = host(LOOK, slots)
    assert work.advance(10.0) == [
        ShowProgress(kind="running", text="look", round=2),
        RunTool(id="r2.c1.run", deadline=12.5, name="look", arguments={"n": 1}, call_id="call_1"),
    ]
    assert (work.waiting, work.begun, work.done) == (False, True, False)
    return work


# Tools of the host.


def test_a_tool_runs_within_its_time_and_the_answers() -> None:
    running(Slots(1, 2))
    _, run = host(LOOK, Slots(1, 2), deadline=11.0).advance(10.0)
    assert isinstance(run, RunTool)
    assert run.deadline == 11.0


def test_work_without_a_slot_waits_for_one() -> None:
    slots = Slots(1, 2)
    slots.take()
    for tool in (LOOK, SEND):
        work = host(tool, slots)
        assert work.advance(0.0) == []
        assert (work.begun, work.waiting) == (False, False)
    slots.free()
    assert work.advance(0.0) != []


def test_what_is_under_way_is_not_started_again() -> None:
    slots = Slots(9, 2)
    for work in (asking(slots), running(slots)):
        assert work.advance(11.0) == []
    assert free(slots) == 7


@pytest.mark.parametrize(
    ("event", "outcome", "content"),
    [
        (ToolFinished("r2.c1.run", "seen"), "ran", "seen"),
        (ToolFinished("r2.c1.run", "no", True), "failed", "no"),
        (Failed("r2.c1.run", "handler", "secret"), "failed", "the tool failed."),
        (Failed("r2.c1.run", "timeout"), "failed", "the tool took longer than 2.5 seconds."),
        (Failed("r2.c1.run", "idle"), "failed", "the tool took longer than 2.5 seconds."),
    ],
)
def test_a_run_comes_to_its_content_or_to_why_there_is_none(event: Any, outcome: str, content: str) -> None:
    slots = Slots(1, 2)
    work = running(slots)
    assert work.receive(event, 11.0) == []
    assert (work.outcome, work.content, work.failed, work.denied) == (outcome, content, outcome == "failed", False)
    assert work.done
    assert free(slots) == 1
    assert work.cancel(12.0) == []
    assert free(slots) == 1, "a slot is given back once"
    assert work.advance(12.0) == []


def test_a_result_at_its_deadline_is_too_late() -> None:
    work = running(Slots(1, 2))
    work.receive(ToolFinished("r2.c1.run", "seen"), 12.5)
    assert (work.outcome, work.content) == ("failed", "the tool took longer than 2.5 seconds.")
    work = running(Slots(1, 2))
    work.receive(ToolFinished("r2.c1.run", "seen"), 12.4)
    assert work.outcome == "ran"


def test_an_approval_lets_the_tool_run_in_the_same_slot() -> None:
    slots = Slots(1, 2)
    work = asking(slots)
    assert work.receive(ApprovalGiven("r2.c1.ask", True), 20.0) == []
    assert (work.waiting, work.done) == (False, False)
    _, run = work.advance(20.0)
    assert isinstance(run, RunTool)
    assert run.deadline == 50.0
    work.receive(ToolFinished("r2.c1.run", "sent"), 21.0)
    assert (work.outcome, free(slots)) == ("ran", 1)


@pytest.mark.parametrize(
    ("event", "now", "reason"),
    [
        (ApprovalGiven("r2.c1.ask", False), 20.0, "no"),
        (ApprovalGiven("r2.c1.ask", False, "not today"), 20.0, "not today"),
        (ApprovalGiven("r2.c1.ask", "no"), 20.0, "no"),  # type: ignore[arg-type]  # what a host may still write
        (ApprovalGiven("r2.c1.ask", True), 40.0, "nobody answered in time"),
        (Failed("r2.c1.ask", "timeout"), 20.0, "nobody answered in time"),
        (Failed("r2.c1.ask", "handler"), 20.0, "it could not be asked for"),
    ],
)
def test_whatever_is_no_approval_is_a_denial(event: Any, now: float, reason: str) -> None:
    slots = Slots(1, 2)
    work = asking(slots)
    assert work.receive(event, now) == []
    assert (work.outcome, work.content, work.denied, work.waiting) == ("denied", reason, True, False)
    assert (work.begun, work.failed, free(slots)) == (False, False, 1)


@pytest.mark.parametrize("event", [ToolFinished("r2.c1.run", "x"), ResponseEnded("x"), Woken("x")])
def test_what_does_not_answer_the_question_is_the_drivers_mistake(event: Any) -> None:
    with pytest.raises(LocalProtocolError, match=r"does not answer the call of 'send'"):
        asking(Slots(1, 2)).receive(event, 11.0)
    if not isinstance(event, ToolFinished):
        with pytest.raises(LocalProtocolError, match=r"does not answer the call of 'look'"):
            running(Slots(1, 2)).receive(event, 11.0)


def test_a_content_that_is_no_text_is_the_drivers_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="is text, not int"):
        running(Slots(1, 2)).receive(ToolFinished("r2.c1.run", 7), 11.0)  # type: ignore[arg-type]  # the mistake


def test_a_cancel_gives_the_slot_back() -> None:
    slots = Slots(2, 2)
    for work in (asking(slots), running(slots)):
        work.cancel(11.0)
    assert free(slots) == 2
    host(LOOK, slots).cancel(11.0)
    assert free(slots) == 2, "it had none"


# Searches.


def searches(slots: Slots, *queries: str) -> SearchWork:
    return SearchWork(
        id="r2.c1",
        number=2,
        ask=SearchAsk(query=queries[0], time_range="week"),
        queries=queries,
        not_run=(),
        web=Web(),
        limits=Limits(),
        today=TODAY,
        slots=slots,
        deadline=lambda: 600.0,
    )


def asked(commands: list[Command]) -> list[str]:
    return [command.id for command in commands if isinstance(command, CallSearch)]


def test_searches_start_as_there_are_slots_and_end_in_the_order_asked() -> None:
    slots = Slots(2, 2)
    work = searches(slots, "one", "two", "three")
    assert (work.begun, work.started, work.done) == (False, 0, False)
    commands = work.advance(0.0)
    first, second = asked(commands)
    assert (first.startswith("r2.c1.s0"), second.startswith("r2.c1.s1")) == (True, True)
    assert [command for command in commands if isinstance(command, ShowProgress)] == [
        ShowProgress(kind="searching", text="one", round=2),
        ShowProgress(kind="searching", text="two", round=2),
    ]
    assert (work.begun, work.started, free(slots)) == (True, 2, 0)
    assert work.advance(0.0) == []
    work.receive(Failed(second, "connect"), 1.0)
    assert (free(slots), work.done) == (1, False)
    (third,) = asked(work.advance(1.0))
    assert third.startswith("r2.c1.s2")
    assert work.receive(Failed(second, "connect"), 1.0) == [], "what is over is not heard again"
    for id_ in (third, first):
        assert not work.done
        work.receive(Failed(id_, "connect"), 2.0)
    assert work.done
    assert [outcome.query for outcome in work.outcomes] == ["one", "two", "three"]
    assert {outcome.time_range for outcome in work.outcomes} == {"week"}
    assert free(slots) == 2


def test_a_cancel_gives_back_the_slots_of_open_searches_alone() -> None:
    slots = Slots(3, 2)
    work = searches(slots, "one", "two", "three")
    first, *_ = asked(work.advance(0.0))
    work.receive(Failed(first, "connect"), 1.0)
    assert free(slots) == 1
    assert work.cancel(1.0) == []
    assert free(slots) == 3
