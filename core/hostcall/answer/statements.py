"""An answer in the form that a weak model can keep: statements, each with the number of its source.

A small model that is asked to cite forgets to; forced to a JSON schema that wants a source with each statement, it
cannot. The reader sees prose all the same: the text of each statement as it is written, and ``[n]`` when its number is
there. An engine that ignores the schema writes prose itself, which passes as it is.
"""

import enum
import json
from collections.abc import Sequence
from typing import Any

import attrs

MOST = 6
"""Statements that one answer may have: a model in a loop would else write them to its length limit."""

_ESCAPES = {"n": " ", "t": " ", "r": " ", "b": "", "f": ""}


def statements_schema(numbers: Sequence[int]) -> dict[str, Any]:
    """Return the schema of an answer from the sources with these numbers."""
    statement = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "source": {"enum": list(numbers)}},
        "required": ["text", "source"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"statements": {"type": "array", "minItems": 1, "maxItems": MOST, "items": statement}},
        "required": ["statements"],
        "additionalProperties": False,
    }


class _Place(enum.Enum):
    START = "before the first character"
    PROSE = "in prose"
    BETWEEN = "between strings"
    KEY = "in a string that is none of a statement's text"
    TEXT = "in a statement's text"


@attrs.define
class Statements:
    """Turns the JSON of an answer into prose, piece by piece."""

    _place: _Place = _Place.START
    _last: str = ""
    """The last whole string, while it may be a member's name."""
    _string: list[str] = attrs.Factory(list)
    _escape: str = ""
    _high: int = 0
    """The first half of a character that takes two escapes."""
    _number: str = ""
    _source: bool = False
    _texts: int = 0

    def feed(self, text: str) -> str:
        """Take the next characters and return what the reader gets to see."""
        if self._place is _Place.START:
            text = text.lstrip()
            if not text:
                return ""
            self._place = _Place.BETWEEN if text[0] == "{" else _Place.PROSE
        if self._place is _Place.PROSE:
            return text
        return "".join(map(self._character, text))

    def _character(self, character: str) -> str:
        if self._place is _Place.BETWEEN:
            return self._between(character)
        if self._escape:
            return self._escaped(character)
        if character == "\\":
            self._escape = "\\"
            return ""
        if character != '"':
            return self._put(character)
        if self._place is _Place.KEY:
            self._last = "".join(self._string)
        self._place = _Place.BETWEEN
        return ""

    def _between(self, character: str) -> str:
        if character == '"':
            starts = self._last == "text"
            self._place = _Place.TEXT if starts else _Place.KEY
            self._last = ""
            self._string.clear()
            if not starts:
                return ""
            self._texts += 1
            return " " if self._texts > 1 else ""
        if character in "0123456789" and self._source and len(self._number) < 6:
            self._number += character
            return ""
        shown = f" [{int(self._number)}]" if self._number else ""
        self._number = ""
        if character == ":":
            self._source = self._last == "source"
        elif not character.isspace():
            self._source = False
            self._last = ""
        return shown

    def _escaped(self, character: str) -> str:
        self._escape += character
        if self._escape[1] == "u":
            if len(self._escape) < 6:
                return ""
            return self._unit(self._escape[2:])
        self._escape = ""
        return self._put(_ESCAPES.get(character, character))

    def _unit(self, digits: str) -> str:
        self._escape = ""
        try:
            unit = int(digits, 16)
        except ValueError:
            return self._put("\ufffd")
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
            return ""
        high, self._high = self._high, 0
        if high and 0xDC00 <= unit < 0xE000:
            return self._put(chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00)))
        return self._put("\ufffd" if 0xDC00 <= unit < 0xE000 else chr(unit))

    def _put(self, text: str) -> str:
        if self._place is _Place.TEXT:
            return text
        self._string.append(text)
        return ""


def example(number: int) -> str:
    """Return what an answer looks like, for the prompt."""
    return json.dumps({"statements": [{"text": "…", "source": number}]}, ensure_ascii=False)
