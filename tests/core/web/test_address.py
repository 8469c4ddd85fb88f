"""Addresses and redirects: what is read, what is refused, and that browsers read the same."""

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.data import CheckedAddress, Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, checked_addresses, join, parse_address, same_ip
from hostcall.web.networks import NOT_PUBLIC, Networks
from hostcall.web.ranges import is_public, read_ip
from hostcall.web.settings import Web
from tests.strategies_web import addresses, pieces, v4_numbers, v6_numbers

LIMITS = Limits()
NETWORKS = Networks.of(Web())
BASE = Address("example.org", "/a/b;c?q=1")


def _text(address: Address | Refused) -> str:
    assert isinstance(address, Address), address
    return address.text


def _code(address: object) -> str:
    assert isinstance(address, Refused), address
    return address.code


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://example.org", "https://example.org/"),
        (" \t\r\nHTTPS://EXAMPLE.org:443/ ", "https://example.org/"),
        ("https://example.org:", "https://example.org/"),
        ("http://example.org/a", "https://example.org/a"),
        ("http://example.org:80/a", "https://example.org/a"),
        ("http://example.org:443/a", "https://example.org/a"),
        ("https://example.org?x=1", "https://example.org/?x=1"),
        ("https://example.org/?", "https://example.org/?"),
        ("https://example.org#top", "https://example.org/"),
        ("https://example.org/a?b#c?d", "https://example.org/a?b"),
        ("https://example.org/#https://127.0.0.1/", "https://example.org/"),
        ("https://example.org?@127.0.0.1/", "https://example.org/?@127.0.0.1/"),
        ("https://example.org/@user", "https://example.org/@user"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/a?b c", "https://example.org/a?b%20c"),
        ("https://example.org/é?é", "https://example.org/%C3%A9?%C3%A9"),
        ("https://example.org/%e2%82%ac%zz%", "https://example.org/%e2%82%ac%zz%"),
        ("https://example.org/a|b[c]", "https://example.org/a|b[c]"),
        ('https://example.org/"<>`{}^', "https://example.org/%22%3C%3E%60%7B%7D%5E"),
        ("https://example.org/?\"<>'`{}^\\", "https://example.org/?%22%3C%3E%27`{}^\\"),
        ("https://example.org/a\u2003", "https://example.org/a%E2%80%83"),
        ("https://example.org/\x85", "https://example.org/%C2%85"),
        ("https://example.org/X?XX", "https://example.org/X?XX"),
        ("https://example.org/a/./b/../c", "https://example.org/a/c"),
        ("https://example.org/../../a", "https://example.org/a"),
        ("https://example.org/a/..", "https://example.org/"),
        ("https://example.org/a/b/.", "https://example.org/a/b/"),
        ("https://example.org/a/%2E%2e/b/%2e", "https://example.org/b/"),
        ("https://example.org/a/.%2e/.b/..c", "https://example.org/.b/..c"),
        ("https://example.org//a//", "https://example.org//a//"),
        ("https://bücher.example.org/", "https://xn--bcher-kva.example.org/"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
        ("https://[2606:4700:0::1111]:443/x", "https://[2606:4700::1111]/x"),
    ],
)
def test_an_address_has_one_canonical_spelling(text: str, canonical: str) -> None:
    assert _text(parse_address(text, LIMITS)) == canonical


