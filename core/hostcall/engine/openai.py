"""``/v1/chat/completions``: the request, and the reader of its reply.

The reader takes what llama-server, vLLM, LM Studio, Ollama's ``/v1`` and the proxies before them really send: a stream
of server-sent events, or one JSON body where a stream was asked for; chunks without choices, deltas that are null,
content that is null, a text or a list of parts; errors in every shape; a last chunk that still carries content.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

import attrs

from hostcall.data import CallFragment, Capabilities, HttpRequest, Usage
from hostcall.engine.faults import EngineFault, is_error, read_fault
from hostcall.engine.history import for_openai
from hostcall.engine.pattern import ChunkPattern
from hostcall.engine.reply import ChatAsk, ReplyDecoder
from hostcall.engine.settings import Engine
from hostcall.engine.sse import ServerEvent, SseDecoder
from hostcall.events import ModelChunk
from hostcall.limits import Limits

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
ERROR_BODY_BYTES = 65_536
HEADERS = (
    ("Content-Type", "application/json"),
    ("Accept", "text/event-stream, application/json"),
    ("Accept-Encoding", "identity"),
)


@attrs.frozen
class OpenAIWire:
    """The wire of one answer."""

    engine: Engine
    limits: Limits

    def probe(self) -> HttpRequest | None:
        """Return None: a host of this wire tells nothing of its models that could be asked for."""
        return None

    def read_probe(self, status: int, body: bytes, capabilities: Capabilities) -> Capabilities:
        """Return what was known."""
        return capabilities

    def request(self, ask: ChatAsk) -> HttpRequest:
        """Return the request that asks for a streamed reply."""
        body: dict[str, Any] = dict(self.engine.extra_body)
        if self.engine.model is not None:
            body["model"] = self.engine.model
        body["messages"] = for_openai(ask.messages, self.engine.capabilities)
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
        for decided in ("tools", "tool_choice", "parallel_tool_calls", "response_format"):
            body.pop(decided, None)
        if ask.tools:
            body["tools"] = list(ask.tools)
            # vLLM up to 2025 keeps one call of several when the field is absent.
            body["parallel_tool_calls"] = True
            if ask.tool_choice is not None:
                body["tool_choice"] = ask.tool_choice
        if ask.max_tokens is not None:
            asked = body.get("max_tokens")
            body["max_tokens"] = min(asked, ask.max_tokens) if isinstance(asked, int) else ask.max_tokens
        if ask.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "call", "strict": True, "schema": ask.schema},
            }
        return HttpRequest("POST", "/v1/chat/completions", HEADERS, dump(body))

    def decoder(self, id: str) -> ReplyDecoder:
        """Return the reader of the reply to the request `id`."""
        return OpenAIDecoder(id, self.limits, self.engine.capabilities.overflow_words)


def dump(value: Any) -> bytes:
    """Return `value` as JSON in UTF-8; lone surrogates, which no engine takes, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@attrs.define
