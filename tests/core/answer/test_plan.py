"""The table of what comes next, every row of it."""

import pytest

from hostcall.answer import plan
from hostcall.answer.plan import (
    AnswerRound,
    End,
    ForcedRound,
    HostCall,
    ReadRound,
    ReplyKind,
    Rung,
    Standing,
    Step,
    ToolRound,
)
from hostcall.data import Capabilities, WhyStopped


def standing(**changed: object) -> Standing:
    values: dict[str, object] = {"rounds": 1, "rounds_allowed": 8, "answer_rounds": 0, "answer_rounds_allowed": 2}
    return Standing(**{**values, **changed})  # type: ignore[arg-type]  # the tests name the fields they change


@pytest.mark.parametrize(
    ("capabilities", "web", "left", "rungs"),
    [
        (Capabilities(), True, True, ("required", "schema", "host")),
        (Capabilities(tool_choice=("none", "auto")), True, True, ("schema", "host")),
        (Capabilities(tool_choice=(), schema=False), True, True, ("host",)),
        (Capabilities(schema=False), True, True, ("required", "host")),
        (Capabilities(rescue=True), True, True, ("rescue", "host")),
        (Capabilities(), False, True, ()),
        (Capabilities(), True, False, ()),
    ],
)
def test_the_ladder_has_the_rungs_that_the_engine_can_be_forced_by(
    capabilities: Capabilities, web: bool, left: bool, rungs: tuple[Rung, ...]
) -> None:
    assert plan.ladder(capabilities, web=web, left=left) == rungs


@pytest.mark.parametrize(
    ("rungs", "rounds_allowed", "step"),
    [
        (("required", "host"), 8, ForcedRound("required")),
        (("host",), 8, HostCall()),
        ((), 8, ToolRound()),
        ((), 0, AnswerRound()),
    ],
)
def test_the_first_step(rungs: tuple[Rung, ...], rounds_allowed: int, step: Step) -> None:
    assert plan.first_step(standing(rungs=rungs, rounds_allowed=rounds_allowed)) == step


@pytest.mark.parametrize("reply", ["text", "blank"])
def test_anything_but_a_call_means_the_next_rung(reply: ReplyKind) -> None:
    assert plan.after_forced(standing(rungs=("schema", "host")), reply) == ForcedRound("schema")
    assert plan.after_forced(standing(rungs=("host",)), reply) == HostCall()


def test_a_call_ends_the_ladder() -> None:
    assert plan.after_forced(standing(), "calls") == ToolRound()


@pytest.mark.parametrize(
    ("changed", "reply", "step"),
    [
        ({}, "text", End("answered")),
        ({}, "calls", ToolRound()),
        ({"rounds": 8}, "calls", AnswerRound()),
        ({"spent": True}, "calls", AnswerRound()),
        ({}, "blank", ToolRound(again=True)),
        ({"retried": True}, "blank", AnswerRound()),
    ],
)
def test_after_a_tool_round(changed: dict[str, object], reply: ReplyKind, step: Step) -> None:
    assert plan.after_tools(standing(**changed), reply) == step


@pytest.mark.parametrize(
    ("used", "why", "reply", "step"),
    [
        (1, "rounds_used", "text", End("rounds_used")),
        (1, "answered", "text", End("answered")),
        (1, "budget_spent", "calls", AnswerRound()),
        (1, "answered", "blank", AnswerRound()),
        (2, "budget_spent", "text", End("budget_spent")),
        (2, "answered", "blank", End("blank")),
    ],
)
def test_after_an_answer_round(used: int, why: WhyStopped, reply: ReplyKind, step: Step) -> None:
    assert plan.after_answer(standing(answer_rounds=used, why=why), reply) == step


def test_what_a_standing_is_by_default() -> None:
    assert standing() == Standing(
        rounds=1,
        rounds_allowed=8,
        answer_rounds=0,
        answer_rounds_allowed=2,
        rungs=(),
        guided=False,
        to_read=False,
        spent=False,
        retried=False,
        why="answered",
    )


@pytest.mark.parametrize(
    ("changed", "step"),
    [
        ({}, ToolRound()),
        ({"rounds": 7}, ToolRound()),
        ({"rounds": 8}, AnswerRound()),
        ({"rounds": 9}, AnswerRound()),
        ({"spent": True}, AnswerRound()),
        ({"guided": True, "to_read": True}, ReadRound()),
        ({"guided": True}, AnswerRound()),
        ({"guided": True, "to_read": True, "spent": True}, AnswerRound()),
        ({"guided": True, "to_read": True, "rounds": 8}, AnswerRound()),
        ({"to_read": True}, ToolRound()),
    ],
)
def test_after_calls(changed: dict[str, object], step: Step) -> None:
    assert plan.after_calls(standing(**changed)) == step
    assert plan.after_forced(standing(**changed), "calls") == step
    assert plan.after_tools(standing(**changed), "calls") == step


def test_a_ladder_that_is_over_without_a_call_leads_to_the_answer() -> None:
    assert plan.after_forced(standing(), "blank") == AnswerRound()
    assert plan.after_answer(standing(answer_rounds=2), "calls") == End("answered")
    assert plan.first_step(standing(rounds_allowed=1)) == ToolRound()
    assert not ToolRound().again
