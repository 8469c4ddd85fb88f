"""Inputs of every class that a test of URL parsers has, against a parser that does what browsers do.

Two things must hold for each, whatever else is refused by policy: what browsers cannot read is refused, and what is
read has the host, the path and the query that browsers give it. The classes follow the states of WHATWG's parser. An
input is refused because no browser reads it, or because not every parser reads it alike.
"""

import json
from pathlib import Path

import ada_url
import pytest

from hostcall.data import Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, join, parse_address

LIMITS = Limits()
BASE = Address("base.example.org", "/a/b?c")
ROWS = [json.loads(line) for line in Path(__file__).with_name("url_inputs.jsonl").read_text("utf-8").splitlines()]
INPUTS = pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(f"{row['class']} {row['text']}"))


def _browser(text: str, base: str | None = None) -> ada_url.URL | None:
    try:
        return ada_url.URL(text.strip(" \t\r\n"), base)
    except ValueError:  # lone surrogates are one too: they cannot be written as UTF-8
        return None


def _same(address: Address, browser: ada_url.URL | None) -> bool:
    """Say whether an address is what the browser reads; that one of http is read as of https aside."""
    if browser is None or browser.protocol not in {"https:", "http:"}:
        return False
    host = browser.hostname.strip("[]").removesuffix(".")
    path, mark, query = address.target.partition("?")
    parts = (browser.pathname, browser.search.removeprefix("?"))
    # The mark of an empty query stands in the whole address only.
    return host == address.host and parts == (path, query) and bool(mark) == ("?" in browser.href.partition("#")[0])


@INPUTS
def test_what_is_read_is_what_browsers_read_and_the_rest_is_refused(row: dict[str, str]) -> None:
    address = parse_address(row["text"], LIMITS)
    if row["opens"]:
        assert isinstance(address, Address)
        assert _same(address, _browser(row["text"]))
    else:
        assert isinstance(address, Refused)


def test_nothing_that_browsers_cannot_read_is_read() -> None:
    """And enough of the inputs are of that kind to say so."""
    invalid = [row["text"] for row in ROWS if _browser(row["text"]) is None]
    assert len(invalid) >= 250
    assert [text for text in invalid if isinstance(parse_address(text, LIMITS), Address)] == []


@INPUTS
def test_as_a_redirect_it_leads_where_browsers_go_or_nowhere(row: dict[str, str]) -> None:
    address = join(BASE, row["text"], LIMITS)
    if isinstance(address, Address):
        assert _same(address, _browser(row["text"], BASE.text))
