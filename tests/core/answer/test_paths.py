"""The same script by three paths: calls of the OpenAI wire, calls of Ollama's, and calls written on the rescue path.

Whatever the path, the same typed calls are made, in the same order, and the same answer comes of them.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import CallSearch, RunTool, ShowText
from hostcall.data import Capabilities, Result
from hostcall.engine.rescue import block
from hostcall.engine.settings import Engine
from hostcall.testing import ScriptedDriver, World, query_of, reply_text, stream

Call: TypeAlias = tuple[str, dict[str, Any]]
Path: TypeAlias = Literal["openai", "ollama", "rescue"]

NOTE = Tool(
    "note",
    "Note something down",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "deep": {"type": "object"},
        },
        "required": ["text"],
    },
    side_effects=False,
)


@attrs.frozen
class Round:
    """What the model does in one round: something to say, and calls."""

    said: str
    calls: tuple[Call, ...]


def reply(path: Path, round_: Round, number: int) -> bytes:
    """Return a round as the engine of a path writes it."""
    if path == "rescue":
        blocks = "\n".join(block(name, arguments) for name, arguments in round_.calls)
        return reply_text(f"{round_.said}\n{blocks}" if round_.said and blocks else round_.said + blocks)
    if path == "openai":
        members = [
            {
                "index": index,
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(round_.calls)
        ]
        return stream({"content": round_.said}, *([{"tool_calls": members}] if members else []))
    calls = [
        {"id": f"call_{number}_{index}", "function": {"index": index, "name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(round_.calls)
    ]
    lines: list[dict[str, Any]] = [{"message": {"role": "assistant", "content": round_.said}, "done": False}]
    lines += [{"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False} for call in calls]
    lines.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def engine_of(path: Path) -> Engine:
    """Return an engine that needs no forcing: the script says what comes."""
    match path:
        case "openai":
            return Engine(model="m")
        case "ollama":
            return Engine(wire="ollama", model="m", capabilities=Capabilities(tool_choice=(), probed=True))
        case "rescue":
            return Engine(model="m", capabilities=Capabilities(rescue=True))


def played(path: Path, script: Sequence[Round], *, web: bool) -> tuple[Result, ScriptedDriver, World]:
    world = World(
        engine=[reply(path, round_, number) for number, round_ in enumerate(script)],
        search={None: [{"url": "https://docs.example.org/a", "title": "A", "content": "Of kettles."}]},
        tools={"note": lambda arguments: f"noted {arguments['text']}"},
    )
    driver = ScriptedDriver(world)
    answer = Answer([{"role": "user", "content": "Note it."}], engine=engine_of(path), web=web, tools=[NOTE])
    return driver.run(answer), driver, world


def trace(path: Path, script: Sequence[Round], *, web: bool) -> dict[str, Any]:
    """Return all that must not depend on the path."""
    result, driver, _ = played(path, script, web=web)
    runs = [request for request in driver.requests if isinstance(request, RunTool)]
    # A repeat names the call that answers it, and each path has ids of its own.
    ids = [call["id"] for message in result.transcript for call in message.get("tool_calls") or ()]
    replies = [message["content"] for message in result.transcript if message["role"] == "tool"]
    for number, id_ in enumerate(ids):
        replies = [reply.replace(id_, f"call number {number}") for reply in replies]
    return {
        "runs": [(run.name, json.dumps(run.arguments, sort_keys=True)) for run in runs],
        "searches": [query_of(request) for request in driver.requests if isinstance(request, CallSearch)],
        "receipts": [(receipt.tool, receipt.arguments_digest, receipt.outcome) for receipt in result.receipts],
        "replies": replies,
        "why": result.why_stopped,
        "text": result.text.strip(),
        "shown": "".join(n.text for n in driver.notices if isinstance(n, ShowText)).split(),
    }


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
plain = st.from_regex(r"[A-Z][a-z]{0,8}( [a-z]{1,6}){0,3}\.", fullmatch=True)
deep = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
notes = st.fixed_dictionaries(
    {"text": words},
    optional={
        "count": st.integers(),
        "tags": st.lists(words, max_size=3),
        "deep": st.dictionaries(words, deep, max_size=2),
    },
).map(lambda arguments: ("note", arguments))
searches = plain.map(lambda query: ("web_search", {"query": query}))
tool_rounds = st.builds(Round, st.just("") | plain, st.lists(notes | searches, min_size=1, max_size=3).map(tuple))
scripts = st.tuples(st.lists(tool_rounds, min_size=1, max_size=3), plain).map(lambda s: [*s[0], Round(s[1], ())])


@settings(deadline=None, max_examples=150)
@given(scripts)
@example([Round("", (("web_search", {"query": "A."}), ("web_search", {"query": "A a."}))), Round("A.", ())])
@example([Round("", (("note", {"text": "a"}), ("note", {"text": "a"}))), Round("A.", ())])
def test_the_same_script_comes_to_the_same_by_every_path(script: list[Round]) -> None:
    native = trace("openai", script, web=True)
    assert trace("ollama", script, web=True) == native
    assert trace("rescue", script, web=True) == native


@settings(deadline=None, max_examples=50)
@given(scripts)
def test_and_without_the_web(script: list[Round]) -> None:
    script = [Round(r.said, tuple(c for c in r.calls if c[0] == "note") or (("note", {"text": "x"}),)) for r in script]
    script[-1] = Round("Done.", ())
    native = trace("openai", script, web=False)
    assert trace("ollama", script, web=False) == native
    assert trace("rescue", script, web=False) == native


@pytest.mark.parametrize("closer", ["[/TOOL_CALL]", "[TOOL_CALL]", "</tool_call>", '"}]}', "```", "\\", '\\"'])
def test_what_looks_like_an_end_inside_an_argument_is_an_argument(closer: str) -> None:
    script = [Round("", (("note", {"text": f"a {closer} b"}),)), Round("Done.", ())]
    assert trace("rescue", script, web=False) == trace("openai", script, web=False)


@settings(deadline=None, max_examples=50)
@given(scripts)
def test_the_rescue_path_sends_no_tools_and_lets_the_roles_alternate(script: list[Round]) -> None:
    _, _, world = played("rescue", script, web=True)
    for body in world.asked:
        assert not {"tools", "tool_choice"} & set(body)
        roles = [message["role"] for message in body["messages"]]
        assert roles[0] == "system"
        assert roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]
        assert "[SYSTEM DIRECTIVE]" in body["messages"][-1]["content"]
    for one, two in zip(world.asked, world.asked[1:], strict=False):
        assert two["messages"][: len(one["messages"])] == one["messages"]
