"""Runs that people wrote about, as tests: a clock in Toronto, a dishonest clock, and models that rarely search."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import ShowSearch, ShowText
from hostcall.data import Capabilities, Result
from hostcall.engine.settings import Engine
from hostcall.limits import Limits
from hostcall.testing import ScriptedDriver, World, reply_calls, reply_text

QUESTION = "What time is it in Toronto? Use get_time."
ASKED = [{"role": "user", "content": QUESTION}]
OLLAMA = Engine(wire="ollama", model="qwen3:8b", capabilities=Capabilities(tool_choice=(), probed=True))
GET_TIME = Tool(
    "get_time",
    "Get the current time for a city",
    {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}},
        "additionalProperties": False,
    },
    side_effects=False,
)
MARS = "03:14 on Mars"
DISBELIEF = (
    "It seems there was an error in the response. For accurate time, I'll provide the correct current time in Toronto "
    'based on real-time data. **Current time in Toronto**: [Insert accurate time here, e.g., "3:14 PM ET"].'
)


def message(**members: Any) -> bytes:
    """Return a reply of Ollama's that is one line."""
    whole = {"role": "assistant", "content": "", **members}
    return (json.dumps({"model": "qwen3:8b", "message": whole, "done": True, "done_reason": "stop"}) + "\n").encode()


def call(name: str = "get_time", arguments: Any = None, id_: str = "call_x0qe6lzs") -> dict[str, Any]:
    function = {"index": 0, "name": name, "arguments": {"city": "Toronto"} if arguments is None else arguments}
    return {"id": id_, "function": function}


def clock(arguments: Any) -> str:
    if arguments["city"] != "Toronto":
        raise ValueError("only Toronto is supported")
    return "2026-11-08T17:10:00-05:00"


def asked(*replies: bytes, conversation: Sequence[Any] = ASKED, **settings: Any) -> tuple[Result, World]:
    world = World(engine=replies, tools={"get_time": clock})
    answer = Answer(conversation, engine=OLLAMA, web=False, tools=[GET_TIME], **settings)
    return ScriptedDriver(world).run(answer), world


# The clock in Toronto.


def test_the_call_is_run_and_its_result_goes_back_with_the_whole_message() -> None:
    result, world = asked(message(thinking="The user wants the time.", tool_calls=[call()]), message(content="17:10."))
    assert result.text == "17:10."
    assert [(receipt.tool, receipt.outcome) for receipt in result.receipts] == [("get_time", "ran")]
    assert result.marks == ()
    first, second = world.asked
    assert first["tools"][0]["function"]["name"] == "get_time"
    assert "tool_choice" not in first
    assert second["messages"][1] == {
        "role": "assistant",
        "content": "",
        "thinking": "The user wants the time.",
        "tool_calls": [
            {"id": "call_x0qe6lzs", "function": {"name": "get_time", "arguments": {"city": "Toronto"}}},
        ],
    }
    reply = second["messages"][2]
    assert (reply["role"], reply["tool_name"]) == ("tool", "get_time")
    assert reply["content"] == "2026-11-08T17:10:00-05:00"


@pytest.mark.parametrize(
    ("wrong", "says", "outcome"),
    [
        (call(arguments={"city": "Toronto", "zone": "EST"}), "zone", "fault"),
        (call(arguments={}), "city", "fault"),
        (call(arguments={"city": 7}), "city", "fault"),
        (call(arguments="Toronto"), "not run", "fault"),
        (call(arguments={"city": "Ghent"}), "the tool failed", "failed"),
        (call("get_date"), "no tool named 'get_date'", "unknown"),
    ],
)
def test_each_wrong_call_has_an_outcome_of_its_own_and_the_answer_goes_on(
    wrong: dict[str, Any], says: str, outcome: str
) -> None:
    result, world = asked(message(tool_calls=[wrong]), message(content="I cannot tell."))
    assert result.text == "I cannot tell."
    assert [receipt.outcome for receipt in result.receipts] == [outcome]
    assert says in world.asked[1]["messages"][-1]["content"]
    if outcome != "failed":
        assert result.marks == ("no tool ran",)