def test_the_parts_are_what_request_line_host_field_and_server_name_need() -> None:
    assert parse_address("https://[2606:4700:0::1111]/x?y#z", LIMITS) == Address(
        "2606:4700::1111", "/x?y", literal=True
    )
    assert Address("2606:4700::1111", "/", literal=True).authority == "[2606:4700::1111]"
    assert Address("1.1.1.1", "/", literal=True).authority == "1.1.1.1"
    assert parse_address("https://example.org/x", LIMITS) == Address("example.org", "/x")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[(text, "address_malformed") for text in (
            "", " ", "example.org", "//example.org/", "/a", "https", "https:", "https:/", "https://", "https:///a", "https://?x",
            "https://#x", "https:example.org", "https:/example.org", "https:///example.org/", "https:\\\\example.org",
            "https://exa mple.org/", "https://example.org\\@127.0.0.1/", "https://127.0.0.1\\.example.org/",
            "https://example.org/a\\b", "https://example.org/\\127.0.0.1", "https://exa\tmple.org/", "https://example.org/a\x00b",
            "https://example.org/\x7f", "https://example.org/#\x01", "https://example.org/?\nx", "https://example.org/\ud800",
            "https://[::1", "https://[::1]x/", "https://[::1]:443:443/", "https://example.org:443:443/",
            "https://example.org: 443/",
            "https://example.org:+443/", "https://example.org:44_3/", "https://2130706433/", "https://0x7f.1/", "https://../",
            "https://example.org\u200b/", "https://例\ud800/", "\u3000https://example.org/", "\x0bhttps://example.org/",
            "https://[2606:4700::1111]]/", "https://[2606:4700::1111]:443]/", "https://[2606:4700::1111]x/",
        )],
        *[(text, "address_not_https") for text in (
            "ftp://example.org/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "javascript:alert(1)",
            "data:text/html,x",
            "view-source:https://example.org/", "blob:https://example.org/1", "httpsx://example.org/", "ws://example.org/",
        )],
        *[(text, "address_port") for text in (
            "https://example.org:8443/", "https://example.org:80/", "https://example.org:0443/", "https://example.org:４４３/",
            "https://example.org:٤٤٣/", "http://example.org:8080/", "https://[2606:4700::1111]:8443/",
        )],
        *[(text, "address_user") for text in (
            "https://user:secret@example.org/", "https://@example.org/", "https://:@example.org/", "https://example.org@127.0.0.1/",
            "https://a@b@127.0.0.1/", "https://example.org%2F@127.0.0.1/", "https://127.0.0.1@example.org/",
        )],
    ],
)  # fmt: skip
def test_what_is_refused_and_how_it_is_called(text: str, code: str) -> None:
    assert _code(parse_address(text, LIMITS)) == code


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("x", Refused(2, "address_malformed", "That is not an address that can be opened.")),
        ("ftp://example.org/", Refused(2, "address_not_https", "Only https addresses can be opened.")),
        ("https://example.org:8443/", Refused(2, "address_port", "Only the usual https port can be opened.")),
        ("https://a@example.org/", Refused(2, "address_user", "An address with a user name cannot be opened.")),
    ],
)
def test_what_the_reader_is_told(text: str, refused: Refused) -> None:
    assert parse_address(text, LIMITS) == refused


def test_a_step_down_to_http_is_refused_by_the_rule_on_redirects() -> None:
    refused = Refused(4, "address_not_https", "Only https addresses can be opened.")
    assert join(BASE, "http://example.org/", LIMITS) == refused


def test_a_scheme_that_is_equal_only_when_case_is_folded_is_another_scheme() -> None:
    assert isinstance(parse_address("http\u017f://example.org/", LIMITS), Refused)


def test_length_is_counted_in_the_text_given_and_in_the_canonical_one() -> None:
    limits = Limits(address_chars=40)
    assert isinstance(parse_address("https://example.org/" + "a" * 20, limits), Address)
    assert _code(parse_address("https://example.org/" + "a" * 21, limits)) == "address_malformed"
    assert _code(parse_address("https://example.org/" + "é" * 4, limits)) == "address_malformed"
    assert isinstance(join(BASE, "https://example.org/" + "a" * 20, limits), Address)
    assert _code(join(BASE, "https://example.org/" + "a" * 21, limits)) == "address_malformed"
    assert _code(join(BASE, "a" * 30, limits)) == "address_malformed"


