"""Every line of the answer cases, as a test of its own."""

from pathlib import Path
from typing import Any

import pytest

from tests.cases.answers import run_case
from tests.cases.report import read_cases

FILE = Path(__file__).parent / "answers-open.jsonl"


@pytest.mark.parametrize("case", list(read_cases(FILE)), ids=lambda case: str(case["id"]))
def test_case(case: dict[str, Any]) -> None:
    assert run_case(case) == []
