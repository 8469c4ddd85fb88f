"""One request to the engine and its reply: bytes in; text, reasoning and calls out.

The reply's text runs through the filter for calls that models write into it; what comes out as text is shown at once.
In a *forced* round it is held until a call comes, because an engine that ignored the force writes an answer that nobody
should read. A failure before the first byte of text is asked again once.
"""

import enum
import json
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import attrs

from hostcall.answer.statements import Statements
from hostcall.commands import CallEngine, Cancel, Command, ShowProgress, ShowReasoning, ShowText, Wait
from hostcall.data import JsonObject, Usage
from hostcall.engine.faults import EngineFault
from hostcall.engine.merge import CallMerger, MergedCall
from hostcall.engine.plain import is_plain, read_object
from hostcall.engine.reply import ChatAsk, ReplyDecoder, Wire
from hostcall.errors import LocalProtocolError
from hostcall.events import (
    BodyReceived,
    Failed,
    ModelChunk,
    ModelEnded,
    RequestEvent,
    ResponseEnded,
    ResponseStarted,
    Woken,
)
from hostcall.limits import Limits
from hostcall.tooltext import Reasoning, Remark, Text, TextFilter, ToolCall

NAME_WITHIN = 1_000
"""Characters of a broken call in which its name is looked for."""

_NAME = re.compile(r'"name"\s{0,9}:\s{0,9}"([A-Za-z0-9_.-]{1,64})"')

CLOSE_SECONDS = 0.5
"""How long a whole reply's connection is given to end."""

FinishReason: TypeAlias = Literal["stop", "length"] | None


class State(enum.Enum):
    """Where a round stands."""

    IDLE = "idle"
    CALLING = "calling"  # asked, no byte yet
    READING = "reading"
    CLOSING = "closing"  # the reply is whole, its connection is not yet
    WAITING = "waiting"  # before asking again
    DONE = "done"


ACCEPTS: dict[State, tuple[type, ...]] = {
    State.IDLE: (),
    State.CALLING: (ResponseStarted, ModelChunk, ModelEnded, Failed),
    State.READING: (BodyReceived, ResponseEnded, ModelChunk, ModelEnded, Failed),
    State.CLOSING: (BodyReceived, ResponseEnded, Woken, Failed),
    State.WAITING: (Woken, Failed),
    State.DONE: (),
}


@attrs.frozen(kw_only=True)
class AskedCall:
    """A call that a reply holds. `arguments` is None when what was written is no object; `problem` then says why."""

    id: str
    name: str
    arguments: JsonObject | None
    raw: str
    """The arguments as they were written."""
    problem: str = ""
    """Empty, ``unparsed``, ``cut`` or ``oversize``."""


@attrs.frozen(kw_only=True)
class Reply:
    """What a round came to."""

    text: str
    reasoning: str
    """As the engine's own field had it, byte for byte: it may have to be sent back."""
    thought: str
    """All reasoning that was shown, tags in the text included."""
    calls: tuple[AskedCall, ...]
    fault: EngineFault | None
    usage: Usage
    quirks: tuple[str, ...]
    reasoning_field: str | None
    requests: int
    """Engine requests used, for the ids of the next one."""
    cut: bool = False
    """Whether the engine stopped at a length limit."""

    @property
    def blank(self) -> bool:
        """Whether there is nothing to read and nothing to run."""
        return not self.calls and not self.text.strip()


@attrs.define
class Reader:
    """What the reader has been shown: rounds are parted by a blank line."""

    _last: str = ""
    _round: int = 0

    def show(self, text: str, round: int) -> list[Command]:
        """Return the notice for a piece of text."""
        if not text:
            return []
        gap = ""
        if self._round and round != self._round:
            gap = "\n" * (2 - (len(self._last) - len(self._last.rstrip("\n"))))
        self._round = round
        self._last = (self._last + text)[-2:]
        return [ShowText(gap + text, round)]


