"""Hosts: one spelling for each, and nothing that another parser would read otherwise."""

import unicodedata

import ada_url
import idna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.web.hosts import NEWER_THAN_UNICODE_14, is_literal, is_special_name, read_host
from tests.strategies_web import names, pieces, v4_numbers, v6_numbers


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("example.org", "example.org"),
        ("EXAMPLE.Org", "example.org"),
        ("example.org.", "example.org"),
        ("r3---sn-abc.example.org", "r3---sn-abc.example.org"),
        ("my_bucket.example.org", "my_bucket.example.org"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("0x7f.example.org", "0x7f.example.org"),
        ("1e100.net", "1e100.net"),
        ("localhost", "localhost"),
        ("a" * 63 + ".org", "a" * 63 + ".org"),
        ("bücher.de", "xn--bcher-kva.de"),
        ("BÜCHER.de", "xn--bcher-kva.de"),
        ("XN--BCHER-KVA.de", "xn--bcher-kva.de"),
        ("faß.de", "xn--fa-hia.de"),
        ("例え.jp", "xn--r8jz45g.jp"),
        ("例え。jp", "xn--r8jz45g.jp"),
        ("ｅｘａｍｐｌｅ．ｏｒｇ", "example.org"),
        ("r3---sn.bücher.de", "r3---sn.xn--bcher-kva.de"),
        ("my_b.bücher.de", "my_b.xn--bcher-kva.de"),
        ("xn--ls8h.la", "xn--ls8h.la"),  # a symbol, in the form in which it is registered
        ("نامه‌ای.com".replace("‌", ""), "xn--mgba3gch31f.com"),
        ("93.184.215.14", "93.184.215.14"),
        ("１２７．０．０．１", "127.0.0.1"),
        ("𝟏𝟐𝟕.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[2606:4700::1111]", "2606:4700::1111"),
        ("[2606:4700:0:0::1.2.3.4]", "2606:4700::102:304"),
        ("[::FFFF:8.8.8.8]", "::ffff:808:808"),
        (".".join(["a" * 49] * 5 + ["org"]), ".".join(["a" * 49] * 5 + ["org"])),  # of 253 characters
    ],
)
def test_a_host_has_one_canonical_form(text: str, host: str) -> None:
    assert read_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "a..b", ".a", "a..", "-a.org", "a-.org", "-", "a b.org", "a\tb.org", "a\x00.org"),
        *("%31.org", "ex%ample.org", "a@b", "a:b", "a/b", "a\\b", "a|b", "a^b", "a`b", "a<b>", "a'b"),
        *('a"b', "a,b", "a;b"),
        *("a" * 64 + ".org", ".".join(["a" * 63] * 4), "ü" * 80 + ".org"),
        *("127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x", "0177.0.0.1", "1.2.3.08", "0", "00"),
        "1.2.3.4.5",
        *("256.256.256.256", "foo.123", "foo.0x7f", "example.org.0x", "999999999999.1", "1.2.3.4..", "①.②", "１２７.1"),
        *("١٢٧.0.0.1", "127.0.0.１２３４"),
        *("[::1", "::1]", "[::1]x", "[]", "[1.2.3.4]", "[example.org]", "[v1.fe80::1]", "[fe80::1%eth0]"),
        "[fe80::1%25eth0]",
        *("[::1 ]", "[::1::]", "[[::1]]", "[:::1]", "[::12345]", "[::1.2.3]", "[::1.2.3.04]", "::1"),
        *("exa\u200bmple.org", "exa\u00admple.org", "exa\u202emple.org", "a\u200d.org", "exa\ufeffmple.org"),
        "\ue000.org",
        *("exa\ufe0fmple.org", "exa\u034fmple.org", "exa\U000e0100mple.org", "exa\u180bmple.org", "exa\u2064mple.org"),
        *("a\u3000b.org", "☃.net", "example.org⁄evil.net", "example.org：8080", "a＠b.org", "a／b.org", "㈱.org"),
        "\ud800.org",
        *("xn--", "xn--.org", "xn--a.org", "xn--abc-.org", "xn--zzzzzzzzzzzzz999999.org", "xn--bcher-KVA-.de"),
        *("xn--a-ecp.ru", "xn--fa-hia-.de", "xn--\u00fc.org", "xn--0.pt"),
        "xn--fiq.org\u0378",
        *("אa.org", "1א.org", "א.1a-אb.org"),
        "\u0301a.org",
        ".".join(["a" * 49] * 5 + ["info"]),  # of 254 characters
        "\u2ff0.org",  # describes an ideograph, and is none
        "xn---bbk.org",  # a longer encoding of what xn--bbk stands for
        "\U00031350.org",  # CJK that only Unicode 15 knows
    ],
)  # fmt: skip
def test_what_parsers_read_differently_is_no_host(text: str) -> None:
    assert read_host(text) is None


