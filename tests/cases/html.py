"""Runs a file of page cases: ``python -m tests.cases.html FILE``.

Each line is one case: a page, and what its text must and must not hold. Prints each failing id with its reason and,
last, ``passed N of M``; the exit status is 0 only when all pass.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hostcall.web.page import read_page

_ADDRESS = "https://docs.example.org/page"
_CONTENT_TYPE = "text/html; charset=utf-8"
_MAX_CHARS = 12_000


def failure(case: dict[str, Any]) -> str:
    """Return why a case fails, or an empty text."""
    data = case["html"].encode("utf-8")
    page = read_page(data, _CONTENT_TYPE, case.get("address", _ADDRESS), max_chars=_MAX_CHARS)
    for text in case.get("must_contain", ()):
        if text not in page.text:
            return f"lacks {text!r} in {page.text!r}"
    for text in case.get("must_not_contain", ()):
        if text in page.text:
            return f"holds {text!r} in {page.text!r}"
    if "exact" in case and page.text.strip() != case["exact"]:
        return f"is {page.text.strip()!r}, not {case['exact']!r}"
    return ""


def cases(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the cases of a file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def main(arguments: list[str]) -> int:
    """Run the cases of the one file named."""
    if len(arguments) != 1:
        print("usage: python -m tests.cases.html FILE", file=sys.stderr)
        return 2
    passed = total = 0
    for case in cases(Path(arguments[0])):
        total += 1
        reason = failure(case)
        if reason:
            print(f"{case['id']}: {reason}")
        else:
            passed += 1
    print(f"passed {passed} of {total}")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
