"""The filter: text in, in pieces of any size; text, reasoning and complete calls out.

It stands in one of a few places, prose, a code span, a code fence, reasoning, each with its own set of marks, or it is
inside a block, which a body scanner reads. Text goes out as it comes in, except for what may yet become a mark: a few
characters at the end of what has arrived, and the white space before a possible block. A block is held until it is
read to its end, and is given back as text as soon as it shows that it was none.

The first lines of `feed` are the fast path. Nearly every chunk of an answer holds nothing that matters where the filter
stands; one search says so, and the chunk is passed on or put away without a look at it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from hostcall.tooltext.dialect import Dialect
from hostcall.tooltext.fork import Entry, fork
from hostcall.tooltext.hints import ROWS, choose
from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.lexicon import Search
from hostcall.tooltext.offer import offer_of
from hostcall.tooltext.outside import Decision, Outside
from hostcall.tooltext.parking import Parked
from hostcall.tooltext.pieces import SET_REASONING, SET_TEXT, Piece, Reasoning, Remark, RemarkKind, Text, ToolCall
from hostcall.tooltext.starting import starting_point
from hostcall.tooltext.tape import CONFIRM_WINDOW, WHITE, Fault, Found, Scan, Tape

LEAST_HOLD = 65_536
"""The least that `max_hold` may be: shorter blocks are ordinary calls."""

MAX_CALLS = 256
"""Calls of one answer; the rest is hidden and remarked upon."""

FinishReason: TypeAlias = Literal["stop", "length"] | None

_NEW = object.__new__
"""Makes a piece without its `__init__`, whose call alone would be half of what a quiet chunk costs."""

_ANY: Search = re.compile("", re.DOTALL).search


@attrs.define
class _Block:
    """A block that is being read."""

    tape: Tape
    scanner: Scan[Verdict]
    lead: str
    """White space before the opener, not yet shown or dropped."""
    mark: str
    chosen: list[Dialect]
    tentative: bool
    """In reasoning or code: nothing counts before the block is read to its end."""
    start: int
    """The offset of the opener."""
    began: bool = False


class TextFilter(Outside):
    """Splits what a model writes into text, reasoning and calls.

    Args:
        tools: The tools offered, in the OpenAI shape. With none, nothing is a call.
        dialects: Names of dialects or families; ``auto`` arms every distinctive one and those of the model.
        model: The model's name, as a hint.
        generation_prompt: What the chat template appends before the model writes; it tells where the answer starts.
        starts_in_reasoning: Says so outright.
        max_hold: The most characters of one block that are held.
        trace: Is told every `Decision`: a function, or a list to append to. Slows the filter down.

    Security:
        No rule of its own; a call that comes out of here is held to the same rules as a structured one. Threat: text
        that a page put into the model's mouth.
    """

    __slots__ = (
        "_block",
        "_calls",
        "_ended",
        "_ids",
        "_kind",
        "_loud",
        "_max_hold",
        "_offer",
        "_reason",
        "_set",
        "_white",
    )

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        dialects: Sequence[str] = ("auto",),
        model: str | None = None,
        generation_prompt: str | None = None,
        starts_in_reasoning: bool | None = None,
        max_hold: int = 1_048_576,
        trace: Callable[[Decision], None] | list[Decision] | None = None,
    ) -> None:
        offer = offer_of(tools)
        bound = max(max_hold, LEAST_HOLD)
        told = trace.append if isinstance(trace, list) else trace
        super().__init__(choose(tuple(dialects), model), bound, told, armed=bool(offer.schemas))
        self._offer = offer
        self._max_hold = bound
        self._block: _Block | None = None
        self._calls = 0
        self._ids: set[str] = set()
        self._ended = False
        self._reason: FinishReason = None
        # The fast path.
        self._loud: Search = _ANY
        self._kind: type[Text] | type[Reasoning] | None = Text
        self._set: Callable[[Any, str], None] = SET_TEXT
        self._white = ""
        start = starting_point(generation_prompt, self._modes, starts_in_reasoning, self._choice)
        if start.thinking is not None or start.in_reasoning:
            self._place, self._thinking = "reasoning", start.thinking
            self._trim = "white" if start.thinking is None or start.thinking.trim == "white" else ""
        if start.header:
            self._open(0, "", self._modes.calls["<|start|>"])
            self._resume()

    def feed(self, chunk: str) -> list[Piece]:
        """Take in the next characters and return what they settle.

        Returns:
            Pieces in the order of the text. A call is whole; text is cut anywhere.
        """
        if chunk and self._loud(chunk) is None:
            kind = self._kind
            if kind is None:
                return self._keep(chunk)
            if chunk[-1] != " ":
                if self._white:
                    chunk, self._white = self._white + chunk, ""
                piece = _NEW(kind)
                self._set(piece, chunk)
                return [piece]
            solid = chunk.rstrip(" ")
            if solid:
                white, self._white = self._white, chunk[len(solid) :]
                return [kind(white + solid)]
        if not chunk or self._ended:
            return []
        return self._take(chunk)

    def finish(self, reason: FinishReason = None) -> list[Piece]:
        """Say that the text has ended, and return what was still held.

        Args:
            reason: How the engine says it ended. ``stop`` lets a call pass whose JSON is whole but whose closing tag
                may have been eaten as a stop string; nothing else does.
        """
        if self._ended:
            return []
        self._ended = True
        self._take_in("")
        if self._block is not None:
            self._block.tape.ended, self._block.tape.reason = True, reason
        self._reason = reason
        self._run(final=True)
        for item in self._parking.take():
            if item.calls:
                self._tell("call", item.raw, "real: nothing followed")
                for raw, found in item.calls:
                    self._call(raw, found, item.dialect)
            else:
                self._tell("dropped", item.raw, "around a parked call")
        self._buffer, self._pos = "", 0
        out, self._out = self._out, []
        return out

    # Reading.

    def _keep(self, chunk: str) -> list[Piece]:
        """Put away a chunk of a block in which nothing matters to the scanner."""
        block = self._block
        assert block is not None
        tape = block.tape
        tape.fresh.append(chunk)
        tape.arrived = arrived = tape.arrived + len(chunk)
        return self._take("") if arrived > tape.compact_at else []

    def _take(self, chunk: str) -> list[Piece]:
        self._take_in(chunk)
        self._run(final=False)
        out, self._out = self._out, []
        return out

    def _take_in(self, chunk: str) -> None:
        if self._block is None:
            self._buffer, self._base = self._buffer[self._pos :] + self._white + chunk, self._base + self._pos
            self._pos = 0
        elif self._kind is not None:  # a block that streams: what it passed on the fast path is behind it
            self._block.tape.restart(self._white + chunk)
        else:
            self._block.tape.wake(chunk)
        self._white = ""

    def _run(self, *, final: bool) -> None:
        while self._resume() if self._block is not None else self._step(final=final):
            pass
        self._settle()

    def _settle(self) -> None:
        """Choose the fast path for where the filter stands, or none."""
        if self._block is not None:
            return
        carry = self._buffer[self._pos :]
        self._buffer, self._base, self._pos = carry, self._base + self._pos, 0
        kind = Reasoning if self._place == "reasoning" else Text
        self._loud, self._kind, self._set = _ANY, kind, SET_REASONING if kind is Reasoning else SET_TEXT
        if (
            self._ended
            or self._trace is not None
            or self._trim
            or self._blank_line
            or (kind is Text and not self._shown)  # what shows first ends the places where only a beginning counts
            or self._last == "`"
            or self._parking.items
            or self._deaf > self._base + len(self._buffer)
            or carry.strip(WHITE)
        ):
            return
        self._white, self._buffer, self._pos, self._last = carry, "", 0, ""
        self._deaf = 0  # offsets are not kept on the fast path
        self._loud = self._lexicon().loud

    def _open(self, start: int, mark: str, entries: tuple[Entry, ...]) -> bool:
        """Begin a block."""
        white = self._white_before(start)
        self._show(white)
        lead = self._buffer[white:start]
        opener = entries[0][0]
        tape = Tape(self._buffer, start, self._base, max_hold=self._max_hold)
        tape.pos = start if opener.kept else start + len(mark)
        tape.ambiguous = opener.kept and not opener.token
        tape.ended, tape.reason = self._ended, self._reason
        tentative = self._place == "reasoning" or (self._place != "prose" and not opener.token)
        tape.keeps = tentative
        chosen: list[Dialect] = []
        scanner = fork(tape, entries, mark, self._offer, chosen)
        self._block = _Block(tape, scanner, lead, mark, chosen, tentative, start + self._base)
        return True

    def _resume(self) -> bool:
        """Let the scanner read on. False: it waits for more text."""
        block = self._block
        assert block is not None
        tape = block.tape
        before = tape.scanned
        try:
            want = next(block.scanner)
        except StopIteration as stop:
            self.scanned += tape.scanned - before
            self._close(block, stop.value)
            return True
        self.scanned += tape.scanned - before
        if block.tentative and tape.here - block.start > self._max_hold:
            self._release(block, block.start + self._max_hold)
            return True
        if tape.too_late():
            self._release(block, block.start + (self._max_hold if tape.patient else 1))
            return True
        tape.rest()
        if not block.tentative:
            self._collect(block)
        self._loud = want if want is not None and self._trace is None else _ANY
        self._kind = {"text": Text, "reasoning": Reasoning, None: None}[tape.streaming]
        self._set = SET_REASONING if tape.streaming == "reasoning" else SET_TEXT
        if self._kind is not None and self._loud is _ANY:
            self._kind = None
        return False

    def _close(self, block: _Block, verdict: Verdict) -> None:
        """End a block as its scanner says."""
        tape = block.tape
        row = block.chosen[0]
        if verdict == "drop" and row.name in self._choice.hinted and not block.tentative:
            self._begin(block)
            self._back(tape, block.start + len(block.mark))
            self._tell("dropped", block.mark, "an opener without a call")
            return
        size = tape.here - block.start
        if verdict != "done" or (block.tentative and size > self._max_hold):
            if tape.too_late():  # the scanner went on only because more text came with the same chunk
                self._release(block, block.start + (self._max_hold if tape.patient else 1))
                return
            late = size > CONFIRM_WINDOW and (block.tentative or tape.patient)
            self._release(block, tape.here if late else block.start + 1)
            return
        rest = tape.here - tape.cut_at
        tail = tape.text(tape.cut_at, tape.here).strip(WHITE) if tape.confirmed else ""
        if block.tentative and not self._judge(block, cut=bool(tail) or tape.lost):
            return
        self._collect(block)
        if not tape.confirmed:
            self._begin(block)
            self._remark("incomplete", tape.held(), None)
            self._tell("hidden", tape.held(), "an opener at the end")
            self._back(tape, tape.arrived)
        elif (tail or tape.lost) and rest:
            raw = tape.text(tape.cut_at, tape.here)
            self._begin(block)
            kind: RemarkKind = "oversize" if tape.lost else "incomplete" if tape.ended else "malformed"
            self._remark(kind, raw, None)
            self._tell("hidden", raw, kind)
            self._back(tape, tape.here)
        else:
            self._back(tape, tape.cut_at)

    def _back(self, tape: Tape, offset: int) -> None:
        """Go on outside the block, from an offset."""
        self._block = None
        if offset >= tape.base:
            self._buffer, self._base, self._pos = tape.window, tape.base, offset - tape.base
        else:
            self._base, self._buffer = tape.cut_at, tape.held()
            self._pos = offset - self._base
        self._last = ""

    def _release(self, block: _Block, deaf: int) -> None:
        """Give a block back as text: it was none."""
        tape = block.tape
        self._block = None
        self._deaf = max(self._deaf, deaf)
        if block.lead:
            self._buffer, self._pos = block.lead, 0
            self._show(len(block.lead))
        if tape.base <= block.start and not tape.fresh:
            self._buffer, self._base, self._pos = tape.window, tape.base, block.start - tape.base
        else:
            self._buffer, self._base, self._pos = "".join(raw for raw, _ in tape.out) + tape.held(), block.start, 0

    def _judge(self, block: _Block, *, cut: bool) -> bool:
        """Decide on a block in reasoning or code that was read to its end. True: it counts like any other."""
        tape = block.tape
        founds = [(raw, what) for raw, what in tape.out if isinstance(what, Found)]
        known = [(raw, found) for raw, found in founds if self._offer.known(found.name)]
        if self._place != "reasoning":
            if known and len(known) == len(founds) and not cut and not any(isinstance(w, Fault) for _, w in tape.out):
                return True
            self._release(block, tape.here if tape.here - block.start > CONFIRM_WINDOW else block.start + 1)
            return False
        everything = "".join(raw for raw, _ in tape.out) + tape.text(tape.cut_at, tape.here)
        closer = self._thinking.closer if self._thinking is not None else "</think>"
        if not known and tape.ended and closer not in everything and (cut or not tape.confirmed):
            return True
        if not known or (cut and not tape.ended) or self._parking.size + len(everything) > self._parking.limit:
            self._release(block, tape.here if tape.here - block.start > CONFIRM_WINDOW else block.start + 1)
            return False
        end = tape.here if cut else tape.cut_at
        raw = "".join(raw for raw, _ in tape.out) + (tape.text(tape.cut_at, end) if cut else "")
        if block.lead:
            kind: Literal["dropped", "reasoning"] = "dropped" if self._trim == "white" else "reasoning"
            self._parking.add(Parked(kind, block.lead, why="white space"))
        self._parking.add(Parked("call", raw, tuple(known), block.chosen[0].name))
        self._trim = ""
        self._out.append(Remark("parked", raw, known[0][1].name))
        if cut:
            self._remark("incomplete", "", None)
        tape.out.clear()
        self._back(tape, end)
        return False

    def _begin(self, block: _Block) -> None:
        """Say, once for a block, that it is one: white space before it goes, text kept aside was a draft."""
        if block.began:
            return
        block.began = True
        if self._parking.items:
            self._flush()
        row = block.chosen[0]
        keep = {"drop": 0, "keep": len(block.lead), "blank line": len(block.lead.removesuffix("\n\n"))}[row.white]
        if self._trim == "white":
            keep = 0
        if keep:
            self._put(block.lead[:keep])
        self._tell("dropped", block.lead[keep:], "white space before a call")

    def _collect(self, block: _Block) -> None:
        """Pass on what the scanner read so far."""
        tape = block.tape
        for raw, what in tape.out:
            self._begin(block)
            if what is None:
                self._tell("dropped", raw, "markup")
            elif isinstance(what, Found):
                self._tell("call", raw, block.chosen[0].name)
                self._call(raw, what, block.chosen[0].name)
            elif isinstance(what, Fault):
                self._tell("hidden", raw, what.kind)
                self._remark(what.kind, raw, what.name)
            elif raw:
                self._shown = self._shown or what == "text"
                self._thought = self._thought or what == "reasoning"
                self._arm()
                self._out.append(Text(raw) if what == "text" else Reasoning(raw))
                self._tell(what, raw)
        tape.out.clear()

    def _call(self, raw: str, found: Found, dialect: str) -> None:
        if not self._offer.known(found.name):
            self._remark("unknown", raw, found.name)
            return
        if self._calls >= MAX_CALLS:
            self._remark("too-many", raw, found.name)
            return
        if found.twice:
            self._remark("duplicate-key", raw, found.name)
        if found.repaired:
            self._remark("repaired", raw, found.name)
        own = found.id if found.id is not None and found.id not in self._ids else None
        if own is not None:
            self._ids.add(own)
        self._out.append(
            ToolCall(
                index=self._calls,
                id=own,
                name=found.name,
                arguments=found.arguments,
                raw=raw.strip(WHITE),
                dialect=dialect,
            )
        )
        self._calls += 1
        if self._group is None:
            self._group = ROWS[dialect].group or dialect
            self._arm()

    # Telling.

    def _remark(self, kind: RemarkKind, raw: str, name: str | None) -> None:
        self._out.append(Remark(kind, raw, name))
