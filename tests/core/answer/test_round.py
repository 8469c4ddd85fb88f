"""One request to the engine: what is shown when, what is asked again, and what its reply comes to."""

import json
from typing import Any

import pytest

from hostcall.answer.round import AskedCall, Reader, Reply, Round, State
from hostcall.answer.tools import search_tool
from hostcall.commands import CallEngine, Command, ShowReasoning, ShowText
from hostcall.data import CallFragment, Usage
from hostcall.engine.faults import EngineFault
from hostcall.engine.reply import ChatAsk
from hostcall.engine.settings import Engine
from hostcall.engine.wires import wire_of
from hostcall.errors import LocalProtocolError
from hostcall.events import (
    BodyReceived,
    ModelChunk,
    ModelEnded,
    ResponseEnded,
    ResponseStarted,
    Woken,
)
from hostcall.limits import Limits
from hostcall.testing import stream
from hostcall.tooltext import TextFilter

ID = "r3.e1"
HEADERS = (("Content-Type", "text/event-stream"),)


def made(*, forced: bool = False, reader: Reader | None = None, limits: Limits = Limits(), **changed: Any) -> Round:
    tools = [search_tool(research=True, limits=limits)]
    return Round(
        id="r3",
        number=3,
        ask=ChatAsk(messages=[{"role": "user", "content": "Hi"}]),
        wire=wire_of(Engine(model="m"), limits),
        limits=limits,
        reader=Reader() if reader is None else reader,
        make_filter=lambda inside: TextFilter(tools, starts_in_reasoning=True if inside else None),
        forced=forced,
        first_request=1,
        deadline=lambda: 600.0,
        **changed,
    )


def begun(**changed: Any) -> Round:
    round_ = made(**changed)
    round_.start(0.0)
    return round_


def read(round_: Round, data: bytes, *, status: int = 200, end: bool = True, headers: Any = HEADERS) -> list[Command]:
    id_ = round_._request
    commands = round_.receive(ResponseStarted(id_, status, headers), 1.0)
    commands += round_.receive(BodyReceived(id_, data), 1.0)
    return commands + (round_.receive(ResponseEnded(id_), 1.0) if end else [])


def chunks(round_: Round, *given: ModelChunk) -> list[Command]:
    """Feed what a host's own client read."""
    return [command for chunk in given for command in round_.receive(chunk, 1.0)]


def chunk(text: str = "", **more: Any) -> ModelChunk:
    return ModelChunk(id=ID, text=text, **more)


def call(index: int = 0, arguments: str = '{"query": "a"}', **more: Any) -> CallFragment:
    return CallFragment(**{"index": index, "id": f"c{index}", "name": "web_search", "arguments": arguments, **more})


def reply(round_: Round) -> Reply:
    assert round_.result is not None
    assert round_.state is State.DONE
    return round_.result


def error(code: int, message: str = "no") -> bytes:
    return json.dumps({"error": {"code": code, "message": message}}).encode()


JSON = (("Content-Type", "application/json"),)


# The request.


def test_the_engine_is_asked_within_the_answers_deadline_and_its_own_patience() -> None:
    round_ = made(limits=Limits(engine_idle=7.0))
    (ask,) = round_.start(0.0)
    assert isinstance(ask, CallEngine)
    assert (ask.id, ask.deadline, ask.idle) == (ID, 600.0, 7.0)
    assert ask.request == round_.wire.request(round_.ask)
    assert round_.state is State.CALLING


@pytest.mark.parametrize("event", [BodyReceived(ID, b"x"), ResponseEnded(ID), Woken(ID)])
def test_what_cannot_come_yet_is_the_drivers_mistake(event: Any) -> None:
    with pytest.raises(LocalProtocolError, match=f"{type(event).__name__} while the round is calling"):
        begun().receive(event, 0.0)


def test_bytes_after_chunks_are_the_hosts_mistake() -> None:
    round_ = begun()
    chunks(round_, chunk("a"))
    with pytest.raises(LocalProtocolError, match="a body without its head"):
        round_.receive(BodyReceived(ID, b"x"), 1.0)


# What is shown.


