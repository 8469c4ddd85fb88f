"""Calls in a code fence: a fence line, JSON that is nothing but calls to known tools, and a closing fence line.

A fence is how models show code, so everything is checked before anything is hidden: the first key, the names, the
arguments, the closing line. What does not match in every point is shown as it was written.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import attrs

from hostcall.tooltext.coerce import load_json
from hostcall.tooltext.json_body import JsonBody, Verdict
from hostcall.tooltext.objects import Outcome, call_of
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Scan, Tape

_LINE_END = re.compile(r"\n").search
_NOT_TICK = re.compile(r"[^`]").search
_NOT_BLANK = re.compile(r"[^ \t\r]").search
_LANGUAGES = frozenset({"", "json", "jsonc", "json5", "tool", "tool_call", "tool_code"})


Members: TypeAlias = tuple[tuple[str, str], ...]
"""Names of the two members that a call may have: its name, its arguments."""


def reader(members: Members) -> Callable[[str], Outcome]:
    """Return a reader of objects that have one of these pairs of members for the name and for the arguments."""

    def read(text: str) -> Outcome:
        try:
            value = load_json(text)
        except (ValueError, RecursionError):
            return Fault(kind="malformed")
        for name, arguments in members if isinstance(value, dict) else ():
            if isinstance(value.get(name), str) and isinstance(value.get(arguments), dict):
                return call_of({"name": value[name], "arguments": value[arguments]})
        return Fault(kind="malformed")

    return read


@attrs.frozen(kw_only=True, eq=False, slots=False)
class FenceBody:
    """Calls as JSON in a fence."""

    members: Members
    """The members that each object must have, in one of these ways."""
    led: bool = False
    """Words stand before the fence; they are the opener, and the fence may begin on the next line."""

    @cached_property
    def _json(self) -> JsonBody:
        return JsonBody(known_only=True, read=reader(self.members))

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block, from the ticks on."""
        tape.patient = True
        if self.led:
            yield from tape.skip_white()
        ticks = yield from tape.until(_NOT_TICK, 64)
        if ticks is None or len(ticks) < 3:
            return "release"
        language = yield from tape.until(_LINE_END, 32)
        if language is None or language.strip().lower() not in _LANGUAGES:
            return "release"
        spans: list[tuple[int, int]] = []
        while (step := (yield from self._json.value(tape, spans))) == "whole":
            first = yield from tape.skip_white()
            if first != "{":
                break
        if step != "whole" or not spans:
            return "release"
        if (yield from tape.peek(len(ticks))) != ticks or tape.before() not in ("\n", " ", "\t", "\r"):
            return "release"
        tape.pos += len(ticks)
        end = tape.here
        rest = yield from tape.seek(_NOT_BLANK)
        if rest is not None and rest.group() != "\n":
            return "release"
        return self._json.emit(tape, offer, spans, end)
