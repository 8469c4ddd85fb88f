"""What is asked of the engine in each kind of round, and what its replies teach."""

from collections.abc import Sequence
from typing import Any

import pytest

from hostcall.answer import prompts
from hostcall.answer.asking import Asker
from hostcall.answer.statements import statements_schema
from hostcall.answer.tools import FETCH, SEARCH, Tool, offered_tools
from hostcall.answer.transcript import Transcript, reading_schema, schema_of, schema_tail
from hostcall.data import Capabilities, Source
from hostcall.engine.faults import EngineFault
from hostcall.engine.history import call_message, reply_message
from hostcall.engine.settings import Engine
from hostcall.limits import Limits

LOOK = Tool("look", "Looks.", {"type": "object"}, side_effects=False)
SOURCES = (
    Source(number=1, address="https://a.example.org/", title="A"),
    Source(number=2, address="https://b.example.org/", title="B", grade="read"),
)


def asker(*messages: tuple[str, str], tools: Sequence[Tool] = (), web: bool = True, **changed: Any) -> Asker:
    limits = Limits()
    capabilities = changed.pop("capabilities", Capabilities())
    made = Asker(
        engine=Engine(model="m"),
        capabilities=capabilities,
        offered=offered_tools(tools, web=web, research=True, limits=limits),
        limits=limits,
        transcript=Transcript.begin(
            [{"role": role, "content": text} for role, text in messages or [("user", "How hot?")]], None
        ),
        deadline=lambda: 600.0,
        **changed,
    )
    made.begin()
    made.next_round()
    return made


def last(made: Asker) -> str:
    return str(made.transcript.messages[-1]["content"])


def names(schema: Any) -> list[str]:
    return [form["properties"]["name"]["const"] for form in schema["anyOf"]]


# The kinds of rounds.


def test_a_round_of_tools_offers_them_all_and_lets_the_model_choose() -> None:
    made = asker(tools=[LOOK])
    round_ = made.tools()
    assert (round_.id, round_.number, round_.forced, round_.statements) == ("r1", 1, False, False)
    assert (round_.ask.tools, round_.ask.tool_choice, round_.ask.max_tokens) == (made.offered, "auto", None)
    assert asker(capabilities=Capabilities(tool_choice=("none", "required"))).tools().ask.tool_choice is None
    assert asker(web=False).tools().ask.tool_choice is None


def test_a_forced_round_is_short_and_forces_as_its_rung_says() -> None:
    made = asker()
    ask = made.forced("required").ask
    assert (ask.tools, ask.tool_choice, ask.max_tokens, ask.schema) == (made.offered, "required", 512, None)
    assert made.transcript.rewrites == []
    round_ = made.forced("schema")
    search = made.offered[:1]
    assert (round_.ask.tools, round_.ask.tool_choice, round_.ask.max_tokens) == ((), None, 512)
    assert round_.ask.schema == schema_of(search)
    assert round_.forced
    assert round_.ask.messages[0] == {"role": "system", "content": schema_tail(search)}
    assert [(r.request, r.reason) for r in made.transcript.rewrites] == [
        ("r1.e0", "the call is forced by a JSON schema")
    ]
    rescued = asker(capabilities=Capabilities(rescue=True)).forced("rescue").ask
    assert (rescued.tools, rescued.tool_choice, rescued.max_tokens, rescued.schema) == ((), None, 512, None)


@pytest.mark.parametrize(
    ("messages", "sources", "offered"),
    [
        ([("user", "How hot?")], 0, [SEARCH]),
        ([("user", "Read https://a.example.org/ now.")], 0, [SEARCH, FETCH]),
        ([("user", "Read https://a.example.org/"), ("assistant", "Yes."), ("user", "And?")], 0, [SEARCH, FETCH]),
        ([("user", "Hi"), ("assistant", "See https://a.example.org/"), ("user", "And?")], 0, [SEARCH]),
        ([("user", "How hot?")], 1, [SEARCH, FETCH]),
    ],
)
def test_the_page_tool_is_in_the_schema_where_a_page_can_be_opened(
    messages: list[tuple[str, str]], sources: int, offered: list[str]
) -> None:
    assert names(asker(*messages, sources=sources).forced("schema").ask.schema) == offered


def test_a_tool_of_the_hosts_stays_in_the_schema() -> None:
    assert names(asker(tools=[LOOK]).forced("schema").ask.schema) == [SEARCH, "look"]


