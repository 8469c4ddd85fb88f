"""Bodies where the name stands before the JSON of the arguments, each between tokens of their own.

Kimi K2 and DeepSeek put the calls into a section; Mistral writes one after the other; Functionary has a line for each.
"""

import re
from functools import cached_property
from typing import Literal

import attrs

from hostcall.tooltext.json_body import Verdict, json_marks, scan_json
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.objects import read_arguments
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Scan, Tape

_NAME = re.compile(r"[A-Za-z_][\w.\-/]*").fullmatch
_LINE_END = re.compile(r"[\r\n`{]").search
_BRACE = re.compile(r"\{").search
_MISTRAL_END = re.compile(r"[\[{]").search
_KIMI_ID = re.compile(r"(?:functions[._])?(.+?)(?:[:_](\d+))?").fullmatch


@attrs.frozen(kw_only=True, eq=False, slots=False)
class SectionBody:
    """Calls in a section: begin, head, separator, JSON, end."""

    sections: tuple[str, ...]
    begins: tuple[str, ...]
    separators: tuple[str, ...]
    ends: tuple[str, ...]
    section_ends: tuple[str, ...]
    style: Literal["id", "name"]
    """What the head is: Kimi's id with the name in it, or the name (or `function`, and the name after it)."""

    @cached_property
    def _marks(self) -> Lexicon:
        kinds = dict.fromkeys(self.begins, "begin") | dict.fromkeys(self.separators, "separator")
        kinds |= dict.fromkeys(self.sections, "section")
        return lexicon(kinds | dict.fromkeys(self.ends, "end") | dict.fromkeys(self.section_ends, "section end"))

    @cached_property
    def _json(self) -> Lexicon:
        return json_marks((*self.ends, *self.section_ends))

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the section; what stands between its tokens says nothing."""
        tape.confirm()
        while True:
            first = yield from tape.skip_white()
            if not first:
                return "done"
            match = yield from tape.find(self._marks)
            if match is None:
                return "done"
            kind = self._marks.kind(match)
            if kind == "section end":
                tape.cut(None)
                return "done"
            if kind == "begin" and not (yield from self._call(tape)):
                return "done"

    def _call(self, tape: Tape) -> Scan[bool]:
        """Read one call, its begin behind. False: the text ended, or the section did."""
        start = tape.here
        match = yield from tape.find(self._marks)
        if match is None:
            return False
        if self._marks.kind(match) != "separator":
            if self._marks.kind(match) in ("begin", "section end"):
                tape.pos = match.start()
            tape.cut(Fault(kind="malformed"))
            return True
        head_end = tape.here - len(match.group())
        first = yield from tape.skip_white()
        named: tuple[int, int] | None = None
        if self.style == "name" and first != "{":
            at = tape.here
            name = yield from tape.until(_LINE_END, 256)
            if name is None:
                return False
            named = (at, at + len(name))
            if (yield from tape.seek(_BRACE)) is None:
                return False
            tape.pos -= 1
        value = tape.here
        end = yield from scan_json(tape, self._json)
        value_end = tape.here
        if end == "cut":
            return False
        while (match := (yield from tape.find(self._marks))) is not None and self._marks.kind(match) == "separator":
            pass
        if match is None and tape.reason != "stop":
            return False
        kind = "end" if match is None else self._marks.kind(match)
        if match is not None and kind in ("begin", "section end"):
            tape.pos = match.start()
        head = tape.text(start, head_end).strip()
        name, own = self._head(head if named is None else tape.text(*named).strip())
        if name is None or end == "deep":
            tape.cut(Fault(kind="malformed", name=name))
        else:
            tape.cut(read_arguments(tape.text(value, value_end), name, id=own, mend=False))
        return match is not None

    def _head(self, head: str) -> tuple[str | None, str | None]:
        if self.style == "name":
            return (head if _NAME(head) else None), None
        match = _KIMI_ID(head)
        if match is None or _NAME(match[1]) is None or (match[1] == "call" and not head.startswith("functions")):
            return None, head or None
        return match[1], head


@attrs.frozen(kw_only=True, eq=False, slots=False)
class InlineBody:
    """One call after an opener: the name, perhaps marks, the JSON, and no closer that is needed."""

    marks: tuple[str, ...] = ()
    """What may stand between name and JSON."""
    id_mark: str = ""
    """The mark before the call's own id."""
    optional: tuple[str, ...] = ()
    prefix: str = ""
    line: bool = False
    """The name has a line of its own, and only a known one is a call."""
    prose: str = ""
    """The name of a line that says that text follows."""
    drops_opener: bool = False

    @cached_property
    def _between(self) -> Lexicon:
        return lexicon(dict.fromkeys(self.marks, "mark") | ({self.id_mark: "id"} if self.id_mark else {}))

    @cached_property
    def _after(self) -> Lexicon:
        return lexicon(dict.fromkeys(self.optional, "end"))

    @cached_property
    def _json(self) -> Lexicon:
        return json_marks()

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read one call."""
        if not self.line:
            yield from tape.skip_white()
        name = yield from tape.until(_LINE_END if self.line else _MISTRAL_END, 256)
        if name is None:
            empty = tape.ended and not tape.window[tape.pos :].strip()
            cut = tape.ended and any(tool.startswith(tape.window[tape.pos :].strip()) for tool in offer.schemas)
            return "done" if empty or cut else self._refuse()
        name = name.strip()
        if self.prose and name == self.prose and tape.confirm():
            tape.pos += 1
            tape.cut(None)
            return "done"
        if _NAME(name) is None or (self.line and not offer.known(name)):
            return self._refuse()
        own: str | None = None
        while (kind := (yield from tape.match(self._between))) is not None:
            if kind == "id":
                own = yield from tape.until(_MISTRAL_END, 64)
        first = yield from tape.skip_white()
        if first != "{":
            cut = tape.ended and (not first or self._between.partial(tape.window, tape.pos) == tape.pos)
            return "done" if cut and tape.confirm() else self._refuse()
        if not tape.confirm():
            return "release"
        start = tape.here
        end = yield from scan_json(tape, self._json)
        if end == "cut":
            return "done"
        stop = tape.here
        if end == "deep":
            tape.cut(Fault(kind="malformed", name=name))
            return "done"
        if self.optional and (yield from tape.skip_white()) and (yield from tape.match(self._after)):
            tape.cut(read_arguments(tape.text(start, stop), name, id=own))
        else:
            tape.cut(read_arguments(tape.text(start, stop), name, id=own), stop)
        return "done"

    def _refuse(self) -> Verdict:
        return "drop" if self.drops_opener else "release"
