"""What an answer learns from an engine that complains, and what the kinds of rounds send."""

import json
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.commands import CallEngine, ShowText
from hostcall.data import Capabilities, Result
from hostcall.engine.settings import Engine
from hostcall.events import Failed
from hostcall.limits import Limits
from hostcall.testing import ScriptedDriver, Timed, World, reply_calls, reply_text, response, stream

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
RESULTS: dict[str | None, list[dict[str, str]]] = {
    None: [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
}


class Engines:
    """A world whose engine answers with errors of one's own: bytes are streams, pairs are status and body."""

    def __init__(self, *replies: Any) -> None:
        self.world = World(search=RESULTS)
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: Any) -> Any:
        if not isinstance(request, CallEngine):
            return self.world(request)
        self.bodies.append(json.loads(request.request.body))
        reply = self.replies[min(len(self.bodies), len(self.replies)) - 1]
        if isinstance(reply, bytes):
            return response(request.id, 200, reply, "text/event-stream")
        status, body = reply
        return response(request.id, status, json.dumps(body).encode(), "application/json")


def run(*replies: Any, **settings: Any) -> tuple[Engines, Result]:
    world = Engines(*replies)
    result = ScriptedDriver(world).run(Answer(QUESTION, **settings))
    return world, result


NO_TOOLS = (400, {"error": "registry.ollama.ai/library/m:latest does not support tools"})
TEXT_CALL = reply_text('[TOOL_CALL]{"name": "web_search", "arguments": {"query": "kettle"}}[/TOOL_CALL]')


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_an_engine_without_tools_is_rescued_once_and_that_is_remembered(wire: Any) -> None:
    if wire == "ollama":
        text = b'{"message": {"role": "assistant", "content": "Done [1]."}, "done": true, "done_reason": "stop"}\n'
        capabilities = Capabilities(tool_choice=(), schema=False, probed=True)
        engine = Engine(wire="ollama", model="m", capabilities=capabilities)
        world, result = run(NO_TOOLS, text, engine=engine, web=True)
    else:
        world, result = run(NO_TOOLS, TEXT_CALL, reply_text("Done [1]."), engine=Engine(model="m"))
    assert result.why_stopped == "answered"
    assert result.text == "Done [1]."
    assert result.capabilities.rescue
    assert [rewrite.reason.split(":")[0] for rewrite in result.rewrites] == ["the model does not support tools"]
    assert "tools" not in world.bodies[1]
    assert "[TOOL_CALL]" in world.bodies[1]["messages"][0]["content"]
    assert world.bodies[1]["messages"][-1]["content"].count("[SYSTEM DIRECTIVE]") == 1


def test_without_tools_offered_there_is_nothing_to_rescue() -> None:
    world, result = run(NO_TOOLS, web=False)
    assert (result.why_stopped, len(world.bodies)) == ("engine_failed", 1)


def test_reasoning_is_echoed_when_the_engine_wants_it_back() -> None:
    first = stream({"reasoning_content": "Hm."}, {"content": "I look."}, *json_calls())
    wants = (400, {"error": {"message": "The reasoning_content in the thinking mode must be passed back", "code": 400}})
    engine = Engine(capabilities=Capabilities(echo_reasoning="never"))
    world, result = run(first, wants, reply_text("Done."), engine=engine)
    assert result.why_stopped == "answered"
    assert result.capabilities.echo_reasoning == "always"
    assert "reasoning_content" not in world.bodies[1]["messages"][2]
    assert world.bodies[2]["messages"][2]["reasoning_content"] == "Hm."
    _, result = run(first, wants, engine=engine)
    assert result.why_stopped == "engine_failed"


def json_calls() -> list[dict[str, Any]]:
    call = {"index": 0, "id": "c1", "function": {"name": "web_search", "arguments": '{"query": "kettle"}'}}
    return [{"tool_calls": [call]}]


