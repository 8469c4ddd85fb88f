"""The growing conversation of one answer: what is sent, what is kept, and where the two part.

The messages of each request are a prefix of the next one's, so an engine's prefix cache holds from round to round.
What breaks that rule is a *rewrite*, and each is listed with its reason.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from hostcall.answer import prompts
from hostcall.data import JsonObject, Rewrite
from hostcall.engine.history import Message, call_ids, size_of, text_of
from hostcall.engine.rescue import example_of, for_rescue

STUB_CHARS = 300
"""Characters of a tool result that its stub keeps."""


@attrs.define
class Transcript:
    """The messages of an answer, the host's first."""

    messages: list[Message]
    rewrites: list[Rewrite] = attrs.Factory(list)
    _directives: dict[int, str] = attrs.Factory(dict)
    """Directive that ends the message at this position when it is sent."""
    _asks: set[int] = attrs.Factory(set)
    """Positions of the loop's own asks that can still be joined to the results before them."""
    _sent: int = 0
    """How many messages the last request held."""

    @classmethod
    def begin(cls, conversation: list[Message], system: str | None) -> "Transcript":
        """Return the transcript of a new answer; `system` ends the one system message."""
        messages = list(conversation)
        if system:
            if messages[0]["role"] == "system":
                messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{system}"}
            else:
                messages.insert(0, {"role": "system", "content": system})
        return cls(messages)

    @property
    def ids(self) -> set[str]:
        """The ids of all calls."""
        return call_ids(self.messages)

    @property
    def size(self) -> int:
        """Characters of the whole conversation."""
        return size_of(self.messages)

    @property
    def last_question(self) -> str:
        """The words of the user's last message."""
        last = next(message for message in reversed(self.messages) if message["role"] == "user")
        return text_of(last["content"])

    def add(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        self.messages.extend(messages)

    def ask(self, text: str, directive: str = "") -> None:
        """Add a message in the user's role that the loop itself writes."""
        self.messages.append({"role": "user", "content": text})
        position = len(self.messages) - 1
        if position > self._sent:
            # What stands before it was not sent yet, so on the rescue path the two can be one message.
            self._asks.add(position)
        if directive:
            self._directives[position] = directive

    def direct(self, directive: str) -> None:
        """End the user's last message with a directive, when it is sent."""
        position = max(n for n, message in enumerate(self.messages) if message["role"] == "user")
        self._directives[position] = directive

    def to_send(self, *, system_tail: str = "") -> list[Message]:
        """Return the messages of a request. `system_tail` is laid under the system message for this request alone."""
        self._sent = len(self.messages)
        messages = list(self.messages)
        for position, directive in self._directives.items():
            messages[position] = {**messages[position], "content": _ended(messages[position]["content"], directive)}
        if system_tail:
            if messages[0]["role"] == "system":
                messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{system_tail}"}
            else:
                messages.insert(0, {"role": "system", "content": system_tail})
        return messages

    def to_rescue(self, tools: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Return the messages of a request on the rescue path."""
        self._sent = len(self.messages)
        return for_rescue(
            self.messages,
            tools,
            directives=self._directives,
            asks=frozenset(self._asks),
            directive=prompts.DIRECTIVE,
        )

    def rewrite(self, request: str, reason: str) -> None:
        """Note that a request is not the growth of the one before."""
        self.rewrites.append(Rewrite(request=request, reason=reason))

    def shorten(self, *, keep: float) -> bool:
        """Make stubs of the oldest tool results, until about `keep` of the conversation is left.

        The user's words are never cut. Returns False when there is nothing to shorten.
        """
        wanted = self.size * keep
        shortened = False
        for position, message in enumerate(self.messages):
            if message["role"] != "tool" or len(message["content"]) <= STUB_CHARS * 2:
                continue
            if shortened and self.size <= wanted:
                break
            self.messages[position] = {**message, "content": _stub(message["content"])}
            shortened = True
        return shortened

    def copy(self) -> tuple[JsonObject, ...]:
        """Return the messages for the result, directives and private members left out."""
        copied: list[Mapping[str, Any]] = json.loads(json.dumps(self.messages))
        return tuple(copied)


def _ended(content: Any, directive: str) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": directive}]
    return f"{content}\n\n{directive}"


def _stub(content: str) -> str:
    head, found, line = content.rpartition("\n\n")
    if not found or not line.startswith("Searches used "):
        head, line = content, ""
    note = f"[shortened: the engine's context is full; {len(head) - STUB_CHARS} characters left out]"
    return "\n\n".join(part for part in (head[:STUB_CHARS] + " …", note, line) if part)


def schema_of(tools: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Return the JSON schema of one call of one of the tools.

    Optional arguments are left out: forced to a schema, small models fill in every member that they may, and a search
    kept to the last day by accident hides the right results.
    """
    forms = []
    for tool in tools:
        function = tool["function"]
        parameters = function["parameters"]
        required = list(parameters.get("required", ()))
        properties = {name: parameters.get("properties", {}).get(name, {}) for name in required}
        arguments = {**parameters, "properties": properties, "required": required, "additionalProperties": False}
        forms.append(
            {
                "type": "object",
                "properties": {"name": {"const": function["name"]}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    return {"anyOf": forms}


def reading_schema(tool: Mapping[str, Any], addresses: Sequence[str]) -> JsonObject:
    """Return the JSON schema of a call that reads one of these pages."""
    function = tool["function"]
    parameters = dict(function["parameters"])
    parameters["properties"] = {"url": {"enum": list(addresses)}}
    narrowed = {**function, "parameters": {**parameters, "required": ["url"]}}
    return schema_of([{**tool, "function": narrowed}])


def schema_tail(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return what tells the model of the tools in a request that has no `tools`.

    A call's form and what its arguments mean, in as few words as can be: shown the whole schemas, small models copy
    from them into their queries.
    """
    lines = []
    for tool in tools:
        function = tool["function"]
        parameters = function["parameters"]
        form = json.dumps({"name": function["name"], "arguments": example_of(parameters)}, ensure_ascii=False)
        lines.append(f"{form} - {function['description']}")
        for name in parameters.get("required", ()):
            said = parameters.get("properties", {}).get(name, {}).get("description", "")
            lines += [f"  {name}: {said}"] if said else []
    return "\n".join((prompts.SCHEMA_ROUND, *lines))
