"""What comes out of the filter: four frozen values.

`Text` and `Reasoning` are written by hand because one of them is made for every few characters of an answer, and
attrs' own frozen `__init__` costs as much as everything else on that path together.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import attrs


@attrs.frozen(init=False)
class Text:
    """A piece of the answer, to be shown."""

    text: str

    def __init__(self, text: str) -> None:
        SET_TEXT(self, text)


@attrs.frozen(init=False)
class Reasoning:
    """A piece of what the model thought, without the tags around it."""

    text: str

    def __init__(self, text: str) -> None:
        SET_REASONING(self, text)


# A slot's own descriptor, past the frozen guard. The filter's fast path uses it as well.
SET_TEXT: Callable[[Any, str], None] = Text.text.__set__  # type: ignore[attr-defined]  # attrs made it a slot
SET_REASONING: Callable[[Any, str], None] = Reasoning.text.__set__  # type: ignore[attr-defined]  # the same


@attrs.frozen(kw_only=True)
class ToolCall:
    """A call that the model wrote, complete."""

    index: int
    """Its place among the calls of this answer, from 0."""
    id: str | None
    """The model's own id when it gave one that is unique in this answer."""
    name: str
    arguments: dict[str, Any]
    raw: str
    """The text it was read from."""
    dialect: str


RemarkKind: TypeAlias = Literal[
    "unknown", "incomplete", "malformed", "oversize", "repaired", "duplicate-key", "parked", "draft", "too-many"
]


@attrs.frozen
class Remark:
    """Something a person debugging a model wants to know. No remark changes what is shown.

    ``unknown``: a call to a tool that is not offered was hidden. ``incomplete``: a call was cut before its end.
    ``malformed``: a call was closed but beyond repair. ``oversize``: a call was longer than may be held.
    ``repaired``: a call needed repair. ``duplicate-key``: a key stood twice, the last one counts. ``parked``: a call
    was written inside reasoning and waits for the end. ``draft``: such a call turned out to be reasoning.
    ``too-many``: a call past the most that one answer may have.
    """

    kind: RemarkKind
    raw: str = ""
    name: str | None = None


Piece: TypeAlias = Text | Reasoning | ToolCall | Remark
