"""Invariant: any bytes give a page whose text is within its limit and defused, whose links are its site's, at most 24.

Run ``python -m fuzz.fuzz_page fuzz/corpus/page -runs=1000000 -max_len=4096`` where atheris is installed; the corpus
runs in the ordinary tests too.
"""

import sys

from hostcall.web.defuse import defuse
from hostcall.web.page import MAX_LINKS, read_page
from hostcall.web.page_target import MAX_OPEN

ADDRESS = "https://docs.example.org/guide/page.html"
CONTENT_TYPES = ("text/html; charset=utf-8", "text/html", "text/plain", "text/markdown", "text/html; charset=gbk", "")
LIMITS = (12_000, 100, 1_000_000, 0)
# A row of four bytes can repeat a cell of 300 characters that reaches down into it; nothing grows more than that.
GROWTH = 100


def test_one_input(data: bytes) -> None:
    """Read one page. Its first byte chooses the content type and the limit."""
    choice = data[0] if data else 0
    content_type = CONTENT_TYPES[choice % len(CONTENT_TYPES)]
    max_chars = LIMITS[choice // len(CONTENT_TYPES) % len(LIMITS)]
    page = read_page(data[1:], content_type, ADDRESS, max_chars=max_chars)
    assert len(page.text) <= max_chars, "a text past its limit"
    assert len(page.text) <= GROWTH * len(data) + MAX_OPEN, "a text out of proportion"
    assert defuse(page.text) == page.text, "a marker or an invisible character in the text"
    assert defuse(page.title) == page.title, "a marker or an invisible character in the title"
    assert len(page.links) <= MAX_LINKS, "too many links"
    assert len(set(page.links)) == len(page.links), "a link twice"
    for link in page.links:
        assert link.startswith(("https://docs.example.org/", "https://www.docs.example.org/")), "a link off the site"
        assert link.isascii(), "a link that is not ASCII"
        assert not set(link) & set(" \\#\t\r\n\x00"), "a link that no browser writes"


def main() -> None:
    """Fuzz until told to stop."""
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
