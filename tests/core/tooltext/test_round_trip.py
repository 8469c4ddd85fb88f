"""What is written in a dialect is read back: every dialect, random calls, awkward strings."""

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.tokens import MARKERS
from hostcall.tooltext import Text, TextFilter, ToolCall
from hostcall.tooltext.dialects import DIALECTS
from tests.core.tooltext.renders import NAMES, RENDERS, TOOLS, Call, Render

AWKWARD = (
    *MARKERS,
    "\n",
    "\n\n",
    " ",
    "\t",
    '"',
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "`",
    "```",
    "null",
    "true",
    "0",
)

OPENERS = [opener.mark for row in DIALECTS if row.auto for opener in row.openers if opener.where == "anywhere"]

_PLAIN = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
_WORDS = st.lists(st.one_of(st.sampled_from(AWKWARD), _PLAIN), max_size=6).map("".join)


def strings(render: Render) -> st.SearchStrategy[str]:
    """Return strings that the format can carry."""

    def fit(text: str) -> str:
        for closer in render.closers:
            text = text.replace(closer, "·")
        return text if render.exact else text.strip()

    return _WORDS.map(fit)


def calls(render: Render) -> st.SearchStrategy[list[Call]]:
    """Return calls with arguments of every type."""
    text = strings(render)
    arguments: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {},
        optional={
            "text": text,
            "count": st.integers(-(10**30), 10**30),
            "ratio": st.floats(allow_nan=False, allow_infinity=False, width=32).filter(lambda x: not x.is_integer()),
            "flag": st.booleans(),
            "maybe": st.one_of(st.none(), st.integers(0, 9)),
            "items": st.lists(text.filter(bool), min_size=1, max_size=3),
            "extra": st.fixed_dictionaries({"deep": st.integers(0, 9)}),
        },
    )
    return st.lists(st.tuples(st.sampled_from(NAMES), arguments), min_size=1, max_size=1 if render.one else 3)


def read(render: Render, pieces: list[str], reason: str = "stop") -> tuple[str, list[Call]]:
    """Feed pieces; return the text and the calls."""
    text_filter = TextFilter(TOOLS, dialects=("auto",) if render.hint is None else (render.hint,))
    out = [found for piece in pieces for found in text_filter.feed(piece)]
    out += text_filter.finish("stop" if reason == "stop" else "length")
    text = "".join(piece.text for piece in out if isinstance(piece, Text))
    return text, [(piece.name, piece.arguments) for piece in out if isinstance(piece, ToolCall)]


@pytest.mark.parametrize("name", RENDERS)
def test_calls_are_read_back(name: str) -> None:
    render = RENDERS[name]

    @settings(max_examples=40, deadline=None)
    @given(written=calls(render), seed=st.integers(0, 9))
    def check(written: list[Call], seed: int) -> None:
        text = render.write(written)
        dice, pieces, at = random.Random(seed), list[str](), 0
        while at < len(text):
            size = dice.randint(1, 7)
            pieces.append(text[at : at + size])
            at += size
        assert read(render, [text]) == ("", written)
        assert read(render, pieces) == ("", written)

    check()


@pytest.mark.parametrize("name", RENDERS)
def test_a_cut_text_gives_only_calls_that_are_closed_and_shows_no_markup(name: str) -> None:
    """Every prefix, ended by length: the calls are the first ones, each closed within the prefix."""
    render = RENDERS[name]
    written: list[Call] = [("search", {"text": "a b", "items": ["x"]}), ("get_time", {}), ("write_file", {"count": 3})]
    written = written[:1] if render.one else written
    text = render.write(written)
    if render.shared:
        closed = [text.index(render.end) + len(render.end)] * len(written)
    else:
        closed = [match.end() for match in re.finditer(re.escape(render.end), text)]
    assert len(closed) >= len(written)
    seen = 0
    for end in range(len(text) + 1):
        shown, found = read(render, [text[:end]], "length")
        assert found == written[: len(found)]
        assert seen <= len(found) <= sum(place <= end for place in closed)
        seen = len(found)
        if render.hint is None and not render.ambiguous:
            assert not any(mark in shown for mark in OPENERS)
    assert seen == len(written)
