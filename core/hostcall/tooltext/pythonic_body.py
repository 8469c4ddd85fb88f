"""Bodies that are Python calls: a list of them in brackets, or one below the other up to a closing tag."""

import re
from functools import cached_property

import attrs

from hostcall.tooltext.coerce import clean
from hostcall.tooltext.json_body import JsonBody, Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.literals import LiteralError, read_calls
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

_IN_STRING = {'"': re.compile(r'["\\]').search, "'": re.compile(r"['\\]").search}
_HEAD_CHARS = 200
_HEAD = re.compile(r"(?:\[\s*+)?+(?:(?P<name>[A-Za-z_][\w.\-]{0,127}+)\s*+(?P<after>\S)|(?P<odd>[^\sA-Za-z_]))").match
_BRACKETS = {
    "(": "open",
    "[": "open",
    "{": "open",
    ")": "close",
    "]": "close",
    "}": "close",
    '"': "quote",
    "'": "quote",
}


@attrs.frozen(kw_only=True, eq=False, slots=False)
class PythonicBody:
    """Calls in Python's notation. JSON in the same place is read too."""

    closers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    sure: bool = False
    """The opener is a token of its own; otherwise only a known name makes a call."""
    bare: bool = False
    """There is no bracket around the calls (Olmo)."""

    @cached_property
    def _marks(self) -> Lexicon:
        return lexicon(_BRACKETS | dict.fromkeys((*self.closers, *self.optional), "end"))

    @cached_property
    def _ends(self) -> Lexicon:
        return lexicon(dict.fromkeys((*self.closers, *self.optional), "end"))

    @cached_property
    def _json(self) -> JsonBody:
        return JsonBody(closers=self.closers, optional=self.optional, sure=self.sure, known_only=not self.sure)

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block."""
        tape.patient = not self.sure
        first = yield from tape.skip_white()
        if not first:
            return "done"
        if first == "{":
            return (yield from self._json.scan(tape, offer))
        while True:
            head = _HEAD(text := tape.window[tape.pos : tape.pos + _HEAD_CHARS])
            if head is not None or tape.ended or len(text) == _HEAD_CHARS:
                break
            yield None
        if head is not None and head["odd"] == "{":
            return (yield from self._json.scan(tape, offer))
        called = head is not None and head["after"] == "("
        if not self.sure and not (called and head is not None and offer.known(head["name"])):
            return "release"
        cut = head is None and tape.ended
        if self.sure and (called or cut or (head is not None and head["odd"] == "]")) and not tape.confirm():
            return "release"
        if not called and not tape.confirmed:
            return "release"
        return (yield from self._calls(tape, offer))

    def _calls(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        start, depth, stop = tape.here, 0, -1
        while (match := (yield from tape.find(self._marks))) is not None:
            kind = self._marks.kind(match)
            if kind == "open":
                depth += 1
            elif kind == "close":
                depth -= 1
                if depth <= 0 and not self.bare:
                    stop = tape.here
                    break
            elif kind == "end":
                stop = tape.here - len(match.group())
                return self._emit(tape, offer, start, stop, tape.here)
            else:
                search = _IN_STRING[match.group()]
                while (inner := (yield from tape.seek(search))) is not None and inner.group() == "\\":
                    if not (yield from tape.peek()):
                        break
                    tape.pos += 1
        if stop < 0:
            return "done" if tape.confirmed else "release"
        first = yield from tape.skip_white()
        if first and (yield from tape.match(self._ends)) is not None:
            return self._emit(tape, offer, start, stop, tape.here)
        if self.closers and tape.cut_off(self._ends):
            tape.pos = len(tape.window)
            if tape.reason != "stop":
                return "done"
            return self._emit(tape, offer, start, stop, tape.here)
        return self._emit(tape, offer, start, stop, stop)

    def _emit(self, tape: Tape, offer: Offer, start: int, stop: int, end: int) -> Verdict:
        try:
            calls = read_calls(tape.text(start, stop))
        except LiteralError:
            calls = []
        if not calls or (not self.sure and not all(offer.known(call.name) for call in calls)):
            if not tape.confirmed:
                return "release"
            tape.cut(Fault(kind="malformed"), end)
            return "done"
        if not tape.confirm():
            return "release"
        for call in calls[:-1]:
            tape.cut(Found(name=call.name, arguments=clean(call.arguments)), start + call.end)
        tape.cut(Found(name=calls[-1].name, arguments=clean(calls[-1].arguments)), end)
        return "done"
