"""What holds in every scenario whatever happens: cancelled, cut, jittered or with an engine that dies."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.commands import CallEngine, Finish, Request, ShowText
from hostcall.data import Result
from hostcall.engine.history import validate
from hostcall.events import BodyReceived, Failed
from hostcall.testing import TODAY, ScriptedDriver, Timed
from tests.cases.answers import CaseWorld, make_answer
from tests.cases.report import read_cases

CASES = {case["id"]: case for case in read_cases(Path(__file__).parents[2] / "cases" / "answers-open.jsonl")}
TIMED = ("cancel", "cut-07", "deadline", "host-15", "host-16", "fetch-28")
SCENARIOS = [case for id_, case in CASES.items() if not id_.startswith(TIMED) and "events" not in case]


def run(case: dict[str, Any], **driver: Any) -> tuple[ScriptedDriver, Result, CaseWorld]:
    world = CaseWorld(case)
    scripted = ScriptedDriver(driver.pop("world", lambda inner: inner)(world), **driver)
    return scripted, scripted.run(make_answer(case)), world


def outcome(driver: ScriptedDriver, result: Result) -> Any:
    """What must be the same however the events came: requests by id, shown text joined, the result but its times."""
    shown = "".join(notice.text for notice in driver.notices if isinstance(notice, ShowText))
    requests = sorted((request.id, type(request).__name__) for request in driver.requests)
    receipts = [(receipt.tool, receipt.result_digest, receipt.outcome) for receipt in result.receipts]
    bare = attrs.evolve(result, receipts=(), receipts_head="")
    return requests, shown, receipts, bare


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: str(case["id"]))
def test_a_cancel_after_any_event_leaves_a_valid_end(case: dict[str, Any]) -> None:
    whole, _, _ = run(case)
    total = len(whole.log)
    for position in range(0, total + 1, max(total // 12, 1)):

        def now(driver: ScriptedDriver, position: int = position) -> bool:
            return len(driver.log) >= position

        driver, result, _ = run(case, cancel_when=now)
        finishes = [command for command in driver.commands if isinstance(command, Finish)]
        assert len(finishes) == 1
        assert driver.commands[-1] is finishes[0]
        validate(list(result.transcript))
        if result.why_stopped == "cancelled":
            assert position < total


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: str(case["id"]))
def test_the_prompt_only_grows_but_for_what_the_result_owns_up_to(case: dict[str, Any]) -> None:
    driver, result, _ = run(case)
    asked = [
        request
        for request in driver.requests
        if isinstance(request, CallEngine) and b'"messages"' in request.request.body
    ]
    rewritten = {rewrite.request for rewrite in result.rewrites}
    before: list[Any] = []
    laid_over = False
    for request in asked:
        messages = json.loads(request.request.body)["messages"]
        if request.id in rewritten:
            # What was laid over one request is taken off again with the next.
            before, laid_over = messages, True
            continue
        assert messages[: len(before)] == before or laid_over, request.id
        before, laid_over = messages, False


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: str(case["id"]))
def test_every_call_of_every_scenario_has_one_reply(case: dict[str, Any]) -> None:
    _, result, _ = run(case)
    calls = [call["id"] for message in result.transcript for call in message.get("tool_calls") or ()]
    replies = [message["tool_call_id"] for message in result.transcript if message["role"] == "tool"]
    assert sorted(calls) == sorted(replies)
    assert len(set(calls)) == len(calls)
    validate(list(result.transcript))


def jittered(seed: int) -> Any:
    """Return what puts random delays before each request's answer, so that arrivals come in another order."""
    draw = random.Random(seed)

    def wrap(world: CaseWorld) -> Any:
        def play(request: Request) -> Iterator[Timed]:
            late = 0.0 if isinstance(request, CallEngine) else draw.choice((0.0, 0.01, 0.02, 0.05, 0.2))
            for delay, event in world(request):
                yield delay + late, event
                late = 0.0

        return play

    return wrap


PARALLEL = [
    case
    for case in SCENARIOS
    if any(
        id_ in case["id"] for id_ in ("queries", "kind", "ledger", "fetch", "budget", "receipt", "host-14", "parallel")
    )
    and not any("delay" in entry for entry in case.get("search", ()))
]


@pytest.mark.parametrize("case", PARALLEL, ids=lambda case: str(case["id"]))
def test_any_order_of_arrival_gives_the_same_answer(case: dict[str, Any]) -> None:
    by_query = any("q" in entry for entry in case.get("search", ())) or len(case.get("search", ())) <= 1
    if not by_query:
        return  # the scripted service answers by arrival there, so another order is another world
    expected = outcome(*run(case)[:2])
    for seed in range(6):
        driver, result, _ = run(case, world=jittered(seed))
        assert outcome(driver, result) == expected


def cut_bodies(data: st.DataObject) -> Any:
    """Return what cuts every body of a world into other pieces."""

    def wrap(world: CaseWorld) -> Any:
        def play(request: Request) -> Iterator[Timed]:
            for delay, event in world(request):
                if not isinstance(event, BodyReceived) or len(event.data) < 2:
                    yield delay, event
                    continue
                sizes = data.draw(st.lists(st.integers(1, 120), min_size=1, max_size=6))
                position = 0
                turn = 0
                while position < len(event.data):
                    size = sizes[turn % len(sizes)]
                    yield (
                        delay if position == 0 else 0.0,
                        BodyReceived(event.id, event.data[position : position + size]),
                    )
                    position += size
                    turn += 1

        return play

    return wrap


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(SCENARIOS), st.data())
def test_any_cut_of_any_body_gives_the_same_answer(case: dict[str, Any], data: st.DataObject) -> None:
    expected = outcome(*run(case)[:2])
    driver, result, _ = run(case, world=cut_bodies(data))
    assert outcome(driver, result) == expected


@pytest.mark.parametrize("case", SCENARIOS[::5], ids=lambda case: str(case["id"]))
def test_the_same_events_give_the_same_commands(case: dict[str, Any]) -> None:
    driver, _, _ = run(case)
    again = make_answer(case)
    commands = again.start(0.0, answer_id="test", today=TODAY, capacity=8)
    for now, event in driver.log:
        commands += again.receive(event, now)
    assert commands == driver.commands


@pytest.mark.parametrize("case", SCENARIOS[::7], ids=lambda case: str(case["id"]))
def test_an_engine_that_dies_anywhere_leaves_a_valid_end(case: dict[str, Any]) -> None:
    whole, _, _ = run(case)
    replies = sum(isinstance(event, BodyReceived) for _, event in whole.log)
    for position in range(0, replies, max(replies // 8, 1)):

        def wrap(world: CaseWorld, position: int = position) -> Any:
            given = 0

            def play(request: Request) -> Iterator[Timed]:
                nonlocal given
                for delay, event in world(request):
                    if isinstance(event, BodyReceived):
                        given += 1
                        if given > position:
                            yield 0.0, Failed(request.id, "reset", "killed")
                            return
                    yield delay, event

            return play

        driver, result, _ = run(case, world=wrap)
        validate(list(result.transcript))
        assert sum(isinstance(command, Finish) for command in driver.commands) == 1