def test_text_and_reasoning_are_shown_as_they_come() -> None:
    round_ = begun()
    assert chunks(round_, chunk(reasoning="Hm."), chunk("<think>So.</think>It"), chunk(" boils.")) == [
        ShowReasoning("Hm.", 3),
        ShowReasoning("So.", 3),
        ShowText("It", 3),
        ShowText(" boils.", 3),
    ]
    assert round_.receive(ModelEnded(ID), 1.0) == []
    assert reply(round_) == Reply(
        text="It boils.",
        reasoning="Hm.",
        thought="Hm.So.",
        calls=(),
        fault=None,
        usage=Usage(),
        quirks=(),
        reasoning_field=None,
        requests=1,
    )
    assert not reply(round_).blank


@pytest.mark.parametrize(
    ("before", "gap"),
    [("One.", "\n\n"), ("One.\n", "\n"), ("One.\n\n", ""), ("One.\n\n\n", ""), ("\n", "\n")],
)
def test_rounds_are_parted_by_one_blank_line(before: str, gap: str) -> None:
    reader = Reader()
    assert reader.show(before, 1) == [ShowText(before, 1)]
    assert reader.show("", 2) == []
    assert reader.show("Two", 2) == [ShowText(gap + "Two", 2)]
    assert reader.show(" three", 2) == [ShowText(" three", 2)]
    assert reader.show("Four", 3) == [ShowText("\n\nFour", 3)]


def test_a_new_line_that_came_alone_counts_with_the_one_before() -> None:
    reader = Reader()
    for piece in ("One.\n", "\n"):
        reader.show(piece, 1)
    assert reader.show("Two", 2) == [ShowText("Two", 2)]


def test_text_of_a_forced_round_waits_for_a_call() -> None:
    round_ = begun(forced=True)
    assert chunks(round_, chunk("I look. "), chunk("Now.")) == []
    assert chunks(round_, chunk(calls=(call(),))) == [ShowText("I look. Now.", 3)]
    assert chunks(round_, chunk(" More.")) == [ShowText(" More.", 3)]
    round_ = begun(forced=True)
    chunks(round_, chunk("Prose."))
    assert round_.receive(ModelEnded(ID), 1.0) == []
    assert (reply(round_).text, reply(round_).calls) == ("Prose.", ())


def test_text_that_waited_is_shown_when_the_reply_breaks_off() -> None:
    round_ = begun(forced=True)
    assert read(round_, stream({"content": "Half"}, finish=None, done=False)) == [ShowText("Half", 3)]
    fault = reply(round_).fault
    assert fault is not None
    assert fault.kind == "truncated"


@pytest.mark.parametrize(
    ("written", "shown", "problem"),
    [
        ('<tool_call>{"name": "web_search", "arguments": {"query": "é"}}</tool_call>', True, ""),
        ('<tool_call>{"name": "web_search", "arguments": [}</tool_call>', True, "unparsed"),
        ('<tool_call>{"name": "web_search", "arguments": {"query": "a', False, "cut"),
    ],
)
def test_a_call_in_the_text_releases_what_waited_but_not_one_that_is_cut(
    written: str, shown: bool, problem: str
) -> None:
    round_ = begun(forced=True)
    commands = chunks(round_, chunk(f"I look. {written}", finish="length" if problem == "cut" else "stop"))
    commands += round_.receive(ModelEnded(ID), 1.0)
    assert ("".join(c.text for c in commands if isinstance(c, ShowText)).strip() == "I look.") is shown
    (asked,) = reply(round_).calls
    assert (asked.id, asked.name, asked.problem) == ("", "web_search", problem)
    if not problem:
        assert (asked.arguments, asked.raw) == ({"query": "é"}, '{"query": "é"}')
    else:
        assert asked.arguments is None
        assert asked.raw
    assert reply(round_).cut is (problem == "cut")


# Calls.


