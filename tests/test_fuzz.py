"""Every fuzz target holds on its own corpus, without the fuzzer."""

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


def test_every_target_has_a_corpus() -> None:
    assert all((FUZZ / "corpus" / target).is_dir() for target in TARGETS)
    assert {"address", "redirects", "wire"} <= set(TARGETS)


@pytest.mark.parametrize(("target", "path"), INPUTS)
def test_the_invariant_holds(target: str, path: Path) -> None:
    importlib.import_module(f"fuzz.fuzz_{target}").test_one_input(path.read_bytes())
