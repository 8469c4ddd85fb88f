"""The rescue path: tools for an engine that strips them, ignores them or does not know them.

The tools are described in the system prompt, the model writes a call into its text, and results come back as messages
of the user. The form is ``[TOOL_CALL]…[/TOOL_CALL]``, because engines with a parser of their own stop at
``<tool_call>`` and then return nothing. A directive at the end of each message that the loop writes is the last thing
the model reads: reasoning models follow what is nearest.

The conversation itself is the same as on the native path. Only how it is written down differs.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hostcall.engine.history import Message, text_of

OPENER = "[TOOL_CALL]"
CLOSER = "[/TOOL_CALL]"

INTRODUCTION = (
    "You can ask for tools. To call one, write a block in exactly this form, alone on its lines, and then stop:\n"
    f'{OPENER}{{"name": "tool name", "arguments": {{…}}}}{CLOSER}\n'
    "Several blocks in a row are several calls. The results come back in the next message. The tools:"
)


def tools_prompt(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return what describes the tools in the system prompt, each with an example made from its schema."""
    parts = [INTRODUCTION]
    for tool in tools:
        function = tool["function"]
        example = block(function["name"], example_of(function["parameters"]))
        schema = json.dumps(function["parameters"], ensure_ascii=False)
        parts.append(f"{function['name']}: {function['description']}\nArguments, as a JSON schema: {schema}\n{example}")
    return "\n\n".join(parts)


def block(name: str, arguments: Any) -> str:
    """Return a call as the model is asked to write it."""
    return f"{OPENER}{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}{CLOSER}"


def example_of(schema: Mapping[str, Any]) -> Any:
    """Return a value that fits the simple parts of a schema, its required members alone."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    match kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: example_of(properties.get(name, {})) for name in schema.get("required", ())}
        case "array":
            return [example_of(schema.get("items", {}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return "…"


def for_rescue(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    *,
    directives: Mapping[int, str],
    asks: frozenset[int],
    directive: str,
) -> list[Message]:
    """Return a conversation without calls and tool messages, which says the same.

    Args:
        messages: The conversation, in the OpenAI shape.
        tools: What is described in the system prompt; none where no tool is offered.
        directives: Directive that ends the user's message at this position.
        asks: Positions of the loop's own asks, which are joined to the results before them.
        directive: What ends a message of results.
    """
    system = text_of(messages[0]["content"]) if messages and messages[0]["role"] == "system" else ""
    prompt = "\n\n".join(part for part in (system, tools_prompt(tools) if tools else "") if part)
    written: list[Message] = [{"role": "system", "content": prompt}] if prompt else []
    names: dict[str, str] = {}
    results: list[str] = []
    for position, message in enumerate(messages):
        role = message["role"]
        if role == "system":
            continue
        if role == "tool":
            results.append(f"Result of {names.get(message['tool_call_id'], 'the call')}:\n{message['content']}")
            continue
        if results and position not in asks:
            written.append({"role": "user", "content": "\n\n".join((*results, directive))})
            results = []
        if role == "user":
            content = message["content"]
            end = directives.get(position)
            before = ["\n\n".join(results)] if results else []
            results = []
            written.append({"role": "user", "content": _joined(before, content, end)})
            continue
        calls = message.get("tool_calls", ())
        names.update((call["id"], call["function"]["name"]) for call in calls)
        blocks = [block(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
        text = text_of(message.get("content"))
        written.append({"role": "assistant", "content": "\n".join(part for part in (text, *blocks) if part)})
    if results:
        written.append({"role": "user", "content": "\n\n".join((*results, directive))})
    return written


def _joined(before: Sequence[str], content: Any, end: str | None) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": end}] if end else content
    return "\n\n".join(part for part in (*before, content, end) if part)
