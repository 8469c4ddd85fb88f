"""What happens outside blocks: text goes out, and marks are met.

Text stands in one of a few places: prose, a code span, a code fence, reasoning. Each has its own set of marks. What may
be the beginning of a mark waits, and so does the white space at the end, because a block may follow that it belongs to.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

from hostcall.tooltext.fork import Entry
from hostcall.tooltext.hints import Choice
from hostcall.tooltext.lexicon import Lexicon
from hostcall.tooltext.modes import Modes, Place, modes
from hostcall.tooltext.parking import Parked, Parking
from hostcall.tooltext.pieces import Piece, Reasoning, Remark, Text
from hostcall.tooltext.reasoning import Thinking
from hostcall.tooltext.tape import WHITE

WHITE_HELD = 256
"""The most white space that is held because a block may follow; what stood before it goes out."""

SECOND_LOOKS = 16
"""How often a long stretch that was given back is looked through again for calls behind the end of reasoning."""

LONGEST_RUN = 32
"""Longer runs of ticks are no fence and no span."""

DecisionKind: TypeAlias = Literal["text", "reasoning", "call", "dropped", "hidden"]


@attrs.frozen
class Decision:
    """What became of one stretch of the input. The `raw` of all of them in order is the input."""

    offset: int
    kind: DecisionKind
    raw: str
    why: str = ""


class Outside:
    """Where the filter stands in the text, and what it does there."""

    __slots__ = (
        "_base", "_blank_line", "_buffer", "_choice", "_deaf", "_group", "_last", "_looks", "_modes", "_out",
        "_parking", "_place", "_pos", "_shown", "_thinking", "_thought", "_ticks", "_told", "_trace", "_trim", "armed",
        "scanned",
    )  # fmt: skip

    def __init__(self, choice: Choice, max_hold: int, trace: Callable[[Decision], None] | None, *, armed: bool) -> None:
        self._choice = choice
        self._trace = trace
        self._group: str | None = None
        self.armed = armed
        """Whether any tool is offered; with none, nothing is a call."""
        self._modes: Modes = modes(choice, None, armed=armed, started=False)
        self._place: Place = "prose"
        self._ticks = ""
        self._thinking: Thinking | None = None
        self._parking = Parking(max_hold)
        self._buffer = ""
        self._pos = 0
        self._base = 0
        self._told = 0
        """The offset up to which the trace was told."""
        self._blank_line = True
        """Whether the line is blank up to `_pos`."""
        self._shown = False
        """Whether anything but white space was shown as text."""
        self._thought = False
        """Whether anything but white space was shown as reasoning."""
        self._trim: Literal["white", "newline", ""] = ""
        """What is dropped before the next text."""
        self._deaf = 0
        """The offset before which nothing opens a block: that text was looked at already."""
        self._looks = SECOND_LOOKS
        self._last = ""
        """The character shown last, where it matters."""
        self._out: list[Piece] = []
        self.scanned = 0
        """How many characters were searched so far; a test watches that it grows with the text and no faster."""

    def _open(self, start: int, mark: str, entries: tuple[Entry, ...]) -> bool:
        """Begin a block."""
        raise AssertionError("only the filter opens blocks")

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
        ahead = self._buffer[start : start + LONGEST_RUN]
        end = start + len(ahead) - len(ahead.lstrip(char))
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
            ahead = self._buffer[end : end + LONGEST_RUN]
            rest = end + len(ahead) - len(ahead.lstrip(" \t\r"))
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
        begun = self._shown or (self._place == "reasoning" and self._thought) or bool(self._parking.items)
        fresh = not begun and not self._buffer[self._pos : start].strip(WHITE)
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

    def _show(self, upto: int) -> None:
        """Let text out up to a place in the buffer."""
        text = self._buffer[self._pos : upto]
        self._pos = max(self._pos, upto)
        if self._trim and text:
            solid = text.lstrip(WHITE) if self._trim == "white" else text.removeprefix("\n")
            self._discard(text[: len(text) - len(solid)], "white space")
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
            if not text.strip(WHITE) and self._parking.takes(text):
                self._parking.add(Parked("reasoning" if kind is Reasoning else "text", text))
                return
            self._flush()
        if kind is Text and not self._shown and text.strip(WHITE):
            self._shown = True
            self._arm()
        elif kind is Reasoning and not self._thought:
            self._thought = bool(text.strip(WHITE))
        self._out.append(kind(text))
        self._tell("reasoning" if kind is Reasoning else "text", text)

    def _flush(self) -> None:
        """Something followed: what was parked was a draft."""
        for item in self._parking.take():
            if item.kind == "dropped":
                self._tell("dropped", item.raw, item.why)
            else:
                kind = Text if item.kind == "text" else Reasoning
                if item.calls:
                    self._out.append(Remark("draft", item.raw, item.calls[0][1].name))
                self._out.append(kind(item.raw))
                self._tell("text" if item.kind == "text" else "reasoning", item.raw, "a draft" if item.calls else "")

    def _drop(self, upto: int, why: str) -> None:
        raw = self._buffer[self._pos : upto]
        self._pos = upto
        self._discard(raw, why)

    def _discard(self, raw: str, why: str) -> None:
        """Drop a stretch. Behind a parked call it waits with the call: the trace follows the order of the text."""
        if not raw:
            return
        if self._parking.takes(raw):
            self._parking.add(Parked("dropped", raw, why=why))
            return
        if self._parking.items:
            self._flush()
        self._tell("dropped", raw, why)

    def _show_solid(self, start: int) -> None:
        white = self._white_before(start)
        self._show(white)
        self._drop(start, "white space")

    def _white_before(self, end: int) -> int:
        """Return where the white space before a place begins, no further back than may be held."""
        floor = max(self._pos, end - WHITE_HELD)
        return floor + len(self._buffer[floor:end].rstrip(WHITE))

    def _blank_at(self, place: int) -> bool:
        """Say whether the line is blank before a place in the buffer."""
        line = self._buffer.rfind("\n", self._pos, place) + 1
        if line == 0:
            return self._blank_line and not self._buffer[self._pos : place].strip(" \t\r")
        return not self._buffer[line:place].strip(" \t\r")

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

    def _arm(self) -> None:
        self._modes = modes(self._choice, self._group, armed=self.armed, started=self._shown)

    def _tell(self, kind: DecisionKind, raw: str, why: str = "") -> None:
        if self._trace is not None and raw:
            self._trace(Decision(self._told, kind, raw, why))
            self._told += len(raw)
