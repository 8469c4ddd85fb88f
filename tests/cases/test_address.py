"""The address cases, and that the runner can fail."""

import json
from pathlib import Path

import pytest

from tests.cases.address import check, main, run

CASES = Path(__file__).with_name("address-open.jsonl")


def test_every_case_passes(capsys: pytest.CaptureFixture[str]) -> None:
    passed, total = run(CASES)
    assert (passed, total) == (382, 382), capsys.readouterr().out


@pytest.mark.parametrize("kind", ["url", "resolve", "redirect", "seen", "type", "body", "raw"])
def test_a_case_that_expects_the_opposite_fails(kind: str) -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    flipped = {"open": "refuse", "refuse": "open"}
    some = [case for case in cases if case["kind"] == kind][::7]
    assert some
    for case in some:
        assert check({**case, "expect": flipped[case["expect"]]}) is not None


def test_the_last_line_tells_the_score_and_the_exit_status_whether_all_passed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = json.loads(CASES.read_text(encoding="utf-8").partition("\n")[0])
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(first) + "\n\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "passed 1 of 1\n"
    path.write_text(json.dumps({**first, "expect": "open"}) + "\n")
    assert main([str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{first['id']}: refused: ")
    assert lines[-1] == "passed 0 of 1"
    assert main([]) == 2