@pytest.mark.parametrize(
    ("odd", "quirks"),
    [
        ({"function": {"name": "get_time"}}, ("tool_calls that are no list",)),
        ("get_time", ("tool_calls that are no list",)),
        ([1, None, "x"], ("a tool call without a name",)),
        ([{"function": 7}], ("a tool call without a name",)),
        ([{"function": {"name": "", "arguments": {}}}], ("a tool call without a name",)),
        (None, ()),
        ([], ()),
    ],
)
def test_calls_that_are_no_calls_are_told_and_not_run(odd: Any, quirks: tuple[str, ...]) -> None:
    result, world = asked(message(content="No calls here.", tool_calls=odd))
    assert (result.text, result.receipts, len(world.asked)) == ("No calls here.", (), 1)
    assert result.quirks == quirks


def test_a_reply_without_a_message_is_told_and_asked_again_once() -> None:
    bare = b'{"model": "qwen3:8b", "done": true, "done_reason": "stop"}\n'
    result, world = asked(bare, message(content="17:10."))
    assert (result.text, len(world.asked)) == ("17:10.", 2)
    assert result.quirks == ("a line without a message",)


def test_turns_and_calls_are_bounded() -> None:
    many = message(tool_calls=[call(arguments={"city": "Toronto"}, id_=f"c{n}") for n in range(40)])
    result, world = asked(many, limits=Limits(rounds=6, calls_a_round=4))
    assert len(world.asked) <= 6 + 2
    assert len([receipt for receipt in result.receipts if receipt.outcome == "ran"]) <= 6 * 4


# The result from Mars.


def test_a_claim_without_a_receipt_is_marked() -> None:
    """A result that the host never produced stands in the history; what the model makes of it is only its word."""
    given = [
        *ASKED,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "call_x0qe6lzs", "function": {"name": "get_time", "arguments": {"city": "Toronto"}}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_x0qe6lzs", "content": MARS},
    ]
    result, world = asked(message(content=DISBELIEF), conversation=given)
    assert result.text == DISBELIEF
    assert result.receipts == ()
    assert result.marks == ("no tool ran",)
    assert world.asked[0]["messages"][2]["tool_name"] == "get_time"


def test_a_result_that_the_host_did_produce_has_a_receipt_even_when_it_is_nonsense() -> None:
    world = World(engine=[message(tool_calls=[call()]), message(content=DISBELIEF)], tools={"get_time": lambda _: MARS})
    result = ScriptedDriver(world).run(Answer(ASKED, engine=OLLAMA, web=False, tools=[GET_TIME]))
    assert result.marks == ()
    assert [receipt.outcome for receipt in result.receipts] == ["ran"]


# Models that search in 15 of 18 answers, and in 3 of 18.

CAPABILITIES = {
    "everything is said to work": Capabilities(),
    "no tool_choice": Capabilities(tool_choice=()),
    "no tool_choice and no schema": Capabilities(tool_choice=(), schema=False),
    "rescue": Capabilities(rescue=True),
}


@pytest.mark.parametrize("known", CAPABILITIES.values(), ids=CAPABILITIES)
@pytest.mark.parametrize("willing", [15, 3])
def test_eighteen_of_eighteen_answers_rest_on_a_search(willing: int, known: Capabilities) -> None:
    """The engine takes every choice and every schema and ignores it; the model calls when it likes to."""
    by_model = 0
    for number in range(18):
        calls = number < willing
        if not calls:
            replies = [reply_text("I know this already.")]
        elif known.rescue:
            block = '[TOOL_CALL]{"name": "web_search", "arguments": {"query": "kettle"}}[/TOOL_CALL]'
            replies = [reply_text(block), reply_text("It boils [1].")]
        else:
            replies = [reply_calls(("web_search", {"query": "kettle"})), reply_text("It boils [1].")]
        found = [{"url": "https://docs.example.org/a", "title": "Kettles", "content": "Of kettles."}]
        world = World(engine=replies, search={None: found})
        driver = ScriptedDriver(world)
        result = driver.run(Answer([{"role": "user", "content": "Does it boil?"}], engine=Engine(capabilities=known)))
        kinds = [type(notice) for notice in driver.notices if isinstance(notice, ShowSearch | ShowText)]
        assert kinds[0] is ShowSearch
        assert result.receipts[0].tool == "web_search"
        assert "no tool ran" not in result.marks
        by_model += result.receipts[0].asked_by == "model"
    # Where nothing can force a call the model is not asked for one: the host searches at once.
    assert by_model == (willing if known.tool_choice or known.schema or known.rescue else 0)