def test_a_round_that_reads_offers_the_pages_by_their_addresses() -> None:
    made = asker()
    round_ = made.reading(["https://a.example.org/"])
    assert last(made) == prompts.READ_ASK.format(tool=FETCH)
    assert round_.ask.schema == reading_schema(made.offered[1], ["https://a.example.org/"])
    assert (round_.forced, round_.ask.max_tokens, round_.ask.tools) == (True, 512, ())


@pytest.mark.parametrize(("sources", "numbers"), [(SOURCES, [2]), (SOURCES[:1], [1])])
def test_statements_name_the_pages_that_were_read_or_else_what_was_found(
    sources: tuple[Source, ...], numbers: list[int]
) -> None:
    made = asker()
    round_ = made.statements(sources, "How hot?")
    assert round_.ask.schema == statements_schema(numbers)
    assert (round_.forced, round_.statements) == (False, True)
    best = [source for source in SOURCES if source.number in numbers]
    assert last(made).startswith(prompts.sources_list(best) + "\n\n")
    assert "The question is: How hot?\n" in last(made)


def test_an_answer_is_asked_for_without_tools_or_with_the_same_ones() -> None:
    made = asker()
    ask = made.answer(SOURCES).ask
    assert (ask.tools, ask.tool_choice) == ((), None)
    assert last(made) == prompts.answer_ask(SOURCES)
    made = asker(capabilities=Capabilities(answer_round="same_tools"))
    ask = made.answer(None).ask
    assert (ask.tools, ask.tool_choice) == (made.offered, "none")
    assert last(made) == prompts.ASK_PLAIN
    known = Capabilities(answer_round="same_tools", tool_choice=("auto",))
    assert asker(capabilities=known).answer(None).ask.tool_choice is None
    none = asker(capabilities=Capabilities(answer_round="same_tools"), web=False).answer(None).ask
    assert (none.tools, none.tool_choice) == ((), None)


def test_the_same_is_asked_again_with_the_messages_as_they_are() -> None:
    made = asker()
    for round_ in (made.forced("schema"), made.forced("required"), made.statements(SOURCES, "?"), made.tools()):
        made.transcript.add([{"role": "user", "content": "More."}])
        tail = made._tail
        again = made.again(round_)
        assert (again.forced, again.statements) == (round_.forced, round_.statements)
        for field in ("tools", "tool_choice", "max_tokens", "schema"):
            assert getattr(again.ask, field) == getattr(round_.ask, field)
        assert again.ask.messages[-1]["content"] == "More."
        assert (again.ask.messages[0]["role"] == "system") is bool(tail)


@pytest.mark.parametrize(
    ("capabilities", "tools", "directed"),
    [
        (Capabilities(), [], False),
        (Capabilities(rescue=True), [], True),
        (Capabilities(tool_choice=()), [], True),
        (Capabilities(tool_choice=(), guided=True), [], False),
        (Capabilities(rescue=True, guided=True), [], False),
        (Capabilities(tool_choice=(), guided=True, schema=False), [], True),
        (Capabilities(tool_choice=(), guided=True), [LOOK], True),
    ],
)
def test_a_directive_stands_in_where_nothing_can_be_said_by_a_field(
    capabilities: Capabilities, tools: list[Tool], directed: bool
) -> None:
    made = asker(tools=tools, capabilities=capabilities)
    assert (prompts.DIRECTIVE in str(made.tools().ask.messages[-1]["content"])) is directed
    asked = made.answer(None).ask.messages
    assert (prompts.DIRECTIVE_ANSWER in str(asked[-1]["content"])) is directed
    off = asker(web=False, capabilities=capabilities).tools().ask.messages
    assert "[SYSTEM DIRECTIVE]" not in str(off)


def test_rescue_describes_the_tools_and_a_led_model_needs_no_rescue() -> None:
    rescued = asker(capabilities=Capabilities(rescue=True)).tools().ask
    assert (rescued.tools, rescued.tool_choice) == ((), None)
    assert SEARCH in rescued.messages[0]["content"]
    led = asker(capabilities=Capabilities(rescue=True, guided=True))
    assert not led.ways.rescue
    assert led.tools().ask.tools == led.offered


# How replies are read.


BARE = '{"name": "web_search", "arguments": {"query": "a"}}'
FENCED = '```json\n{"tool": "web_search", "input": {"query": "a"}}\n```'


