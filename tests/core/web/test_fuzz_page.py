"""The corpus of the page fuzzer holds, and its mutations do."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.fuzz_page import test_one_input as read_one

CORPUS = sorted((Path(__file__).parents[3] / "fuzz" / "corpus" / "page").iterdir())
SEEDS = [path.read_bytes() for path in CORPUS]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: str(path.name))
def test_the_corpus_holds(path: Path) -> None:
    read_one(path.read_bytes())


@given(st.lists(st.tuples(st.sampled_from(SEEDS), st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_pieces_of_the_corpus_hold_together(cuts: list[tuple[bytes, int, int]]) -> None:
    read_one(b"".join(seed[start : start + size] for seed, start, size in cuts))
