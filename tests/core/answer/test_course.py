"""The course of an answer: which rounds there are, what is said of them, and what is kept of each."""

import json
from typing import Any

import attrs
import pytest

from hostcall.answer import prompts
from hostcall.answer.answer import Answer
from hostcall.answer.tools import FETCH, SEARCH, Tool
from hostcall.commands import CallEngine, Finish, ShowProgress, ShowReasoning, ShowText
from hostcall.data import Capabilities, Result, Source, Usage
from hostcall.engine.settings import Engine
from hostcall.events import BodyReceived, HostCancelled, ResponseEnded, ResponseStarted, ToolFinished
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, World, reply_calls, reply_text, stream
from hostcall.web.settings import Web

QUESTION = [{"role": "user", "content": "How hot?"}]
SEARCHED = reply_calls((SEARCH, {"query": "heat"}))
DONE = reply_text("Done.")
BLANK = stream(finish="stop")
FOUND: dict[str | None, list[dict[str, str]]] = {
    None: [{"url": "https://docs.example.org/a", "title": "A", "content": "Hot."}]
}
LOOK = Tool("look", "Looks.", {"type": "object"}, side_effects=False)
FREE = Engine(capabilities=Capabilities(tool_choice=("none", "auto"), schema=False))
HOST_CALLED = "the engine could not be made to call a tool; the host made the first call"


def run(*replies: Any, **settings: Any) -> tuple[World, ScriptedDriver, Result]:
    world = World(engine=replies, search=FOUND, tools={"look": lambda _: "seen"})
    driver = ScriptedDriver(world)
    return world, driver, driver.run(Answer(settings.pop("conversation", QUESTION), **settings))


def rounds(driver: ScriptedDriver) -> list[tuple[int, str]]:
    """Return the rounds that the reader was told of."""
    told = [notice for notice in driver.notices if isinstance(notice, ShowProgress) and notice.kind == "round"]
    return [(notice.round, notice.text) for notice in told]


def shown(driver: ScriptedDriver) -> str:
    return "".join(notice.text for notice in driver.notices if isinstance(notice, ShowText))


# The ladder.


def test_a_call_in_the_forced_round_is_followed_by_a_round_of_tools() -> None:
    world, driver, result = run(SEARCHED, DONE)
    assert rounds(driver) == [(1, "forced round"), (2, "tool round")]
    assert [body.get("tool_choice") for body in world.asked] == ["required", "auto"]
    assert (result.why_stopped, result.text, shown(driver), result.quirks) == ("answered", "Done.", "Done.", ())
    assert result.capabilities == Capabilities()


def test_each_rung_that_fails_is_named_and_its_text_is_dropped() -> None:
    world, driver, result = run(reply_text("Prose."), reply_text("More."), DONE)
    assert rounds(driver) == [(1, "forced round"), (1, "forced round"), (2, "tool round")]
    assert ["response_format" in body for body in world.asked] == [False, True, False]
    assert result.quirks == (
        "a call forced by required did not come",
        "a call forced by schema did not come",
        HOST_CALLED,
    )
    assert shown(driver) == "Done."
    assert "Prose." not in json.dumps(result.transcript)
    assert [(receipt.tool, receipt.asked_by) for receipt in result.receipts] == [(SEARCH, "host")]
    assert result.capabilities.tool_choice == ("none", "auto")
    assert [(rewrite.request, rewrite.reason) for rewrite in result.rewrites] == [
        ("r1.e1", "the call is forced by a JSON schema")
    ]


def test_where_nothing_can_be_forced_the_host_begins() -> None:
    world, driver, result = run(DONE, engine=FREE)
    assert rounds(driver) == [(2, "tool round")]
    assert result.quirks == (HOST_CALLED,)
    assert [message["role"] for message in result.transcript] == ["system", "user", "assistant", "tool", "assistant"]
    assert result.transcript[2]["content"] in (None, "")
    assert len(world.asked) == 1
    assert result.capabilities == FREE.capabilities


def test_the_ladder_counts_as_one_round() -> None:
    _, driver, result = run(BLANK, BLANK, DONE, limits=Limits(rounds=1))
    assert rounds(driver)[-1] == (2, "answer round")
    assert (result.why_stopped, result.text) == ("answered", "Done.")


def test_without_a_search_or_a_page_left_nothing_is_forced() -> None:
    _, driver, _ = run(DONE, limits=Limits(searches=0, pages=0))
    assert rounds(driver)[0][1] == "tool round"
    _, driver, _ = run(SEARCHED, DONE, limits=Limits(searches=0))
    assert rounds(driver)[0][1] == "forced round"