@settings(max_examples=500)
@given(addresses)
def test_an_address_that_is_read_is_the_one_that_browsers_read(text: str) -> None:
    address = parse_address(text, LIMITS)
    if isinstance(address, Refused):
        return
    # An http address is read as https, which browsers do not do; everything else must be the same.
    browser = ada_url.URL(text.strip(" \t\r\n"))
    assert browser.hostname.strip("[]").removesuffix(".") == address.host
    # Ada leaves out the mark of an empty query when asked for the parts.
    assert browser.href.partition("#")[0].endswith(browser.pathname + address.target.removeprefix(browser.pathname))
    assert browser.pathname == address.target.partition("?")[0]


@settings(max_examples=500)
@given(addresses)
def test_reading_the_canonical_spelling_again_gives_the_same(text: str) -> None:
    address = parse_address(text, LIMITS)
    if isinstance(address, Address):
        assert parse_address(address.text, LIMITS) == address
        assert address.text.isascii()


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("https://other.net/x", "https://other.net/x"),
        ("HTTPS://other.net", "https://other.net/"),
        ("//other.net/x", "https://other.net/x"),
        ("/x", "https://example.org/x"),
        (" /x ", "https://example.org/x"),
        ("x", "https://example.org/a/x"),
        ("./x", "https://example.org/a/x"),
        ("../x", "https://example.org/x"),
        ("../../../x", "https://example.org/x"),
        ("..//127.0.0.1/", "https://example.org//127.0.0.1/"),
        ("?x=2", "https://example.org/a/b;c?x=2"),
        ("#x", "https://example.org/a/b;c?q=1"),
        ("x:y"[1:] + "z", "https://example.org/a/:yz"),
        ("/é", "https://example.org/%C3%A9"),
        ("\u3000/x\u3000", "https://example.org/a/%E3%80%80/x%E3%80%80"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
    ],
)
def test_a_location_is_read_against_the_page_that_gave_it(location: str, target: str) -> None:
    assert _text(join(BASE, location, LIMITS)) == target


def test_a_location_is_read_against_a_literal_host_in_brackets() -> None:
    assert _text(join(Address("2606:4700::1111", "/a", literal=True), "b", LIMITS)) == "https://[2606:4700::1111]/b"


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("", "address_malformed"),
        ("   ", "address_malformed"),
        ("///127.0.0.1/", "address_malformed"),
        ("/\\127.0.0.1/", "address_malformed"),
        ("\\\\127.0.0.1/", "address_malformed"),
        ("https:/127.0.0.1/", "address_malformed"),
        ("https:127.0.0.1", "address_malformed"),
        ("https:///127.0.0.1/", "address_malformed"),
        ("/a\tb", "address_malformed"),
        ("/a\x00b", "address_malformed"),
        ("//", "address_malformed"),
        ("http://other.net/", "address_not_https"),
        ("http:/x", "address_not_https"),
        ("file:///etc/passwd", "address_not_https"),
        ("javascript:x", "address_not_https"),
        ("x:y", "address_not_https"),
        ("//user@other.net/", "address_user"),
        ("//other.net:8443/", "address_port"),
        ("https://other.net:80/", "address_port"),
    ],
)
def test_a_location_that_is_refused(location: str, code: str) -> None:
    assert _code(join(BASE, location, LIMITS)) == code


@settings(max_examples=500)
@given(pieces)
def test_a_location_that_is_read_leads_where_browsers_go(location: str) -> None:
    address = join(BASE, location, LIMITS)
    if isinstance(address, Address):
        browser = ada_url.URL(ada_url.join_url(BASE.text, location.strip(" \t\r\n")))
        assert browser.protocol == "https:"
        assert browser.hostname.strip("[]").removesuffix(".") == address.host
        assert browser.pathname == address.target.partition("?")[0]


def _checked(*answers: str, host: Address | str = "example.org") -> tuple[str, ...] | Refused:
    checked = checked_addresses(host, answers, NETWORKS, LIMITS)
    return checked if isinstance(checked, Refused) else tuple(address.ip for address in checked)


