"""Python literals as models write them: strings, numbers, containers, and calls with keyword arguments.

A hand-written reader, because `ast` would build a tree for anything, warns about odd escapes, and can be made to
recurse past its limit. JSON's words for true, false and null are read too, since models mix them.
"""

import re
from typing import Any

import attrs

MAX_DEPTH = 128

_SPACE = re.compile(r"[ \t\r\n]*").match
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z_][A-Za-z0-9_]*)*").match
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)").match
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_SIMPLE_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "b": "\b", "f": "\f", "a": "\a", "v": "\v",
    "/": "/", "0": "\0", "\n": "",
}  # fmt: skip
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_STRING_STOPS = {'"': re.compile(r'["\\]').search, "'": re.compile(r"['\\]").search}


class LiteralError(ValueError):
    """The text is no literal. Caught where it is read; it never leaves the filter."""


@attrs.frozen
class LiteralCall:
    """One call with keyword arguments, and where its text ended."""

    name: str
    arguments: dict[str, Any]
    end: int


def read_literal(text: str) -> Any:
    """Read a text that is one literal and nothing else.

    Raises:
        LiteralError: It is not.
    """
    reader = _Reader(text)
    value = reader.value(0)
    reader.space()
    if reader.pos != len(text):
        raise LiteralError("something follows the value")
    return value


def read_calls(text: str) -> list[LiteralCall]:
    """Read calls, separated by commas or white space, with or without brackets around them.

    Raises:
        LiteralError: It is something else; positional arguments too, since no name says what they are.
    """
    reader = _Reader(text)
    reader.space()
    bracket = reader.take("[")
    calls: list[LiteralCall] = []
    while True:
        reader.space()
        if bracket and reader.take("]"):
            break
        if not bracket and reader.pos == len(text):
            break
        if calls and reader.take(","):
            continue
        calls.append(reader.call())
    reader.space()
    if reader.pos != len(text):
        raise LiteralError("something follows the calls")
    return calls


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0

    def space(self) -> None:
        match = _SPACE(self.text, self.pos)
        assert match is not None
        self.pos = match.end()

    def take(self, mark: str) -> bool:
        if self.text.startswith(mark, self.pos):
            self.pos += len(mark)
            return True
        return False

    def need(self, mark: str) -> None:
        self.space()
        if not self.take(mark):
            raise LiteralError(f"{mark} expected")

    def call(self) -> LiteralCall:
        match = _NAME(self.text, self.pos)
        if match is None:
            raise LiteralError("a name expected")
        self.pos = match.end()
        self.need("(")
        arguments: dict[str, Any] = {}
        while True:
            self.space()
            if self.take(")"):
                return LiteralCall(match.group(), arguments, self.pos)
            if arguments:
                self.need(",")
                self.space()
                if self.take(")"):
                    return LiteralCall(match.group(), arguments, self.pos)
            key = _NAME(self.text, self.pos)
            if key is None:
                raise LiteralError("a keyword expected")
            self.pos = key.end()
            self.need("=")
            arguments[key.group()] = self.value(0)

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise LiteralError("nested too deeply")
        self.space()
        char = self.text[self.pos : self.pos + 1]
        if char and char in "\"'":
            return self.string()
        if char == "{":
            return self.mapping(depth)
        if char and char in "[(":
            return self.sequence(depth)
        word = _NAME(self.text, self.pos)
        if word is not None:
            if word.group() not in _WORDS:
                raise LiteralError("an unknown word")
            self.pos = word.end()
            return _WORDS[word.group()]
        return self.number()

    def number(self) -> int | float:
        match = _NUMBER(self.text, self.pos)
        if match is None:
            raise LiteralError("a value expected")
        self.pos = match.end()
        word = match.group()
        try:
            if "x" in word or "X" in word:
                return int(word, 16)
            return float(word) if any(mark in word for mark in ".eE") else int(word)
        except ValueError as error:
            raise LiteralError("more digits than are read") from error

    def mapping(self, depth: int) -> dict[str, Any]:
        self.pos += 1
        made: dict[str, Any] = {}
        while True:
            self.space()
            if self.take("}"):
                return made
            if made:
                self.need(",")
                self.space()
                if self.take("}"):
                    return made
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise LiteralError("a key that is no string")
            self.need(":")
            made[key] = self.value(depth + 1)

    def sequence(self, depth: int) -> list[Any]:
        close = "]" if self.text[self.pos] == "[" else ")"
        self.pos += 1
        made: list[Any] = []
        while True:
            self.space()
            if self.take(close):
                return made
            if made:
                self.need(",")
                self.space()
                if self.take(close):
                    return made
            made.append(self.value(depth + 1))

    def string(self) -> str:
        quote = self.text[self.pos]
        triple = self.text.startswith(quote * 3, self.pos)
        self.pos += 3 if triple else 1
        parts: list[str] = []
        while (match := _STRING_STOPS[quote](self.text, self.pos)) is not None:
            parts.append(self.text[self.pos : match.start()])
            self.pos = match.end()
            if match.group() == "\\":
                parts.append(self.escape())
            elif not triple:
                return "".join(parts)
            elif self.text.startswith(quote * 2, self.pos):
                self.pos += 2
                return "".join(parts)
            else:
                parts.append(quote)
        raise LiteralError("a string without an end")

    def escape(self) -> str:
        char = self.text[self.pos : self.pos + 1]
        if char in _SIMPLE_ESCAPES:
            self.pos += 1
            return _SIMPLE_ESCAPES[char]
        digits = _HEX_ESCAPES.get(char, 0)
        number = self.text[self.pos + 1 : self.pos + 1 + digits]
        if digits and len(number) == digits and all(digit in "0123456789abcdefABCDEF" for digit in number):
            code = int(number, 16)
            if code <= 0x10FFFF:
                self.pos += 1 + digits
                return chr(code)
        return "\\"  # as Python does with an escape it does not know
