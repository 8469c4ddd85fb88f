"""Code in the docs runs, and what the README names is there."""

import re
from pathlib import Path

import pytest

import hostcall

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("docs/**/*.md"))


def blocks(path: Path, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_of_a_page_runs_from_top_to_bottom(path: Path) -> None:
    exec(compile("\n".join(blocks(path)), str(path), "exec"), {"__name__": "docs"})


def test_the_code_of_the_readme_compiles_and_names_what_is_exported() -> None:
    for block in blocks(ROOT / "README.md"):
        compile(block, "README.md", "exec")
        for names in re.findall(r"^from hostcall import (.+)$", block, re.MULTILINE):
            for name in names.split(", "):
                assert name in hostcall.__all__


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_inside_the_repository_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_everything_exported_is_there_and_says_what_it_is() -> None:
    for name in hostcall.__all__:
        assert getattr(hostcall, name).__doc__, name