@attrs.define(kw_only=True)
class Round:
    """The machine of one engine request, its retry included."""

    id: str
    number: int
    ask: ChatAsk
    wire: Wire
    limits: Limits
    reader: Reader
    make_filter: Callable[[bool], TextFilter]
    """Makes a filter; the argument says whether it starts inside reasoning."""
    forced: bool
    """Whether a call is forced, and text waits for it."""
    statements: bool = False
    """Whether the reply is an answer in the form of `Statements`."""
    first_request: int
    """The number of the first engine request in this round's ids."""
    deadline: Callable[[], float]
    state: State = State.IDLE
    result: Reply | None = None
    _hold: bool = attrs.field(init=False)
    _request: str = ""
    _requests: int = 0
    _retried: bool = False
    _decoder: ReplyDecoder | None = None
    _filter: TextFilter = attrs.field(init=False)
    _inner: TextFilter | None = None
    """The filter of the engine's own reasoning field: models call from inside their thoughts."""
    _merger: CallMerger = attrs.field(init=False)
    _form: Statements | None = None
    _text: list[str] = attrs.Factory(list)
    _held: list[str] = attrs.Factory(list)
    _reasoning: list[str] = attrs.Factory(list)
    _thought: list[str] = attrs.Factory(list)
    asked: list[AskedCall] = attrs.field(factory=list, init=False)
    """The calls that are whole by now, in the order that they became so; and one cut short, where text shows it."""
    _finish: str | None = None
    _usage: Usage = Usage()

    def __attrs_post_init__(self) -> None:
        self._reset()

    def start(self, now: float) -> list[Command]:
        """Ask the engine."""
        return self._call(now)

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take a piece of the engine's answer."""
        if not isinstance(event, ACCEPTS[self.state]):
            raise LocalProtocolError(f"{type(event).__name__} while the round is {self.state.value}")
        if self.state is State.CLOSING:
            return self._closed(event, now)
        match event:
            case ResponseStarted():
                self.state = State.READING
                self._decoder = self.wire.decoder(event.id)
                self._decoder.head(event.status, event.headers)
                return []
            case BodyReceived():
                return self._bytes(event, now)
            case ModelChunk():
                self.state = State.READING
                return self._chunks([event])
            case ResponseEnded():
                return self._ended(now)
            case ModelEnded():
                return self._end(None, now)
            case Woken():
                return self._call(now)
            case Failed():
                return self._failed(event, now)
            case _:
                raise AssertionError("the table lets nothing else through")

    def stop(self, fault: EngineFault | None) -> Reply:
        """End the round where it stands, for a cancel or a deadline. A held tag is dropped."""
        self.state = State.DONE
        self.result = self._reply(fault, ())
        return self.result

    # The request.

    def _call(self, now: float) -> list[Command]:
        self.state = State.CALLING
        self._request = f"{self.id}.e{self.first_request + self._requests}"
        self._requests += 1
        request = self.wire.request(self.ask)
        return [
            CallEngine(
                id=self._request,
                deadline=self.deadline(),
                request=request,
                idle=self.limits.engine_idle,
            )
        ]

    def _reset(self) -> None:
        self._decoder = None
        self._filter = self.make_filter(False)
        self._inner = None
        self._merger = CallMerger(self.limits.arguments_bytes)
        for part in (self._text, self._held, self._reasoning, self._thought):
            part.clear()
        self.asked.clear()
        self._finish = None
        self._form = Statements() if self.statements else None
        self._hold = self.forced

    # The reply.

    def _bytes(self, event: BodyReceived, now: float) -> list[Command]:
        decoder = self._decoding()
        commands = self._chunks(decoder.feed(event.data))
        if decoder.fault is not None:
            return [*commands, Cancel(event.id), *self._end(decoder.fault, now)]
        if decoder.over:
            self.state = State.CLOSING
            return [*commands, Wait(id=f"{self._request}.close", until=now + CLOSE_SECONDS)]
        return commands

    def _closed(self, event: RequestEvent, now: float) -> list[Command]:
        """Let the connection end, so that it can be used again; some proxies keep it open, and are not waited for."""
        closing = f"{self._request}.close"
        if event.id != closing and not isinstance(event, ResponseEnded | Failed):
            return []
        return [Cancel(self._request if event.id == closing else closing), *self._end(None, now)]

    def _ended(self, now: float) -> list[Command]:
        decoder = self._decoding()
        commands = self._chunks(decoder.end())
        return [*commands, *self._end(decoder.fault, now)]

    def _failed(self, event: Failed, now: float) -> list[Command]:
        if self.state is State.WAITING:
            return self._call(now)
        decoder = self._decoder
        commands: list[Command] = []
        if decoder is not None:
            commands = self._chunks(decoder.end())
            if decoder.fault is None:
                # The reply was complete; only the connection did not end well.
                return [*commands, *self._end(None, now)]
        if event.kind in ("idle", "timeout"):
            fault = EngineFault("idle", f"the engine was silent for too long ({event.detail or event.kind})")
        elif decoder is None and self.state is State.CALLING:
            fault = EngineFault("unavailable", f"the engine could not be reached ({event.detail or event.kind})")
        else:
            fault = EngineFault("truncated", f"the engine's reply broke off ({event.detail or event.kind})")
        if decoder is not None and decoder.fault is not None:
            if decoder.fault.kind == "malformed":
                # Not one chunk came before the connection broke: nothing is lost by asking again.
                fault = EngineFault("unavailable", fault.message)
            elif decoder.fault.kind != "truncated":
                fault = decoder.fault
        return [*commands, *self._end(fault, now)]

    def _chunks(self, chunks: list[ModelChunk]) -> list[Command]:
        commands: list[Command] = []
        for chunk in chunks:
            if chunk.reasoning:
                commands += self._take_reasoning(chunk.reasoning)
            if chunk.text:
                text = chunk.text if self._form is None else self._form.feed(chunk.text)
                commands += self._take(self._filter.feed(text))
            for fragment in chunk.calls:
                self._merger.add(fragment)
            if chunk.calls:
                self.asked += [_structured(call, cut=False) for call in self._merger.closed()]
                commands += self._release()
            if chunk.finish is not None:
                self._finish = chunk.finish
            if chunk.usage is not None:
                self._usage = chunk.usage
        return commands

    def _take_reasoning(self, text: str) -> list[Command]:
        self._reasoning.append(text)
        if self._inner is None:
            self._inner = self.make_filter(True)
        shown = "".join(piece.text for piece in self._inner.feed(text) if isinstance(piece, Reasoning | Text))
        return self._think(shown)

    def _think(self, text: str) -> list[Command]:
        if not text:
            return []
        self._thought.append(text)
        return [ShowReasoning(text, self.number)]

    def _take(self, pieces: list[Any]) -> list[Command]:
        """Take what the filter let through."""
        commands: list[Command] = []
        for piece in pieces:
            match piece:
                case Text():
                    self._text.append(piece.text)
                    if self._hold:
                        self._held.append(piece.text)
                    else:
                        commands += self.reader.show(piece.text, self.number)
                case Reasoning():
                    commands += self._think(piece.text)
                case ToolCall():
                    self.asked.append(_written(piece))
                    commands += self._release()
                case Remark():
                    asked = _remarked(piece)
                    if asked is not None:
                        self.asked.append(asked)
                        commands += self._release() if asked.problem != "cut" else []
        return commands

    def _release(self) -> list[Command]:
        """Show the text that waited for a call."""
        self._hold = False
        text = "".join(self._held)
        self._held.clear()
        return self.reader.show(text, self.number)

    def _decoding(self) -> ReplyDecoder:
        if self._decoder is None:
            raise LocalProtocolError("a body without its head: chunks of a host and bytes of a driver do not mix")
        return self._decoder

    # The end.

    def _end(self, fault: EngineFault | None, now: float) -> list[Command]:
        begun = bool(self._text or self._merger or self.asked)
        wait = None if fault is None or begun or self._retried else self._again_after(fault)
        if wait is not None:
            self._retried = True
            self._reset()
            self.state = State.WAITING
            return [
                ShowProgress(kind="waiting", text="the engine is asked once more", round=self.number),
                Wait(id=f"{self.id}.w{self.first_request + self._requests}", until=min(now + wait, self.deadline())),
            ]
        reason: FinishReason = "length" if self._finish == "length" else ("stop" if fault is None else None)
        commands = self._take(self._filter.finish(reason))
        commands += self._finish_reasoning(reason)
        if fault is not None and self._hold:
            commands += self._release()
        self.state = State.DONE
        self.result = self._reply(fault, self._calls())
        return commands

    def _again_after(self, fault: EngineFault) -> float | None:
        """Return the seconds after which a failed request is asked once more, or None when it is not."""
        if fault.kind == "unavailable" or (fault.kind == "busy" and fault.retry_after is not None):
            wait = self.limits.retry_seconds if fault.retry_after is None else fault.retry_after
            return wait if wait <= self.limits.retry_after_seconds else None
        return None

    def _finish_reasoning(self, reason: FinishReason) -> list[Command]:
        """Close the reasoning field: a call that stands at its end is a call, unless the reply went on after it."""
        if self._inner is None:
            return []
        commands: list[Command] = []
        answered = "".join(self._text).strip() or self.asked or self._merger
        for piece in self._inner.finish(reason):
            if isinstance(piece, Reasoning | Text):
                commands += self._think(piece.text)
            elif isinstance(piece, ToolCall):
                if answered:
                    commands += self._think(piece.raw)
                else:
                    self.asked.append(_written(piece))
                    commands += self._release()
        return commands

    def _calls(self) -> tuple[AskedCall, ...]:
        cut = self._finish == "length"
        merged = [_structured(call, cut=cut) for call in self._merger.calls()]
        return (*self.asked, *merged)

    def _reply(self, fault: EngineFault | None, calls: tuple[AskedCall, ...]) -> Reply:
        decoder = self._decoder
        return Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            thought="".join(self._thought),
            calls=calls,
            fault=fault,
            usage=self._usage,
            quirks=tuple(decoder.quirks) if decoder is not None else (),
            reasoning_field=decoder.reasoning_field if decoder is not None else None,
            requests=self._requests,
            cut=self._finish == "length",
        )


