"""The open cases, in every division."""

from pathlib import Path
from typing import Any

import pytest

from tests.cases.tooltext import canonical, check, load, main

FILE = Path(__file__).parents[2] / "cases" / "tooltext-open.jsonl"
TOOLS, CASES = load(FILE)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_holds_in_every_division(case: dict[str, Any]) -> None:
    assert check(case, TOOLS) is None


def test_a_wrong_expectation_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join([lines[0], lines[1].replace('"text": ""', '"text": "x"')]), encoding="utf-8")
    assert main([str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "passed 0 of 1"
    assert main([]) == 2


def test_numbers_are_compared_as_json_compares_them() -> None:
    assert canonical(1.0) == canonical(1)
    assert canonical(True) != canonical(1)
    assert canonical("3") != canonical(3)
    assert canonical(2**80) != canonical(2**80 + 1)
