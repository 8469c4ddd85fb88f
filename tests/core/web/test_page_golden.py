"""Golden pages, one for each kind of site: what is read of them, word for word.

``python -m tests.core.web.test_page_golden`` writes down what is read by now; the difference is then for a person to
judge.
"""

from pathlib import Path

import pytest

from hostcall.web.page import Page, read_page

PAGES = Path(__file__).parents[2] / "recordings" / "pages"
KINDS = sorted(path.stem for path in PAGES.glob("*.html"))


def read(kind: str) -> Page:
    """Read one page as a fetch would hand it over; the forum is older than UTF-8."""
    data = (PAGES / f"{kind}.html").read_bytes()
    content_type = "text/html" if kind == "forum" else "text/html; charset=utf-8"
    return read_page(data, content_type, f"https://{kind}.example.org/4.2/open.html", max_chars=12_000)


def shown(page: Page) -> str:
    """Return everything that is read of a page, as a text."""
    about = [f"title: {page.title}", f"language: {page.language}", f"published: {page.published}"]
    return "\n".join([*about, *(f"link: {link}" for link in page.links), "", page.text, ""])


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_read_as_written_down(kind: str) -> None:
    page = read(kind)
    assert shown(page) == (PAGES / f"{kind}.md").read_text(encoding="utf-8")
    assert not page.truncated
    assert not page.thin


def test_there_is_a_page_of_each_kind() -> None:
    assert KINDS == ["blog", "cjk", "docs", "forum", "news", "notebook", "qa", "repository", "rtl", "shop"]


if __name__ == "__main__":
    for name in KINDS:
        (PAGES / f"{name}.md").write_text(shown(read(name)), encoding="utf-8")
