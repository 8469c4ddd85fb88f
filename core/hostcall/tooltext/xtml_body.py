"""Bodies of Kimi K3: elements written with tokens, types in attributes."""

import re
from functools import cached_property
from typing import Any

import attrs

from hostcall.tooltext.coerce import clean, load_json
from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

MAX_PARAMETERS = 1_000

_SEP = re.compile(r"<\|sep\|>").search
_ATTRIBUTE = re.compile(r'([\w-]+)\s*=\s*"([^"]*)"').findall


@attrs.frozen(kw_only=True, eq=False, slots=False)
class XtmlBody:
    """The tools part of a K3 message."""

    @cached_property
    def _marks(self) -> Lexicon:
        return lexicon(
            {
                "<|open|>call ": "call",
                "<|open|>argument ": "argument",
                "<|close|>argument<|sep|>": "argument end",
                "<|close|>call<|sep|>": "call end",
                "<|close|>tools<|sep|>": "tools end",
            }
        )

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read all calls."""
        tape.confirm()
        while (match := (yield from tape.find(self._marks))) is not None:
            kind = self._marks.kind(match)
            if kind == "tools end":
                tape.cut(None)
                return "done"
            if kind == "call" and not (yield from self._call(tape)):
                break
        return "done"

    def _call(self, tape: Tape) -> Scan[bool]:
        head = yield from tape.until(_SEP)
        if head is None:
            return False
        name = dict(_ATTRIBUTE(head)).get("tool", "")
        values: list[tuple[str, str, int, int]] = []
        while (match := (yield from tape.find(self._marks))) is not None:
            kind = self._marks.kind(match)
            if kind in ("call end", "tools end", "call"):
                if kind != "call end":
                    tape.cut(Fault(kind="malformed", name=name), tape.here - len(match.group()))
                    tape.pos = match.start()
                else:
                    self._emit(tape, _unescape(name), values)
                return True
            if kind != "argument":
                continue
            head = yield from tape.until(_SEP)
            if head is None:
                return False
            attributes = dict(_ATTRIBUTE(head))
            tape.pos += len("<|sep|>")
            start = tape.here
            end = yield from self._value_end(tape)
            if end is None:
                return False
            if len(values) <= MAX_PARAMETERS:
                values.append((_unescape(attributes.get("key", "")), attributes.get("type", "string"), start, end))
        return False

    def _value_end(self, tape: Tape) -> Scan[int | None]:
        while (match := (yield from tape.find(self._marks))) is not None:
            if self._marks.kind(match) == "argument end":
                end = tape.here - len(match.group())
                yield from tape.skip_white()
                if (yield from tape.sees(self._marks)) in ("argument", "call end"):
                    return end
        return None

    def _emit(self, tape: Tape, name: str, values: list[tuple[str, str, int, int]]) -> None:
        if not name or len(values) > MAX_PARAMETERS:
            tape.cut(Fault(kind="malformed", name=name or None))
            return
        arguments: dict[str, Any] = {}
        for key, kind, start, end in values:
            text = tape.text(start, end)
            arguments[clean(key)] = clean(text) if kind == "string" else _typed(text)
        tape.cut(Found(name=clean(name), arguments=arguments, twice=len(arguments) < len(values)))


def _typed(text: str) -> Any:
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        return clean(text)


def _unescape(name: str) -> str:
    return name.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
