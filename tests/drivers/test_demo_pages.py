"""The demo's web: real pages, which the page reader reads whole, with links that lead somewhere."""

import datetime as dt
import functools
import math
import re

import pytest

from hostcall.web.page import read_page
from hostcall_drivers.demo.pages import MODULES, DocPage, built, markup, respond
from tests.drivers.demo_library import library


def read(page: DocPage) -> str:
    return read_page(page.html.encode(), "text/html; charset=utf-8", page.address, max_chars=1_000_000).text


def test_every_module_has_a_page_and_so_have_its_members_and_the_topics() -> None:
    pages = library()
    assert sum(f"/{name}" in pages for name in MODULES) >= len(MODULES) - 3
    assert len(MODULES) >= 60
    assert len(pages) > 1500
    assert {"/", "/functools/lru_cache", "/topics/with", "/math/pi", "/builtins/len"} <= set(pages)


def test_a_page_says_what_python_itself_says() -> None:
    text = read(library()["/functools/lru_cache"])
    first = (functools.lru_cache.__doc__ or "").split("\n")[0]
    assert text.startswith(
        f"# functools.lru_cache\n\n```python\nfunctools.lru_cache(maxsize=128, typed=False)\n```\n\n{first}"
    )
    assert repr(math.pi) in read(library()["/math/pi"])
    assert f"| math.pi | {math.pi!r} |" in read(library()["/math"])


def test_a_class_has_its_methods() -> None:
    text = read(library()["/fractions/Fraction"])
    assert "## fractions.Fraction.limit_denominator" in text
    assert "```python\nlimit_denominator(self, max_denominator=1000000)\n```" in text


def test_every_link_of_a_page_leads_to_a_page() -> None:
    pages = library()
    for path in ("/", "/json", "/json/dumps", "/topics/if", "/os.path"):
        links = read_page(
            pages[path].html.encode(), "text/html; charset=utf-8", pages[path].address, max_chars=100
        ).links
        assert path == "/topics/if" or links
        for link in links:
            assert respond(pages, "docs.example.org", link.removeprefix("https://docs.example.org"))[0] == 200


def test_pages_have_the_date_of_this_python_and_nothing_of_this_machine() -> None:
    page = library()["/sys"]
    got = read_page(page.html.encode(), "text/html; charset=utf-8", page.address, max_chars=1_000_000)
    assert got.published == built().isoformat()
    assert dt.date(2022, 1, 1) < built() <= dt.datetime.now(dt.UTC).date()
    assert [page.path for page in library().values() if re.search(r" at 0x[0-9a-f]{8,}>", page.text)] == []


def test_what_is_not_there_is_not_found() -> None:
    status, headers, body = respond(library(), "docs.example.org", "/no<such>")
    assert status == 404
    assert headers == (("Content-Type", "text/html; charset=utf-8"),)
    assert b"<such>" not in body
    assert respond(library(), "other.example.org", "/json")[0] == 404
    assert respond(library(), "docs.example.org", "/json/?x=1")[0] == 200
    assert respond(library(), "docs.example.org", "/")[0] == 200


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("One\nline.", "<p>One line.</p>"),
        ("A:\n\n>>> f(1)\n2", "<p>A:</p>\n<pre>&gt;&gt;&gt; f(1)\n2</pre>"),
        ("Like this:\n    x = 1", "<p>Like this:</p>\n<pre>    x = 1</pre>"),
        ("   Note:", "<p>Note:</p>"),
        ("- one\n  more\n- two", "<ul>\n<li>one more</li>\n<li>two</li>\n</ul>"),
        ("1. a <b>", "<ul>\n<li>a &lt;b&gt;</li>\n</ul>"),
        ("", ""),
    ],
)
def test_docstrings_become_markup(doc: str, expected: str) -> None:
    assert markup(doc) == expected
