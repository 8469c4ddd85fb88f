"""Every fuzz target holds on the empty input and on its own corpus, without the fuzzer."""

import importlib
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent.parent / "fuzz"
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.py"))
INPUTS = [
    pytest.param(target, path, id=f"{target}-{path.name}")
    for target in TARGETS
    for path in sorted((FUZZ / "corpus" / target).glob("*"))
]


def _run(target: str, data: bytes) -> None:
    importlib.import_module(f"fuzz.fuzz_{target}").test_one_input(data)


@pytest.mark.parametrize("target", TARGETS)
def test_the_invariant_holds_for_nothing_at_all(target: str) -> None:
    _run(target, b"")


@pytest.mark.parametrize(("target", "path"), INPUTS)
def test_the_invariant_holds(target: str, path: Path) -> None:
    _run(target, path.read_bytes())
