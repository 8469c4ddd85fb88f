"""The conversation: taken in from a host, kept valid, written for a wire."""

from typing import Any

import pytest

from hostcall.data import Capabilities
from hostcall.engine import history
from hostcall.engine.history import NO_REPLY, call_message, for_openai, read_conversation, reply_message, validate
from hostcall.errors import ConversationError

USER = {"role": "user", "content": "Hi."}
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}


def test_system_messages_become_one_and_first() -> None:
    messages = read_conversation(
        [
            USER,
            {"role": "system", "content": "One."},
            {"role": "developer", "content": [{"type": "text", "text": "Two."}]},
        ]
    )
    assert messages == [{"role": "system", "content": "One.\n\nTwo."}, USER]


def test_text_parts_are_joined_and_image_parts_pass() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    text = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read_conversation([{"role": "user", "content": text}])[0]["content"] == "a\nb"
    assert read_conversation([{"role": "user", "content": [*text, image]}])[0]["content"] == [
        {"type": "text", "text": "a\nb"},
        image,
    ]
    assert read_conversation([{"role": "user", "content": [image, "c"]}])[0]["content"][0]["text"] == "c"
    assert read_conversation([{"role": "user", "content": [image]}])[0]["content"] == [image]


def test_tool_turns_are_kept_and_put_in_order() -> None:
    second = {**CALL, "id": "c2"}
    messages = read_conversation(
        [
            USER,
            {"role": "assistant", "tool_calls": [CALL, second]},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": "Done.", "reasoning": "Hm."},
        ]
    )
    assert [message.get("content") for message in messages] == ["Hi.", None, "one", "two", "Done."]
    assert messages[-1]["reasoning_content"] == "Hm."
    validate(messages)


def test_a_call_without_a_reply_gets_one() -> None:
    messages = read_conversation([USER, {"role": "assistant", "tool_calls": [CALL]}, USER])
    assert messages[2] == reply_message("c1", NO_REPLY)
    validate(messages)


def test_arguments_become_text() -> None:
    def arguments(given: Any) -> Any:
        call = {"id": "c1", "function": {"name": "get", "arguments": given}}
        return read_conversation([USER, {"role": "assistant", "tool_calls": [call]}])[1]["tool_calls"][0]["function"][
            "arguments"
        ]

    assert arguments({"a": 1}) == '{"a": 1}'
    assert arguments(None) == "{}"


@pytest.mark.parametrize(
    ("conversation", "says"),
    [
        ("Hi.", "must be a list"),
        ([], "no message of the user"),
        (["Hi."], "message 0 must be an object"),
        ([{"role": "king", "content": "x"}], "the role 'king'"),
        ([{"role": "user"}], "has no content"),
        ([{"role": "user", "content": 3}], "neither a text nor a list"),
        ([{"role": "user", "content": [{"type": "audio"}]}], "of the type 'audio'"),
        ([USER, {"role": "tool", "content": "x"}], "names no tool_call_id"),
        ([USER, {"role": "tool", "tool_call_id": "c9", "content": "x"}], "follows no call"),
        (
            [USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c9"}],
            "follows no open",
        ),
        ([USER, {"role": "assistant", "tool_calls": [CALL, CALL]}], "used twice"),
        ([USER, {"role": "assistant", "tool_calls": [{"id": "x"}]}], "without a function name"),
        ([USER, {"role": "assistant", "tool_calls": [{"function": {"name": "x"}}]}], "without an id"),
        ([USER, {"role": "assistant", "tool_calls": {"a": 1}}], "are no list"),
    ],
)
def test_what_is_no_conversation_says_why(conversation: Any, says: str) -> None:
    with pytest.raises(ConversationError, match=says):
        read_conversation(conversation)


def test_an_assistant_without_content_has_an_empty_one() -> None:
    assert read_conversation([USER, {"role": "assistant"}])[1] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize(
    ("policy", "with_calls", "without"),
    [("never", False, False), ("tool_rounds", True, False), ("always", True, True)],
)
def test_reasoning_is_echoed_by_policy_under_the_engines_name(policy: Any, with_calls: bool, without: bool) -> None:
    capabilities = Capabilities(echo_reasoning=policy, reasoning_field="reasoning")
    messages = [call_message("", [("c1", "get", "{}")], "Hm."), call_message("x", [], "Hm.")]
    sent = for_openai(messages, capabilities)
    assert [message.get("reasoning") == "Hm." for message in sent] == [with_calls, without]
    assert all("reasoning_content" not in message for message in sent)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([USER, {"role": "system", "content": "x"}], "second system"),
        ([USER, reply_message("c1", "x")], "answers no open call"),
        ([call_message("", [("c1", "get", "{}")]), USER], "before the reply"),
        ([call_message("", [("c1", "get", "{}")])], "has no reply"),
        ([call_message("", [("c1", "a", "{}"), ("c1", "b", "{}")])], "used twice"),
    ],
)
def test_validate_finds_every_fault(messages: list[Any], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        validate(messages)


def test_size_counts_words_calls_and_reasoning() -> None:
    messages = [USER, call_message("ab", [("c1", "get", "{}")], "xyz")]
    assert history.size_of(messages) == len("Hi.") + 2 + 3 + len("get{}")
    assert history.call_ids(messages) == {"c1"}


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (None, "{}"),
        ("", "{}"),
        ({"a": 1}, '{"a": 1}'),
        ('{"a":1}', '{"a":1}'),
        ("{broken", '{"_unparsed": "{broken"}'),
        ("[1]", '{"_unparsed": "[1]"}'),
    ],
)
def test_arguments_of_a_client_become_an_object_that_every_wire_can_write(arguments: Any, written: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": arguments}}
    messages = read_conversation([USER, {"role": "assistant", "tool_calls": [call]}, USER])
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == written


@pytest.mark.parametrize("arguments", [{"a": {1}}, {"a": float("inf")}, {1: 2}, [1], 5])
def test_arguments_that_are_no_json_are_refused(arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": arguments}}
    with pytest.raises(ConversationError, match="message 1 has a tool call whose arguments"):
        read_conversation([USER, {"role": "assistant", "tool_calls": [call]}])


@pytest.mark.parametrize("image", [None, {}, {"url": 5}, {"url": "data:,", "detail": {1}}])
def test_an_image_without_an_address_is_refused(image: Any) -> None:
    with pytest.raises(ConversationError, match="message 0 has an image_url"):
        read_conversation([{"role": "user", "content": [{"type": "image_url", "image_url": image}]}])


# Each shape of a message, whole.


def test_a_conversation_is_read_whole() -> None:
    given = (
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, "b"], "name": "x"},
        {"role": "assistant", "content": "Yes.", "thinking": "Hm.", "reasoning": "", "extra": 1},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL], "reasoning_content": "r", "reasoning": "q"},
        {"role": "tool", "tool_call_id": "c1", "content": None, "name": "get"},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "tool_calls": []},
    )
    assert read_conversation(given) == [
        {"role": "user", "content": "a\nb"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL], "reasoning_content": "r"},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": "Done."},
    ]


