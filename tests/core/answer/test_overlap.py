"""Calls that start while the model still writes: what may, when, and that nothing else changes by it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import AskApproval, CallEngine, CallSearch, Command, Connect, Request, RunTool
from hostcall.engine.history import validate
from hostcall.events import BodyReceived, Failed, HostCancelled, ResponseStarted, ToolFinished
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, Timed, World, reply_text, stream
from tests.cases.answers import CaseWorld, make_answer
from tests.cases.report import read_cases
from tests.core.answer.test_scenarios import SCENARIOS, outcome

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LOOK = Tool("look", "Looks something up.", SCHEMA, side_effects=False)
SEND = Tool("send", "Sends something.", SCHEMA, side_effects=True)
QUESTION = [{"role": "user", "content": "Look."}]
HEAD = ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),))


def fragment(index: int, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "tool_calls": [{"index": index, "id": f"call_{index}", "function": {"name": name, "arguments": text}}],
    }


def paced(seconds: float) -> Any:
    """Return what lets a world's engine write an event, wait, and write the next."""

    def wrap(world: Any) -> Any:
        def play(request: Request) -> Iterator[Timed]:
            for delay, event in world(request):
                if not isinstance(request, CallEngine) or not isinstance(event, BodyReceived):
                    yield delay, event
                    continue
                for number, part in enumerate(event.data.removesuffix(b"\n\n").split(b"\n\n")):
                    yield (delay if number == 0 else seconds), BodyReceived(event.id, part + b"\n\n")

        return play

    return wrap


def slow(world: World, seconds: float) -> Any:
    """Return the world with tools that take a while."""

    def play(request: Request) -> Iterator[Timed]:
        for delay, event in world(request):
            yield delay + (seconds if isinstance(request, RunTool) else 0.0), event

    return play


def fed(*deltas: Mapping[str, Any], tools: tuple[Tool, ...] = (LOOK, SEND), **settings: Any) -> list[Command]:
    """Feed the beginning of a reply, and return what was asked for so far."""
    answer = Answer(QUESTION, web=settings.pop("web", False), tools=tools, **settings)
    commands = answer.start(0.0, answer_id="a", today=TODAY, capacity=8)
    commands += answer.receive(HEAD, 0.0)
    commands += answer.receive(BodyReceived("r1.e0", stream(*deltas, finish=None, done=False)), 0.0)
    return [command for command in commands if isinstance(command, Request) and not isinstance(command, CallEngine)]


def test_calls_that_close_a_second_apart_and_take_one_are_done_a_second_after_the_last() -> None:
    calls = stream(*(fragment(number, "look", {"n": number}) for number in range(3)), finish="tool_calls")
    took = {}
    for overlap in (True, False):
        world = World(engine=[calls, reply_text("Seen.")], tools={"look": lambda arguments: f"saw {arguments['n']}"})
        driver = ScriptedDriver(paced(1.0)(slow(world, 1.0)))
        result = driver.run(Answer(QUESTION, web=False, tools=[LOOK], limits=Limits(overlap=overlap)))
        assert [message["content"] for message in result.transcript if message["role"] == "tool"] == [
            "saw 0",
            "saw 1",
            "saw 2",
        ]
        run = [at for at, event in driver.log if isinstance(event, ToolFinished)]
        took[overlap] = run
    # The first is whole when the second begins, after a second; the last one when the reply is done, after four.
    assert took[True] == [2.0, 3.0, 5.0]
    assert took[False] == [5.0, 5.0, 5.0]


def test_a_call_starts_when_the_next_one_begins_and_not_before() -> None:
    assert fed(fragment(0, "look", {"n": 1})) == []
    (run,) = fed(fragment(0, "look", {"n": 1}), fragment(1, "look", '{"n'))
    assert isinstance(run, RunTool)
    assert run.arguments == {"n": 1}


def test_a_call_in_the_text_starts_at_its_closer() -> None:
    written = '<tool_call>{"name": "look", "arguments": {"n": 1}}'
    assert fed({"content": written}) == []
    (run,) = fed({"content": written + "</tool_call>\nI"})
    assert isinstance(run, RunTool)


