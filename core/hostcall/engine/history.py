"""The conversation: taken in from the host, kept valid while it grows, written in the shape that a wire wants.

Inside, every message has the OpenAI shape: ``{"role", "content"}``, calls as ``tool_calls`` with their arguments as
JSON text, replies as ``{"role": "tool", "tool_call_id", "content"}``. An assistant's reasoning stands under
``reasoning_content`` there; `for_openai` writes it under the engine's name, or leaves it out.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hostcall.data import Capabilities
from hostcall.engine.plain import is_plain, read_object
from hostcall.errors import ConversationError

Message = dict[str, Any]

NO_REPLY = "This call was not answered."


def read_conversation(conversation: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the host's messages as ones to start from: one system message first, each call answered once.

    Text parts of a message are joined; image parts stay. A system message that is not first is joined to the first.

    Raises:
        ConversationError: A message is none, or the last one is not the user's.
    """
    if not isinstance(conversation, list | tuple):
        raise ConversationError("the conversation must be a list of messages")
    system: list[str] = []
    messages: list[Message] = []
    for number, given in enumerate(conversation):
        if not isinstance(given, Mapping):
            raise ConversationError(f"message {number} must be an object with a role, not {type(given).__name__}")
        role = given.get("role")
        content = _content(given.get("content"), number)
        if role in ("system", "developer"):
            system.append(content if isinstance(content, str) else text_of(content))
        elif role == "user":
            if content is None:
                raise ConversationError(f"message {number} is the user's and has no content")
            messages.append({"role": "user", "content": content})
        elif role == "assistant":
            messages.append(_assistant(given, content, number))
        elif role == "tool":
            messages.append(_reply(given, content, number))
        else:
            raise ConversationError(
                f"message {number} has the role {role!r}; it may be system, user, assistant or tool"
            )
    if not any(message["role"] == "user" for message in messages):
        raise ConversationError("the conversation has no message of the user")
    messages = _answered(messages)
    joined = "\n\n".join(text for text in system if text)
    return [{"role": "system", "content": joined}, *messages] if joined else messages


def call_message(text: str, calls: Sequence[tuple[str, str, str]], reasoning: str = "") -> Message:
    """Return the assistant's message of a round: its text, and its calls as (id, name, arguments as JSON text)."""
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
    else:
        message["content"] = text
    if reasoning:
        message["reasoning_content"] = reasoning
    return message


def reply_message(call_id: str, content: str) -> Message:
    """Return the reply to one call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def for_openai(messages: Sequence[Message], capabilities: Capabilities) -> list[Message]:
    """Return the messages as an OpenAI-compatible engine wants them: reasoning by its policy and under its name."""
    return [_with_reasoning(message, capabilities) for message in messages]


def validate(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check what must hold of every request: one system message, first; each call answered once, right after it.

    Raises:
        AssertionError: It does not hold: a mistake in the loop, never the doing of an engine.
    """
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "system" and number:
            raise AssertionError(f"message {number} is a second system message")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                raise AssertionError(f"message {number} answers no open call")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise AssertionError(f"message {number} comes before the reply to {waiting[0]!r}")
        for call in message.get("tool_calls", ()):
            if call["id"] in seen:
                raise AssertionError(f"the id {call['id']!r} is used twice")
            seen.add(call["id"])
            waiting.append(call["id"])
    if waiting:
        raise AssertionError(f"the call {waiting[0]!r} has no reply")


def call_ids(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all calls in a conversation."""
    return {call["id"] for message in messages for call in message.get("tool_calls", ())}


def text_of(content: Any) -> str:
    """Return the words of a message's content; parts that are no text say nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return ""


def size_of(messages: Sequence[Message]) -> int:
    """Return the characters of all texts, calls and reasoning of a conversation."""
    total = 0
    for message in messages:
        total += len(text_of(message.get("content"))) + len(message.get("reasoning_content", ""))
        for call in message.get("tool_calls", ()):
            total += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return total


def _content(content: Any, number: int) -> str | list[Message] | None:
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ConversationError(f"message {number} has a content that is neither a text nor a list of parts")
    text: list[str] = []
    images: list[Message] = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part, str):
            text.append(part)
        elif kind in ("text", "input_text") and isinstance(part.get("text"), str):
            text.append(part["text"])
        elif kind == "image_url":
            address = part.get("image_url")
            address = address.get("url") if isinstance(address, Mapping) else address
            if not isinstance(address, str) or not is_plain(dict(part)):
                raise ConversationError(f"message {number} has an image_url without an address as its url")
            images.append(dict(part))
        else:
            raise ConversationError(f"message {number} has a part of the type {kind!r}; it may be text or image_url")
    joined = "\n".join(text)
    if not images:
        return joined
    return [{"type": "text", "text": joined}, *images] if joined else images


