"""What an answer looks like on the wire: OpenAI's chunks, with a `hostcall` member where something else is told.

Every line is ASCII: JSON's own escapes keep U+2028, U+2029 and lone surrogates away from readers that split at them.
"""

import json
from typing import Any, assert_never

import attrs

from hostcall.commands import (
    Finish,
    LogFetch,
    Notice,
    ShowPage,
    ShowProgress,
    ShowReasoning,
    ShowRefusal,
    ShowSearch,
    ShowText,
)
from hostcall.data import Result, Source
from hostcall_drivers.chat.faults import ApiError

HEARTBEAT = b": waiting\n"
DONE = b"data: [DONE]\n\n"
_CUT = frozenset({"truncated", "deadline", "overflow"})


@attrs.define
class Chunks:
    """Writes the chunks of one answer.

    Args:
        answer_id: Names the answer in stream, log and journal.
        model: As the client called it.
        created: Seconds since 1970.
        usage: Whether the client asked for token counts at the end.
    """

    answer_id: str
    model: str
    created: int
    usage: bool
    _before: bytes = attrs.field(init=False)
    _known: int = 0
    """Sources that were told of."""

    def __attrs_post_init__(self) -> None:
        head = {"id": completion_id(self.answer_id), "object": "chat.completion.chunk", "created": self.created}
        # A token's chunk is written around its text: a dumped dictionary would cost three times as much.
        self._before = json.dumps({**head, "model": self.model}, separators=(",", ":"))[:-1].encode()

    def role(self) -> bytes:
        """Return the first chunk."""
        return self._chunk('{"role":"assistant","content":""}')

    def tell(self, notices: list[Notice]) -> bytes:
        """Return what a client is sent for some notices. Neighbouring pieces of text become one."""
        out: list[bytes] = []
        text: list[str] = []
        for notice in notices:
            if isinstance(notice, ShowText):
                text.append(notice.text)
                continue
            if text:
                out.append(self._text("content", "".join(text)))
                text.clear()
            match notice:
                case ShowReasoning():
                    out.append(self._text("reasoning_content", notice.text))
                case Finish():
                    out.append(self._end(notice.result))
                case LogFetch():
                    continue
                case _:
                    out += [self._progress(member) for member in self._members(notice)]
        if text:
            out.append(self._text("content", "".join(text)))
        return b"".join(out)

    def error(self, error: ApiError) -> bytes:
        """Return what ends a stream that cannot go on: an event with an error, and the end."""
        return b'data: {"error":' + _dump(error.member) + b"}\n\n" + DONE

    def _members(self, notice: ShowSearch | ShowPage | ShowRefusal | ShowProgress) -> list[dict[str, Any]]:
        members = [described(notice)]
        if isinstance(notice, ShowSearch):
            members += [self._source(result.number, result.title, result.address) for result in notice.results]
        elif isinstance(notice, ShowPage):
            members.append(self._source(notice.number, notice.title, notice.address))
        return [member for member in members if member]

    def _source(self, number: int, title: str, address: str) -> dict[str, Any]:
        """Tell of a source once, when it gets its number."""
        if number <= self._known:
            return {}
        self._known = number
        return {"type": "source", "number": number, "title": title, "address": address}

    def _end(self, result: Result) -> bytes:
        out = self._progress(finished(self.answer_id, result))
        fault = fault_of(result)
        if fault is not None:
            return out + self.error(fault)
        out += self._chunk("{}", finish=finish_reason(result))
        if self.usage:
            out += b"data: " + self._before + b',"choices":[],"usage":' + _dump(counts(result)) + b"}\n\n"
        return out + DONE

    def _text(self, field: str, text: str) -> bytes:
        return self._chunk(f'{{"{field}":{json.dumps(text)}}}')

    def _progress(self, member: dict[str, Any]) -> bytes:
        return self._chunk("{}", member=member)

    def _chunk(self, delta: str, *, finish: str | None = None, member: dict[str, Any] | None = None) -> bytes:
        reason = b"null" if finish is None else f'"{finish}"'.encode()
        more = b',"hostcall":' + _dump(member) if member is not None else b""
        choices = b',"choices":[{"index":0,"delta":' + delta.encode() + b',"finish_reason":' + reason + b"}]"
        return b"data: " + self._before + choices + more + b"}\n\n"