def test_what_changes_something_waits_for_the_end_of_the_reply() -> None:
    asked = fed(fragment(0, "send", {"n": 1}), fragment(1, "look", {"n": 1}), fragment(2, "look", '{"n'))
    assert [type(request) for request in asked] == [RunTool]
    calls = stream(fragment(0, "send", {"n": 1}), fragment(1, "look", {"n": 1}), finish="tool_calls")
    world = World(engine=[calls, reply_text("Done.")], tools={"look": str, "send": str})
    driver = ScriptedDriver(paced(1.0)(world))
    driver.run(Answer(QUESTION, web=False, tools=[LOOK, SEND]))
    (ask,) = [request for request in driver.requests if isinstance(request, AskApproval)]
    assert ask.deadline == 3.0 + Limits().approval_seconds


def test_a_call_in_reasoning_waits_for_the_end_of_the_reply() -> None:
    parked = '<think>I do <tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>'
    assert fed({"content": parked}) == []
    assert fed({"reasoning_content": parked.removeprefix("<think>")}) == []


def test_arguments_that_are_no_object_do_not_start_and_let_nothing_behind_them_start() -> None:
    """The order of the calls is the engine's, and only the end tells what the first one is."""
    later = (fragment(1, "look", {"n": 1}), fragment(2, "look", {"n": 2}))
    for broken in ("[1, 2]", '{"n": ', '{"n": 1}}', '{"n": 1}{"n": 2}', ""):
        assert fed(fragment(0, "look", broken), *later) == []


def test_it_is_off_when_the_limits_say_so_and_where_the_driver_has_one_pair_of_hands() -> None:
    deltas = (fragment(0, "look", {"n": 1}), fragment(1, "look", '{"n'))
    assert fed(*deltas, limits=Limits(overlap=False)) == []
    answer = Answer(QUESTION, web=False, tools=[LOOK])
    answer.start(0.0, answer_id="a", today=TODAY, capacity=1)
    answer.receive(HEAD, 0.0)
    commands = answer.receive(BodyReceived("r1.e0", stream(*deltas, finish=None, done=False)), 0.0)
    assert not any(isinstance(command, RunTool) for command in commands)


def test_a_crawl_reads_its_first_page_and_waits_to_hear_how_many_more_it_may() -> None:
    pages = {f"https://docs.example.org/{name}": f"<p>Page {name}.</p><a href='/two'>Two</a>" for name in "ab"}
    pages["https://docs.example.org/two"] = "<p>Page two.</p>"
    question = [{"role": "user", "content": "Compare https://docs.example.org/a and https://docs.example.org/b"}]
    calls = [
        fragment(number, "fetch_page_content_recursive", {"url": f"https://docs.example.org/{name}"})
        for number, name in enumerate("ab")
    ]
    seen = {}
    for overlap in (True, False):
        world = World(engine=[stream(*calls, finish="tool_calls"), reply_text("Both [1] [2].")], pages=pages)
        driver = ScriptedDriver(paced(1.0)(world))
        result = driver.run(Answer(question, limits=Limits(overlap=overlap, pages=3)))
        connects = [at for at, event in driver.log if isinstance(event, ResponseStarted) and ".p" in event.id]
        seen[overlap] = (result.transcript, result.ledger, result.budget, result.text)
        assert connects == ([1.0, 3.0, 3.0] if overlap else [3.0, 3.0, 3.0])
    assert seen[True] == seen[False]


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: str(case["id"]))
def test_an_answer_is_the_same_with_it_and_without(case: dict[str, Any]) -> None:
    if not (any("q" in entry for entry in case.get("search", ())) or len(case.get("search", ())) <= 1):
        return  # the scripted service answers by arrival there, so another order is another world
    ends = []
    for overlap in (True, False):
        settings = dict(case["settings"])
        settings["limits"] = {**settings.get("limits", {}), "overlap": overlap}
        changed = {**case, "settings": settings}
        driver = ScriptedDriver(paced(0.01)(CaseWorld(changed)))
        requests, shown, receipts, bare = outcome(driver, driver.run(make_answer(changed)))
        # A request's id may end in the number of a retry; which ones there are does not depend on when they start.
        ends.append((requests, shown, receipts, bare))
    assert ends[0] == ends[1]


