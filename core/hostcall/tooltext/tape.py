"""The text of one block, from its opener on, read once while it arrives.

A body scanner is a generator over a tape: it moves forward only, remembers places by their offset, and yields when it
needs more text. What it yields is a search: as long as no chunk holds anything that the search finds, the filter only
keeps the chunk and does not wake the scanner. That is why one megabyte of an argument costs the same for each chunk.

Nothing depends on how the text was cut: a scanner decides by characters alone, and every limit is compared with a
place it has read up to, never with what happens to have arrived.
"""

import re
from collections.abc import Callable, Generator
from typing import Any, Literal, TypeAlias, TypeVar

import attrs

from hostcall.tooltext.lexicon import Lexicon, Search

T = TypeVar("T")

Scan: TypeAlias = Generator[Search | None, None, T]
"""What a scanner is: it yields what is worth waking it for (None: anything), and returns `T`."""

WHITE = " \t\r\n"
"""White space of every grammar here. Other white space is text."""

CONFIRM_WINDOW = 512
"""A block that has not shown itself to be a call within so many characters was prose and is let go."""

TAG_CHARS = 512
"""The longest head of a tag, its name and attributes."""

_NOT_WHITE = re.compile(r"[^ \t\r\n]").search
_COMPACT_EVERY = 4096


@attrs.frozen(kw_only=True)
class Found:
    """A call that a scanner read, not yet compared with the tools offered."""

    name: str
    arguments: dict[str, Any]
    id: str | None = None
    repaired: bool = False
    twice: bool = False
    """Whether a key stood twice."""
    gave_arguments: bool = True
    """False: there was no member for them."""


@attrs.frozen(kw_only=True)
class Fault:
    """A call that a scanner could not read."""

    kind: Literal["malformed", "incomplete", "oversize"]
    name: str | None = None


Shown: TypeAlias = Literal["text", "reasoning"]
"""What a stretch of a block is, where a block holds prose (harmony)."""