@pytest.mark.parametrize("arguments", [{"query": "..."}, {"query": ""}])
def test_a_call_of_dots_is_no_call_on_the_ladder_even_while_the_model_writes(arguments: dict[str, str]) -> None:
    hollow = reply_calls((SEARCH, arguments), (SEARCH, arguments))
    _, _, result = run(hollow, SEARCHED, DONE)
    assert [receipt.asked_by for receipt in result.receipts] == ["model"]
    assert result.quirks[0] == "a call forced by required did not come"
    answer = Answer(QUESTION)
    answer.start(0.0, answer_id="a", today=TODAY, capacity=8)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 0.0)
    call = {"id": "c", "function": {"name": SEARCH, "arguments": json.dumps(arguments)}}
    pieces = stream(
        {"tool_calls": [{"index": 0, **call}]}, {"tool_calls": [{"index": 1, **call}]}, finish=None, done=False
    )
    assert answer.receive(BodyReceived("r1.e0", pieces), 0.0) == []


# Rounds of tools, and of the answer.


def test_a_blank_reply_is_asked_for_once_more_and_then_for_the_answer() -> None:
    _, driver, result = run(SEARCHED, BLANK, BLANK, DONE)
    assert rounds(driver) == [(1, "forced round"), (2, "tool round"), (2, "tool round"), (3, "answer round")]
    assert (result.why_stopped, result.text) == ("answered", "Done.")
    _, driver, result = run(SEARCHED, BLANK, SEARCHED, BLANK, DONE)
    assert rounds(driver)[3:] == [(3, "tool round"), (3, "tool round")], "each round may be asked once more"


def test_when_the_rounds_are_used_the_answer_is_asked_for() -> None:
    world, driver, result = run(SEARCHED, reply_calls((SEARCH, {"query": "b"})), DONE, limits=Limits(rounds=2))
    assert rounds(driver) == [(1, "forced round"), (2, "tool round"), (3, "answer round")]
    assert (result.why_stopped, result.text) == ("rounds_used", "Done.")
    assert "tools" not in world.asked[2]
    assert world.asked[2]["messages"][-1]["content"] == prompts.answer_ask(result.ledger)


def test_when_the_searches_are_used_the_answer_is_asked_for() -> None:
    _, driver, result = run(SEARCHED, DONE, limits=Limits(searches=1))
    assert rounds(driver) == [(1, "forced round"), (2, "answer round")]
    assert result.why_stopped == "budget_spent"
    _, _, result = run(SEARCHED, DONE, limits=Limits(calls_an_answer=1))
    assert result.why_stopped == "budget_spent"
    _, _, result = run(reply_calls(("look", {})), DONE, web=False, tools=[LOOK], limits=Limits(searches=0))
    assert result.why_stopped == "answered", "without the web there is no search to spend"


def test_a_call_in_an_answer_round_is_run_and_in_the_last_its_text_stands() -> None:
    limits = Limits(rounds=1)
    other = stream({"content": "It is so."}, *call_deltas("b"), finish="tool_calls")
    _, driver, result = run(SEARCHED, other, DONE, limits=limits)
    assert [receipt.outcome for receipt in result.receipts] == ["ran", "ran"]
    assert (result.why_stopped, result.text) == ("rounds_used", "Done.")
    last = stream({"content": "It is."}, *call_deltas("c"), finish="tool_calls")
    _, driver, result = run(SEARCHED, other, last, limits=limits)
    assert [receipt.outcome for receipt in result.receipts] == ["ran", "ran", "not run"]
    assert (result.why_stopped, result.text) == ("rounds_used", "It is.")
    assert shown(driver) == "It is so.\n\nIt is."


def call_deltas(query: str) -> list[dict[str, Any]]:
    call = {"index": 0, "id": f"c{query}", "function": {"name": SEARCH, "arguments": json.dumps({"query": query})}}
    return [{"tool_calls": [call]}]


def test_an_answer_that_stays_blank_is_its_reasoning_or_one_sentence_and_the_sources() -> None:
    _, driver, result = run(SEARCHED, BLANK)
    assert rounds(driver)[-2:] == [(3, "answer round"), (4, "answer round")]
    assert (result.why_stopped, result.from_reasoning) == ("blank", False)
    assert result.text == prompts.no_answer(result.ledger)
    assert shown(driver) == result.text
    thought = stream({"reasoning_content": " It is hot. "})
    _, driver, result = run(SEARCHED, thought)
    assert (result.why_stopped, result.from_reasoning, result.text) == ("blank", True, "It is hot.")
    assert any(isinstance(notice, ShowReasoning) for notice in driver.notices)
    assert result.transcript[-1] == {"role": "assistant", "content": "It is hot."}


def test_text_beside_calls_is_kept_in_the_history_and_is_not_the_answer() -> None:
    first = stream({"reasoning_content": "Hm."}, {"content": "I look."}, *call_deltas("a"), finish="tool_calls")
    _, driver, result = run(first, DONE)
    assert (result.text, shown(driver)) == ("Done.", "I look.\n\nDone.")
    message = next(message for message in result.transcript if message.get("tool_calls"))
    assert (message["content"], message["reasoning_content"]) == ("I look.", "Hm.")


def test_tokens_are_added_over_rounds() -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}\n\n'
    counted = [reply.replace(b"data: [DONE]", usage + b"data: [DONE]") for reply in (SEARCHED, DONE)]
    _, _, result = run(*counted)
    assert result.usage == Usage(14, 4)


# Faults and ends.