def _assistant(given: Mapping[str, Any], content: str | list[Message] | None, number: int) -> Message:
    calls = given.get("tool_calls") or []
    message: Message = {"role": "assistant", "content": text_of(content) if content is not None else None}
    if not isinstance(calls, list):
        raise ConversationError(f"message {number} has tool_calls that are no list")
    if calls:
        message["tool_calls"] = [_call(call, number) for call in calls]
    elif content is None:
        message["content"] = ""
    for field in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(given.get(field), str) and given[field]:
            message["reasoning_content"] = given[field]
            break
    return message


def _call(call: Any, number: int) -> Message:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ConversationError(f"message {number} has a tool call without a function name")
    arguments = function.get("arguments")
    if arguments is None:
        arguments = {}
    value = read_object(arguments) if isinstance(arguments, str) else arguments
    if value is None:
        # As the loop writes a call of its own that could not be read: wires and templates need an object.
        arguments = json.dumps({"_unparsed": arguments}, ensure_ascii=False)
    elif not isinstance(value, Mapping) or not is_plain(dict(value)):
        raise ConversationError(f"message {number} has a tool call whose arguments are no JSON object")
    elif not isinstance(arguments, str) or not arguments.strip():
        arguments = json.dumps(dict(value), ensure_ascii=False)
    id_ = call.get("id")
    if not isinstance(id_, str) or not id_:
        raise ConversationError(f"message {number} has a tool call without an id")
    return {"id": id_, "type": "function", "function": {"name": function["name"], "arguments": arguments}}


def _reply(given: Mapping[str, Any], content: str | list[Message] | None, number: int) -> Message:
    id_ = given.get("tool_call_id")
    if not isinstance(id_, str) or not id_:
        raise ConversationError(f"message {number} is a tool's and names no tool_call_id")
    return {"role": "tool", "tool_call_id": id_, "content": text_of(content)}


def _answered(messages: list[Message]) -> list[Message]:
    """Put every reply right behind its call, answer the calls that have none, refuse replies to nothing."""
    result: list[Message] = []
    seen: set[str] = set()
    number = 0
    while number < len(messages):
        message = messages[number]
        number += 1
        if message["role"] == "tool":
            raise ConversationError(f"the reply to {message['tool_call_id']!r} follows no call with that id")
        result.append(message)
        ids = [call["id"] for call in message.get("tool_calls", ())]
        for id_ in ids:
            if id_ in seen:
                raise ConversationError(f"the tool call id {id_!r} is used twice")
            seen.add(id_)
        replies: dict[str, Message] = {}
        while ids and number < len(messages) and messages[number]["role"] == "tool":
            reply = messages[number]
            if reply["tool_call_id"] not in ids or reply["tool_call_id"] in replies:
                raise ConversationError(f"the reply to {reply['tool_call_id']!r} follows no open call with that id")
            replies[reply["tool_call_id"]] = reply
            number += 1
        result.extend(replies.get(id_) or reply_message(id_, NO_REPLY) for id_ in ids)
    return result


def _with_reasoning(message: Message, capabilities: Capabilities) -> Message:
    reasoning = message.get("reasoning_content")
    if reasoning is None:
        return message
    bare = {key: value for key, value in message.items() if key != "reasoning_content"}
    echo = capabilities.echo_reasoning
    if echo == "always" or (echo == "tool_rounds" and "tool_calls" in message):
        bare[capabilities.reasoning_field] = reasoning
    return bare
