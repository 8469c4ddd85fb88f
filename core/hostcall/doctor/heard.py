"""One reply to the doctor's question, listened to: text, calls in either form, and everything odd about it."""

from collections.abc import Sequence
from typing import Any

import attrs

from hostcall.data import CallFragment, Usage
from hostcall.engine.faults import EngineFault
from hostcall.engine.merge import CallMerger, MergedCall
from hostcall.engine.reply import ReplyDecoder
from hostcall.events import ModelChunk
from hostcall.tooltext import Text, TextFilter, ToolCall

ARGUMENTS_CHARS = 65_536
DIALECTS = ("auto", "bare-json", "fenced-json", "fenced")


@attrs.frozen(kw_only=True)
class Heard:
    """What one reply came to."""

    status: int
    text: str
    """The text that a reader would see."""
    reasoning: bool
    fragments: tuple[CallFragment, ...]
    calls: tuple[MergedCall, ...]
    written: tuple[ToolCall, ...]
    """Calls that were written into the text."""
    finish: str | None
    usage: Usage | None
    fault: EngineFault | None
    quirks: tuple[str, ...]
    reasoning_field: str | None
    comments: int
    """Comment lines of the stream: keep-alives."""

    @property
    def called(self) -> bool:
        """Whether there is a call, in either form."""
        return bool(self.calls or self.written)

    @property
    def refused(self) -> bool:
        """Whether the engine will not take such a request."""
        return self.fault is not None and self.fault.kind in ("rejected", "no_tools", "needs_reasoning", "overflow")

    @property
    def how(self) -> str:
        """The reply in a few words, where a call was wanted."""
        if self.fault is not None:
            return f"answered with an error ({self.fault.message[:120]})"
        if self.calls:
            return "called"
        if self.written:
            return f"called in its text ({self.written[0].dialect})"
        if not self.text.strip():
            return "answered with nothing"
        return "answered in prose" + (" up to its length limit" if self.finish == "length" else "")


@attrs.define
class Listener:
    """Listens to one reply."""

    tools: Sequence[dict[str, Any]]
    decoder: ReplyDecoder
    _status: int = 0
    _chunks: list[ModelChunk] = attrs.Factory(list)
    _tail: bytes = b"\n"
    _comments: int = 0

    def head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Take the head."""
        self._status = status
        self.decoder.head(status, headers)

    def feed(self, data: bytes) -> bool:
        """Take the next bytes; True: no more are wanted."""
        self._comments += (self._tail + data).count(b"\n:")
        self._tail = data[-1:] if data[-1:] == b"\n" else b""
        self._chunks += self.decoder.feed(data)
        return self.decoder.over and self.decoder.fault is not None

    def end(self, fault: EngineFault | None = None) -> Heard:
        """Return what was heard. A `fault` of the connection counts where the reply itself had none."""
        if self._status:
            self._chunks += self.decoder.end()
        fault = self.decoder.fault or (None if self.decoder.ended else fault)
        merger = CallMerger(ARGUMENTS_CHARS)
        fragments = [fragment for chunk in self._chunks for fragment in chunk.calls]
        for fragment in fragments:
            merger.add(fragment)
        finish = next((chunk.finish for chunk in reversed(self._chunks) if chunk.finish), None)
        text_filter = TextFilter(self.tools, dialects=DIALECTS)
        pieces = text_filter.feed("".join(chunk.text for chunk in self._chunks))
        pieces += text_filter.finish("length" if finish == "length" else "stop")
        return Heard(
            status=self._status,
            text="".join(piece.text for piece in pieces if isinstance(piece, Text)),
            reasoning=any(chunk.reasoning for chunk in self._chunks),
            fragments=tuple(fragments),
            calls=tuple(call for call in merger.calls() if call.name),
            written=tuple(piece for piece in pieces if isinstance(piece, ToolCall)),
            finish=finish,
            usage=next((chunk.usage for chunk in reversed(self._chunks) if chunk.usage is not None), None),
            fault=fault,
            quirks=tuple(self.decoder.quirks),
            reasoning_field=self.decoder.reasoning_field,
            comments=self._comments,
        )