@pytest.mark.parametrize(
    "decoded",
    [
        "abc",  # nothing to encode
        "\ufb01\u00fc",  # maps to something else
        "u\u0308",  # not composed
        "\u0301\u00fc",  # begins with a mark
        "a\u00adü",  # invisible
        "a\u200dü",  # a joiner with nothing to join
        "\U00031350",  # newer than the oldest tables
        "a\ue000",  # private
        "\u05d0a",  # both directions
    ],
)
def test_an_encoded_label_must_stand_for_one_that_could_be_written(decoded: str) -> None:
    assert read_host("xn--" + decoded.encode("punycode").decode("ascii").lower() + ".org") is None


def test_a_joiner_passes_in_an_encoded_label_where_the_script_needs_it() -> None:
    label = "xn--" + "\u0915\u094d\u200d\u0937".encode("punycode").decode("ascii")
    assert read_host(f"{label}.org") == f"{label}.org"


def test_an_underscore_passes_in_an_encoded_label_as_it_does_in_a_plain_one() -> None:
    label = "xn--" + "a_\u00fc".encode("punycode").decode("ascii")
    assert read_host(f"{label}.org") == f"{label}.org" == ada_url.URL(f"https://{label}.org").hostname


def test_every_label_of_a_name_with_one_that_runs_right_to_left_keeps_the_rule() -> None:
    assert read_host("\u05d0\u05d1.org") is not None
    assert read_host("1a.\u05d0\u05d1.org") is None
    assert read_host("\u0627\u0628.org") is not None
    assert read_host("1a.\u0627\u0628.org") is None
    assert read_host("1a.org") == "1a.org"


@given(names)
def test_an_ordinary_name_is_its_own_canonical_form(name: str) -> None:
    assert read_host(name) in ({name} if "xn--" not in name else {name, None})


@settings(max_examples=400)
@given(st.one_of(pieces, st.builds("xn--{}.org".format, pieces), st.text(max_size=12)))
def test_a_host_that_is_read_is_the_host_that_browsers_read(text: str) -> None:
    host = read_host(text)
    if host is None:
        return
    browser = ada_url.URL(f"https://{text}/").hostname
    assert browser.strip("[]").removesuffix(".") == host
    assert host.isascii()
    assert read_host(f"[{host}]" if ":" in host else host) == host


@given(v4_numbers, st.sampled_from(["{}", "{:#x}", "0{:o}"]))
def test_a_number_in_any_spelling_but_the_plain_one_is_no_host(number: int, spelling: str) -> None:
    whole = spelling.format(number)
    assert read_host(whole) is None
    parts = [spelling.format(number >> shift & 0xFF) for shift in (24, 16, 8, 0)]
    if spelling != "{}":
        assert read_host(".".join(parts)) is None


@given(v6_numbers)
def test_an_ipv6_literal_is_read_whatever_its_spelling(number: int) -> None:
    groups = [f"{number >> shift & 0xFFFF:04X}" for shift in range(112, -1, -16)]
    host = read_host(f"[{':'.join(groups)}]")
    assert host is not None
    assert is_literal(host)
    assert read_host(f"[{host}]") == host


def test_no_letter_gets_through_that_an_older_python_does_not_know() -> None:
    # What this Python has no letter for and `idna` would let through must stand in the table: on the oldest version
    # that proves it complete.
    table = {number for first, last in NEWER_THAN_UNICODE_14 for number in range(first, min(last + 1, 0x40000))}
    for number in range(0x80, 0x40000):
        if unicodedata.category(chr(number)) == "Cn" and number not in table:
            with pytest.raises(idna.IDNAError):
                idna.uts46_remap(chr(number), std3_rules=False)
    for first, last in NEWER_THAN_UNICODE_14:
        assert read_host(f"ü{chr(first)}.org") is None
        assert read_host(f"ü{chr(last)}.org") is None


def test_what_a_literal_is() -> None:
    assert is_literal("1.2.3.4")
    assert is_literal("::1")
    assert not is_literal("1.2.3.4.example.org")
    assert not is_literal("localhost")


@pytest.mark.parametrize(
    "host",
    ["localhost", "app.localhost", "router.local", "metadata.google.internal", "printer.home.arpa", "home.arpa",
     "x.onion", "x.test", "x.invalid", "x.example", "x.alt", "instance-data", "org"],
)  # fmt: skip
def test_a_special_name(host: str) -> None:
    assert is_special_name(host)


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "localhost.org",
        "internal.example.org",
        "local.net",
        "home.arpa.org",
        "xhome.arpa",
        "in-addr.arpa",
    ],
)
def test_an_ordinary_name(host: str) -> None:
    assert not is_special_name(host)


def test_a_joiner_in_running_text_is_refused_and_in_the_form_registered_it_is_read() -> None:
    """Nobody sees it: two names that look the same would be two hosts."""
    assert read_host("\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com") is None
    assert read_host("xn--mgba3gch31f060k.com") == "xn--mgba3gch31f060k.com"


def test_digits_that_run_from_right_to_left_do_not_stand_in_a_label_that_does_not() -> None:
    label = "a\u0663b"
    assert read_host(f"{label}.com") is None
    assert read_host(f"xn--{label.encode('punycode').decode()}.com") is None


def test_every_capital_letter_is_the_small_one_beside_letters_of_any_script() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert read_host(f"ü{letters.upper()}.example.org") == read_host(f"ü{letters}.example.org") is not None
