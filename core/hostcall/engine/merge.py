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
from typing import Any

import attrs

from hostcall.data import CallFragment


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

    @property
    def arguments(self) -> str:
        """The arguments' text so far."""
        return "".join(self.pieces)

    def complete(self) -> bool:
        """Whether the arguments are complete JSON, as far as they have come."""
        if self.whole:
            return True
        try:
            json.loads(self.arguments)
        except ValueError:
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

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: CallFragment) -> None:
        """Merge one fragment."""
        call = self._home(fragment)
        if fragment.id and not call.id:
            call.id = fragment.id
        if fragment.name and not call.name:
            call.name = fragment.name
        arguments = fragment.arguments
        if arguments is None or call.whole:
            return
        if isinstance(arguments, str):
            call.size += len(arguments)
            if call.size <= self.max_arguments:
                call.pieces.append(arguments)
        else:
            call.pieces = [json.dumps(arguments, ensure_ascii=False)]
            call.size = len(call.pieces[0])
            call.whole = True

    def calls(self) -> list[MergedCall]:
        """Return the calls, those with several objects for arguments split."""
        merged: list[MergedCall] = []
        for call in self._calls:
            if call.size > self.max_arguments:
                merged.append(MergedCall(call.id, call.name, call.arguments[:1000], oversize=True))
                continue
            parts = split_objects(call.arguments)
            merged.append(MergedCall(call.id, call.name, parts[0]))
            merged.extend(MergedCall("", call.name, part) for part in parts[1:])
        return merged

    def _home(self, fragment: CallFragment) -> OpenCall:
        call = self._open(fragment)
        if call is None or self._is_new(call, fragment):
            call = OpenCall(fragment.index)
            self._calls.append(call)
        return call

    def _open(self, fragment: CallFragment) -> OpenCall | None:
        if fragment.index is not None:
            return next((call for call in reversed(self._calls) if call.index == fragment.index), None)
        if fragment.id:
            return next((call for call in reversed(self._calls) if call.id == fragment.id), None)
        return self._calls[-1] if self._calls else None

    def _is_new(self, call: OpenCall, fragment: CallFragment) -> bool:
        if fragment.id and call.id:
            return fragment.id != call.id
        return bool(fragment.name) and bool(call.name) and call.size > 0 and call.complete()


def split_objects(text: str) -> list[str]:
    """Return the JSON objects that stand in a row in `text`, equal neighbours once; or `[text]` when it is not so."""
    decoder = json.JSONDecoder()
    parts: list[str] = []
    values: list[Any] = []
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
        if value not in values:
            values.append(value)
            parts.append(text[position:end])
        position = end
    return parts or [text]
