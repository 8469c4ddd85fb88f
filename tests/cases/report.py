"""What every case runner does: run each line of a file, print what fails and why, and count."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a case file as objects."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def main(run: Callable[[dict[str, Any]], list[str]], doc: str) -> int:
    """Run a file named on the command line. Exit code 0 only when every case passes."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", help="run the cases whose id begins so")
    arguments = parser.parse_args()
    passed = total = 0
    for case in read_cases(arguments.file):
        if arguments.only and not case["id"].startswith(arguments.only):
            continue
        total += 1
        failures = run(case)
        if failures:
            print(f"{case['id']}: {'; '.join(failures)}")
        else:
            passed += 1
    print(f"passed {passed} of {total}")
    sys.stdout.flush()
    return 0 if passed == total else 1