def _structured(call: MergedCall, *, cut: bool) -> AskedCall:
    arguments = None if call.oversize else read_object(call.arguments)
    problem = ""
    if call.oversize:
        problem = "oversize"
    elif arguments is None:
        problem = "cut" if cut else "unparsed"
    return AskedCall(id=call.id, name=call.name, arguments=arguments, raw=call.arguments, problem=problem)


def _written(call: ToolCall) -> AskedCall:
    if not is_plain(call.arguments):
        return AskedCall(id=call.id or "", name=call.name, arguments=None, raw=call.raw, problem="unparsed")
    raw = json.dumps(call.arguments, ensure_ascii=False)
    return AskedCall(id=call.id or "", name=call.name, arguments=call.arguments, raw=raw)


def _name_in(remark: Remark) -> str:
    """Return the name that a broken call has, as far as it was written.

    A made-up one would stand in the history, and small models call what they see there.
    """
    found = _NAME.search(remark.raw[:NAME_WITHIN])
    return remark.name or (found[1] if found is not None else "unreadable")


def _remarked(remark: Remark) -> AskedCall | None:
    """Return the call that a remark of the filter tells of: one that was written, and cannot be run."""
    if remark.kind == "unknown" and remark.name:
        return AskedCall(id="", name=remark.name, arguments=None, raw=remark.raw, problem="unparsed")
    if remark.kind == "malformed":
        return AskedCall(id="", name=_name_in(remark), arguments=None, raw=remark.raw, problem="unparsed")
    if remark.kind == "incomplete":
        return AskedCall(id="", name=_name_in(remark), arguments=None, raw=remark.raw, problem="cut")
    return None
