"""The filter against `canitoolcall`'s fixtures and judge: 469 recorded completions of nine families."""

import json
import random
from collections.abc import Iterator

import pytest
from canitoolcall.checks import case_status, run_checks
from canitoolcall.fixtures import Family, Fixture, load_families, load_fixtures
from canitoolcall.results import Observation, ParsedToolCall, ParseResult

from hostcall.tooltext import Reasoning, Text, TextFilter, ToolCall

FIXTURES = list(load_fixtures())
FAMILIES: dict[str, Family] = load_families()
SOFT = {"gemma4/vllm-text-before-call"}
"""Its expectation contradicts that of two others of its family about the space before a call."""


def prompt_of(fixture: Fixture) -> str | None:
    """Return what the chat template put before the completion."""
    if fixture.generation_prompt is not None:
        return fixture.generation_prompt
    for reference in FAMILIES[fixture.family].reference_models:
        if reference.repo == fixture.models[0]:
            return reference.default_generation_prompt
    return None


def parse(fixture: Fixture, pieces: list[str]) -> ParseResult:
    """Feed a completion in pieces."""
    text_filter = TextFilter(fixture.tools, model=fixture.models[0], generation_prompt=prompt_of(fixture))
    out = [found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish("stop")
    return ParseResult(
        content="".join(piece.text for piece in out if isinstance(piece, Text)) or None,
        reasoning_content="".join(piece.text for piece in out if isinstance(piece, Reasoning)) or None,
        tool_calls=tuple(
            ParsedToolCall(piece.name, json.dumps(piece.arguments)) for piece in out if isinstance(piece, ToolCall)
        ),
    )


def divisions(raw: str) -> Iterator[tuple[str, list[str]]]:
    """Return the divisions in which a completion is fed."""
    yield "every-character", list(raw)
    for seed in range(5):
        dice = random.Random(seed)
        pieces, at = [], 0
        while at < len(raw):
            size = dice.randint(1, 12)
            pieces.append(raw[at : at + size])
            at += size
        yield f"random-{seed}", pieces


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.id for fixture in FIXTURES])
def test_a_fixture_is_read_as_its_author_expects(fixture: Fixture) -> None:
    raw = fixture.raw_output
    seen = Observation(
        nonstream=parse(fixture, [raw]), streams={name: parse(fixture, pieces) for name, pieces in divisions(raw)}
    )
    rows = run_checks(fixture, FAMILIES[fixture.family], seen)
    wanted = "soft_pass" if fixture.id in SOFT else "pass"
    assert case_status(rows) == wanted, [row for row in rows if row.status not in ("pass", wanted)]


def test_all_469_are_there() -> None:
    assert len(FIXTURES) == 469
