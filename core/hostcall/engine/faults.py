"""What an engine answers when it does not answer: every shape of error, read into one value.

The kinds are what the loop can do something about. Shapes seen in the wild: ``{"error": {"message", "type", "code"}}``
(llama-server, vLLM, LM Studio), ``{"error": "text"}`` (Ollama), ``{"message", "object": "error"}`` (older vLLM),
``{"error_type", "error_message"}``, ``{"detail": …}`` (FastAPI hosts), plain text and HTML from proxies.
"""

import contextlib
import json
from typing import Any, Literal, TypeAlias

import attrs

FaultKind: TypeAlias = Literal[
    "overflow",  # the conversation is longer than the context
    "no_tools",  # the model does not know tools
    "needs_reasoning",  # the reasoning of tool rounds must be sent back
    "rejected",  # another 4xx: the request as it is will not be answered
    "unavailable",  # 5xx, still loading, no connection: asking again may help
    "busy",  # 429
    "access",  # 401, 403
    "idle",  # silent for too long
    "truncated",  # the stream broke off
    "oversize",  # more than the bounds allow
    "malformed",  # an answer that is none
]


@attrs.frozen
class EngineFault:
    """Why an engine gave no whole reply. `message` is for the operator and the log, not for the reader."""

    kind: FaultKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    """Seconds that the engine asks to wait."""
    prompt_tokens: int | None = None
    context_tokens: int | None = None


OVERFLOW_WORDS = (
    "exceed_context_size_error",
    "context_length_exceeded",
    "maximum context length",
    "context size",
    "exceeds the context length",
    "exceeds the available context",
    "context window",
    "prompt is too long",
)


NO_TOOLS_WORDS = (
    "does not support tools",  # Ollama, of a model
    "roles must alternate",  # chat templates that have no messages of the role tool
    "only user and assistant roles",
    "enable-auto-tool-choice",  # vLLM, when it was started without: no request with tools is answered but forced ones
)


def read_fault(
    status: int | None, body: bytes, *, retry_after: str | None = None, overflow_words: tuple[str, ...] = ()
) -> EngineFault:
    """Read the body of an error answer (or, with `status` None, of an error inside a stream)."""
    value: Any = None
    text = body.decode("utf-8-sig", "replace").strip()
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
    message, extra = _message(value)
    if not message:
        message = _first_line(text) or f"status {status}"
    return EngineFault(
        _kind(status, f"{message} {extra.get('type', '')} {extra.get('code', '')}".lower(), overflow_words),
        message[:500],
        status,
        _seconds(retry_after),
        _whole(extra.get("n_prompt_tokens")),
        _whole(extra.get("n_ctx")),
    )


def is_error(value: Any) -> bool:
    """Whether a decoded JSON value is an error rather than a chunk of a reply."""
    if not isinstance(value, dict):
        return False
    if value.get("error") or "error_message" in value:
        return True
    return value.get("object") == "error"


def _message(value: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, dict):
        return (value if isinstance(value, str) else ""), {}
    error = value.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or error), error
    if isinstance(error, str) and error:
        return error, value
    for key in ("message", "error_message", "detail"):
        if isinstance(value.get(key), str) and value[key]:
            return value[key], {**value, "type": value.get("error_type", value.get("type", ""))}
    return "", value


def _kind(status: int | None, words: str, overflow_words: tuple[str, ...]) -> FaultKind:
    if status not in (401, 403, 404) and any(word in words for word in (*OVERFLOW_WORDS, *overflow_words)):
        return "overflow"
    if any(word in words for word in NO_TOOLS_WORDS):
        return "no_tools"
    if "reasoning_content" in words and ("pass" in words or "missing" in words):
        return "needs_reasoning"
    if status is None or status >= 500:
        return "unavailable"
    if status == 429:
        return "busy"
    if status in (401, 403):
        return "access"
    return "rejected"


def _first_line(text: str) -> str:
    if text.startswith("<"):
        return "the answer is an HTML page, not an engine's"
    return text.split("\n", 1)[0][:300]


def _seconds(text: str | None) -> float | None:
    if text is None or not text.isascii() or not text.strip().isdigit():
        return None
    return float(text.strip()[:9])


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
