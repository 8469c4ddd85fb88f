"""The rescue path: the same conversation, written without calls and tool messages."""

import json
from typing import Any

import pytest

from hostcall.answer.tools import fetch_tool, search_tool
from hostcall.engine.history import Message, call_message, reply_message
from hostcall.engine.rescue import CLOSER, OPENER, example_of, for_rescue, tools_prompt
from hostcall.limits import Limits
from hostcall.tooltext import TextFilter, ToolCall

TOOLS = [search_tool(research=True, limits=Limits()), fetch_tool()]
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Look."}


def rescued(messages: list[Message], asks: frozenset[int] = frozenset(), **directives: str) -> list[Message]:
    ends = {int(key[1:]): value for key, value in directives.items()}
    return for_rescue(messages, TOOLS, directives=ends, asks=asks, directive="[D]")


def test_the_tools_stand_in_the_one_system_prompt() -> None:
    sent = rescued([SYSTEM, USER], _1="[D]")
    assert [message["role"] for message in sent] == ["system", "user"]
    assert sent[0]["content"] == f"Be brief.\n\n{tools_prompt(TOOLS)}"
    assert all(word in sent[0]["content"] for word in (OPENER, CLOSER, "web_search", "fetch_page_content_recursive"))
    assert sent[1]["content"] == "Look.\n\n[D]"
    assert for_rescue([USER], [], directives={}, asks=frozenset(), directive="") == [USER]


def test_the_examples_are_calls_that_the_filter_reads() -> None:
    for tool in TOOLS:
        text = tools_prompt([tool])
        example = text[text.rindex(OPENER) :]
        text_filter = TextFilter(TOOLS)
        pieces = [*text_filter.feed(example), *text_filter.finish("stop")]
        (call,) = [piece for piece in pieces if isinstance(piece, ToolCall)]
        assert call.name == tool["function"]["name"]
        assert set(tool["function"]["parameters"]["required"]) == set(call.arguments)


def test_calls_and_results_become_words_and_roles_alternate() -> None:
    messages = [
        USER,
        call_message("I look.", [("a", "get", '{"n": 1}'), ("b", "get", '{"n": 2}')]),
        reply_message("a", "one"),
        reply_message("b", "two"),
    ]
    sent = rescued(messages)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"].startswith("I look.\n" + OPENER)
    second = sent[2]["content"].split(OPENER)[2].removesuffix(CLOSER)
    assert json.loads(second) == {"name": "get", "arguments": {"n": 2}}
    assert sent[3]["content"] == "Result of get:\none\n\nResult of get:\ntwo\n\n[D]"


def test_an_ask_of_the_loop_is_joined_to_the_results_before_it() -> None:
    ask = {"role": "user", "content": "Write."}
    messages = [USER, call_message("", [("a", "get", "{}")]), reply_message("a", "one"), ask]
    assert rescued(messages, asks=frozenset({3}), _3="[A]")[-1]["content"] == "Result of get:\none\n\nWrite.\n\n[A]"
    separate = rescued(messages)
    assert [message["content"] for message in separate[-2:]] == ["Result of get:\none\n\n[D]", "Write."]


def test_what_was_sent_before_does_not_change() -> None:
    messages = [SYSTEM, USER, call_message("", [("a", "get", "{}")]), reply_message("a", "one")]
    more = [*messages, call_message("", [("b", "get", "{}")]), reply_message("b", "two")]
    before = rescued(messages, _1="[D]")
    assert rescued(more, _1="[D]")[: len(before)] == before


def test_images_pass() -> None:
    content: list[Any] = [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    sent = rescued([{"role": "user", "content": content}], _0="[D]")
    assert sent[1]["content"] == [*content, {"type": "text", "text": "[D]"}]
    assert rescued([{"role": "user", "content": content}])[1]["content"] == content


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["x", "y"]}, "x"),
        ({"type": ["integer", "null"], "minimum": 3}, 3),
        ({"type": []}, "…"),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "boolean"}}, [True]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {}}}, {"a": "…"}),
        ({}, "…"),
    ],
)
def test_examples_fit_their_schema(schema: dict[str, Any], value: Any) -> None:
    assert example_of(schema) == value


def test_the_tools_are_described_word_for_word() -> None:
    parameters = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}, "title": "é"}
    tool = {"type": "function", "function": {"name": "get", "description": "Gets.", "parameters": parameters}}
    assert tools_prompt([tool, tool]) == "\n\n".join(
        [
            (
                "You can ask for tools. To call one, write a block in exactly this form, alone on its lines, "
                "and then stop:\n"
                '[TOOL_CALL]{"name": "tool name", "arguments": {…}}[/TOOL_CALL]\n'
                "Several blocks in a row are several calls. The results come back in the next message. The tools:"
            ),
            *[
                (
                    f"get: Gets.\nArguments, as a JSON schema: {json.dumps(parameters, ensure_ascii=False)}\n"
                    '[TOOL_CALL]{"name": "get", "arguments": {"a": "…"}}[/TOOL_CALL]'
                )
            ]
            * 2,
        ]
    )


def test_a_whole_conversation_is_written_without_calls() -> None:
    image: list[Any] = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    messages = [
        USER,
        call_message("", [("a", "get", '{"n": "é"}')], "Hm."),
        reply_message("a", "one"),
        reply_message("lost", "two"),
        {"role": "user", "content": image},
        call_message("", ()),
        {"role": "user", "content": "Again."},
        call_message("Done.", ()),
    ]
    sent = for_rescue(messages, [], directives={0: "[0]", 6: "[6]"}, asks=frozenset(), directive="[D]")
    assert sent == [
        {"role": "user", "content": "Look.\n\n[0]"},
        {"role": "assistant", "content": '[TOOL_CALL]{"name": "get", "arguments": {"n": "é"}}[/TOOL_CALL]'},
        {"role": "user", "content": "Result of get:\none\n\nResult of the call:\ntwo\n\n[D]"},
        {"role": "user", "content": image},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "Again.\n\n[6]"},
        {"role": "assistant", "content": "Done."},
    ]
    assert for_rescue([SYSTEM, USER], [], directives={}, asks=frozenset(), directive="") == [SYSTEM, USER]
    assert for_rescue([], [], directives={}, asks=frozenset(), directive="") == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": [], "type": "integer"}, 1),
        ({"type": "number", "minimum": 0}, 0),
        ({"type": ["null", "string"]}, None),
        ({"type": "string"}, "…"),
        ({"type": "array"}, ["…"]),
        ({"type": "object"}, {}),
        ({"type": "object", "required": ["a"]}, {"a": "…"}),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "null"}}}},
            {"a": [None]},
        ),
    ],
)
def test_examples_are_as_small_as_the_schema_lets_them(schema: dict[str, Any], value: Any) -> None:
    assert example_of(schema) == value
