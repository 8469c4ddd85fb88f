"""What the doctor asks an engine: first the engine about itself, then the model, a dozen requests in all.

The chat requests go through the wire that answers use, so that what is seen is what an answer would see.
"""

import json
from typing import Any, Literal, TypeAlias

import attrs

from hostcall.answer.prompts import CITE, DIRECTIVE
from hostcall.data import HttpRequest
from hostcall.engine.reply import ChatAsk
from hostcall.engine.rescue import for_rescue

Step: TypeAlias = Literal[
    "models", "props", "version", "studio", "show", "plain", "auto", "required", "none", "schema", "parallel",
    "history", "cite", "rescue", "error", "running",
]  # fmt: skip

SAID: dict[Step, str] = {
    "models": "which models it has",
    "props": "its settings",
    "version": "its version",
    "studio": "its loaded models",
    "show": "what the model can do",
    "plain": "a question without tools",
    "auto": "a question that needs a tool",
    "required": "a call that is required",
    "none": "an answer with the tools forbidden",
    "schema": "a reply by JSON schema",
    "parallel": "two calls at once",
    "history": "an answer from a tool's result",
    "cite": "an answer with its sources' numbers",
    "rescue": "a call by a description in the prompt",
    "error": "a request that is none",
    "running": "the context it runs with",
}

CHATS: tuple[Step, ...] = ("plain", "auto", "required", "none", "schema", "parallel", "history", "cite", "rescue")

TOOL_TOKENS = 512
"""As many as a forced round of an answer has."""
PLAIN_TOKENS = 48

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The name of the city"}},
            "required": ["city"],
        },
    },
}
TOOLS = (TOOL,)
WORD = "kettle"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"const": WORD}},
    "required": ["word"],
    "additionalProperties": False,
}

NEEDS_TOOL = "What is the weather in Ghent right now? Use the tool get_weather."
NEEDS_NONE = "Say hello to me in one short sentence."
NEEDS_TWO = (
    "What is the weather in Ghent and what is it in Toronto right now? Call the tool get_weather twice in this one "
    "reply, once for each city."
)
SOURCES = (
    "[1] The height of the hill\nThe hill of Oud-Kluis is 1,734 metres high.\n\n"
    "[2] Boiling on the hill\nOn the hill of Oud-Kluis water boils at 94 degrees.\n\n"
    "How high is the hill, and at what temperature does water boil on it?"
)
CALL = {
    "id": "call_doctor_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Ghent"}'},
}


def chat(step: Step, choices: tuple[str, ...]) -> ChatAsk:
    """Return a chat request. `choices` are the values of `tool_choice` that may be sent."""
    match step:
        case "plain":
            # The same words as with the tool: what the prompt counts then tells whether the tool was in it.
            return ChatAsk(messages=_user(NEEDS_TOOL), max_tokens=PLAIN_TOKENS)
        case "auto":
            return _with_tools(_user(NEEDS_TOOL), "auto" if "auto" in choices else None)
        case "required":
            return _with_tools(_user(NEEDS_NONE), "required")
        case "none":
            return _with_tools(_user(NEEDS_TOOL), "none", PLAIN_TOKENS * 2)
        case "schema":
            return ChatAsk(messages=_user(NEEDS_NONE), schema=SCHEMA, max_tokens=PLAIN_TOKENS)
        case "parallel":
            return _with_tools(_user(NEEDS_TWO), "auto" if "auto" in choices else None)
        case "history":
            messages = [
                {"role": "system", "content": "You are a helpful assistant."},
                *_user(NEEDS_TOOL),
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": CALL["id"], "content": "Ghent: 11 degrees, light rain."},
            ]
            return _with_tools(messages, "auto" if "auto" in choices else None, PLAIN_TOKENS)
        case "cite":
            messages = [{"role": "system", "content": CITE}, *_user(SOURCES)]
            return ChatAsk(messages=messages, max_tokens=TOOL_TOKENS)
        case "rescue":
            written = for_rescue(
                _user(NEEDS_TOOL), TOOLS, directives={0: DIRECTIVE}, asks=frozenset(), directive=DIRECTIVE
            )
            return ChatAsk(messages=written, max_tokens=TOOL_TOKENS)
        case _:
            raise AssertionError(f"{step} is no chat request")


def plain_request(step: Step, model: str | None, target: str) -> HttpRequest:
    """Return a request that is no chat. `target` is where the wire's chat requests go."""
    accept = (("Accept", "application/json"), ("Accept-Encoding", "identity"))
    posted = (("Content-Type", "application/json"), *accept)
    match step:
        case "models":
            return HttpRequest("GET", "/v1/models", accept)
        case "props":
            return HttpRequest("GET", "/props", accept)
        case "version":
            return HttpRequest("GET", "/api/version", accept)
        case "studio":
            return HttpRequest("GET", "/api/v0/models", accept)
        case "running":
            return HttpRequest("GET", "/api/ps", accept)
        case "show":
            return HttpRequest("POST", "/api/show", posted, json.dumps({"model": model}).encode())
        case "error":
            return HttpRequest("POST", target, posted, b"{}")
        case _:
            raise AssertionError(f"{step} is a chat request")


def _user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def _with_tools(messages: list[dict[str, Any]], choice: Any, tokens: int = TOOL_TOKENS) -> ChatAsk:
    return ChatAsk(messages=messages, tools=TOOLS, tool_choice=choice, max_tokens=tokens)


@attrs.frozen
class Plain:
    """The answer to a request that is no chat: a status (0 when nothing came) and a body."""

    status: int
    body: bytes

    @property
    def value(self) -> Any:
        """The body's JSON where the request succeeded, else None."""
        if self.status != 200:
            return None
        try:
            return json.loads(self.body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