class OpenAIDecoder:
    """The reader of one reply."""

    id: str
    limits: Limits
    overflow_words: tuple[str, ...] = ()
    fault: EngineFault | None = None
    ended: bool = False
    over: bool = False
    quirks: list[str] = attrs.Factory(list)
    reasoning_field: str | None = None
    _mode: Literal["unknown", "sse", "json", "error"] = "unknown"
    _status: int = 200
    _retry_after: str | None = None
    _sse: SseDecoder = attrs.field(init=False)
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0
    _valid: int = 0
    _pattern: ChunkPattern = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sse = SseDecoder(self.limits.event_bytes)
        self._pattern = ChunkPattern(_plain_text)

    def head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Take the head of the answer."""
        self._status = status
        fields = {name.lower(): value for name, value in headers}
        self._retry_after = fields.get("retry-after")
        if status != 200:
            self._mode = "error"
        elif "event-stream" in fields.get("content-type", "").lower():
            self._mode = "sse"

    def feed(self, data: bytes) -> list[ModelChunk]:
        """Take the next bytes and return what they say."""
        if self.over:
            return []
        self._size += len(data)
        if self._mode == "error":
            self._body.append(data[: max(ERROR_BODY_BYTES - self._size + len(data), 0)])
            if self._size >= ERROR_BODY_BYTES:
                self.over = True
                self.end()
            return []
        if self._size > self.limits.engine_bytes:
            return self._stop(EngineFault("oversize", f"more than {self.limits.engine_bytes} bytes in one reply"))
        if self._mode == "unknown":
            # A JSON body where a stream was asked for starts with a brace; a stream never does.
            first = (b"".join(self._body) + data).lstrip(b"\xef\xbb\xbf \t\r\n")
            if not first:
                self._body.append(data)
                return []
            self._mode = "json" if first.startswith(b"{") else "sse"
            if self._mode == "sse":
                data = b"".join(self._body) + data
                self._body.clear()
        if self._mode == "json":
            self._body.append(data)
            return []
        chunks = self._events(self._sse.feed(data))
        if self._sse.oversize and not self.over:
            self._stop(EngineFault("oversize", f"an event is larger than {self.limits.event_bytes} bytes"))
        return chunks

    def end(self) -> list[ModelChunk]:
        """Say that the body ended, and return what was still held."""
        if self._mode == "error":
            self.fault = read_fault(
                self._status,
                b"".join(self._body),
                retry_after=self._retry_after,
                overflow_words=self.overflow_words,
            )
            return []
        if self._mode == "json" and not self.over:
            return self._whole(b"".join(self._body))
        chunks = [] if self.over else self._events(self._sse.end())
        if self.fault is None and not self.ended:
            if self._valid == 0:
                self.fault = EngineFault("malformed", "the body holds no chunk of a reply")
            else:
                self.fault = EngineFault("truncated", "the stream broke off: no finish reason and no [DONE]")
        return chunks

    def _events(self, events: list[ServerEvent]) -> list[ModelChunk]:
        """Read events into chunks; neighbours that only bring text become one."""
        chunks: list[ModelChunk] = []
        text: list[str] = []
        for event in events:
            if self.over:
                break
            data = event.data
            plain = self._pattern.text(data) if not event.name else None
            if plain is not None:
                self._valid += 1
                text.append(plain)
                continue
            if event.name == "error":
                self._flush(chunks, text)
                self._stop(read_fault(None, data, overflow_words=self.overflow_words))
                break
            if data.startswith(b"[DONE]"):
                self.ended = True
                self.over = True
                break
            try:
                value = json.loads(data.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self._quirk("a chunk that is not JSON")
                continue
            plain = _plain_text(value)
            if plain is not None:
                self._pattern.learn(data)
                self._valid += 1
                text.append(plain)
                continue
            if is_error(value):
                self._flush(chunks, text)
                self._stop(read_fault(None, data, overflow_words=self.overflow_words))
                break
            piece = self._chunk(value)
            if piece is None:
                continue
            if piece.text and not piece.reasoning and not piece.calls and piece.finish is None and piece.usage is None:
                text.append(piece.text)
            else:
                self._flush(chunks, text)
                chunks.append(piece)
        self._flush(chunks, text)
        return chunks

    def _flush(self, chunks: list[ModelChunk], text: list[str]) -> None:
        if text:
            chunks.append(ModelChunk(id=self.id, text="".join(text)))
            text.clear()

    def _chunk(self, value: Any, part: str = "delta") -> ModelChunk | None:
        if not isinstance(value, dict):
            self._quirk("a chunk that is no object")
            return None
        self._valid += 1
        usage = read_usage(value.get("usage"))
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ModelChunk(id=self.id, usage=usage) if usage is not None else None
        finish = choice.get("finish_reason")
        if not isinstance(finish, str) or not finish:
            finish = None
        else:
            self.ended = True
        delta = choice.get(part)
        if not isinstance(delta, dict):
            if finish is None and usage is None:
                return None
            return ModelChunk(id=self.id, finish=finish, usage=usage)
        calls = delta.get("tool_calls")
        return ModelChunk(
            id=self.id,
            text=read_content(delta.get("content")),
            reasoning=self._reasoning(delta),
            calls=tuple(map(read_fragment, filter(_is_object, calls))) if isinstance(calls, list) else (),
            finish=finish,
            usage=usage,
        )

    def _reasoning(self, delta: dict[str, Any]) -> str:
        for field in REASONING_FIELDS:
            text = delta.get(field)
            if isinstance(text, str) and text:
                if self.reasoning_field is None:
                    self.reasoning_field = field
                return text
        return ""

    def _whole(self, body: bytes) -> list[ModelChunk]:
        try:
            value = json.loads(body.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            self.fault = EngineFault("malformed", "the body starts like JSON and is none")
            return []
        if is_error(value):
            self.fault = read_fault(None, body, overflow_words=self.overflow_words)
            return []
        chunk = self._chunk(value, "message")
        if chunk is None or not isinstance(value.get("choices"), list):
            self.fault = EngineFault("malformed", "the body is JSON, but no reply")
            return []
        self._quirk("one JSON body where a stream was asked for")
        self.ended = True
        return [chunk]

    def _stop(self, fault: EngineFault) -> list[ModelChunk]:
        self.fault = fault
        self.over = True
        return []

    def _quirk(self, text: str) -> None:
        if text not in self.quirks:
            self.quirks.append(text)


def _plain_text(value: Any) -> str | None:
    """Return the text of a chunk that brings text and nothing else, as nearly all of a stream's chunks do."""
    if type(value) is not dict or "error" in value or value.get("usage") is not None:
        return None
    choices = value.get("choices")
    if type(choices) is not list or not choices or type(choices[0]) is not dict:
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if type(delta) is not dict or len(delta) != 1 or choice.get("finish_reason") is not None:
        return None
    content = delta.get("content")
    return content if type(content) is str else None


def read_content(content: Any) -> str:
    """Return the text of a message's content: a text, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if _is_object(part) and isinstance(part.get("text"), str))
    return ""


def read_usage(value: Any) -> Usage | None:
    """Return the token counts of a usage object, if it is one."""
    if not isinstance(value, dict):
        return None
    return Usage(read_count(value.get("prompt_tokens")), read_count(value.get("completion_tokens")))


def read_count(value: Any) -> int:
    """Return a number of tokens; what is none counts as 0."""
    return value if type(value) is int and value > 0 else 0


def read_fragment(value: dict[str, Any]) -> CallFragment:
    """Return one member of ``tool_calls``, whatever it lacks."""
    function = value.get("function")
    if not isinstance(function, dict):
        function = {}
    index, id_, name, arguments = value.get("index"), value.get("id"), function.get("name"), function.get("arguments")
    return CallFragment(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        id=id_ if isinstance(id_, str) else None,
        name=name if isinstance(name, str) else None,
        arguments=arguments if isinstance(arguments, str | dict) else None,
    )


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
