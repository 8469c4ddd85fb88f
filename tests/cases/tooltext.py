"""Run a file of cases for the text filter: ``python -m tests.cases.tooltext FILE``.

Each case is fed whole, in single characters with empty pieces between, in every split in two where it is short, and in
random divisions from fixed seeds. Prints each failing id with its reason and, last, ``passed N of M``.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from hostcall.tooltext import Reasoning, Remark, Text, TextFilter, ToolCall

SEEDS = range(5)


@attrs.frozen
class Outcome:
    """What a filter made of one text, whatever the pieces."""

    text: str
    reasoning: str
    calls: tuple[tuple[str, str], ...]
    remarks: frozenset[str]


def load(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the tools and the cases of a file."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return lines[0]["tools"], lines[1:]


def divisions(raw: str) -> Iterator[tuple[str, list[str]]]:
    """Return the divisions in which a text is fed, each with its name."""
    yield "whole", [raw]
    yield "characters", [piece for char in raw for piece in (char, "")]
    if len(raw) < 400:
        for cut in range(1, len(raw)):
            yield f"cut at {cut}", [raw[:cut], raw[cut:]]
    for seed in SEEDS:
        dice = random.Random(seed)
        pieces, at = [], 0
        while at < len(raw):
            size = dice.randint(0, 9)
            pieces.append(raw[at : at + size])
            at += size
        yield f"seed {seed}", pieces


def run(case: dict[str, Any], tools: dict[str, Any], pieces: list[str]) -> Outcome:
    """Feed one case in pieces."""
    hint = case["dialect_hint"]
    text_filter = TextFilter(
        [tools[name] for name in case["tools"]],
        dialects=("auto",) if hint is None else (hint,),
        starts_in_reasoning=case["starts_in_reasoning"],
    )
    out = [found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish(case["finish"])
    return Outcome(
        "".join(piece.text for piece in out if isinstance(piece, Text)),
        "".join(piece.text for piece in out if isinstance(piece, Reasoning)),
        tuple((piece.name, canonical(piece.arguments)) for piece in out if isinstance(piece, ToolCall)),
        frozenset(piece.kind for piece in out if isinstance(piece, Remark)),
    )


def canonical(value: Any) -> str:
    """Return JSON text that is equal exactly where two values are equal as JSON: ``1`` is ``1.0``, ``true`` is not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def fault(case: dict[str, Any], outcome: Outcome) -> str | None:
    """Say how an outcome differs from what a case expects."""
    expect = case["expect"]
    for part, got in (("text", outcome.text), ("reasoning", outcome.reasoning)):
        if (expect.get(part) or "").strip() != got.strip():
            return f"{part} is {got!r}, expected {expect.get(part)!r}"
    calls = tuple((call["name"], canonical(call["arguments"])) for call in expect["calls"])
    if calls != outcome.calls:
        return f"calls are {outcome.calls}, expected {calls}"
    for kind in expect.get("notices", ()):
        if kind not in outcome.remarks:
            return f"no remark says {kind}; there are {sorted(outcome.remarks)}"
    return None


def check(case: dict[str, Any], tools: dict[str, Any]) -> str | None:
    """Run one case in every division; return the first thing that is wrong."""
    for name, pieces in divisions(case["raw"]):
        try:
            wrong = fault(case, run(case, tools, pieces))
        except Exception as error:  # noqa: BLE001  # whatever is raised is the finding
            wrong = f"raised {error!r}"
        if wrong is not None:
            return f"{name}: {wrong}"
    return None


def main(arguments: list[str]) -> int:
    """Run a file."""
    if len(arguments) != 1:
        print("usage: python -m tests.cases.tooltext FILE", file=sys.stderr)
        return 2
    tools, cases = load(Path(arguments[0]))
    passed = 0
    for case in cases:
        wrong = check(case, tools)
        if wrong is None:
            passed += 1
        else:
            print(f"{case['id']}: {wrong}")
    print(f"passed {passed} of {len(cases)}")
    return 0 if passed == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
