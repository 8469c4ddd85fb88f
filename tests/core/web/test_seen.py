"""Rule 1: which hosts count as seen, and which never do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.data import Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, parse_address
from hostcall.web.seen import SeenHosts, first_address, same_site
from tests.growth import LINEAR, growth
from tests.strategies_web import addresses, names, pieces

LIMITS = Limits()


def _address(text: str) -> Address:
    address = parse_address(text, LIMITS)
    assert isinstance(address, Address), address
    return address


def _opens(seen: SeenHosts, text: str) -> bool:
    return seen.check(_address(text)) is None


def _written(text: str) -> SeenHosts:
    seen = SeenHosts(LIMITS)
    seen.add_user_text(text)
    return seen


def test_nothing_is_seen_at_first_and_the_refusal_has_the_designs_words() -> None:
    refused = SeenHosts(LIMITS).check(_address("https://example.org/"))
    assert refused == Refused(1, "not_seen", "not in this answer's search results")


def test_the_host_of_a_result_is_seen_whatever_the_path() -> None:
    seen = SeenHosts(LIMITS)
    seen.add_result("https://Example.org:443/a?b")
    assert _opens(seen, "https://example.org/docs")
    assert _opens(seen, "http://EXAMPLE.org./other")
    assert seen.source(_address("https://example.org/docs")) == "search_result"


@pytest.mark.parametrize(
    "result",
    [
        "https://attacker.net@example.org/",
        "https://example.org:8443/",
        "ftp://example.org/",
        "example.org",
        "",
        "https://",
    ],
)
def test_a_result_whose_address_could_not_be_opened_makes_no_host_seen(result: str) -> None:
    seen = SeenHosts(LIMITS)
    seen.add_result(result)
    assert not _opens(seen, "https://example.org/")
    assert not _opens(seen, "https://attacker.net/")


@pytest.mark.parametrize(
    "text",
    [
        *("https://example.org", "Read https://example.org/docs please", "see https://example.org, then tell me"),
        *("is (https://example.org/docs) good?", "[docs](https://example.org/docs)"),
        "![x](https://example.org/i.png \"t\")",
        *("<https://example.org/docs>", "`https://example.org/docs`", "“https://example.org/docs”"),
        "'https://example.org'",
        *("«https://example.org»", "„https://example.org“", "**https://example.org**", "_https://example.org_"),
        *("~~https://example.org~~", "|https://example.org|x|", "HTTPS://EXAMPLE.ORG", "http://example.org/old"),
        *("https://example.org:443/x", "https://example.org:8443/x", "https://example.org.", "https://example.org:"),
        "ok:https://example.org",
        *('"url": "https://example.org/docs",', "href='https://example.org'", "{https://example.org}"),
        "https://a.net,https://example.org",
        *("https://example.org?x=1", "https://example.org#top", "https://example.org!", "https://example.org;x"),
        "https://example.org…",
        "https://a.net/https://b.net/ https://example.org",
        *("example.org", "open example.org/docs", "example.org's docs", "Is example.org?", "(example.org)"),
        "[example.org]",
        *("**example.org**", "_example.org_", "`example.org`", "example.org, please", "example.org: read it"),
        *("example.org.", "example.org..."),
        *("Example.Org", "example.org:443/docs", "example.org#x", "example.org?x", "site:example.org"),
        "look:\nexample.org\nthanks",
        "-請看example.org",
        *("請看https://example.org/docs。", "看看https://example.org吗", "请打开example.org看看"),
        *("example.orgを開いて", "example.org에서"),
        *("「example.org」", "（https://example.org）", "https://example.org，然后", "https://example.org、"),
        "example．org or example.org",
        *("ｅｘａｍｐｌｅ.org", "mail me@x.net about example.org", "it's at example.org—a site"),
        "https://a.net/(b)c https://example.org",
        *("die example.org-Seite", "https://example.org-Doku.", "EXAMPLE.ORG-Team", "a.net-x,example.org-y"),
        *("באתר example.org", "בexample.org", "ב-example.org", "ב־example.org", "بموقعexample.org", "example.orgの-x"),
        *('{"url":"https:\\/\\/example.org\\/docs"}', "HTTPS:\\/\\/example.org"),
        *('"a\\nhttps://example.org"', "https://a.net/x\\r\\nhttps://example.org", "a\\thttps://example.org\\n"),
        # What is no part of a name ends it: a symbol, a footnote, the stop of a script.
        *("https://example.org😀", "👉https://example.org👈", "https://example.org→", "https://example.org™ x"),
        *("https://example.org।", "https://example.org։", "https://example.org။", "https://example.org።"),
        *("https://example.org%", "https://example.org+a.net", "⟨https://example.org⟩", "https://example.org\ufeff"),
        *("https://example.org¹", "example.org²,³", "①example.org", "https://example.org⑵", "example.org·a.net"),
        # The next address begins although no blank parts it from the one before.
        *("[![x](https://a.net/b.svg)](https://example.org/)", "[a](https://a.net/)[b](https://example.org/)"),
        *("[a](https://a.net/)[b](example.org)", "https://a.net/;https://example.org/", "https://a.net→example.org"),
        *("['https://a.net/','https://example.org/']", "**https://a.net/**https://example.org"),
        *("请比较https://a.net/和https://example.org/", "请比较https://a.net和https://example.org。"),
        *("a.net/b,https://example.org", "https://a.net/b(c)d)https://example.org"),
    ],
)  # fmt: skip
def test_a_host_that_the_user_wrote_is_seen_however_it_is_written(text: str) -> None:
    seen = _written(text)
    assert _opens(seen, "https://example.org/docs")
    assert seen.source(_address("https://example.org/docs")) == "user_message"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("lies bücher.de", "https://BÜCHER.de/"),
        ("lies https://xn--bcher-kva.de/a", "https://bücher.de/"),
        ("https://例え.jp/。", "https://例え.jp/x"),
        ("例え.jp", "https://例え.jp/x"),
        ("https://[2606:4700::1111]/x", "https://[2606:4700:0::1111]/"),
        ("https://[2606:4700::1111]:443/x", "https://[2606:4700::1111]/"),
        ("https://1.1.1.1/x", "https://1.1.1.1/"),
        ("https://my_bucket.example.org/", "https://my_bucket.example.org/"),
        ("bu\u0308cher.de", "https://bücher.de/"),
        ("lies e\u0301cole.fr.", "https://école.fr/"),
        ("हिन्दी.com देखो", "https://हिन्दी.com/"),
        ("தமிழ்.com", "https://தமிழ்.com/"),
        ("か\u3099.jp", "https://が.jp/"),
        ("موقعٌ.com", "https://موقعٌ.com/"),
        ("例え.jpを見て", "https://例え.jp/"),
        ("https://例え.jpを見て", "https://例え.jp/"),
        ("xn--bcher-kva.de-Seite", "https://bücher.de/"),
        ("example.xn--p1ai", "https://example.xn--p1ai/"),
        ("a-b.example-c.org", "https://a-b.example-c.org/"),
        ("x.co-op", "https://x.co/"),
        ("llegeix paral·lel.cat", "https://paral·lel.cat/"),
        ("https://PARAL·LEL.cat/", "https://paral·lel.cat/"),
        ("https://भारत.भारत।", "https://भारत.भारत/"),
    ],
)
def test_hosts_of_every_kind_are_found(text: str, address: str) -> None:
    assert _opens(_written(text), address)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("write to me@example.org", "https://example.org/"),
        ("write to first.last@x.net", "https://first.last/"),
        ("@example.org", "https://example.org/"),
        ("mailto:me@example.org", "https://example.org/"),
        ("https://user@example.org/", "https://example.org/"),
        ("https://web.archive.org/web/https://example.org/", "https://example.org/"),
        ("https://web.archive.org/?u=example.org", "https://example.org/"),
        ("a.net/?u=example.org", "https://example.org/"),
        ("path/example.org", "https://example.org/"),
        ("\\\\example.org\\share", "https://example.org/"),
        ("*.example.org", "https://example.org/"),
        ("-example.org", "https://example.org/"),
        ("read example .org", "https://example.org/"),
        ("read https://docs.example.org/", "https://example.org/"),
        ("read https://example.org/", "https://docs.example.org/"),
        ("read https://example.org/", "https://www.example.org/"),
        ("read https://example.org/", "https://example.org.evil.net/"),
        ("read https://example.org/", "https://evilexample.org/"),
        ("read https://exаmple.org/", "https://example.org/"),  # a Cyrillic letter
        ("read exаmple.org", "https://mple.org/"),
        ("xhttps://example.org", "https://example.org/"),
        ("例.example.org", "https://example.org/"),
        ("\U00011f04example.org", "https://example.org/"),  # a letter that older Pythons do not know
        ("e.g this", "https://e.g/"),
        ("version 1.2.3x", "https://1.2.3x/"),
        ("https://first.last:x@example.org/", "https://first.last/"),
        ("version 1.2.x3", "https://1.2.x3.org/"),
        ("127.0.0.1 and 1.1.1.1", "https://1.1.1.1/"),
        ("https://2130706433/", "https://example.org/"),
        ("https:example.org:x", "https://x/"),
        ("e\u0301cole.fr", "https://cole.fr/"),
        ("bu\u0308cher.de", "https://cher.de/"),
        ("exa\u00admple.org", "https://mple.org/"),
        ("exa\u2060mple.org", "https://mple.org/"),
        ("exa\u200dmple.org", "https://mple.org/"),
        ("example.org\u00ad.evil.net", "https://example.org/"),
        ("example.org\u2060.evil.net", "https://example.org/"),
        ("example.org\u200d.evil.net", "https://example.org/"),
        ("https:\\/example.org", "https://example.org/"),
        ("die example.org-Seite", "https://example.org-seite/"),
        ("éX-example.org", "https://example.org/"),
        ("open the router, please", "https://router/"),
        (".example.org", "https://example.org/"),
        ("example.o-x", "https://example.o/"),
        ("paral·lel.cat", "https://lel.cat/"),
        ("example.org¹", "https://example.org1/"),
        ("https://example.org²", "https://example.org2/"),
        ("①example.org", "https://1example.org/"),
        ("https://example.org™", "https://example.orgtm/"),
        ("me＠example.org", "https://example.org/"),
        ("first.last＠x.net", "https://first.last/"),
        ("https%3A%2F%2Fexample.org%2Fdocs", "https://2fexample.org/"),
        ("https://example.org%2Eevil.net/", "https://example.org/"),
        ("https://exa\u00admple.org/", "https://exa/"),
        ("https://a.net/x?u=https://example.org/", "https://example.org/"),
        ("a.net/x?u=https://example.org/", "https://example.org/"),
    ],
)  # fmt: skip
def test_what_the_user_did_not_write_as_a_host_is_not_seen(text: str, address: str) -> None:
    assert not _opens(_written(text), address)


def test_a_number_is_seen_only_as_the_literal_in_an_address() -> None:
    assert not _opens(_written("open 1.1.1.1"), "https://1.1.1.1/")
    assert _opens(_written("open https://1.1.1.1"), "https://1.1.1.1/")


@given(names, st.sampled_from(["{}", "see {}.", "({})", "https://{}/x", "**{}**", "打开{}吗", "a, {}, b", "“{}”"]))
def test_a_name_in_running_text_is_seen(name: str, frame: str) -> None:
    address = parse_address(f"https://{name}/", LIMITS)
    if isinstance(address, Address) and not name.startswith("_"):
        assert _written(frame.format(name)).check(address) is None


@given(st.lists(st.one_of(addresses, pieces), max_size=5).map(" ".join))
def test_any_text_can_be_scanned_and_only_hosts_that_can_be_read_are_seen(text: str) -> None:
    seen = _written(text)
    for host in list(seen._hosts):
        assert _opens(seen, f"https://[{host}]/" if ":" in host else f"https://{host}/")


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "a.", "例", "例a", "https://", "(", "a@", "http", "例a.b", "a.b/(", "a.bc/)", "a.bc/=https://("),
        *("https://a.b/)/", "https://a.b→", "https://a.b/[)", "https://[::1]:", "\\nhttps://", "l·"),
    ],
)  # fmt: skip
def test_the_time_to_scan_grows_with_the_length_and_no_faster(piece: str) -> None:
    assert growth(lambda size: _written(piece * (size // len(piece))), 48_000) < LINEAR


def test_hosts_of_an_earlier_answer_count_and_what_is_no_host_says_so() -> None:
    seen = SeenHosts(LIMITS)
    assert seen.add_host("BÜCHER.de.")
    assert not seen.add_host("https://example.org")
    assert _opens(seen, "https://bücher.de/x")
    assert seen.source(_address("https://bücher.de/x")) == "user_message"
    assert not _opens(seen, "https://example.org/")


def test_a_name_is_cut_out_only_where_a_script_without_blanks_touches_it() -> None:
    for text in ("\u00e9Xexample.org", "example.orgX\u00e9", "\u00e9example.org"):
        assert not _opens(_written(text), "https://example.org/")
    for text in ("\u770bexample.org", "example.org\u770b", "\u770bexample.org\u770b"):
        assert _opens(_written(text), "https://example.org/")


def test_a_name_keeps_all_its_letters() -> None:
    for text in ("https://XAMPLE.FOX", "https://XAMPLE.FOX.", "XAMPLE.FOX", "_XAMPLE.FOX_", "see XAMPLE.FOX-"):
        assert _opens(_written(text), "https://xample.fox/")


def test_whether_a_text_is_a_host_is_said() -> None:
    seen = SeenHosts(LIMITS)
    assert seen.add_host("example.org") is True
    assert seen.add_host("not a host") is False


def test_where_a_host_was_seen_first_stays_its_source() -> None:
    seen = _written("example.org")
    seen.add_result("https://example.org/")
    assert seen.source(_address("https://example.org/")) == "user_message"


class TestByAddress:
    """`provenance="address"`: the exact address, or a link on the site of a page that was read."""

    def test_another_address_of_a_host_that_was_seen_is_refused(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_result("https://example.org/a?b#c")
        assert _opens(seen, "http://EXAMPLE.org/a?b")
        assert not _opens(seen, "https://example.org/")
        assert not _opens(seen, "https://example.org/a?b=secret")

    @pytest.mark.parametrize(
        "text",
        [
            *("https://example.org/docs", "(https://example.org/docs)", "[x](https://example.org/docs)"),
            "https://example.org/docs.",
            *("**https://example.org/docs**", "example.org/docs", "(see example.org/docs)."),
            *("http://example.org:80/docs", "“example.org/docs”", "example.org:443/docs, please"),
            *("https://example.org/docs, https://a.net", "https://example.org/docs,https://a.net"),
            "[https://example.org/docs](https://a.net)",
            *("https://example.org/docs।", "https://example.org/docs؟", "https://example.org/docs\\\\", "`https://example.org/docs`"),
            *("https://example.org/docs;https://a.net", "https://example.org/docs\ufeff", "https://example.org/docs\\nx"),
        ],
    )  # fmt: skip
    def test_the_address_is_found_without_the_sentence_around_it(self, text: str) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text(text)
        assert _opens(seen, "https://example.org/docs")
        assert not _opens(seen, "https://example.org/")

    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("see https://example.org?x=1.", "https://example.org/?x=1"),
            ("see https://example.org#top", "https://example.org/"),
            ("see https://example.org#a.net/x", "https://example.org/"),
            ("https:///x, https://→ and example.org", "https://example.org/"),
            ("see example.org?x=1.", "https://example.org/?x=1"),
            ("see example.org#top", "https://example.org/"),
            ("see example.org: yes", "https://example.org/"),
            ("see example.org", "https://example.org/"),
            ("https://example.org→", "https://example.org/"),
            ("https://example.org→/docs", "https://example.org/"),
            ("https://example.org:443. Then", "https://example.org/"),
            ("https://example.org:443_", "https://example.org/"),
            ("https://[2606:4700::1111]: yes", "https://[2606:4700::1111]/"),
            ("https://[2606:4700::1111]:443: yes", "https://[2606:4700::1111]/"),
            ("https://example.org/a((b)c)d", "https://example.org/a((b)c)d"),
            ("(https://example.org/a((b)c))", "https://example.org/a((b)c)"),
            ("a.net@example.net then example.org", "https://example.org/"),
            ("a.net\u2060x then example.org", "https://example.org/"),
            ("https://me@example.net then https://example.org", "https://example.org/"),
            ("https://a.net\u2060x then https://example.org", "https://example.org/"),
            ("https://a.net%20x then https://example.org", "https://example.org/"),
        ],
    )
    def test_the_address_that_is_meant_is_found(self, text: str, address: str) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text(text)
        assert list(seen._addresses) == [address]

    def test_letters_at_the_end_of_an_address_stay(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text("Read https://example.org/INDEX, please.")
        assert _opens(seen, "https://example.org/INDEX")
        assert not _opens(seen, "https://example.org/INDE")

    def test_an_address_inside_another_belongs_to_it(self) -> None:
        for outer in ("https://web.archive.org/web/", "https://a.net/?u=", "web.archive.org/web/", "a.net/#"):
            seen = SeenHosts(LIMITS, "address")
            seen.add_user_text(f"see {outer}https://example.org/docs, please")
            assert _opens(seen, f"https://{outer.removeprefix('https://')}https://example.org/docs")
            assert not _opens(seen, "https://example.org/docs")

    def test_brackets_that_belong_to_a_path_stay(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text("(https://en.wikipedia.org/wiki/Rust_(programming_language))")
        assert _opens(seen, "https://en.wikipedia.org/wiki/Rust_(programming_language)")

    @pytest.mark.parametrize("path", ["/a(b)c", "/a[b]c", "/a{b}c", "/a([{b}])c", "/a?b(c)"])
    @pytest.mark.parametrize("frame", ["{}", "({})", "[{}]", "{{{}}}", "{}).", "{}]x", "{}}}x"])
    def test_only_brackets_that_were_opened_in_the_path_belong_to_it(self, path: str, frame: str) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text(frame.format(f"https://example.org{path}"))
        assert _opens(seen, f"https://example.org{path}")

    def test_where_an_address_was_seen_is_told(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_result("https://example.org/a")
        seen.add_user_text("https://example.org/b")
        seen.add_host("example.org")
        sources = [seen.source(Address("example.org", target)) for target in ("/a", "/b", "/", "/c")]
        assert sources == ["search_result", "user_message", "user_message", "unknown"]

    def test_an_address_with_another_port_opens_nothing(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_user_text("https://example.org:8443/docs, https://example.org:443X/docs and example.net:8443/docs")
        assert not _opens(seen, "https://example.org/docs")
        assert not _opens(seen, "https://example.net/docs")

    def test_links_of_a_page_read_open_as_far_as_they_stay_on_its_site(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        page = _address("https://www.example.org/")
        seen.add_page_links(page, ["https://example.org/a", "https://other.net/b", "http://", "https://a.example.org/"])
        assert _opens(seen, "https://example.org/a")
        assert seen.source(_address("https://example.org/a")) == "page_link"
        assert not _opens(seen, "https://other.net/b")
        assert not _opens(seen, "https://a.example.org/")

    def test_by_host_a_link_changes_nothing(self) -> None:
        seen = SeenHosts(LIMITS)
        seen.add_page_links(_address("https://example.org/"), ["https://example.org/a"])
        assert not _opens(seen, "https://example.org/a")

    def test_a_host_that_is_vouched_for_opens_its_front_page(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_host("example.org")
        seen.add_host("[2606:4700::1111]")
        assert _opens(seen, "https://example.org")
        assert _opens(seen, "https://[2606:4700::1111]")
        assert not _opens(seen, "https://example.org/a")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://example.org/a", "https://example.org/b", True),
        ("https://www.example.org/", "https://example.org/", True),
        ("https://www.example.org/", "https://www.example.org/", True),
        ("https://docs.example.org/", "https://example.org/", False),
        ("https://www.www.example.org/", "https://example.org/", False),
        ("https://a.github.io/", "https://b.github.io/", False),
        ("https://1.1.1.1/", "https://1.1.1.1/x", True),
    ],
)
def test_what_one_site_is(one: str, other: str, same: bool) -> None:
    assert same_site(_address(one), _address(other)) is same
    assert same_site(_address(other), _address(one)) is same


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Read https://example.org/docs, then https://other.net/", "https://example.org/docs"),
        ("first other.net, then http://example.org", "https://example.org/"),
        ("https://example.org:8443/x and https://other.net/", "https://other.net/"),
        ("https://user@example.org and https://other.net/", "https://other.net/"),
        ("(https://[2606:4700::1111]:443/x)", "https://[2606:4700::1111]/x"),
        ("看看https://example.org吗", "https://example.org/"),
        ("main.rs and example.org", None),
        ("", None),
    ],
)
def test_the_first_address_of_a_text_is_one_with_a_scheme_that_can_be_read(text: str, address: str | None) -> None:
    found = first_address(text, LIMITS)
    assert (None if found is None else found.text) == address
