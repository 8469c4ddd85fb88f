"""Bodies of GLM and its kin: the name as bare text, then pairs of tags for each key and its value.

A value ends at a closing tag only when another key or the end of the call follows, for values quote these tags too.
"""

import re
from functools import cached_property
from typing import Any

import attrs

from hostcall.tooltext.coerce import clean, coerce
from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

MAX_PARAMETERS = 1_000

_NAME_END = re.compile(r"<").search
_NAME = re.compile(r"[A-Za-z_][\w.\-/:]*").fullmatch


@attrs.frozen(kw_only=True, eq=False, slots=False)
class GlmBody:
    """Calls as a name and pairs of keys and values."""

    opener: str
    """The tag around one call; it stands before each call but the first, or before all of them in a section."""
    closers: tuple[str, ...]
    key: tuple[str, str] = ("<arg_key>", "</arg_key>")
    value: tuple[str, str] = ("<arg_value>", "</arg_value>")
    separators: tuple[str, ...] = ()
    """Marks that may follow the name."""
    types: tuple[str, str] | None = None
    """Tags around the type of a value, where the format writes it."""
    section_end: tuple[str, ...] = ()
    """In a format with a section around the calls, its end."""

    @cached_property
    def _marks(self) -> Lexicon:
        kinds = {self.key[0]: "key", self.key[1]: "key end", self.value[0]: "value", self.value[1]: "value end"}
        if self.types is not None:
            kinds |= {self.types[0]: "type", self.types[1]: "type end"}
        kinds |= dict.fromkeys(self.separators, "sep") | dict.fromkeys(self.closers, "end") | {self.opener: "open"}
        return lexicon(kinds | dict.fromkeys(self.section_end, "section end"))

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read one call, or the calls of a section."""
        if not self.section_end:
            return (yield from self._call(tape, offer))
        while True:
            first = yield from tape.skip_white()
            kind = (yield from tape.match(self._marks)) if first else None
            if kind == "open":
                if (verdict := (yield from self._call(tape, offer))) != "done":
                    return verdict
                if tape.ended:
                    return "done"
                continue
            if not tape.confirmed:
                return "done" if tape.cut_off(self._marks) else "release"
            if kind == "section end":
                tape.cut(None)
            return "done"

    def _call(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        yield from tape.skip_white()
        name = yield from tape.until(_NAME_END, 256)
        if name is None:
            # A name that the end of the text cut off is hidden like a whole one.
            rest = tape.window[tape.pos :].strip()
            cut = tape.ended and any(known.startswith(rest) for known in offer.schemas)
            return "done" if tape.confirmed or cut else "release"
        name = name.strip()
        kind = yield from tape.sees(self._marks)
        if kind not in ("key", "end", "sep") or _NAME(name) is None:
            cut = tape.cut_off(self._marks) and _NAME(name) is not None
            return "done" if tape.confirmed or cut else "release"
        if not (offer.known(name) or kind in ("key", "sep")) and not self.section_end and not tape.confirmed:
            return "release"
        if not tape.confirm():
            return "release"
        return (yield from self._pairs(tape, offer, name))

    def _pairs(self, tape: Tape, offer: Offer, name: str) -> Scan[Verdict]:
        values: list[tuple[int, int, int, int]] = []
        while True:
            match = yield from tape.find(self._marks)
            if match is None:
                return "done"
            kind = self._marks.kind(match)
            if kind in ("end", "section end"):
                self._emit(tape, offer, name, values, tape.here)
                return "done"
            if kind != "key":
                continue
            start = tape.here
            while (match := (yield from tape.find(self._marks))) is not None and self._marks.kind(match) != "key end":
                pass
            if match is None:
                return "done"
            key_end = tape.here - len(match.group())
            close = yield from self._value(tape)
            if close is None:
                return "done"
            begin, end, behind, last = close
            if len(values) <= MAX_PARAMETERS:
                values.append((start, key_end, begin, end))
            if last:
                self._emit(tape, offer, name, values, behind)
                return "done"

    def _value(self, tape: Tape) -> Scan[tuple[int, int, int, bool] | None]:
        """Go past one value. Returns where it begins and ends, what is behind it, and whether that ends the call."""
        begin = tape.here
        first = yield from tape.skip_white()
        kind = (yield from tape.match(self._marks)) if first else None
        if kind == "type":
            while (match := (yield from tape.find(self._marks))) is not None and self._marks.kind(match) != "type end":
                pass
            yield from tape.skip_white()
            kind = yield from tape.match(self._marks)
        if kind == "value":
            begin = tape.here
        elif kind is not None:
            return None
        while (match := (yield from tape.find(self._marks))) is not None:
            kind, behind = self._marks.kind(match), tape.here
            at = behind - len(match.group())
            if kind not in ("value end", "end"):
                continue
            first = yield from tape.skip_white()
            follows = (yield from tape.sees(self._marks)) if first else ""
            if kind == "value end" and follows in ("key", "end", "section end", ""):
                return begin, at, behind, False
            if kind == "end" and follows in ("open", "section end", ""):
                return begin, at, behind, True
        return None

    def _emit(self, tape: Tape, offer: Offer, name: str, values: list[tuple[int, int, int, int]], end: int) -> None:
        if len(values) > MAX_PARAMETERS:
            tape.cut(Fault(kind="malformed", name=name), end)
            return
        properties = offer.properties(name)
        arguments: dict[str, Any] = {}
        for key_start, key_end, start, stop in values:
            key = tape.text(key_start, key_end).strip()
            arguments[clean(key)] = coerce(tape.text(start, stop), properties.get(key))
        tape.cut(Found(name=clean(name), arguments=arguments, twice=len(arguments) < len(values)), end)
