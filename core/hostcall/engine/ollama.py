"""Ollama's native ``/api/chat``: the request, the reader of its reply, and the question what a model can do.

Three things differ from the OpenAI wire: arguments are objects, a reply to a call names the tool, and the whole message
of the assistant, its thinking included, is sent back. There is no ``tool_choice``; a reply is forced with ``format``.
"""

import json
from collections.abc import Sequence
from typing import Any

import attrs

from hostcall.data import CallFragment, Capabilities, HttpRequest, Usage
from hostcall.engine.faults import EngineFault, is_error, read_fault
from hostcall.engine.history import Message, text_of
from hostcall.engine.ndjson import NdjsonDecoder
from hostcall.engine.openai import ERROR_BODY_BYTES, dump, read_content, read_count, read_fragment
from hostcall.engine.reply import ChatAsk, ReplyDecoder
from hostcall.engine.settings import Engine
from hostcall.events import ModelChunk
from hostcall.limits import Limits

HEADERS = (
    ("Content-Type", "application/json"),
    ("Accept", "application/x-ndjson, application/json"),
    ("Accept-Encoding", "identity"),
)


@attrs.frozen
class OllamaWire:
    """The wire of one answer."""

    engine: Engine
    limits: Limits

    def probe(self) -> HttpRequest | None:
        """Return the request that asks what the model can do, once a model."""
        if self.engine.capabilities.probed or self.engine.capabilities.rescue or self.engine.model is None:
            return None
        return HttpRequest("POST", "/api/show", HEADERS, dump({"model": self.engine.model}))

    def read_probe(self, status: int, body: bytes, capabilities: Capabilities) -> Capabilities:
        """Return what the answer to `probe` teaches. Either sign of tool support is enough.

        Built-in formats have no ``.Tools`` in their template, and old versions list no capabilities.
        """
        try:
            value = json.loads(body.decode("utf-8", "replace")) if status == 200 else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return capabilities
        named = value.get("capabilities")
        template = value.get("template")
        knows = (isinstance(named, list) and "tools" in named) or (isinstance(template, str) and ".Tools" in template)
        return attrs.evolve(capabilities, probed=True, rescue=not knows)

    def request(self, ask: ChatAsk) -> HttpRequest:
        """Return the request that asks for a streamed reply."""
        body: dict[str, Any] = dict(self.engine.extra_body)
        if self.engine.model is not None:
            body["model"] = self.engine.model
        body["messages"] = for_ollama(ask.messages, self.engine.capabilities)
        body["stream"] = True
        body.pop("tools", None)
        if ask.tools:
            body["tools"] = list(ask.tools)
        if ask.schema is not None:
            body["format"] = ask.schema
        if ask.max_tokens is not None:
            options = dict(body.get("options") or {})
            asked = options.get("num_predict")
            limit = ask.max_tokens
            options["num_predict"] = min(asked, limit) if isinstance(asked, int) and asked > 0 else limit
            body["options"] = options
        return HttpRequest("POST", "/api/chat", HEADERS, dump(body))

    def decoder(self, id: str) -> ReplyDecoder:
        """Return the reader of the reply to the request `id`."""
        return OllamaDecoder(id, self.limits, self.engine.capabilities.overflow_words)