def running(*, ended: bool) -> tuple[Answer, list[Command]]:
    """Return an answer in whose reply two calls began, the first of them over or not."""
    answer = Answer(QUESTION, web=False, tools=[LOOK])
    answer.start(0.0, answer_id="a", today=TODAY, capacity=8)
    answer.receive(HEAD, 0.0)
    deltas = ({"content": "I look."}, fragment(0, "look", {"n": 1}), fragment(1, "look", '{"n": 2'))
    commands = answer.receive(BodyReceived("r1.e0", stream(*deltas, finish=None, done=False)), 0.0)
    (run,) = [command for command in commands if isinstance(command, RunTool)]
    if ended:
        commands += answer.receive(ToolFinished(run.id, "saw 1"), 0.5)
    return answer, commands


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("event", [HostCancelled(), Failed("r1.e0", "reset", "gone")], ids=["cancel", "failure"])
def test_what_had_started_when_the_reply_broke_off_is_answered_once(event: Any, ended: bool) -> None:
    answer, _ = running(ended=ended)
    commands = answer.receive(event, 1.0)
    assert answer.live == ()
    result = answer.result
    assert result is not None
    assert commands[-1].result is result  # type: ignore[union-attr]
    validate(list(result.transcript))
    replies = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert replies[0] == "saw 1" if ended else replies[0].startswith("Stopped before its result came: the ")
    assert [message["content"] for message in result.transcript if message["role"] == "assistant"][-1] == "I look."
    assert result.text == "I look."
    assert "no tool ran" not in result.marks
    assert result.receipts[0].outcome == ("ran" if ended else "stopped")


def test_an_error_after_a_call_has_started_does_not_lead_to_the_next_rung() -> None:
    answer = Answer(QUESTION)
    answer.start(0.0, answer_id="a", today=TODAY, capacity=8)
    answer.receive(HEAD, 0.0)
    deltas = (fragment(0, "web_search", {"query": "one"}), fragment(1, "web_search", '{"qu'))
    commands = answer.receive(BodyReceived("r1.e0", stream(*deltas, finish=None, done=False)), 0.0)
    assert [type(command) for command in commands if isinstance(command, Request)] == [CallSearch]
    error = b'data: {"error": {"code": 400, "message": "tool_choice is not supported"}}\n\n'
    commands = answer.receive(BodyReceived("r1.e0", error), 1.0)
    assert answer.result is not None
    assert answer.result.why_stopped == "engine_failed"
    assert not any(isinstance(command, CallEngine | Connect) for command in commands)
    validate(list(answer.result.transcript))


def test_an_answer_can_be_cancelled_at_every_moment_of_a_reply_that_runs_ahead() -> None:
    for case in read_cases(Path(__file__).parents[2] / "cases" / "answers-open.jsonl"):
        if case["class"] not in ("parallel", "text_calls", "queries"):
            continue
        whole = ScriptedDriver(paced(0.01)(CaseWorld(case)))
        whole.run(make_answer(case))
        for position in range(len(whole.log)):

            def now(driver: ScriptedDriver, position: int = position) -> bool:
                return len(driver.log) >= position

            result = ScriptedDriver(paced(0.01)(CaseWorld(case)), cancel_when=now).run(make_answer(case))
            validate(list(result.transcript))


@pytest.mark.parametrize("overlap", [True, False])
def test_calls_that_share_an_id_get_ids_of_their_own(overlap: bool) -> None:
    deltas = [fragment(0, "look", {"n": 1}), fragment(1, "look", {"n": 2})]
    for delta in deltas:
        delta["tool_calls"][0]["id"] = "same"
    deltas[1]["tool_calls"][0]["function"]["arguments"] = '{"n": 2}'
    world = World(engine=[stream(*deltas, finish="tool_calls"), reply_text("Seen.")], tools={"look": str})
    answer = Answer(QUESTION, web=False, tools=[LOOK], limits=Limits(overlap=overlap))
    result = ScriptedDriver(paced(1.0)(world)).run(answer)
    ids = [call["id"] for message in result.transcript for call in message.get("tool_calls") or ()]
    assert len(ids) == len(set(ids))
    validate(list(result.transcript))
