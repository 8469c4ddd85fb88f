"""What importing the core costs, and what it does not pull in."""

import json
import subprocess
import sys

import pytest

import hostcall

SCRIPT = """
import json, sys
import hostcall
language = sorted(sys.modules)
from hostcall import Answer, Reading, Tool
print(json.dumps({"language": language, "all": sorted(sys.modules)}))
"""

FORBIDDEN = (
    "trio",
    "h11",
    "httpcore",
    "ssl",
    "socket",
    "asyncio",
    "anyio",
    "jsonschema",
    "hostcall_drivers",
    "logging",
)


@pytest.fixture(scope="module")
def modules() -> dict[str, list[str]]:
    """What is loaded by `import hostcall`, and when the machines are asked for."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    value: dict[str, list[str]] = json.loads(run.stdout)
    return value


@pytest.mark.parametrize("when", ["language", "all"])
def test_the_core_pulls_in_nothing_that_does_io(modules: dict[str, list[str]], when: str) -> None:
    assert [name for name in FORBIDDEN if name in modules[when]] == []


def test_the_language_alone_brings_no_machine(modules: dict[str, list[str]]) -> None:
    """What makes the import dear are classes: `python -m tests.bench.imports` has the figure."""
    ours = [name for name in modules["language"] if name.startswith("hostcall")]
    assert "hostcall.answer.answer" not in ours
    assert len(ours) <= 12
    assert "lxml.etree" not in modules["language"]


def test_the_page_reader_comes_with_the_first_page(modules: dict[str, list[str]]) -> None:
    assert "hostcall.web.crawl" in modules["all"]
    assert [name for name in modules["all"] if name.startswith(("hostcall.web.page", "lxml"))] == []


def test_an_unknown_name_is_an_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        hostcall.Nothing  # noqa: B018 - looking is the test