def test_an_engine_that_refuses_to_be_forced_is_not_forced_again() -> None:
    refused = (400, {"error": {"message": "tool_choice required is not supported", "code": 400}})
    world, result = run(refused, refused, reply_text("Done [1]."))
    assert [body.get("tool_choice") for body in world.bodies] == ["required", None, "auto"]
    assert "response_format" in world.bodies[1]
    assert result.capabilities.tool_choice == ("none", "auto")
    assert not result.capabilities.schema
    assert [receipt.asked_by for receipt in result.receipts] == ["host"]
    again, _ = run(reply_text("Done [1]."), engine=Engine(capabilities=result.capabilities))
    assert [body.get("tool_choice") for body in again.bodies] == ["auto"]


def test_the_same_tools_with_none_keep_an_engines_prefix_in_the_answer_round() -> None:
    engine = Engine(capabilities=Capabilities(answer_round="same_tools"))
    world, result = run(SEARCH, reply_text("Done [1]."), engine=engine, limits=Limits(rounds=1))
    assert result.why_stopped == "rounds_used"
    assert world.bodies[1]["tool_choice"] == "none"
    assert world.bodies[1]["tools"] == world.bodies[0]["tools"]
    engine = Engine(capabilities=Capabilities(answer_round="same_tools", tool_choice=("auto", "required")))
    world, _ = run(SEARCH, reply_text("Done [1]."), engine=engine, limits=Limits(rounds=1))
    assert "tool_choice" not in world.bodies[1]


def test_a_failed_probe_changes_nothing() -> None:
    text = b'{"message": {"role": "assistant", "content": "Done."}, "done": true}\n'

    def world(request: Any) -> Any:
        if isinstance(request, CallEngine) and request.id == "probe":
            return [(0.0, Failed(request.id, "connect", "scripted"))]
        return engines(request)

    engines = Engines(text)
    engine = Engine(wire="ollama", model="m", capabilities=Capabilities(tool_choice=(), schema=False))
    result = ScriptedDriver(world).run(Answer(QUESTION, engine=engine))
    assert result.why_stopped == "answered"
    assert not result.capabilities.probed


def test_a_probe_that_sends_too_much_is_stopped() -> None:
    text = b'{"message": {"role": "assistant", "content": "Done."}, "done": true}\n'

    def world(request: Any) -> Any:
        if isinstance(request, CallEngine) and request.id == "probe":
            return response(request.id, 200, b"x" * (4 * 1024 * 1024 + 1), "application/json")
        return engines(request)

    engines = Engines(text)
    engine = Engine(wire="ollama", model="m", capabilities=Capabilities(tool_choice=(), schema=False))
    driver = ScriptedDriver(world)
    assert driver.run(Answer(QUESTION, engine=engine)).why_stopped == "answered"


def test_a_cut_call_is_told_of_twice_and_then_left() -> None:
    cut = stream(
        {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "web_search", "arguments": '{"query": "ket'}}]},
        finish="length",
    )
    world, result = run(SEARCH, cut, cut, cut, reply_text("Done."), limits=Limits(rounds=8))
    told = [message for message in result.transcript if "cut by its length limit" in str(message.get("content"))]
    assert len(told) == 2
    assert result.text == "Done."
    assert len(world.bodies) == 5


def test_the_round_before_an_engine_failed_is_kept() -> None:
    def dies(request: Any) -> Any:
        if isinstance(request, CallEngine) and request.id == "r2.e0":
            half = stream({"content": "Half"}, finish=None, done=False)
            events: list[Timed] = list(response(request.id, 200, half, "text/event-stream"))
            return [*events[:-1], (0.0, Failed(request.id, "protocol", "scripted"))]
        return engines(request)

    engines = Engines(SEARCH)
    driver = ScriptedDriver(dies)
    result = driver.run(Answer(QUESTION))
    assert (result.why_stopped, result.text) == ("truncated", "Half")
    assert "".join(notice.text for notice in driver.notices if isinstance(notice, ShowText)) == "Half"
    assert len(result.ledger) == 1
