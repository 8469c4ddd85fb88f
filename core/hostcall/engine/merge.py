"""Fragments of tool calls, merged into calls whatever the engine does with its indices.

Engines agree on little here: some send index 0 for every call, some none; some send the id once, some never, some a new
one with each piece of another call; some send the name first and letters of arguments after, some all at once, some the
whole arguments twice. The rules, in order:

1. A fragment belongs to the open call with its index; without an index, to the call with its id; else to the last one.
2. It starts a *new* call when its id is another than that call's, or when it brings a name although the call's
   arguments are already complete JSON.
3. A name is taken once; an empty one is none.
4. Arguments that turn out to be several JSON objects in a row are several calls; equal ones are one.
"""

import json
import re

import attrs

from hostcall.data import CallFragment
from hostcall.engine.plain import is_plain, read_object

_MARKS = re.compile(r'\\.|[\\"{}\[\]]', re.DOTALL)
_SCALAR_CHARS = 64
"""No number and no literal is longer."""

MAX_CALLS = 256
"""Calls of one reply that are kept. An answer runs far fewer; an engine in a loop sends ever more."""


@attrs.define
class OpenCall:
    """A call under construction."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = attrs.Factory(list)
    size: int = 0
    whole: bool = False
    """The arguments came as one object: nothing more belongs to them."""
    _kind: str = ""
    """The first character of the value."""
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False
    """The last piece ended in a backslash, which takes the next character with it."""
    _broken: bool = False

    @property
    def arguments(self) -> str:
        """The arguments' text so far."""
        return "".join(self.pieces)

    def append(self, text: str) -> None:
        """Take further characters of the arguments, and note where their brackets and strings stand."""
        self.pieces.append(text)
        self._kind = self._kind or text.lstrip()[:1]
        marks = _MARKS.findall(text, 1 if self._escaped else 0)
        if text:
            self._escaped = bool(marks) and marks[-1] == "\\"
        for mark in marks:
            if self._in_string:
                self._in_string = mark != '"'
            elif mark == '"':
                self._in_string = True
            else:
                self._depth += 1 if mark in "{[" else -1 if mark in "}]" else 0

    def complete(self) -> bool:
        """Whether the arguments are complete JSON, as far as they have come.

        This is asked for each fragment that brings a name, so the text is parsed only where a value may end; and a
        value that ended badly is not tried again, for nothing that follows can mend it.
        """
        if self.whole:
            return True
        if self._broken or self._in_string or self._depth > 0:
            return False
        try:
            json.loads(self.arguments)
        except (ValueError, RecursionError):
            self._broken = self._kind in ("{", "[", '"') or self.size > _SCALAR_CHARS
            return False
        return True


@attrs.frozen
class MergedCall:
    """A call as the engine sent it. `arguments` is JSON text that may or may not parse; empty means none were sent."""

    id: str
    name: str
    arguments: str
    oversize: bool = False


@attrs.define
class CallMerger:
    """All calls of one reply. `max_arguments` bounds the arguments of a call, in characters."""

    max_arguments: int
    _calls: list[OpenCall] = attrs.Factory(list)
    _by_index: dict[int, OpenCall] = attrs.Factory(dict)
    _by_id: dict[str, OpenCall] = attrs.Factory(dict)
    _last: OpenCall | None = None
    _closed: int = 0
    """How many calls, from the first, were handed out by `closed`."""
    _stuck: bool = False
    """The next one can only be judged at the end."""

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: CallFragment) -> None:
        """Merge one fragment."""
        call = self._home(fragment)
        if fragment.id and not call.id:
            call.id = fragment.id
            self._by_id[call.id] = call
        if fragment.name and not call.name:
            call.name = fragment.name
        arguments = fragment.arguments
        if arguments is None or call.whole:
            return
        if isinstance(arguments, str):
            call.size += len(arguments)
            if call.size <= self.max_arguments:
                call.append(arguments)
        else:
            call.pieces = [json.dumps(arguments, ensure_ascii=False) if is_plain(arguments) else "<not JSON>"]
            call.size = len(call.pieces[0])
            call.whole = True

    def closed(self) -> list[MergedCall]:
        """Return the calls that are whole since the last look: a later one has begun, and they hold one object.

        None is passed over, so that the order stays the engine's. What still comes for one of them adds no more than
        further calls, by rule 4.
        """
        found: list[MergedCall] = []
        while not self._stuck and self._closed < len(self._calls) - 1:
            call = self._calls[self._closed]
            if not call.name or not call.complete():
                break  # pieces of two calls may come in turns
            if call.size > self.max_arguments or read_object(call.arguments) is None:
                self._stuck = True
                break
            self._closed += 1
            found.append(MergedCall(call.id, call.name, call.arguments))
        return found

    def calls(self) -> list[MergedCall]:
        """Return the calls that `closed` did not, those with several objects for arguments split."""
        merged: list[MergedCall] = []
        for call in self._calls[: self._closed]:
            merged.extend(MergedCall("", call.name, part) for part in split_objects(call.arguments)[1:])
        for call in self._calls[self._closed :]:
            if call.size > self.max_arguments:
                merged.append(MergedCall(call.id, call.name, call.arguments[:1000], oversize=True))
                continue
            parts = split_objects(call.arguments)
            merged.append(MergedCall(call.id, call.name, parts[0]))
            merged.extend(MergedCall("", call.name, part) for part in parts[1:])
        return merged[: MAX_CALLS - self._closed]

    def _home(self, fragment: CallFragment) -> OpenCall:
        call = self._open(fragment)
        if call is None or self._is_new(call, fragment):
            call = OpenCall(fragment.index)
            if len(self._calls) < MAX_CALLS:
                self._calls.append(call)
            if call.index is not None:
                self._by_index[call.index] = call
        self._last = call
        return call

    def _open(self, fragment: CallFragment) -> OpenCall | None:
        if fragment.index is not None:
            return self._by_index.get(fragment.index)
        if fragment.id:
            return self._by_id.get(fragment.id)
        return self._last

    def _is_new(self, call: OpenCall, fragment: CallFragment) -> bool:
        if fragment.id and call.id:
            return fragment.id != call.id
        return bool(fragment.name) and bool(call.name) and call.size > 0 and call.complete()


def split_objects(text: str) -> list[str]:
    """Return the JSON objects that stand in a row in `text`, equal neighbours once; or `[text]` when it is not so."""
    decoder = json.JSONDecoder()
    parts: list[str] = []
    seen: set[str] = set()
    position = 0
    while position < len(text):
        while position < len(text) and text[position] in " \t\r\n;,":
            position += 1
        if position == len(text):
            break
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return [text]
        if not isinstance(value, dict):
            return [text]
        if not is_plain(value):
            return [text]
        key = json.dumps(value, sort_keys=True)
        if key not in seen:
            seen.add(key)
            parts.append(text[position:end])
            if len(parts) >= MAX_CALLS:
                break
        position = end
    return parts or [text]