def test_a_call_is_whole_when_the_next_one_begins() -> None:
    round_ = begun()
    chunks(round_, chunk(calls=(call(arguments='{"query"'),)), chunk(calls=(call(arguments=': "a"}', name=None),)))
    assert round_.asked == []
    chunks(round_, chunk(calls=(call(1, "{"),)))
    first = AskedCall(id="c0", name="web_search", arguments={"query": "a"}, raw='{"query": "a"}')
    assert round_.asked == [first]
    chunks(round_, chunk(finish="length"))
    round_.receive(ModelEnded(ID), 1.0)
    second = AskedCall(id="c1", name="web_search", arguments=None, raw="{", problem="cut")
    assert reply(round_).calls == (first, second)
    assert reply(round_).cut


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [("[1]", "unparsed"), ("{", "unparsed"), ('{"query": "' + "x" * 40 + '"}', "oversize")],
)
def test_arguments_that_are_no_object_say_why(arguments: str, problem: str) -> None:
    round_ = begun(limits=Limits(arguments_bytes=40))
    chunks(round_, chunk(calls=(call(arguments=arguments),), finish="tool_calls"))
    round_.receive(ModelEnded(ID), 1.0)
    (asked,) = reply(round_).calls
    assert (asked.arguments, asked.problem) == (None, problem)
    assert not reply(round_).blank


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ('{"name": "web_search", "arguments": {]}', "web_search"),
        ('{"name" : "a.b-c_1", "arguments": {]}', "a.b-c_1"),
        ('{"arguments": {]}', "unreadable"),
        ('{"name": "' + "x" * 65 + '", "arguments": {]}', "unreadable"),
    ],
)
def test_a_broken_call_has_the_name_that_it_was_written_with(raw: str, name: str) -> None:
    round_ = begun()
    chunks(round_, chunk(f"<tool_call>{raw}</tool_call>", finish="stop"))
    round_.receive(ModelEnded(ID), 1.0)
    (asked,) = reply(round_).calls
    assert (asked.name, asked.arguments, asked.problem) == (name, None, "unparsed")


CALL = '<tool_call>{"name": "web_search", "arguments": {"query": "a"}}</tool_call>'


def test_a_call_at_the_end_of_the_thoughts_is_a_call_unless_the_reply_went_on() -> None:
    round_ = begun(forced=True)
    chunks(round_, chunk(reasoning="Hm. "), chunk(reasoning=CALL))
    round_.receive(ModelEnded(ID), 1.0)
    assert [asked.arguments for asked in reply(round_).calls] == [{"query": "a"}]
    assert (reply(round_).reasoning, reply(round_).thought.strip()) == (f"Hm. {CALL}", "Hm.")
    for after in (chunk("It boils."), chunk(calls=(call(arguments='{"query": "b"}'),))):
        round_ = begun()
        chunks(round_, chunk(reasoning=f"Hm. {CALL}"), after)
        commands = round_.receive(ModelEnded(ID), 1.0)
        assert [asked.arguments for asked in reply(round_).calls] == ([] if after.text else [{"query": "b"}])
        assert ShowReasoning(CALL, 3) in commands
        assert CALL in reply(round_).thought


def test_tokens_are_the_last_that_were_told() -> None:
    round_ = begun()
    chunks(round_, chunk("a", usage=Usage(1, 1)), chunk(usage=Usage(5, 2)), chunk("b"))
    round_.receive(ModelEnded(ID), 1.0)
    assert reply(round_).usage == Usage(5, 2)


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \n", True), ("x", False)])
def test_a_reply_without_a_letter_is_blank(text: str, blank: bool) -> None:
    round_ = begun()
    chunks(round_, chunk(text))
    round_.receive(ModelEnded(ID), 1.0)
    assert reply(round_).blank is blank


def test_a_round_that_is_stopped_keeps_what_came_and_drops_what_was_held() -> None:
    round_ = begun()
    chunks(round_, chunk("It <tool_c"), chunk(calls=(call(),)))
    fault = EngineFault("idle", "x")
    stopped = round_.stop(fault)
    assert (stopped.text, stopped.calls, stopped.fault) == ("It", (), fault)
    assert reply(round_) is stopped


def test_a_call_in_the_text_with_what_json_cannot_hold_is_not_run() -> None:
    round_ = begun(forced=True)
    written = '<tool_call>{"name": "web_search", "arguments": {"query": 1e999}}</tool_call>'
    chunks(round_, chunk(written, finish="stop"))
    round_.receive(ModelEnded(ID), 1.0)
    (asked,) = reply(round_).calls
    assert (asked.id, asked.name, asked.arguments, asked.problem) == ("", "web_search", None, "unparsed")
    assert "1e999" in asked.raw