@pytest.mark.parametrize(
    ("reply", "why", "fault"),
    [
        (401, "engine_failed", "access"),
        (422, "engine_failed", "rejected"),
        (stream({"content": "Half"}, finish=None, done=False), "truncated", "truncated"),
    ],
)
def test_an_engine_that_fails_ends_the_answer_with_what_came(reply: Any, why: str, fault: str) -> None:
    _, driver, result = run(reply, web=False)
    assert (result.why_stopped, result.fault) == (why, fault)
    assert result.text == shown(driver) == ("Half" if fault == "truncated" else "")
    assert result.detail == (
        "the stream broke off: no finish reason and no [DONE]" if fault == "truncated" else "scripted"
    )
    assert result.transcript[-1]["role"] == ("assistant" if fault == "truncated" else "user")


def test_calls_of_a_reply_that_broke_off_are_answered_as_not_run() -> None:
    broken = stream({"content": "I look."}, *call_deltas("a"), finish=None, done=False)
    _, _, result = run(SEARCHED, broken)
    assert result.why_stopped == "truncated"
    assert [receipt.outcome for receipt in result.receipts] == ["ran", "cancelled"]
    assert result.transcript[-2]["content"].startswith(prompts.NOT_RUN_BROKEN)
    assert result.transcript[-1] == {"role": "assistant", "content": "I look."}
    assert result.transcript[-3]["content"] in (None, "")


@pytest.mark.parametrize("late", [True, False])
def test_a_run_that_is_stopped_says_why_in_the_history(late: bool) -> None:
    answer = Answer(QUESTION, web=False, tools=[LOOK], limits=Limits(answer_seconds=10.0))
    answer.start(0.0, answer_id="a", today=TODAY, capacity=1)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 1.0)
    answer.receive(BodyReceived("r1.e0", reply_calls(("look", {}), ("look", {"n": 2}))), 1.0)
    if "r1.e0.close" in answer.live:
        answer.receive(ResponseEnded("r1.e0"), 1.0)
    (run_,) = (id_ for id_ in answer.live if id_.endswith(".run"))
    event = ToolFinished(run_, "late") if late else HostCancelled()
    *_, last = answer.receive(event, 10.0 if late else 2.0)
    assert isinstance(last, Finish)
    result = last.result
    assert result.why_stopped == ("deadline" if late else "cancelled")
    why = prompts.NOT_RUN_ENDED if late else prompts.NOT_RUN_CANCELLED
    said = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert said == [prompts.stopped(why), why]
    assert [receipt.outcome for receipt in result.receipts] == ["stopped", "cancelled"]
    assert answer.live == ()


def test_a_host_may_say_why_it_cancels() -> None:
    answer = Answer(QUESTION, web=False)
    answer.start(0.0, answer_id="a", today=TODAY, capacity=1)
    *_, last = answer.receive(HostCancelled("deadline"), 1.0)
    assert isinstance(last, Finish)
    assert last.result.why_stopped == "deadline"


# What an answer is made of.


def test_what_a_driver_is_told_of_an_answer() -> None:
    answer = Answer(QUESTION, tools=[LOOK], engine=FREE)
    assert (answer.tool_names, answer.web_on, answer.engine, answer.finished) == (("look",), True, FREE, False)
    assert not Answer(QUESTION, web=False).web_on
    commands = answer.start(0.0, answer_id="name", today=TODAY, capacity=1)
    assert answer.answer_id == "name"
    assert set(answer.live) == {command.id for command in commands if hasattr(command, "id")}
    whole = Answer(QUESTION, web=False)
    ScriptedDriver(World(engine=[DONE])).run(whole)
    assert (whole.finished, whole.live) == (True, ())


def test_the_engine_is_asked_within_the_answers_time() -> None:
    answer = Answer(QUESTION, web=False, limits=Limits(answer_seconds=50.0))
    (_, ask) = answer.start(7.0, answer_id="a", today=TODAY, capacity=1)
    assert isinstance(ask, CallEngine)
    assert ask.deadline == 57.0


def test_a_ledger_of_before_goes_on_and_its_pages_may_be_opened() -> None:
    old = Source(number=1, address="https://old.example.org/x", title="Old")
    world = World(
        engine=[reply_calls((FETCH, {"url": old.address})), DONE],
        pages={old.address: "<title>Old</title><p>Words.</p>"},
    )
    result = ScriptedDriver(world).run(Answer(QUESTION, seen=[old]))
    assert result.ledger == (attrs.evolve(old, grade="read"),)
    assert [receipt.outcome for receipt in result.receipts] == ["ran"]


def test_the_web_may_have_settings_of_its_own() -> None:
    assert Answer(QUESTION, web=Web(deny_hosts=("docs.example.org",))).web_on
    world = World(engine=[reply_calls((FETCH, {"url": "https://docs.example.org/a"})), DONE])
    asked = [{"role": "user", "content": "Read https://docs.example.org/a"}]
    result = ScriptedDriver(world).run(Answer(asked, web=Web(deny_hosts=("docs.example.org",))))
    assert [receipt.outcome for receipt in result.receipts] == ["refused"]
