"""Strategies that several tests share."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

Whole = TypeVar("Whole", str, bytes)


@st.composite
def cuts(draw: st.DrawFn, whole: Whole) -> list[Whole]:
    """Draw a division of `whole` into pieces, empty ones among them."""
    places: list[int] = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


def every_byte(whole: bytes) -> list[bytes]:
    """Return `whole` a byte at a time."""
    return [whole[position : position + 1] for position in range(len(whole))]


def joined(pieces: Sequence[Whole]) -> Whole:
    """Return pieces put together again."""
    first = pieces[0]
    return first[:0].join(pieces)
