"""The fuzz target on its corpus, and on random words for a moment."""

import random
from pathlib import Path

import pytest

from fuzz.fuzz_tooltext import CHOICES, WORDS, bytes_of, check, test_one_input, text_of

test_one_input.__test__ = False  # type: ignore[attr-defined]  # a fuzz target; pytest would take its name for a test

SEEDS = sorted((Path(__file__).parents[3] / "fuzz" / "corpus" / "tooltext").iterdir())


@pytest.mark.parametrize("seed", SEEDS, ids=[seed.name for seed in SEEDS])
def test_a_seed_holds(seed: Path) -> None:
    test_one_input(seed.read_bytes())


def test_short_input_and_a_cut_word_are_taken() -> None:
    test_one_input(b"")
    test_one_input(b"\x00\x00\x00\xff")


def test_seeds_keep_their_text() -> None:
    text = '<tool_call>{"name": "f"}</tool_call> and <｜tool▁sep｜>'
    assert text_of(bytes_of(text)) == text


def test_random_words_hold() -> None:
    dice = random.Random(7)
    for number in range(400):
        text = "".join(dice.choices(WORDS, k=dice.randint(1, 20)))
        check(text, dice.choice(CHOICES), "stop", reasoning=number % 3 == 0, cuts=random.Random(number))