def test_every_answer_is_checked_and_one_bad_one_refuses_all() -> None:
    for bad in ("127.0.0.1", "fe80::1%2", "example.net", "0177.0.0.1", "", "::ffff:8.8.8.8"):
        for answers in (
            (bad,),
            (bad, "93.184.215.14"),
            ("93.184.215.14", bad),
            ("2600::1", *["93.184.215.14"] * 9, bad),
        ):
            refused = _checked(*answers)
            assert isinstance(refused, Refused)
            assert (refused.rule, refused.code, refused.reason) == (2, "not_public", NOT_PUBLIC)
            assert repr(bad) in refused.detail
            assert "127" not in refused.reason


def test_no_answer_is_no_name() -> None:
    assert _checked() == Refused(0, "name_not_found", "No site has that name.", "the lookup gave no address")


def test_more_answers_than_a_name_may_have_are_refused_before_they_are_read() -> None:
    good = [f"93.184.215.{last}" for last in range(65)]
    too_many = _checked(*good)
    assert isinstance(too_many, Refused)
    assert (too_many.rule, too_many.code, too_many.reason) == (2, "not_public", NOT_PUBLIC)
    assert len(_checked(*good[:64])) == LIMITS.addresses_tried  # type: ignore[arg-type]  # not refused, or it fails


def test_the_families_take_turns_from_the_first_answer_on_and_repeats_are_dropped() -> None:
    assert _checked("2600::1", "2600::2", "1.1.1.1", "2600:0::1", "1.1.1.2", "2600::3") == (
        "2600::1", "1.1.1.1", "2600::2", "1.1.1.2", "2600::3",
    )  # fmt: skip
    assert _checked("1.1.1.1", "2600::1", "2600::2") == ("1.1.1.1", "2600::1", "2600::2")


def test_a_literal_answers_for_itself_whatever_the_lookup_gave() -> None:
    literal = Address("1.1.1.1", "/", literal=True)
    assert _checked(host=literal) == ("1.1.1.1",)
    assert _checked("8.8.8.8", host=literal) == ("1.1.1.1",)
    assert _code(_checked("8.8.8.8", host="127.0.0.1")) == "not_public"
    assert _code(_checked(host=Address("::1", "/", literal=True))) == "not_public"


@given(st.lists(st.one_of(v4_numbers.map(lambda n: str(read_ip(".".join(str(n >> s & 255) for s in (24, 16, 8, 0))))),
                          v6_numbers.map(lambda n: ":".join(f"{n >> s & 0xFFFF:x}" for s in range(112, -1, -16)))),
                min_size=1, max_size=8))  # fmt: skip
def test_nothing_comes_out_that_is_not_public(answers: list[str]) -> None:
    checked = checked_addresses("example.org", answers, NETWORKS, LIMITS)
    parsed = [read_ip(answer) for answer in answers]
    assert isinstance(checked, Refused) != all(address is not None and is_public(address) for address in parsed)
    if not isinstance(checked, Refused):
        assert all(isinstance(address, CheckedAddress) for address in checked)
        assert {read_ip(address.ip) for address in checked} <= set(parsed)


def test_two_texts_of_one_ip_address_are_the_same() -> None:
    assert same_ip("2600:0::1", "2600::1")
    assert same_ip("1.1.1.1", "1.1.1.1")
    assert not same_ip("1.1.1.1", "1.1.1.2")
    assert not same_ip("x", "x")
    assert not same_ip("1.1.1.1", "::ffff:1.1.1.1")


def test_the_journal_is_told_which_address_was_refused_and_how_many_there_were() -> None:
    def detail(checked: tuple[str, ...] | Refused) -> str:
        assert isinstance(checked, Refused)
        return checked.detail

    assert detail(_checked("1.1.1.1", "10.0.0.1")) == "example.org leads to '10.0.0.1'"
    assert detail(_checked(*["1.1.1.1"] * 65)) == "65 addresses, at most 64"
    assert detail(_checked()) == "the lookup gave no address"
