"""Chunks that differ from one before in their text alone, read without decoding their JSON anew.

Nearly all chunks of a stream are one JSON document with another text in ``delta.content``. When two documents have the
same bytes before and behind one well-formed string, they are the same but for that string: what stands around it need
not be decoded again. Decoding is two thirds of what a chunk costs.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import attrs

_KEY = b'"content"'
_OPENING = re.compile(rb'\s*:\s*"').match
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*+')
_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_MOST_MISSES = 16
"""Patterns learned in vain, one after the other. An engine that puts a time into each chunk has none worth learning."""


@attrs.define
class ChunkPattern:
    """What a stream's chunks have in common. `read` returns the text of a decoded chunk that brings only text."""

    _read: Callable[[Any], str | None]
    _head: bytes = b""
    _tail: bytes = b""
    _misses: int = 0

    def text(self, data: bytes) -> str | None:
        """Return the text of a chunk that fits the pattern, exactly as decoding it would; None when it does not fit."""
        head, tail = self._head, self._tail
        if not head or not data.startswith(head) or not data.endswith(tail) or len(data) < len(head) + len(tail):
            return None
        string = data[len(head) : len(data) - len(tail)]
        if _PLAIN.fullmatch(string) is not None:
            self._misses = 0
            return string.decode("utf-8", "replace")
        if _STRING.fullmatch(string) is not None:
            self._misses = 0
            text: str = json.loads(f'"{string.decode("utf-8", "replace")}"')
            return text
        return None

    def learn(self, data: bytes) -> None:
        """Take the pattern of a chunk that was decoded, and brought only text."""
        if self._misses >= _MOST_MISSES:
            return
        self._misses += 1
        self._head = b""
        at = data.find(_KEY)
        opening = _OPENING(data, at + len(_KEY)) if at >= 0 and data.find(_KEY, at + 1) < 0 else None
        if opening is None:
            return
        string = _STRING.match(data, opening.end())
        if string is None or data[string.end() : string.end() + 1] != b'"':
            return
        head, tail = data[: opening.end()], data[string.end() :]
        # The key may stand elsewhere too, spelled with an escape: what is changed here must be what is read.
        probe = json.loads((head + b"?" + tail).decode("utf-8", "replace"))
        if self._read(probe) == "?":
            self._head, self._tail = head, tail