class Tape:
    """A window on the text that has arrived, and all of it since the last cut."""

    def __init__(self, text: str, start: int, at: int, *, max_hold: int) -> None:
        self.window = text
        self.pos = start
        """The next character to read, in the window."""
        self.base = at
        """The offset of the window's first character."""
        self.ended = False
        self.reason: str | None = None
        self.confirmed = False
        """The text is a call, or was meant to be one: it is not shown any more."""
        self.ambiguous = False
        """The opener may well be prose: only a known name makes it a call."""
        self.patient = False
        """The block may be held longer than the window without being confirmed (fences, bare JSON)."""
        self.keeps = False
        """The text may have to be given back whole: it is never let go."""
        self.lost = False
        """The block grew past what may be held; its text is gone."""
        self.out: list[tuple[str, Found | Fault | Shown | None]] = []
        """What was read, in order, each with the text it was read from. None: markup, dropped."""
        self.cut_at = at + start
        """The offset up to which everything is in `out`."""
        self.max_hold = max_hold
        self.arrived = at + len(text)
        self.compact_at = self.arrived + _COMPACT_EVERY
        self.scanned = 0
        """How many characters were searched, for tests that watch the cost."""
        self._parts = [text]
        self._first = start
        self._matched = 0
        self.streaming: Shown | None = None
        """What a quiet chunk is while the scanner waits, when it need not be held."""
        self.fresh: list[str] = []

    # Text in.

    @property
    def here(self) -> int:
        """The offset of the next character to read."""
        return self.base + self.pos

    def feed(self, chunk: str) -> None:
        """Take in a chunk and keep of the old window only what was not read, and one character before it."""
        self._settle()
        self._parts.append(chunk)
        self.arrived += len(chunk)
        keep = max(self.pos - 1, 0)
        self.window = self.window[keep:] + chunk
        self.base += keep
        self.pos -= keep

    def wake(self, chunk: str) -> None:
        """Take in a chunk after others were put straight into `fresh`."""
        if self.fresh:
            last = self.fresh[-1][-1]
            self._settle()
            self.window, self.base, self.pos = last, self.arrived - 1, 1
        if chunk:
            self.feed(chunk)

    def rest(self) -> None:
        """Get ready to wait: let go of what is too much or done with, and say when to look again at the latest."""
        self.check_size()
        self.compact_at = self.arrived + _COMPACT_EVERY
        if not self.confirmed:
            self.compact_at = min(self.compact_at, self.cut_at + self._patience)
        if self.pos > _COMPACT_EVERY:
            self.window, self.base, self.pos = self.window[self.pos - 1 :], self.base + self.pos - 1, 1
        if self._first > _COMPACT_EVERY:
            self._parts[0] = self._parts[0][self._first :]
            self._first = 0

    @property
    def _patience(self) -> int:
        return self.max_hold if self.patient else CONFIRM_WINDOW

    def restart(self, text: str) -> None:
        """Take in text after other text was passed by, with nothing held."""
        self.arrived += len(text)
        self.window, self.base, self.pos = text, self.arrived - len(text), 0
        self._parts, self._first, self.cut_at = [text], 0, self.base

    def _settle(self) -> None:
        if self.fresh:
            self._parts.append("".join(self.fresh))
            self.fresh.clear()
            if self.lost:
                self._forget()

    def check_size(self) -> None:
        """Let go of the text when more was read since the last cut than may be held.

        Security:
            No rule of its own; a bound. Threat: a block that is never closed and fills the memory.
        """
        if not self.keeps and not self.lost and self.here - self.cut_at > self.max_hold:
            self.lost = True
        if self.lost:
            self._forget()

    def _forget(self) -> None:
        self._parts = [self.window]
        self._first = 0

    def too_late(self) -> bool:
        """Say whether the block should have been confirmed by now."""
        if self.confirmed:
            return False
        return self.here - self.cut_at > self._patience

    def confirm(self) -> bool:
        """Declare the block a call; False when it is too late for that and it must be let go."""
        if self.too_late():
            return False
        self.confirmed = True
        return True

    # Reading forward.

    def seek(self, search: Callable[[str, int], re.Match[str] | None]) -> Scan[re.Match[str] | None]:
        """Go past the next match of a pattern that is one character long; None at the end of the text."""
        while (match := search(self.window, self.pos)) is None:
            self.scanned += len(self.window) - self.pos
            self.pos = len(self.window)
            if self.ended:
                return None
            yield search  # type: ignore[misc]  # a bound `search` takes one argument too
        self.scanned += match.end() - self.pos
        self.pos = match.end()
        return match

    def find(self, marks: Lexicon) -> Scan[re.Match[str] | None]:
        """Go past the next mark of a set; None at the end of the text. The match counts in the present window."""
        while True:
            match, pos = marks.find(self.window, self.pos, final=self.ended)
            self.scanned += max(pos, self.pos) - self.pos
            self.pos = pos
            if match is not None or self.ended:
                return match
            yield marks.loud if pos == len(self.window) else None

    def stream(self, marks: Lexicon, shown: Shown | None) -> Scan[re.Match[str] | None]:
        """Do as `find` does, but let what was gone past out as prose while waiting for more."""
        while True:
            match, pos = marks.find(self.window, self.pos, final=self.ended)
            self.scanned += max(pos, self.pos) - self.pos
            self.pos = pos
            if match is not None or self.ended:
                return match
            if self.here > self.cut_at:
                self.cut(shown)
            self.streaming = shown if pos == len(self.window) else None
            yield marks.loud if pos == len(self.window) else None
            self.streaming = None

    def skip_white(self) -> Scan[str]:
        """Go to the next character that is no white space and return it; empty at the end of the text."""
        match = yield from self.seek(_NOT_WHITE)
        if match is None:
            return ""
        self.pos -= 1
        return match.group()

    def peek(self, size: int = 1) -> Scan[str]:
        """Return the next characters, fewer only at the end of the text."""
        while len(self.window) - self.pos < size and not self.ended:
            yield None
        return self.window[self.pos : self.pos + size]

    def match(self, marks: Lexicon) -> Scan[str | None]:
        """Return the kind of the mark that stands here and go past it; None when none does."""
        while True:
            found, more = marks.at(self.window, self.pos, final=self.ended)
            if found is not None:
                self._matched, self.pos = self.pos, found.end()
                return marks.kind(found)
            if not more:
                return None
            yield None

    def sees(self, marks: Lexicon) -> Scan[str | None]:
        """Return the kind of the mark that stands here, and stay before it; None when none does."""
        kind = yield from self.match(marks)
        if kind is not None:
            self.pos = self._matched
        return kind

    def cut_off(self, marks: Lexicon) -> bool:
        """Say whether the text ended here, or within a mark of a set that begins here."""
        return self.ended and (
            self.pos == len(self.window) or marks.partial(self.window, self.pos) == self.pos < len(self.window)
        )

    def until(
        self, search: Callable[[str, int, int], re.Match[str] | None], limit: int = TAG_CHARS
    ) -> Scan[str | None]:
        """Return the text before the next match of a short pattern and stay there; None when that is too far.

        Only for short stretches, names and heads of tags: the stretch is searched again when more of it arrives.
        """
        while (match := search(self.window, self.pos, self.pos + limit)) is None:
            if self.ended and self.confirmed:  # a call was cut here: nothing of it is left over as text
                self.pos = len(self.window)
            if self.ended or len(self.window) - self.pos >= limit:
                return None
            yield None
        text = self.window[self.pos : match.start()]
        self.scanned += len(text)
        self.pos = match.start()
        return text

    def tag(self) -> Scan[str | None]:
        """Return the rest of a tag up to its `>` and go past that. A `>` between quotes does not count."""
        while True:
            rest = self.window[self.pos : self.pos + TAG_CHARS]
            quote = ""
            for index, char in enumerate(rest):
                if quote:
                    quote = "" if char == quote else quote
                elif char in "\"'" and index and rest[index - 1] in "= ":
                    quote = char
                elif char == ">":
                    self.pos += index + 1
                    return rest[:index]
            if self.ended:
                self.pos = len(self.window)
            if self.ended or len(rest) == TAG_CHARS:
                return None
            yield None

    def before(self) -> str:
        """Return the character before the next one to read; empty at the start of the block."""
        return self.window[self.pos - 1] if self.pos else ""

    # Text out.

    def text(self, start: int, end: int) -> str:
        """Return what stands between two offsets since the last cut; empty when it was let go."""
        if self.lost:
            return ""
        self._merge()
        shift = self._first - self.cut_at
        return self._parts[0][start + shift : end + shift]

    def cut(self, what: Found | Fault | Shown | None, end: int | None = None) -> None:
        """Put everything since the last cut into `out` as what it is."""
        end = self.here if end is None else end
        self.check_size()
        if self.lost:
            self.out.append(("", Fault(kind="oversize") if isinstance(what, Found | Fault) else what))
            self.lost = False
            end = max(end, self.base)
            self._parts, self._first = [self.window], end - self.base
        else:
            self._merge()
            size = end - self.cut_at
            self.out.append((self._parts[0][self._first : self._first + size], what))
            self._first += size
        self.cut_at = end

    def held(self) -> str:
        """Return everything since the last cut, as far as it was not let go."""
        self._merge()
        return self._parts[0][self._first :]

    def _merge(self) -> None:
        if self.fresh or len(self._parts) > 1:
            self._settle()
            # What was cut goes first: a long chunk full of calls must not be copied for each one that follows.
            self._parts[0] = self._parts[0][self._first :]
            self._first = 0
            self._parts = ["".join(self._parts)]
