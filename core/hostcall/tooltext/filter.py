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
from hostcall.tooltext.lexicon import Lexicon, Search
from hostcall.tooltext.modes import Modes, Place, modes
from hostcall.tooltext.offer import offer_of
from hostcall.tooltext.parking import Parked, Parking
from hostcall.tooltext.pieces import Piece, Reasoning, Remark, RemarkKind, Text, ToolCall
from hostcall.tooltext.reasoning import Thinking
from hostcall.tooltext.starting import starting_point
from hostcall.tooltext.tape import CONFIRM_WINDOW, WHITE, Fault, Found, Scan, Tape

WHITE_HELD = 256
"""The most white space that is held because a block may follow; what stood before it goes out."""

MAX_CALLS = 256
"""Calls of one answer; the rest is hidden and remarked upon."""

SECOND_LOOKS = 16
"""How often a long stretch that was given back is looked through again for calls behind the end of reasoning."""

FinishReason: TypeAlias = Literal["stop", "length"] | None

LONGEST_RUN = 32
"""Longer runs of ticks are no fence and no span."""

DecisionKind: TypeAlias = Literal["text", "reasoning", "call", "dropped", "hidden"]

_ANY: Search = re.compile("", re.DOTALL).search


@attrs.frozen
class Decision:
    """What became of one stretch of the input. The `raw` of all of them in order is the input."""

    offset: int
    kind: DecisionKind
    raw: str
    why: str = ""


@attrs.define
class _Block:
    """A block that is being read."""

    tape: Tape
    scanner: Scan[Verdict]
    lead: str
    """White space before the opener, not yet shown or dropped."""
    mark: str
    blank_line: bool
    """Whether the opener's line was blank before it."""
    chosen: list[Dialect]
    tentative: bool
    """In reasoning or code: nothing counts before the block is read to its end."""
    start: int
    """The offset of the opener."""
    began: bool = False


