"""Whole answers: the contract with a driver, and what holds in every scenario whatever happens."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import CallEngine, Cancel, Finish, Request, ShowText, Wait
from hostcall.data import Result
from hostcall.engine.history import validate
from hostcall.engine.settings import Engine
from hostcall.errors import LocalProtocolError, SettingsError
from hostcall.events import (
    BodyReceived,
    Failed,
    HostCancelled,
    ModelChunk,
    ModelEnded,
    ResponseEnded,
    ResponseStarted,
    Woken,
)
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, Timed, World, reply_calls, reply_text, stream
from hostcall.web.settings import Web
from tests.cases.answers import CaseWorld, make_answer
from tests.cases.report import read_cases

CASES = {case["id"]: case for case in read_cases(Path(__file__).parents[2] / "cases" / "answers-open.jsonl")}
TIMED = ("cancel", "cut-07", "deadline", "host-15", "host-16", "fetch-28")
SCENARIOS = [case for id_, case in CASES.items() if not id_.startswith(TIMED) and "events" not in case]

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
HTML = "<title>Guide {0}</title><p>Words of page {0}.</p><a href='/two'>Two</a>"


def start(answer: Answer, **changed: Any) -> list[Any]:
    return answer.start(**{"now": 0.0, "answer_id": "a", "today": TODAY, "capacity": 8, **changed})


# The contract.


def test_an_answer_is_started_once_and_before_it_is_fed() -> None:
    answer = Answer(QUESTION)
    with pytest.raises(LocalProtocolError, match="before start"):
        answer.receive(HostCancelled(), 0.0)
    start(answer)
    with pytest.raises(LocalProtocolError, match="started before"):
        start(answer)


def test_an_id_that_was_never_issued_is_the_drivers_mistake() -> None:
    answer = Answer(QUESTION)
    start(answer)
    with pytest.raises(LocalProtocolError, match="no request has that id"):
        answer.receive(Woken("r9.e9"), 0.0)


def test_an_event_that_the_state_does_not_take_is_the_drivers_mistake() -> None:
    answer = Answer(QUESTION)
    start(answer)
    with pytest.raises(LocalProtocolError, match="while the round is calling"):
        answer.receive(BodyReceived("r1.e0", b"x"), 0.0)


def test_nothing_is_fed_after_finish_but_a_cancel() -> None:
    driver = ScriptedDriver(World(engine=[reply_text("Yes.")]))
    answer = Answer(QUESTION, web=False)
    driver.run(answer)
    assert answer.receive(HostCancelled(), 9.0) == []
    with pytest.raises(LocalProtocolError, match="after Finish"):
        answer.receive(BodyReceived("r1.e0", b"x"), 9.0)


def test_settings_that_mean_nothing_say_so() -> None:
    tool = Tool("get", "Get.", {"type": "object"}, side_effects=False)
    with pytest.raises(SettingsError, match="two tools have the same name"):
        Answer(QUESTION, tools=[tool, tool])
    with pytest.raises(SettingsError, match="at least 1"):
        start(Answer(QUESTION), capacity=0)
    with pytest.raises(SettingsError, match="deny_networks"):
        start(Answer(QUESTION, web=Web(deny_networks=("x",))))
    with pytest.raises(SettingsError, match="wire 'x'"):
        start(Answer(QUESTION, engine=Engine(wire="x")))  # type: ignore[arg-type]  # what a host may still write


def test_a_host_with_an_engine_client_of_its_own_feeds_chunks() -> None:
    answer = Answer(QUESTION, web=False)
    start(answer)
    (shown,) = answer.receive(ModelChunk(id="r1.e0", text="Yes."), 1.0)
    assert shown == ShowText("Yes.", 1)
    *_, last = answer.receive(ModelEnded("r1.e0"), 2.0)
    assert isinstance(last, Finish)
    assert (last.result.text, last.result.why_stopped) == ("Yes.", "answered")


@pytest.mark.parametrize("by", [Woken("r1.e0.close"), Failed("r1.e0", "reset"), ResponseEnded("r1.e0")])
def test_a_reply_that_says_it_is_done_is_not_waited_for_long(by: Any) -> None:
    """Some proxies keep the connection open behind the last event; others end it so that it can be used again."""
    answer = Answer(QUESTION, web=False)
    start(answer)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 1.0)
    commands = answer.receive(BodyReceived("r1.e0", reply_text("Yes.")), 1.0)
    assert commands == [ShowText("Yes.", 1), Wait(id="r1.e0.close", until=1.5)]
    assert answer.receive(BodyReceived("r1.e0", b": more\n\n"), 1.1) == []
    cancel, last = answer.receive(by, 1.2)
    assert cancel == Cancel("r1.e0" if isinstance(by, Woken) else "r1.e0.close")
    assert isinstance(last, Finish)
    assert last.result.why_stopped == "answered"


def test_a_reply_without_its_done_that_breaks_after_the_finish_is_whole() -> None:
    answer = Answer(QUESTION, web=False)
    start(answer)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 1.0)
    answer.receive(BodyReceived("r1.e0", stream({"content": "Yes."}, done=False)), 1.0)
    *_, last = answer.receive(Failed("r1.e0", "reset"), 1.0)
    assert isinstance(last, Finish)
    assert last.result.why_stopped == "answered"


# What holds in every scenario.


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


@pytest.mark.parametrize("capacity", [1, 2])
def test_no_more_is_open_at_once_than_the_driver_can_carry(capacity: int) -> None:
    queries = [f"words {number}" for number in range(3)]
    calls = reply_calls(
        ("web_search", {"query": "first words", "queries": queries, "kind": "jobs"}),
        ("fetch_page_content_recursive", {"url": "https://docs.example.org/a"}),
        ("fetch_page_content_recursive", {"url": "https://docs.example.org/b"}),
    )
    pages = {f"https://docs.example.org/{name}": HTML.format(name) for name in ("a", "b", "two")}
    world = World(engine=[calls, reply_text("Done.")], pages=pages)
    conversation = [{"role": "user", "content": "Compare https://docs.example.org/a and /b"}]
    answer = Answer(conversation)
    open_: set[str] = set()
    most = 0

    def watch(driver: ScriptedDriver) -> bool:
        nonlocal most
        open_.clear()
        open_.update(id_ for id_ in answer.live if ".e" not in id_)
        most = max(most, len(open_))
        return False

    result = ScriptedDriver(world, capacity=capacity, cancel_when=watch).run(answer)
    assert most == capacity
    assert result.budget is not None
    assert (result.budget.searches, result.budget.pages) == (7, 4)
    full = ScriptedDriver(attrs.evolve(world, asked=[])).run(Answer(conversation))
    assert [source.address for source in full.ledger] == [source.address for source in result.ledger]
    assert full.transcript == result.transcript


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
    commands = start(again, answer_id="test")
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


def test_a_conversation_over_its_bound_is_an_overflow() -> None:
    conversation = [{"role": "user", "content": "x" * 500}]
    result = ScriptedDriver(World(engine=[reply_text("Yes.")])).run(
        Answer(conversation, web=False, limits=Limits(history_chars=400))
    )
    assert result.why_stopped == "overflow"
    assert "400 characters" in result.detail


def test_a_long_history_is_shortened_once_before_it_is_sent() -> None:
    pages = {"https://docs.example.org/a": "<p>" + "many words here. " * 400 + "</p>"}
    calls = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/a"}))
    world = World(engine=[calls, reply_text("Done.")], pages=pages)
    conversation = [{"role": "user", "content": "Read https://docs.example.org/a"}]
    result = ScriptedDriver(world).run(Answer(conversation, limits=Limits(history_chars=6000)))
    assert result.why_stopped == "answered"
    assert [rewrite.reason for rewrite in result.rewrites] == [
        "the conversation is too long: old tool results were shortened"
    ]
    assert len(world.asked[1]["messages"][-1]["content"]) < 1000


def test_a_key_makes_the_receipts_an_hmac() -> None:
    from hostcall.answer.receipts import verify

    world = World(engine=[reply_calls(("web_search", {"query": "a"})), reply_text("Done.")])
    result = ScriptedDriver(world).run(Answer(QUESTION, receipt_key=b"secret"))
    assert verify(result.receipts, b"secret") is None
    assert verify(result.receipts) == 0


def test_a_result_says_whether_the_engine_cut_its_text_and_what_kind_of_fault_it_had() -> None:
    cut = ScriptedDriver(World(engine=[reply_text("It bo", finish="length")])).run(Answer(QUESTION, web=False))
    assert (cut.cut, cut.fault) == (True, "")
    whole = ScriptedDriver(World(engine=[reply_text("It boils.")])).run(Answer(QUESTION, web=False))
    assert (whole.cut, whole.fault) == (False, "")
    refused = ScriptedDriver(World(engine=[422])).run(Answer(QUESTION, web=False))
    assert (refused.why_stopped, refused.fault, refused.detail) == ("engine_failed", "rejected", "scripted")
