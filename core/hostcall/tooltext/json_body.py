"""Bodies that are JSON: one object, several in a row, or an array of them.

The end of a value is found by counting brackets outside strings, so a closing tag inside a string is only text. Where
brackets are missing, the closing tag outside a string ends the value as well.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Literal, TypeAlias

import attrs

from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.objects import KEYS, Outcome, read_object, read_single_key
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

MAX_DEPTH = 128

_IN_STRING = {'"': re.compile(r'["\\]').search, "'": re.compile(r"['\\]").search}
_OUTSIDE = {"{": "open", "[": "open", "}": "close", "]": "close"}
_HEAD_CHARS = 200
_HEAD = re.compile(
    r"""\{\s*(?:"(?P<double>[^"\\\r\n]{0,100})"\s*(?P<after>\S)
    |'(?P<single>[^'\\\r\n]{0,100})'\s*(?P<later>\S)
    |(?P<word>[A-Za-z_]\w{0,60})\s*(?P<op>[^\s\w])
    |(?P<odd>[^"'A-Za-z_\s]))""",
    re.VERBOSE,
).match
"""The beginning of an object up to the character after its first key."""

Verdict: TypeAlias = Literal["done", "release", "drop"]
"""How a block ended: read; no call after all; no call, and its opener is dropped."""

JsonEnd: TypeAlias = Literal["whole", "closer", "deep", "cut"]


def scan_json(tape: Tape, marks: Lexicon) -> Scan[JsonEnd]:
    """Go past the JSON value that begins here; a closing tag that ends it too early is not gone past."""
    depth = 0
    deep = False
    while True:
        match = yield from tape.find(marks)
        if match is None:
            return "cut"
        kind = marks.kind(match)
        if kind == "quote":
            search = _IN_STRING[match.group()]
            while (inner := (yield from tape.seek(search))) is not None and inner.group() == "\\":
                if not (yield from tape.peek()):
                    return "cut"
                tape.pos += 1
            if inner is None:
                return "cut"
        elif kind == "open":
            depth += 1
            deep = deep or depth > MAX_DEPTH
        elif kind == "close":
            depth -= 1
            if depth <= 0:
                return "deep" if deep else "whole"
        else:
            tape.pos = match.start()
            return "deep" if deep else "closer"


def json_marks(ends: tuple[str, ...] = (), *, quotes: str = '"', folded: tuple[str, ...] = ()) -> Lexicon:
    """Return the marks for `scan_json`: quotes, brackets, and closing tags that end a value wherever they stand."""
    return lexicon(_OUTSIDE | dict.fromkeys(quotes, "quote") | dict.fromkeys(ends, "end"), folded=folded)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class JsonBody:
    """Calls as JSON objects between an opener and perhaps a closer."""

    closers: tuple[str, ...] = ()
    """Empty: the end of the value ends the call."""
    folded: tuple[str, ...] = ()
    """Closers that are met in any case."""
    optional: tuple[str, ...] = ()
    """Marks that may follow and belong to the block, where there is no closer."""
    leaked: tuple[str, ...] = ()
    """Tags of other formats that may stand around the value."""
    array: bool = False
    """Only an array is a call."""
    sure: bool = False
    """The opener is a token of its own; the first bracket confirms it."""
    known_only: bool = False
    """The opener is ambiguous: only objects that name a known tool and give arguments are calls."""
    whole: bool = False
    """Nothing but such objects may stand in the answer."""
    read: Callable[[str], Outcome] = read_object
    drops_opener: bool = False
    """Before what is not JSON the opener is dropped, when the dialect was chosen outright (Mistral)."""

    @cached_property
    def _marks(self) -> dict[str, Lexicon]:
        return {quotes: json_marks(self.closers, quotes=quotes, folded=self.folded) for quotes in ('"', "\"'")}

    @cached_property
    def _ends(self) -> Lexicon:
        kinds = dict.fromkeys(self.leaked, "leak") | dict.fromkeys((*self.closers, *self.optional), "end")
        return lexicon(kinds, folded=self.folded)

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block."""
        spans: list[tuple[int, int]] = []
        tape.patient = self.known_only
        while True:
            step = yield from self.value(tape, spans)
            value_end = tape.here
            if step == "whole":
                step = yield from self._behind(tape)
            if step == "more":
                continue
            if step in ("emit", "emit here"):
                return self.emit(tape, offer, spans, tape.here if step == "emit here" else value_end)
            if step == "cut" or step == "cut in array":
                return self._cut(tape, offer, spans if step == "cut" else [])
            return "drop" if step == "drop" else "release"

    def value(self, tape: Tape, spans: list[tuple[int, int]]) -> Scan[str]:
        """Go past one value and note where the objects in it stand."""
        while (first := (yield from tape.skip_white())) and (yield from tape.sees(self._ends)) == "leak":
            yield from tape.match(self._ends)
        array = first == "["
        if array:
            tape.pos += 1
            if self.sure and not tape.confirm():
                return "release"
            first = yield from tape.skip_white()
        elif not first:
            return "cut"
        elif self.array or first != "{":
            return "drop" if self.drops_opener else "release"
        while first == "{":
            start = tape.here
            quotes = yield from self._head(tape)
            if quotes is None:
                return "release"
            if not quotes:
                return "cut in array" if array else "cut"
            end = yield from scan_json(tape, self._marks[quotes])
            if end == "cut":
                return "cut in array" if array else "cut"
            # What is nested too deeply is not parsed; an empty text is a fault to every reader.
            spans.append((start, start if end == "deep" else tape.here))
            if not array or end == "closer":
                return "whole"
            first = yield from tape.skip_white()
            if first == ",":
                tape.pos += 1
                first = yield from tape.skip_white()
        if first == "]":
            tape.pos += 1
            return "whole"
        if not first:
            return "cut in array"
        return "whole" if spans or tape.confirmed else "release"

    def _head(self, tape: Tape) -> Scan[str | None]:
        """Look at the first key of an object.

        Returns:
            The quotes that it uses; None when this is no call; empty when the text ended before that could be told.
        """
        while True:
            text = tape.window[tape.pos : tape.pos + _HEAD_CHARS]
            head = _HEAD(text)
            if head is not None or tape.ended or len(text) == _HEAD_CHARS:
                break
            yield None
        if head is None and tape.ended and len(text) < _HEAD_CHARS:
            return ""
        quotes = "\"'" if head is not None and head["single"] is not None else '"'
        if self.sure:
            return quotes if tape.confirm() else None
        fits = False
        if head is not None:
            key = head["double"] if head["double"] is not None else head["single"]
            after = head["after"] or head["later"]
            if key is not None:
                fits = (after == ":" and (key in KEYS or self.read is read_single_key)) or (after == "," and key != "")
            elif head["word"] is not None:
                fits = head["word"] in KEYS and head["op"] in (":", "=")
        if self.known_only:
            return quotes if fits and not tape.too_late() else None
        return quotes if not fits or tape.confirm() else None

    def _behind(self, tape: Tape) -> Scan[str]:
        """Decide what follows a value: the closer, another value, or something else."""
        if not self.closers:
            if not (self.known_only or self.optional):
                return "emit here"
            first = yield from tape.skip_white()
            if first and first in ",;" and self.known_only:
                tape.pos += 1
                first = yield from tape.skip_white()
            if first == "{" and self.known_only:
                return "more"
            if self.whole:
                return "emit here" if not first else "release"
            return "emit here" if first and (yield from tape.match(self._ends)) else "emit"
        while True:
            first = yield from tape.skip_white()
            kind = (yield from tape.match(self._ends)) if first else None
            if kind == "end":
                return "emit here"
            if kind is None:
                if not first or (tape.ended and self._ends.partial(tape.window, tape.pos) == tape.pos):
                    return "emit here" if tape.reason == "stop" else "cut"
                if first == "{":
                    return "more"
                if first not in "]},;":
                    return "emit"
                tape.pos += 1

    def _cut(self, tape: Tape, offer: Offer, spans: list[tuple[int, int]]) -> Verdict:
        """End a block that the end of the text cut off. Objects that were whole before count where no closer is due."""
        tape.pos = len(tape.window)
        if self.known_only and spans and self.emit(tape, offer, spans, spans[-1][1]) == "done":
            tape.cut(Fault(kind="incomplete"))
            return "done"
        return "release" if self.known_only else "done"

    def emit(self, tape: Tape, offer: Offer, spans: list[tuple[int, int]], end: int) -> Verdict:
        outcomes = [self.read(tape.text(*span)) for span in spans]
        names = [outcome.name for outcome in outcomes]
        if self.known_only and not all(
            isinstance(outcome, Found) and outcome.gave_arguments and offer.known(outcome.name) for outcome in outcomes
        ):
            return "release"
        if not tape.confirmed and (not any(names) or not tape.confirm()):
            return "release"
        for outcome, span in zip(outcomes[:-1], spans[:-1], strict=True):
            tape.cut(outcome, max(span[1], tape.cut_at))
        tape.cut(outcomes[-1] if outcomes else None, end)
        return "done"