@attrs.define
class OllamaDecoder:
    """The reader of one reply."""

    id: str
    limits: Limits
    overflow_words: tuple[str, ...] = ()
    fault: EngineFault | None = None
    ended: bool = False
    over: bool = False
    quirks: list[str] = attrs.Factory(list)
    reasoning_field: str | None = None
    _status: int = 200
    _retry_after: str | None = None
    _lines: NdjsonDecoder = attrs.field(init=False)
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0
    _valid: int = 0

    def __attrs_post_init__(self) -> None:
        self._lines = NdjsonDecoder(self.limits.event_bytes)

    def head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Take the head of the answer."""
        self._status = status
        self._retry_after = next((value for name, value in headers if name.lower() == "retry-after"), None)

    def feed(self, data: bytes) -> list[ModelChunk]:
        """Take the next bytes and return what they say."""
        if self.over:
            return []
        self._size += len(data)
        if self._status != 200:
            self._body.append(data[: max(ERROR_BODY_BYTES - self._size + len(data), 0)])
            if self._size >= ERROR_BODY_BYTES:
                self.over = True
                self.end()
            return []
        if self._size > self.limits.engine_bytes:
            return self._stop(EngineFault("oversize", f"more than {self.limits.engine_bytes} bytes in one reply"))
        chunks = self._read(self._lines.feed(data))
        if self._lines.oversize and not self.over:
            self._stop(EngineFault("oversize", f"a line is larger than {self.limits.event_bytes} bytes"))
        return chunks

    def end(self) -> list[ModelChunk]:
        """Say that the body ended, and return what was still held."""
        if self._status != 200:
            body = b"".join(self._body)
            self.fault = read_fault(
                self._status, body, retry_after=self._retry_after, overflow_words=self.overflow_words
            )
            return []
        chunks = [] if self.over else self._read(self._lines.end())
        if self.fault is None and not self.ended:
            if self._valid == 0:
                self.fault = EngineFault("malformed", "the body holds no line of a reply")
            else:
                self.fault = EngineFault("truncated", "the stream broke off before its last line")
        return chunks

    def _read(self, lines: list[bytes]) -> list[ModelChunk]:
        chunks: list[ModelChunk] = []
        for line in lines:
            if self.over:
                break
            try:
                value = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self._quirk("a line that is not JSON")
                continue
            if is_error(value):
                self._stop(read_fault(None, line, overflow_words=self.overflow_words))
                break
            if not isinstance(value, dict):
                self._quirk("a line that is no object")
                continue
            self._valid += 1
            chunk = self._chunk(value)
            if chunk is not None:
                chunks.append(chunk)
        return chunks

    def _chunk(self, value: dict[str, Any]) -> ModelChunk | None:
        message = value.get("message")
        if not isinstance(message, dict):
            self._quirk("a line without a message")
            message = {}
        finish = None
        usage = None
        if value.get("done") is True:
            self.ended = self.over = True
            reason = value.get("done_reason")
            finish = reason if isinstance(reason, str) else "stop"
            counts = [value.get("prompt_eval_count"), value.get("eval_count")]
            if any(isinstance(count, int) for count in counts):
                usage = Usage(*map(read_count, counts))
        thinking = message.get("thinking")
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            self._quirk("tool_calls that are no list")
        return ModelChunk(
            id=self.id,
            text=read_content(message.get("content")),
            reasoning=thinking if isinstance(thinking, str) else "",
            calls=self._calls(calls) if isinstance(calls, list) else (),
            finish=finish,
            usage=usage,
        )

    def _calls(self, calls: list[Any]) -> tuple[CallFragment, ...]:
        """Return the calls of a line. Each is whole; the index stands inside `function`, and may be 0 for all."""
        fragments = []
        for call in calls:
            fragment = read_fragment(call) if isinstance(call, dict) else None
            if fragment is None or not fragment.name:
                self._quirk("a tool call without a name")
                continue
            fragments.append(attrs.evolve(fragment, index=0, arguments=fragment.arguments or {}))
        return tuple(fragments)

    def _stop(self, fault: EngineFault) -> list[ModelChunk]:
        self.fault = fault
        self.over = True
        return []

    def _quirk(self, text: str) -> None:
        if text not in self.quirks:
            self.quirks.append(text)


def for_ollama(messages: Sequence[Message], capabilities: Capabilities) -> list[Message]:
    """Return messages of the OpenAI shape as Ollama wants them."""
    names: dict[str, str] = {}
    written = []
    for message in messages:
        content = message.get("content")
        made: Message = {"role": message["role"], "content": text_of(content)}
        images = _images(content)
        if images:
            made["images"] = images
        calls = message.get("tool_calls")
        if calls:
            made["tool_calls"] = [_call(call) for call in calls]
            names.update((call["id"], call["function"]["name"]) for call in calls)
        reasoning = message.get("reasoning_content")
        if reasoning and (
            capabilities.echo_reasoning == "always" or (calls and capabilities.echo_reasoning != "never")
        ):
            made["thinking"] = reasoning
        if message["role"] == "tool":
            made["tool_name"] = names.get(message["tool_call_id"], "")
            made["tool_call_id"] = message["tool_call_id"]
        written.append(made)
    return written


def _call(call: Message) -> Message:
    function = call["function"]
    arguments = json.loads(function["arguments"])
    return {"id": call["id"], "function": {"name": function["name"], "arguments": arguments}}


def _images(content: Any) -> list[str]:
    """Return the images of a message that stand in it; an address of one is not fetched for an engine."""
    if not isinstance(content, list):
        return []
    urls = [part["image_url"].get("url", "") for part in content if isinstance(part.get("image_url"), dict)]
    return [url.partition(";base64,")[2] for url in urls if url.startswith("data:") and ";base64," in url]