def completion(answer_id: str, model: str, created: int, result: Result, thought: str) -> dict[str, Any]:
    """Return the whole answer, for a client that did not ask for a stream."""
    message = {"role": "assistant", "content": result.text}
    if thought:
        message["reasoning_content"] = thought
    return {
        "id": completion_id(answer_id),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(result)}],
        "usage": counts(result),
        "hostcall": finished(answer_id, result),
    }


def completion_id(answer_id: str) -> str:
    """Return an answer's id as OpenAI's clients know it."""
    return f"chatcmpl-{answer_id}"


def described(notice: ShowSearch | ShowPage | ShowRefusal | ShowProgress) -> dict[str, Any]:
    """Return a notice as the value of a `hostcall` member."""
    match notice:
        case ShowSearch():
            results = [attrs.asdict(result, filter=lambda _, value: value != "") for result in notice.results]
            return {
                "type": "searched",
                "query": notice.query,
                "time_range": notice.time_range,
                "health": notice.health,
                "asked_by": notice.asked_by,
                "results": results,
            }
        case ShowPage():
            return {
                "type": "read",
                "number": notice.number,
                "title": notice.title,
                "address": notice.address,
                "asked_by": notice.asked_by,
            }
        case ShowRefusal():
            return {"type": "refused", "tool": notice.tool, "reason": notice.reason}
        case ShowProgress():
            kind = "round" if notice.kind == "round" else "progress"
            return {"type": kind, "kind": notice.kind, "text": notice.text, "round": notice.round}
    assert_never(notice)


def finished(answer_id: str, result: Result) -> dict[str, Any]:
    """Return the last thing that is told of an answer."""
    return {
        "type": "finished",
        "answer_id": answer_id,
        "why_stopped": result.why_stopped,
        "detail": fault.message if (fault := fault_of(result)) is not None else "",
        "from_reasoning": result.from_reasoning,
        "sources": [_listed(source) for source in result.ledger],
        "citations": [attrs.asdict(citation) for citation in result.citations],
        "quotes": [attrs.asdict(quote) for quote in result.quotes],
        "marks": list(result.marks),
        "budget": attrs.asdict(result.budget) if result.budget is not None else None,
        "usage": counts(result),
        "receipts": len(result.receipts),
        "receipts_head": result.receipts_head,
    }


def _listed(source: Source) -> dict[str, Any]:
    """Return a source as a client sends it back in `thor_sources`."""
    return attrs.asdict(source, filter=lambda _, value: value != "")


def counts(result: Result) -> dict[str, int]:
    """Return the tokens of all rounds together."""
    asked, written = result.usage.prompt_tokens, result.usage.completion_tokens
    return {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}


def finish_reason(result: Result) -> str:
    """Return OpenAI's word for how an answer ended. It is never `tool_calls`: what was called has run."""
    return "length" if result.cut or result.why_stopped in _CUT else "stop"


def fault_of(result: Result) -> ApiError | None:
    """Return what a client is told of an answer that is none; None when there is something to read.

    An engine's own words reach the client where they are about its request. What says where the engine is does not.
    """
    match result.why_stopped:
        case "engine_failed":
            return _engine_fault(result)
        case "cancelled":
            return ApiError(503, "the service is shutting down", code="cancelled", retry_after=5)
        case "overflow" if not result.text:
            return ApiError(400, f"the conversation is too long: {result.detail}", param="messages",
                            code="context_length_exceeded")  # fmt: skip
        case "truncated" if not result.text:
            return ApiError(502, "the engine's reply broke off before its first word", code="truncated")
        case "deadline" if not result.text:
            return ApiError(504, "there was no answer in the time that an answer may take", code="deadline")
    return None


def raise_fault(result: Result) -> None:
    """Raise what a client is told of an answer that is none.

    Raises:
        ApiError: The answer is none.
    """
    fault = fault_of(result)
    try:
        if fault is not None:
            raise fault
    finally:
        fault = None  # else it holds, by its traceback, this very frame, and the whole answer


def _engine_fault(result: Result) -> ApiError:
    match result.fault:
        case "rejected":
            return ApiError(400, f"the engine does not take the request: {result.detail}", code="engine_rejected")
        case "busy":
            return ApiError(429, "the engine is busy; try again later", code="engine_busy", retry_after=10)
        case "idle":
            return ApiError(504, "the engine was silent for too long", code="engine_silent")
        case "oversize" | "malformed":
            return ApiError(502, "the engine's reply could not be read", code="engine_failed")
        case _:
            return ApiError(503, "the engine is not available; try again later", code="engine_failed", retry_after=5)


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