@pytest.mark.parametrize(
    ("capabilities", "forced", "written", "calls"),
    [
        (Capabilities(), True, BARE, 1),
        (Capabilities(), True, f"```json\n{BARE}\n```", 1),
        (Capabilities(), False, BARE, 0),
        (Capabilities(dialects=("auto", "bare-json")), False, BARE, 1),
        (Capabilities(), False, f"<tool_call>{BARE}</tool_call>", 1),
        (Capabilities(rescue=True), False, FENCED, 1),
        (Capabilities(), False, FENCED, 0),
    ],
)
def test_the_dialects_that_are_read_fit_the_round(
    capabilities: Capabilities, forced: bool, written: str, calls: int
) -> None:
    filter_ = asker(capabilities=capabilities)._filter(inside=False, forced=forced)
    pieces = [*filter_.feed(written), *filter_.finish("stop")]
    assert len([piece for piece in pieces if type(piece).__name__ == "ToolCall"]) == calls


def test_a_filter_of_the_reasoning_field_starts_inside_reasoning() -> None:
    for inside, kind in ((True, "Reasoning"), (False, "Text")):
        filter_ = asker()._filter(inside=inside, forced=False)
        pieces = [*filter_.feed("Hm, so."), *filter_.finish("stop")]
        assert {type(piece).__name__ for piece in pieces} == {kind}


# What replies teach.


def test_requests_are_counted_within_a_round() -> None:
    made = asker()
    made.replied(2, "reasoning")
    assert (made.request_id, made.capabilities.reasoning_field) == ("r1.e2", "reasoning")
    made.replied(1, None)
    assert (made.request_id, made.capabilities.reasoning_field) == ("r1.e3", "reasoning")
    assert (made.tools().first_request, made.tools().id) == (3, "r1")
    made.next_round()
    assert made.request_id == "r2.e0"


@pytest.mark.parametrize(
    ("kind", "learned", "reason"),
    [
        ("no_tools", {"rescue": True}, "the model does not support tools: they are described in the prompt"),
        ("needs_reasoning", {"echo_reasoning": "always"}, "the engine wants its reasoning back"),
    ],
)
def test_a_repair_is_made_once_and_remembered(kind: Any, learned: dict[str, Any], reason: str) -> None:
    made = asker()
    assert made.repair(EngineFault(kind, "x"))
    assert made.capabilities == Capabilities(**learned)
    assert [(r.request, r.reason) for r in made.transcript.rewrites] == [("r1.e0", reason)]
    assert not made.repair(EngineFault(kind, "x"))
    assert len(made.transcript.rewrites) == 1
    assert made.repair(EngineFault("needs_reasoning" if kind == "no_tools" else "no_tools", "x")), "each for itself"


@pytest.mark.parametrize("kind", ["rejected", "busy", "access", "unavailable", "truncated"])
def test_other_faults_cannot_be_repaired(kind: Any) -> None:
    assert not asker().repair(EngineFault(kind, "x"))


def test_without_tools_there_is_nothing_to_describe() -> None:
    assert not asker(web=False).repair(EngineFault("no_tools", "x"))


@pytest.mark.parametrize(
    ("tokens", "left"),
    [((None, None), 5), ((1000, None), 5), ((None, 1000), 5), ((1000, 900), 8), ((1000, 500), 4), ((1000, 2000), 8)],
)
def test_a_full_context_is_emptied_by_as_much_as_the_engine_says(tokens: tuple[Any, Any], left: int) -> None:
    """Ten results of a size: how many of them stay whole is what is kept."""
    made = asker()
    for number in range(10):
        made.transcript.add(
            [call_message("", [(f"c{number}", "look", "{}")]), reply_message(f"c{number}", "x" * 20_000)]
        )
    prompt, context = tokens
    assert made.repair(EngineFault("overflow", "full", prompt_tokens=prompt, context_tokens=context))
    whole = [m for m in made.transcript.messages if m["role"] == "tool" and len(m["content"]) == 20_000]
    assert len(whole) in (left, left - 1)
    (rewrite,) = made.transcript.rewrites
    assert rewrite.reason == "the engine's context is full: old tool results were shortened"
    assert not made.repair(EngineFault("overflow", "full")), "once an answer"
    assert not made.shorten("again")


def test_a_rung_that_was_refused_is_not_tried_again() -> None:
    made = asker()
    made.refused_rung("required")
    assert made.capabilities == Capabilities(tool_choice=("none", "auto"))
    made.refused_rung("rescue")
    assert made.capabilities.schema
    for rung in ("schema", "read"):
        made = asker()
        made.refused_rung(rung)
        assert made.capabilities == Capabilities(schema=False)