class TextFilter:
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
        self._offer = offer_of(tools)
        self._choice = choose(tuple(dialects), model)
        self._max_hold = max(max_hold, 65_536)
        self._group: str | None = None
        self._trace = trace.append if isinstance(trace, list) else trace
        self._modes: Modes = modes(self._choice, None, armed=bool(self._offer.schemas))
        self._place: Place = "prose"
        self._ticks = ""
        self._thinking: Thinking | None = None
        self._block: _Block | None = None
        self._parking = Parking(self._max_hold)
        self._buffer = ""
        self._pos = 0
        self._base = 0
        self._told = 0
        """The offset up to which the trace was told."""
        self._blank_line = True
        """Whether the line is blank up to `_pos`."""
        self._shown = False
        """Whether anything but white space was shown."""
        self._trim: Literal["white", "newline", ""] = ""
        """What is dropped before the next text."""
        self._deaf = 0
        """The offset before which nothing opens a block: that text was looked at already."""
        self._looks = SECOND_LOOKS
        self._last = ""
        """The character shown last, where it matters."""
        self._calls = 0
        self._ids: set[str] = set()
        self._ended = False
        self._reason: FinishReason = None
        self._out: list[Piece] = []
        self.scanned = 0
        """How many characters were searched so far; a test watches that it grows with the text and no faster."""
        # The fast path.
        self._loud: Search = _ANY
        self._kind: type[Text] | type[Reasoning] | None = Text
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
                block = self._block
                assert block is not None
                tape = block.tape
                tape.fresh.append(chunk)
                tape.arrived = arrived = tape.arrived + len(chunk)
                if arrived > tape.compact_at:
                    return self._take("")
                return []
            white = self._white
            if chunk[-1] == " ":
                solid = chunk.rstrip(" ")
                if solid:
                    self._white = chunk[len(solid) :]
                    return [kind(white + solid)]
            elif white:
                self._white = ""
                return [kind(white + chunk)]
            else:
                return [kind(chunk)]
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
        out = self._out = []
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
        return out

    # Reading.

    def _take(self, chunk: str) -> list[Piece]:
        out = self._out = []
        self._take_in(chunk)
        self._run(final=False)
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
        self._loud, self._kind = _ANY, Reasoning if self._place == "reasoning" else Text
        if (
            self._ended
            or self._trace is not None
            or self._trim
            or self._blank_line
            or self._last == "`"
            or self._parking.items
            or not (self._shown or self._modes.quiet_start)
            or self._deaf > self._base + len(self._buffer)
            or carry.strip(WHITE)
        ):
            return
        self._white, self._buffer, self._pos, self._last = carry, "", 0, ""
        self._deaf = 0  # offsets are not kept on the fast path
        self._loud = self._lexicon().loud

    def _lexicon(self) -> Lexicon:
        match self._place:
            case "prose":
                return self._modes.prose
            case "span":
                return self._modes.span
            case "fence line":
                return self._modes.fence_line
            case "fence":
                return self._modes.fence
            case "reasoning":
                return self._modes.reasoning

    # Outside blocks.

    def _step(self, *, final: bool) -> bool:
        """Go to the next mark and past it. False: the rest of what has arrived must wait."""
        marks = self._lexicon()
        match, keep = marks.find(self._buffer, self._pos, final=final)
        self.scanned += max(keep, self._pos) - self._pos
        if match is None:
            self._show(keep if final else self._white_before(keep))
            return False
        start, mark = match.start(), match.group()
        kind = marks.kind(match)
        if kind == "call":
            return self._meet(start, mark)
        if kind in ("tick", "tilde"):
            return self._code(start, final=final)
        if kind == "line":
            self._show(match.end())
            self._place = "fence" if self._place == "fence line" else "prose"
            return True
        if kind in ("drop", "answer"):
            self._show_solid(start)
            if kind == "answer":
                self._place, self._thinking = "prose", None
            self._drop(match.end(), "a mark around the answer")
            return True
        return self._turn(kind, start, mark, final=final)

    def _turn(self, kind: str, start: int, mark: str, *, final: bool) -> bool:
        """Meet a tag of reasoning."""
        end = start + len(mark)
        white = self._white_before(start)
        lead = self._buffer[white:start]
        before = self._buffer[start - 1] if start > self._pos else self._last
        if before == "`":
            if end == len(self._buffer) and not final:
                self._show(white)
                return False
            if self._buffer[end : end + 1] == "`":  # quoted, ticks on both sides
                self._show(end)
                return True
        if lead and "\n" not in lead and not self._blank_at(white) and self._place == "prose":
            self._show(end)  # a word in a sentence about these tags
            return True
        pair = self._modes.opens[mark] if kind == "open" else self._modes.closes[mark]
        if kind == "open":
            if self._place != "reasoning":
                if pair.hinted and not self._blank_at(start):
                    self._show(end)
                    return True
                self._leave(start, white, pair.trim if pair.after == "white" else "nothing")
                self._place, self._thinking = "reasoning", pair
                self._trim = "" if pair.trim == "nothing" else pair.trim
            else:
                self._show(start)
            self._drop(end, "reasoning opens")
            return True
        if self._place == "reasoning":
            trim = (self._thinking or pair).trim
            self._leave(start, white, trim)
            self._parking.drop_white()
            self._place, self._thinking = "prose", None
            if self._looks:
                self._looks -= 1
                self._deaf = 0
        else:
            self._leave(start, white, "white" if pair.after == "white" else "nothing")
        self._drop(end, "reasoning closes")
        self._trim = "white" if pair.after == "white" else ""
        return True

    def _leave(self, start: int, white: int, trim: str) -> None:
        """Show the text before a mark, without the white space that belongs to the mark."""
        if trim == "white":
            self._show(white)
            self._drop(start, "white space")
        elif trim == "newline" and self._buffer[start - 1 : start] == "\n" and start > self._pos:
            self._show(start - 1)
            self._drop(start, "white space")
        else:
            self._show(start)

    def _code(self, start: int, *, final: bool) -> bool:
        """Meet ticks or tildes: code begins or ends."""
        char = self._buffer[start]
        end = start
        while end < len(self._buffer) and end - start < LONGEST_RUN and self._buffer[end] == char:
            end += 1
        if end - start == LONGEST_RUN:
            self._show(end)
            return True
        if end == len(self._buffer) and not final:
            self._show(self._white_before(start))
            return False
        run = self._buffer[start:end]
        blank = self._blank_at(start)
        if self._place == "prose":
            if len(run) >= 3 and blank:
                entries = self._modes.calls.get("```", ()) if char == "`" else ()
                if entries and self._base + start >= self._deaf:
                    return self._open(start, "```", entries)
                self._place, self._ticks = "fence line", run
            elif char == "`":
                self._place, self._ticks = "span", run
        elif self._place == "span":
            if run == self._ticks:
                self._place = "prose"
        elif self._place == "fence line":
            if self._ticks[0] == char:  # an info string holds no ticks: this was a span
                self._place = "prose" if run == self._ticks else "span"
        elif blank and run.startswith(self._ticks):
            rest = end
            while rest < len(self._buffer) and rest - end < LONGEST_RUN and self._buffer[rest] in " \t\r":
                rest += 1
            if rest == len(self._buffer) and not final:
                self._show(self._white_before(start))
                return False
            if rest == len(self._buffer) or self._buffer[rest] == "\n":
                self._place = "prose"
        self._show(end)
        return True

    def _meet(self, start: int, mark: str) -> bool:
        """Meet an opener."""
        entries = self._modes.calls.get(mark) or self._modes.calls[mark.lower()]
        if self._place == "reasoning":
            entries = tuple(entry for entry in entries if entry[1].in_reasoning == "park")
        fresh = not self._shown and not self._buffer[self._pos : start].strip(WHITE) and not self._parking.items
        entries = tuple(
            entry
            for entry in entries
            if entry[0].where == "anywhere" or (entry[0].where == "line" and self._blank_at(start)) or fresh
        )
        if entries and self._base + start >= self._deaf:
            return self._open(start, mark, entries)
        if mark[0] == "`":
            return self._code(start, final=True)
        self._show(start + 1)
        return True

    def _open(self, start: int, mark: str, entries: tuple[Entry, ...]) -> bool:
        """Begin a block."""
        blank = self._blank_at(start)
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
        self._block = _Block(tape, scanner, lead, mark, blank, chosen, tentative, start + self._base)
        return True

    def _show(self, upto: int) -> None:
        """Let text out up to a place in the buffer."""
        text = self._buffer[self._pos : upto]
        self._pos = max(self._pos, upto)
        if self._trim and text:
            solid = text.lstrip(WHITE) if self._trim == "white" else text.removeprefix("\n")
            self._tell("dropped", text[: len(text) - len(solid)], "white space")
            text = solid
            if text:
                self._trim = ""
        if text:
            self._put(text)

    def _put(self, text: str) -> None:
        kind = Reasoning if self._place == "reasoning" else Text
        line = text.rfind("\n") + 1
        self._blank_line = (line > 0 or self._blank_line) and not text[line:].strip(" \t\r")
        self._last = text[-1]
        if self._parking.items:
            if not text.strip(WHITE):
                self._parking.add(Parked("reasoning" if kind is Reasoning else "text", text))
                return
            self._flush()
        if kind is Text and not self._shown:
            self._shown = bool(text.strip(WHITE))
        self._out.append(kind(text))
        self._tell("reasoning" if kind is Reasoning else "text", text)

    def _flush(self) -> None:
        """Something followed: what was parked was a draft."""
        for item in self._parking.take():
            if item.kind == "dropped":
                self._tell("dropped", item.raw, "reasoning closes")
            else:
                kind = Text if item.kind == "text" else Reasoning
                if item.calls:
                    self._out.append(Remark("draft", item.raw, item.calls[0][1].name))
                self._out.append(kind(item.raw))
                self._tell("text" if item.kind == "text" else "reasoning", item.raw, "a draft" if item.calls else "")

    def _drop(self, upto: int, why: str) -> None:
        raw = self._buffer[self._pos : upto]
        self._pos = upto
        if self._parking.items and raw:
            self._parking.add(Parked("dropped", raw))
        else:
            self._tell("dropped", raw, why)

    def _show_solid(self, start: int) -> None:
        white = self._white_before(start)
        self._show(white)
        self._drop(start, "white space")

    def _white_before(self, end: int) -> int:
        """Return where the white space before a place begins, no further back than may be held."""
        floor = max(self._pos, end - WHITE_HELD)
        while end > floor and self._buffer[end - 1] in WHITE:
            end -= 1
        return end

    def _blank_at(self, place: int) -> bool:
        """Say whether the line is blank before a place in the buffer."""
        line = self._buffer.rfind("\n", self._pos, place) + 1
        if line == 0:
            return self._blank_line and not self._buffer[self._pos : place].strip(" \t\r")
        return not self._buffer[line:place].strip(" \t\r")

    # Inside a block.

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
        tape.check_size()
        if not block.tentative:
            self._collect(block)
        self._loud = want if want is not None and self._trace is None else _ANY
        self._kind = {"text": Text, "reasoning": Reasoning, None: None}[tape.streaming]
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
            self._parking.add(Parked("reasoning", block.lead))
        self._parking.add(Parked("call", raw, tuple(known), block.chosen[0].name))
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
            self._modes = modes(self._choice, self._group, armed=True)

    # Telling.

    def _remark(self, kind: RemarkKind, raw: str, name: str | None) -> None:
        self._out.append(Remark(kind, raw, name))

    def _tell(self, kind: DecisionKind, raw: str, why: str = "") -> None:
        if self._trace is not None and raw:
            self._trace(Decision(self._told, kind, raw, why))
            self._told += len(raw)
