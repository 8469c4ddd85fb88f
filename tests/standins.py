"""Engines that stand in for real ones: each speaks its kind's wire rightly but for the quirks that it is given.

The shapes are those of llama-server, vLLM, LM Studio and Ollama as they were read in source and recordings. The model
behind them is a few rules: it calls a tool when it is told to, obeys a schema, and answers from results with ``[1]``.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import attrs

from hostcall.engine.rescue import OPENER

Kind: TypeAlias = Literal["openai", "llama-server", "vllm", "lm-studio", "ollama"]
OWNERS: dict[str, str] = {
    "openai": "somebody",
    "llama-server": "llamacpp",
    "vllm": "vllm",
    "lm-studio": "organization_owner",
    "ollama": "library",
}
Reply: TypeAlias = tuple[int, str, bytes]
"""Status, content type, body."""


@attrs.define
class StandIn:
    """One engine. `quirks` are words that the methods below look for."""

    kind: Kind
    quirks: frozenset[str] = frozenset()
    model: str = "m"
    asked: list[tuple[str, Any]] = attrs.Factory(list)
    """Path and body of every request."""

    def answer(self, target: str, raw: bytes) -> Reply:
        """Answer a request."""
        body = json.loads(raw) if raw.strip() else None
        self.asked.append((target, body))
        match target:
            case "/v1/models":
                return self._json({"data": [self._listed()]})
            case "/props" if self.kind == "llama-server":
                caps = {"supports_tools": "no template" not in self.quirks}
                return self._json({"default_generation_settings": {"n_ctx": self._context}, "chat_template_caps": caps})
            case "/api/v0/models" if self.kind == "lm-studio":
                return self._json({"data": [{"id": self.model, "loaded_context_length": self._context}]})
            case "/api/show" if self.kind == "ollama":
                tools = "no tools" not in self.quirks
                named = ["completion", "tools"] if tools else ["completion"]
                return self._json({"capabilities": named, "template": "{{ .Tools }}" if tools else "{{ .Prompt }}"})
            case "/api/ps" if self.kind == "ollama":
                return self._json({"models": [{"name": self.model, "context_length": self._context}]})
            case "/api/version" if self.kind == "ollama":
                return self._json({"version": "0.40.15"})
            case "/api/chat" if self.kind == "ollama":
                return self._ollama(body)
            case "/v1/chat/completions":
                return self._openai(body)
            case _:
                return 404, "application/json", b'{"error": "not found"}'

    @property
    def chats(self) -> list[Any]:
        """The bodies of the chat requests."""
        return [body for path, body in self.asked if path.endswith(("/chat", "/completions"))]

    @property
    def _context(self) -> int:
        return 4_096 if "short context" in self.quirks else 32_768

    def _listed(self) -> dict[str, Any]:
        listed: dict[str, Any] = {"id": self.model, "owned_by": OWNERS[self.kind]}
        if self.kind == "vllm":
            listed["max_model_len"] = self._context
        return {} if "no models" in self.quirks else listed

    @staticmethod
    def _json(value: Any, status: int = 200) -> Reply:
        return status, "application/json", json.dumps(value).encode()

    # The model.

    def _says(self, body: dict[str, Any], *, choice: str | None, schema: Any) -> tuple[str, list[tuple[str, Any]]]:
        """Return the text and the calls of a reply."""
        messages, tools = body["messages"], body.get("tools") or []
        last = str(messages[-1].get("content") or "")
        if "strips tools" in self.quirks or "no template" in self.quirks:
            tools, choice = [], None
        if schema is not None and "schema ignored" not in self.quirks:
            return json.dumps(instance(schema)), []
        first = str(messages[0].get("content") or "") if messages[0]["role"] == "system" else ""
        described = re.findall(r'\[TOOL_CALL\](\{"name": "\w+".*?\})\[/TOOL_CALL\]', first)
        if described and "Result of" not in last and not last.endswith("Call no tool."):
            return f"{OPENER}{described[0]}[/TOOL_CALL]", []
        done = messages[-1]["role"] == "tool" or "Write the answer now" in last
        if "never calls" in self.quirks and choice != "required":
            done = True
        wanted = choice == "required" or (not done and choice != "none" and "the tool get_weather" in last)
        if not tools or done or not wanted:
            return ("The answer." if "cites nothing" in self.quirks else "The answer stands there [1]."), []
        function = tools[0]["function"]
        arguments = instance({**function["parameters"], "properties": _required(function["parameters"])})
        count = 2 if "twice" in last and "one call" not in self.quirks else 1
        return "", [(function["name"], {**arguments, **({"city": "Toronto"} if n else {})}) for n in range(count)]

    # The wires.

    def _openai(self, body: Any) -> Reply:
        if not isinstance(body, dict) or "messages" not in body:
            if "plain errors" in self.quirks:
                return 400, "text/plain", b"Bad Request"
            return self._json({"error": {"message": "messages is required", "type": "invalid_request_error"}}, 400)
        choice = body.get("tool_choice")
        if choice == "required" and "required refused" in self.quirks:
            return self._json({"error": {"message": "tool_choice required is not supported with thinking"}}, 400)
        if "no auto flag" in self.quirks and body.get("tools") and choice in (None, "auto"):
            said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            return self._json({"error": {"message": said, "type": "BadRequestError", "code": 400}}, 400)
        if "no tool results" in self.quirks and any(m["role"] == "tool" for m in body["messages"]):
            return self._json({"error": {"message": "Conversation roles must alternate"}}, 400)
        if choice == "required" and "required ignored" in self.quirks:
            choice = "none"
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        text, calls = self._says(body, choice=choice, schema=schema)
        finish = "tool_calls" if calls else "stop"
        if choice == "required" and "empty required" in self.quirks:
            calls = []
            finish = "tool_calls" if self.kind == "vllm" else "stop"
        if calls and "text calls" in self.quirks and choice != "required":
            text, calls, finish = "".join(map(_hermes, calls)), [], "stop"
        if calls and "tool requests" in self.quirks:
            text, calls, finish = "".join(map(_request, calls)), [], "stop"
        if calls and choice == "required" and "xml calls" in self.quirks:
            text, calls, finish = "".join(map(_xml, calls)), [], "stop"
        thinks = "thinks to the end" in self.quirks and choice == "required"
        if thinks:
            text, calls, finish = "", [], "length"
        if "not streamed" in self.quirks:
            message = {"role": "assistant", "content": text, "tool_calls": [_whole(n, c) for n, c in enumerate(calls)]}
            choices = [{"index": 0, "message": message, "finish_reason": finish}]
            return self._json({"object": "chat.completion", "choices": choices, "usage": self._usage(body)})
        events = list(self._deltas(text, calls, thinks=thinks))
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in events
        ]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if "no usage" not in self.quirks:
            chunks.append({"choices": [], "usage": self._usage(body)})
        stream = "".join(f"data: {json.dumps({'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks)
        if "cut streams" in self.quirks and calls:
            return 200, "text/event-stream", "".join(stream.partition("\n\n")[:2]).encode()
        if "keep-alives" in self.quirks:
            stream = ":\n\n" + stream
        return 200, "text/event-stream", f"{stream}data: [DONE]\n\n".encode()

    def _deltas(self, text: str, calls: list[tuple[str, Any]], *, thinks: bool) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": None}
        if thinks or "reasons" in self.quirks:
            yield {("reasoning" if self.kind == "vllm" else "reasoning_content"): "Let me think."}
        for piece in (text[:7], text[7:]):
            if piece:
                yield {"content": piece}
        for number, call in enumerate(calls):
            whole = _whole(number, call)
            if "index zero" in self.quirks:
                whole["index"] = 0
            if "no index" in self.quirks:
                del whole["index"]
            if "no ids" in self.quirks:
                del whole["id"]
            if "same id" in self.quirks:
                whole["id"] = "call_0"
            yield {"tool_calls": [whole]}

    def _usage(self, body: dict[str, Any]) -> dict[str, int]:
        seen = body.get("tools") if not self.quirks & {"strips tools", "no template"} else None
        prompt = len(json.dumps(body["messages"])) // 4 + (len(json.dumps(seen)) // 4 if seen else 0)
        return {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}

    def _ollama(self, body: Any) -> Reply:
        if not isinstance(body, dict) or "model" not in body:
            return self._json({"error": "model is required"}, 400)
        if body.get("tools") and "no tools" in self.quirks:
            said = f"registry.ollama.ai/library/{self.model}:latest does not support tools"
            return self._json({"error": said}, 400)
        text, calls = self._says(body, choice=None, schema=body.get("format"))
        last = {"prompt_eval_count": self._usage(body)["prompt_tokens"], "eval_count": 7, "total_duration": 10}
        lines: list[dict[str, Any]] = []
        if "reasons" in self.quirks:
            lines.append({"message": {"role": "assistant", "content": "", "thinking": "Let me think."}})
        lines += [{"message": {"role": "assistant", "content": piece}} for piece in (text[:7], text[7:]) if piece]
        for number, (name, arguments) in enumerate(calls):
            function = {"index": number, "name": name, "arguments": arguments}
            message = {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": f"call_{number}", "function": function}],
            }
            lines.append({"message": message})
        if len(calls) > 1 and "error line" in self.quirks:
            lines = [{"error": "error parsing tool call: raw='{\"city\"'"}]
        else:
            lines.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **last})
        written = "".join(json.dumps({"model": self.model, "done": False, **line}) + "\n" for line in lines)
        return 200, "application/x-ndjson", written.encode()


def instance(schema: Any) -> Any:
    """Return a value that fits a schema."""
    if "anyOf" in schema:
        return instance(schema["anyOf"][0])
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: instance(member) for name, member in schema.get("properties", {}).items()}
        case "array":
            return [instance(schema["items"])]
        case "integer":
            return 1
        case _:
            return "kettle"


def _required(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: parameters["properties"][name] for name in parameters.get("required", ())}


def _whole(number: int, call: tuple[str, Any]) -> dict[str, Any]:
    function = {"name": call[0], "arguments": json.dumps(call[1])}
    return {"index": number, "id": f"call_{number}", "type": "function", "function": function}


def _hermes(call: tuple[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps({'name': call[0], 'arguments': call[1]})}\n</tool_call>\n"


def _request(call: tuple[str, Any]) -> str:
    return f"[TOOL_REQUEST]{json.dumps({'name': call[0], 'arguments': call[1]})}[END_TOOL_REQUEST]\n"


def _xml(call: tuple[str, Any]) -> str:
    members = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in call[1].items())
    return f"<tool_call>\n<function={call[0]}>\n{members}</function>\n</tool_call>\n"
