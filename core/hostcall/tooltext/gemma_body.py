"""Bodies of Gemma: ``call:N{key:value,…}`` with strings between delimiters of their own.

A delimiter inside a string is told from the closing one by what follows: a comma or a bracket. One without its opening
twin only ends a bare word. Keys run to their colon and may hold spaces.
"""

import re
from functools import cached_property
from typing import Any

import attrs

from hostcall.tooltext.coerce import clean, coerce, load_json
from hostcall.tooltext.json_body import MAX_DEPTH, Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import WHITE, Fault, Found, Scan, Tape

_NOT_WHITE = re.compile(r"[^ \t\r\n]").search
_NAME_END = re.compile(r"[{<\s]").search


class _MalformedError(ValueError):
    """The text is no Gemma value. Caught in this file."""


@attrs.frozen(kw_only=True, eq=False, slots=False)
class GemmaBody:
    """Calls in Gemma's own notation."""

    closer: str
    delimiter: str
    typed: bool = False
    """Strings are typed by the schema; otherwise a string between delimiters is a string."""

    @cached_property
    def _call(self) -> Lexicon:
        return lexicon({"call:": "call"})

    @cached_property
    def _outside(self) -> Lexicon:
        kinds = {"{": "open", "[": "open", "}": "close", "]": "close", ",": "next", ":": "next", self.closer: "end"}
        return lexicon(kinds)

    @cached_property
    def _inside(self) -> Lexicon:
        return lexicon({self.delimiter: "string"})

    @cached_property
    def _ends(self) -> Lexicon:
        return lexicon({self.closer: "end"})

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read one call."""
        first = yield from tape.skip_white()
        if (yield from tape.match(self._call)) is None:
            cut = tape.ended and "call:".startswith(tape.window[tape.pos :])
            return "done" if not first or cut else "release"
        if not tape.confirm():
            return "release"
        name = yield from tape.until(_NAME_END, 256)
        first = yield from tape.skip_white()
        if first != "{":
            if (yield from tape.find(self._ends)) is not None:
                tape.cut(Fault(kind="malformed", name=name))
            return "done"
        start = tape.here
        end = yield from self._braces(tape)
        if end is None:
            return "done"
        stop = tape.here - (len(self.closer) if end == "early" else 0)
        if end != "early":
            match = yield from tape.find(self._ends)
            if match is None:
                return "done"
        tape.cut(self._read(tape.text(start, stop), name or "", offer))
        return "done"

    def _braces(self, tape: Tape) -> Scan[str | None]:
        """Go past the braces. None: the text ended first; ``early``: the closer came first, and is behind."""
        depth = 0
        while (match := (yield from tape.find(self._outside))) is not None:
            kind = self._outside.kind(match)
            if kind == "end":
                return "early"
            if kind == "close":
                depth -= 1
                if depth <= 0:
                    return "whole"
                continue
            depth += kind == "open"
            # Only here can a string begin; a delimiter anywhere else has lost its twin.
            yield from tape.skip_white()
            if (yield from tape.match(self._inside)) is not None:
                while (yield from tape.find(self._inside)) is not None:
                    if (yield from tape.skip_white()) in (",", "}", "]", ""):
                        break
        return None

    def _read(self, text: str, name: str, offer: Offer) -> Found | Fault:
        try:
            reader = _Reader(text, self.delimiter, offer.properties(name) if self.typed else None)
            value = reader.mapping(0)
        except _MalformedError:
            return Fault(kind="malformed", name=name)
        return Found(name=clean(name), arguments=clean(value))


class _Reader:
    def __init__(self, text: str, delimiter: str, schemas: Any) -> None:
        self.text = text
        self.pos = 0
        self.delimiter = delimiter
        self.schemas = schemas

    def space(self) -> str:
        while self.pos < len(self.text) and self.text[self.pos] in WHITE:
            self.pos += 1
        return self.text[self.pos : self.pos + 1]

    def behind(self, at: int) -> str:
        """Return the first character from a place on that is no white space."""
        match = _NOT_WHITE(self.text, at)
        return match.group() if match is not None else ""

    def mapping(self, depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise _MalformedError
        self.pos += 1
        made: dict[str, Any] = {}
        while True:
            char = self.space()
            if char == "}":
                self.pos += 1
                return made
            if char == ",":
                self.pos += 1
                continue
            key = self.key()
            schema = self.schemas.get(key) if self.schemas is not None and depth == 0 else None
            made[key] = self.value(depth + 1, schema)
            if self.space() not in (",", "}"):
                raise _MalformedError

    def key(self) -> str:
        if self.text.startswith(self.delimiter, self.pos):
            close = self.text.find(self.delimiter, self.pos + len(self.delimiter))
            key = self.text[self.pos + len(self.delimiter) : close]
            colon = self.text.find(":", close)
        else:
            colon = self.text.find(":", self.pos)
            key = self.text[self.pos : colon].strip().strip("\"'")
        if colon < 0:
            raise _MalformedError
        self.pos = colon + 1
        return key

    def value(self, depth: int, schema: Any) -> Any:
        char = self.space()
        if self.text.startswith(self.delimiter, self.pos):
            text = self.string()
            return text if self.schemas is None or schema is None else coerce(text, schema)
        if char == "{":
            return self.mapping(depth)
        if char == "[":
            return self.sequence(depth)
        if char and char in "\"'" and (quoted := self.quoted(char)) is not None:
            return quoted
        return self.word(schema)

    def sequence(self, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise _MalformedError
        self.pos += 1
        made: list[Any] = []
        while True:
            char = self.space()
            if char == "]":
                self.pos += 1
                return made
            if char == ",":
                self.pos += 1
                continue
            if not char:
                raise _MalformedError
            made.append(self.value(depth + 1, None))
            if self.space() not in (",", "]"):
                raise _MalformedError

    def string(self) -> str:
        start = at = self.pos + len(self.delimiter)
        while (close := self.text.find(self.delimiter, at)) >= 0:
            at = close + len(self.delimiter)
            if self.behind(at) in (",", "}", "]"):
                self.pos = at
                return self.text[start:close]
        raise _MalformedError

    def quoted(self, quote: str) -> str | None:
        """Read a plain quoted string; None when its end is not where one can be."""
        at = self.pos + 1
        while (close := self.text.find(quote, at)) >= 0:
            at = close + 1
            if self.behind(at) in (",", "}", "]") and self.text[close - 1] != "\\":
                raw = self.text[self.pos + 1 : close]
                self.pos = at
                try:
                    return str(load_json(f'"{raw}"'))
                except ValueError:
                    return raw
        return None

    def word(self, schema: Any) -> Any:
        start = self.pos
        while self.pos < len(self.text) and self.text[self.pos] not in ",}]":
            self.pos += 1
        word = self.text[start : self.pos].strip(WHITE)
        if word.endswith(self.delimiter):  # its opening twin was left out
            return word.removesuffix(self.delimiter)
        if not word:
            raise _MalformedError
        if schema is not None:
            return coerce(word, schema)
        if word == "None":
            return None
        try:
            return load_json(word if word not in ("True", "False") else word.lower())
        except (ValueError, RecursionError):
            return word