def test_the_messages_of_a_round() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    calls = [("a", "get", "{}")]
    assert call_message("", calls) == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert call_message("I look.", calls, "Hm.") == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [call],
        "reasoning_content": "Hm.",
    }
    assert call_message("", ()) == {"role": "assistant", "content": ""}
    assert reply_message("a", "x") == {"role": "tool", "tool_call_id": "a", "content": "x"}


def test_an_open_call_is_answered_behind_the_others_in_the_order_of_the_calls() -> None:
    calls = [{**CALL, "id": id_} for id_ in ("a", "b", "c")]
    given: list[dict[str, Any]] = [
        USER,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        USER,
    ]
    read = read_conversation(given)
    assert [(m.get("tool_call_id"), m["content"]) for m in read[2:]] == [
        ("a", "1"),
        ("b", NO_REPLY),
        ("c", "3"),
        (None, "Hi."),
    ]
    assert NO_REPLY == "This call was not answered."
    validate(read)


@pytest.mark.parametrize(
    "messages",
    [
        [USER, {"role": "tool", "tool_call_id": "c1", "content": "x"}],
        [USER, {"role": "assistant", "tool_calls": [CALL, CALL]}],
        [
            USER,
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            {"role": "tool", "tool_call_id": "c1", "content": "y"},
        ],
        [USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c2", "content": "x"}],
        [USER, {"role": "assistant", "tool_calls": [CALL]}, USER, {"role": "assistant", "tool_calls": [CALL]}],
        [USER, {"role": "tool", "content": "x"}],
        [USER, {"role": "tool", "tool_call_id": "", "content": "x"}],
        [USER, {"role": "assistant", "tool_calls": [{**CALL, "id": ""}]}],
        [USER, {"role": "assistant", "tool_calls": [{**CALL, "id": 7}]}],
        [USER, {"role": "assistant", "tool_calls": {"a": 1}}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": [{"type": "text", "text": 7}]}],
        [{"role": "user", "content": [7]}],
        [{"role": "user", "content": {"type": "text"}}],
        [{"role": "assistant", "content": "x"}],
        "Hi.",
    ],
)
def test_what_breaks_the_order_of_calls_and_replies_is_refused(messages: Any) -> None:
    with pytest.raises(ConversationError):
        read_conversation(messages)


@pytest.mark.parametrize(
    ("echo", "rounds", "plain"), [("never", False, False), ("tool_rounds", True, False), ("always", True, True)]
)
def test_reasoning_is_written_under_the_engines_name_or_left_out(echo: Any, rounds: bool, plain: bool) -> None:
    known = Capabilities(echo_reasoning=echo, reasoning_field="thinking")
    messages = [call_message("", [("a", "get", "{}")], "Hm."), call_message("Yes.", (), "So."), USER]
    written = for_openai(messages, known)
    assert [message.get("thinking") for message in written] == [
        "Hm." if rounds else None,
        "So." if plain else None,
        None,
    ]
    assert not any("reasoning_content" in message for message in written)
    assert messages[0]["reasoning_content"] == "Hm.", "the history itself is left alone"


def test_parts_that_are_no_text_have_no_size_and_no_words() -> None:
    parts = [
        {"type": "text", "text": "ab"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "text", "text": "c"},
    ]
    assert history.text_of(parts) == "ab\nc"
    assert history.text_of(None) == ""
    assert history.size_of([{"role": "user", "content": parts}]) == 4
    assert history.size_of([call_message("abc", [("id", "get", "{}")], "12345"), reply_message("id", "xy")]) == 15
    assert history.call_ids([USER, call_message("", [("a", "x", "{}"), ("b", "x", "{}")])]) == {"a", "b"}


def test_arguments_that_could_not_be_read_are_kept_as_they_were_written() -> None:
    call = {"id": "c1", "function": {"name": "get", "arguments": '{"é": '}}
    (_, message, _) = read_conversation([USER, {"role": "assistant", "tool_calls": [call]}])
    assert message["tool_calls"][0]["function"]["arguments"] == '{"_unparsed": "{\\"é\\": "}'
    given = {"id": "c1", "function": {"name": "get", "arguments": {"é": 1}}}
    (_, message, _) = read_conversation([USER, {"role": "assistant", "tool_calls": [given]}])
    assert message["tool_calls"][0]["function"]["arguments"] == '{"é": 1}'
