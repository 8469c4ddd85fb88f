"""The ledger: a number when first seen, and never another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.answer.ledger import Ledger
from hostcall.data import Source
from hostcall.limits import Limits


def ledger() -> Ledger:
    return Ledger(Limits())


@pytest.mark.parametrize(
    "other",
    [
        "https://one.example.org/a",
        "http://one.example.org/a",
        "https://ONE.example.org/a",
        "https://one.example.org:443/a",
        "https://one.example.org/a#part",
        "https://one.example.org/a?utm_source=x&utm_medium=y",
        "https://one.example.org/a?fbclid=1",
        " https://one.example.org/a ",
    ],
)
def test_one_number_a_canonical_address(other: str) -> None:
    sources = ledger()
    assert sources.found("https://one.example.org/a", "A") == 1
    assert sources.found(other, "B") == 1
    assert sources.sources == (Source(number=1, address="https://one.example.org/a", title="A"),)


@pytest.mark.parametrize(
    "other",
    [
        "https://www.one.example.org/a",
        "https://one.example.org/A",
        "https://one.example.org/a?id=2",
        "https://one.example.org/a/",
        "ftp://one.example.org/a",
    ],
)
def test_path_query_and_www_make_another_source(other: str) -> None:
    sources = ledger()
    sources.found("https://one.example.org/a", "A")
    assert sources.found(other, "B") == 2


def test_tracking_is_taken_out_of_a_query_and_the_rest_kept() -> None:
    sources = ledger()
    sources.found("https://one.example.org/a?id=2&utm_source=x&b", "A")
    assert sources.sources[0].address == "https://one.example.org/a?id=2&b"


def test_a_page_that_was_read_keeps_its_number_and_its_final_address_is_an_alias() -> None:
    sources = ledger()
    sources.found("https://one.example.org/a", "A", "2026-11-28")
    assert sources.read("https://one.example.org/a", "https://two.example.org/b", "B", "text") == 1
    assert sources.sources == (
        Source(
            number=1,
            address="https://one.example.org/a",
            title="B",
            grade="read",
            published="2026-11-28",
            final_address="https://two.example.org/b",
        ),
    )
    assert sources.number_of("https://two.example.org/b") == 1
    assert sources.number_of("https://three.example.org/") is None
    assert sources.texts == ((1, "text"),)


def test_a_page_without_a_title_keeps_the_one_it_had() -> None:
    sources = ledger()
    sources.found("https://one.example.org/a", "A")
    sources.read("https://one.example.org/a", "https://one.example.org/a", "", "text")
    assert sources.sources[0].title == "A"
    assert sources.sources[0].final_address == ""


def test_a_page_that_no_search_showed_is_numbered_when_read() -> None:
    sources = ledger()
    sources.found("https://one.example.org/a", "A")
    assert sources.read("https://own.example.org/", "https://own.example.org/", "Own", "text") == 2


def test_the_numbers_of_an_earlier_answer_stand() -> None:
    earlier = [
        Source(
            number=7,
            address="https://early.example.org/e",
            title="E",
            grade="read",
            final_address="https://late.example.org/",
        ),
        Source(number=9, address="https://other.example.org/"),
    ]
    sources = Ledger.of(Limits(), earlier)
    assert [source.number for source in sources.sources] == [1, 2]
    assert sources.found("https://late.example.org/", "") == 1
    assert sources.found("https://new.example.org/", "N") == 3


@given(st.lists(st.text(max_size=30)))
def test_whatever_a_search_shows_the_numbers_have_no_gaps_and_never_change(addresses: list[str]) -> None:
    sources = ledger()
    numbers = [sources.found(address, "x") for address in addresses]
    assert [source.number for source in sources.sources] == list(range(1, len(sources.sources) + 1))
    assert [sources.found(address, "y") for address in addresses] == numbers


@pytest.mark.parametrize(
    "name",
    [
        *("fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "ref_src", "_hsenc", "_hsmi"),
        *("utm_source", "UTM_Medium", "GCLID"),
    ],
)
def test_every_mark_of_a_tracker_is_left_out_and_no_other_field(name: str) -> None:
    sources = ledger()
    assert sources.canonical(f"https://one.example.org/a?{name}=1") == "https://one.example.org/a"
    assert sources.canonical(f"https://one.example.org/a?b=2&{name}=1&c") == "https://one.example.org/a?b=2&c"
    assert sources.canonical(f"https://one.example.org/a?x{name}=1") == f"https://one.example.org/a?x{name}=1"
    assert sources.canonical(f"https://one.example.org/a?b={name}") == f"https://one.example.org/a?b={name}"
    assert sources.canonical("no address") == "no address"


def test_a_page_that_led_elsewhere_is_known_under_both_addresses() -> None:
    sources = ledger()
    one, two, three = (f"https://{name}.example.org/" for name in ("one", "two", "three"))
    assert sources.found(one, "Found", "2026-01-01") == 1
    assert sources.read(one, two, "", "Text.") == 1
    assert sources.sources == (
        Source(number=1, address=one, title="Found", grade="read", published="2026-01-01", final_address=two),
    )
    assert sources.read(one, one, "Read", "More.") == 1
    assert (sources.sources[0].title, sources.sources[0].final_address) == ("Read", two)
    assert (sources.number_of(two), sources.number_of(three)) == (1, None)
    assert sources.read(three, three, "Three", "3") == 2
    assert sources.read(three, one, "Three", "3") == 2
    assert sources.number_of(one) == 1, "an alias takes no number from its owner"
    assert sources.texts == ((1, "More."), (2, "3"))


def test_what_is_unread_is_this_answers_own_and_only_while_nothing_is_read() -> None:
    one, two, three = (f"https://{name}.example.org/" for name in ("one", "two", "three"))
    earlier = [Source(number=7, address=one, final_address=two, grade="read")]
    sources = Ledger.of(Limits(), earlier)
    assert [source.number for source in sources.sources] == [1]
    assert sources.unread == []
    assert (sources.number_of(one), sources.number_of(two)) == (1, 1)
    assert sources.found(three, "Three") == 2
    assert sources.found(two, "Two") == 1
    assert sources.unread == [three]
    sources.read(three, three, "", "x")
    assert sources.unread == []


def test_a_new_ledger_has_no_sources_of_before() -> None:
    sources = ledger()
    assert (sources.sources, sources.texts, sources.unread) == ((), (), [])
    sources.found("https://one.example.org/", "One")
    assert sources.unread == ["https://one.example.org/"]
