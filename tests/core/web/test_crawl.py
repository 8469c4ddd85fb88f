"""Crawls: which pages, in which order, within which bounds, and always the same report."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.commands import Cancel, Connect, LogFetch, Resolve
from hostcall.data import FetchRecord, Refused
from hostcall.errors import LocalProtocolError
from hostcall.events import Failed, Resolved
from hostcall.limits import Limits
from hostcall.machine import Slots
from hostcall.web.address import Address
from hostcall.web.crawl import Crawl, CrawlReport
from hostcall.web.networks import Networks
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web
from tests.core.web.scripted_web import PUBLIC, Answer, ScriptedWeb, moved, page

LIMITS = Limits()


class _Budget:
    def __init__(self, pages: int) -> None:
        self.pages = pages

    def take(self) -> bool:
        self.pages -= 1
        return self.pages >= 0

    def left(self) -> int:
        return max(self.pages, 0)


def _crawl(
    asked: str = "https://example.org/",
    *,
    limits: Limits = LIMITS,
    slots: Slots | None = None,
    pages: int = 12,
    seen: SeenHosts | None = None,
    id: str = "c1",
) -> Crawl:
    if seen is None:
        seen = SeenHosts(limits)
        seen.add_result("https://example.org/")
    budget = _Budget(pages)
    return Crawl(
        asked,
        seen=seen,
        limits=limits,
        id=id,
        web=Web(),
        networks=Networks.of(Web()),
        slots=slots or Slots(8, 2),
        take_page=budget.take,
        pages_left=budget.left,
    )


def _report(crawl: Crawl) -> CrawlReport:
    assert isinstance(crawl.result, CrawlReport), crawl.result
    return crawl.result


def _read(pages: Mapping[str, Answer], crawl: Crawl | None = None, **more: Any) -> tuple[Crawl, ScriptedWeb]:
    crawl = crawl or _crawl()
    web = ScriptedWeb(pages, **more)
    web.run(crawl)
    return crawl, web


def _asked(crawl: Crawl) -> list[str]:
    return [read.asked.removeprefix("https://") for read in _report(crawl).pages]


TREE = {
    "example.org/": page("Root", "/a", "/b"),
    "example.org/a": page("A", "/a/1", "/a/2", "/b", "/"),
    "example.org/b": page("B", "/b/1", "/a/2"),
    "example.org/a/1": page("A1", "/deep"),
    "example.org/a/2": page("A2", "/deep"),
    "example.org/b/1": page("B1", "/deep"),
}


class TestWhichPages:
    def test_a_crawl_is_breadth_first_and_reads_each_page_once(self) -> None:
        crawl, web = _read(TREE)
        expected = [
            "example.org/",
            "example.org/a",
            "example.org/b",
            "example.org/a/1",
            "example.org/a/2",
            "example.org/b/1",
        ]
        assert _asked(crawl) == expected
        assert sorted(web.asked) == sorted(expected)
        assert [read.depth for read in _report(crawl).pages] == [0, 1, 1, 2, 2, 2]
        assert _report(crawl).failures == ()

    def test_two_hops_and_no_further(self) -> None:
        chain = {f"example.org/{at or ''}": page(f"P{at}", f"/{at + 1}") for at in range(5)}
        crawl, _ = _read(chain)
        assert _asked(crawl) == ["example.org/", "example.org/1", "example.org/2"]

    def test_six_pages_and_no_more_whether_they_can_be_read_or_not(self) -> None:
        pages = {"example.org/": page("Root", *[f"/{at}" for at in range(10)])}
        crawl, web = _read(pages)
        assert len(web.asked) == 6
        assert len(_report(crawl).failures) == 5

    def test_no_more_links_of_a_page_are_looked_at_than_the_limit_says(self) -> None:
        pages = {"example.org/": page("Root", "/a", "/b", "/c")}
        _, web = _read(pages, _crawl(limits=Limits(links_a_page=1)))
        assert len(web.asked) == 2

    def test_links_are_followed_on_the_site_only(self) -> None:
        pages = {
            "example.org/": page(
                "Root", "https://www.example.org/w", "https://a.example.org/", "https://other.net/", "/x"
            ),
            "www.example.org/w": page("W"),
            "example.org/x": page("X"),
        }
        crawl, web = _read(pages)
        assert sorted(_asked(crawl)) == ["example.org/", "example.org/x", "www.example.org/w"]
        assert len(web.asked) == 3

    def test_a_first_page_that_leads_to_another_site_is_read_and_none_of_its_links(self) -> None:
        pages = {
            "example.org/": moved("https://other.net/"),
            "other.net/": page("Other", "/x", "https://example.org/y"),
        }
        crawl, web = _read(pages)
        (read,) = _report(crawl).pages
        assert (read.asked, read.final, read.page.title) == ("https://example.org/", "https://other.net/", "Other")
        assert _report(crawl).failures == ()
        assert web.asked == ["example.org/", "other.net/"]

    def test_a_first_page_that_leads_to_its_www_is_crawled_there(self) -> None:
        pages = {
            "example.org/": moved("https://www.example.org/"),
            "www.example.org/": page("Root", "/a", "/"),
            "www.example.org/a": page("A"),
        }
        crawl, web = _read(pages)
        assert _asked(crawl) == ["example.org/", "www.example.org/a"]
        assert len(web.asked) == 3

    def test_a_later_page_may_lead_off_the_site_and_is_read_without_its_links(self) -> None:
        pages = {
            "example.org/": page("Root", "/a"),
            "example.org/a": moved("https://other.net/"),
            "other.net/": page("Other", "/x", "https://other.net/y"),
        }
        crawl, web = _read(pages)
        assert [read.final for read in _report(crawl).pages] == ["https://example.org/", "https://other.net/"]
        assert len(web.asked) == 3

    def test_two_links_that_lead_to_one_page_are_read_once(self) -> None:
        pages = {
            "example.org/": page("Root", "/a", "/b"),
            "example.org/a": moved("/c"),
            "example.org/b": moved("/c"),
            "example.org/c": page("C"),
        }
        crawl, _ = _read(pages)
        assert _asked(crawl) == ["example.org/", "example.org/a"]
        assert _report(crawl).failures == (("https://example.org/b", "leads to a page that was read already"),)

    def test_a_link_that_is_known_hides_none_behind_it(self) -> None:
        pages = {
            "example.org/": page("Root", "/a"),
            "example.org/a": page("A", "/", "https://example.org/a", "/b"),
            "example.org/b": page("B"),
        }
        assert _asked(_read(pages)[0]) == ["example.org/", "example.org/a", "example.org/b"]

    @pytest.mark.parametrize("choose", [lambda count: 0, lambda count: count - 1])
    def test_a_page_that_fails_hides_no_links_of_those_behind_it(self, choose: Callable[[int], int]) -> None:
        pages = {
            "example.org/": page("Root", "/gone", "/a"),
            "example.org/gone": Answer(status=404),
            "example.org/a": page("A", "/b"),
            "example.org/b": page("B"),
        }
        assert _asked(_read(pages, choose=choose)[0]) == ["example.org/", "example.org/a", "example.org/b"]

    def test_two_spellings_of_one_link_are_one_page(self) -> None:
        pages = {"example.org/": page("Root", "/a^", "/a%5E"), "example.org/a%5E": page("A")}
        crawl, web = _read(pages)
        assert _asked(crawl) == ["example.org/", "example.org/a%5E"]
        assert len(web.asked) == 2

    def test_a_link_to_where_an_earlier_page_led_is_not_followed_again(self) -> None:
        pages = {
            "example.org/": page("Root", "/a", "/b"),
            "example.org/a": moved("/c"),
            "example.org/b": page("B", "/c"),
            "example.org/c": page("C"),
        }
        crawl, web = _read(pages)
        assert _asked(crawl) == ["example.org/", "example.org/a", "example.org/b"]
        assert web.asked.count("example.org/c") == 1
        assert _report(crawl).failures == ()

    def test_a_page_that_fails_is_one_line(self) -> None:
        pages = {"example.org/": page("Root", "/a", "/b"), "example.org/b": page("B")}
        crawl, _ = _read(pages)
        assert _asked(crawl) == ["example.org/", "example.org/b"]
        assert _report(crawl).failures == (("https://example.org/a", "The site answered 404."),)

    def test_a_first_page_that_fails_is_the_whole_result(self) -> None:
        crawl, _ = _read({})
        assert crawl.result == Refused(0, "status", "The site answered 404.")

    def test_a_page_is_read_with_its_whole_text(self) -> None:
        crawl, _ = _read({"example.org/": page("Root", text="word " * 10_000)})
        assert len(_report(crawl).pages[0].page.text) > 49_000

    def test_a_page_over_the_limit_says_so(self) -> None:
        crawl, _ = _read({"example.org/": page("Root", text="word " * 100)}, _crawl(limits=Limits(page_bytes=300)))
        assert _report(crawl).pages[0].truncated


class TestRules:
    def test_what_is_no_address_is_refused_with_a_line(self) -> None:
        crawl = _crawl("ftp://example.org/\ud800")
        (line,) = crawl.start(0.0)
        assert crawl.result == Refused(2, "address_malformed", "That is not an address that can be opened.")
        assert line == LogFetch(
            FetchRecord(
                id="c1.p0.h0",
                address="ftp://example.org/\\ud800",
                error="address_malformed",
                rule=2,
                total_milliseconds=0,
            )
        )
        assert crawl.advance(0.0) == []

    def test_a_host_that_was_not_seen_is_refused(self) -> None:
        crawl, web = _read({}, _crawl("https://other.net/"))
        assert isinstance(crawl.result, Refused)
        assert crawl.result.code == "not_seen"
        assert [record.error for record in web.records] == ["not_seen"]
        assert web.asked == []

    def test_a_link_needs_no_host_that_was_seen_but_its_name_must_be_public(self) -> None:
        pages = {"example.org/": page("Root", "https://www.example.org/w")}
        crawl, web = _read(pages, hosts={"www.example.org": "10.0.0.1"})
        assert _report(crawl).failures == (
            ("https://www.example.org/w", "That address is not on the public internet."),
        )
        assert web.records[-1].source == "page_link"
        assert web.records[-1].depth == 1

    def test_links_of_pages_read_count_as_seen_by_address(self) -> None:
        seen = SeenHosts(LIMITS, "address")
        seen.add_result("https://example.org/")
        pages = {"example.org/": page("Root", "/a", "https://other.net/x")}
        _read(pages, _crawl(seen=seen, limits=Limits(hops=0)))
        assert seen.source(Address("example.org", "/a")) == "page_link"
        assert seen.source(Address("other.net", "/x")) == "unknown"

    def test_every_request_leaves_a_line(self) -> None:
        _, web = _read({**TREE, "example.org/b": moved("/c"), "example.org/c": page("C")})
        assert len(web.records) == len(web.asked)
        assert len({record.id for record in web.records}) == len(web.records)


class TestTheBudget:
    def test_a_first_page_that_the_budget_does_not_hold_is_refused(self) -> None:
        crawl, web = _read(TREE, _crawl(pages=0))
        assert crawl.result == Refused(0, "budget_spent", "The page budget is spent.")
        assert web.asked == []

    def test_later_pages_are_left_out_with_one_line(self) -> None:
        crawl, web = _read(TREE, _crawl(pages=2))
        assert _asked(crawl) == ["example.org/", "example.org/a"]
        assert _report(crawl).failures == (("https://example.org/b", "The page budget is spent."),)
        assert len(web.asked) == 2
        # The root, the page that was read, and the one that is told: no other, though the second page has links too.
        assert len(web.looked_up) == 3

    @pytest.mark.parametrize(("pages", "at_once"), [(1, 1), (2, 1), (3, 2), (4, 3), (9, 4)])
    def test_no_more_names_are_looked_up_at_once_than_the_budget_may_yet_pay_for(
        self, pages: int, at_once: int
    ) -> None:
        crawl = _crawl(pages=pages, slots=Slots(8, 4))
        web = ScriptedWeb({"example.org/": page("Root", "/a", "/b", "/c", "/d", "/e")})
        web.take([*crawl.start(0.0), *crawl.advance(0.0)])
        while "c1.p1.h0.lookup" not in [request.id for request in web.open]:
            for event in web.answer(web.open.pop()):
                web.take([*crawl.receive(event, 0.0), *crawl.advance(0.0)])
        assert [type(request) for request in web.open] == [Resolve] * at_once

    def test_a_page_without_a_connection_costs_nothing(self) -> None:
        pages = {
            "example.org/": page("Root", "https://www.example.org/w", "/b"),
            "example.org/b": page("B"),
        }
        crawl, _ = _read(pages, _crawl(pages=2), hosts={"www.example.org": ""})
        assert _asked(crawl) == ["example.org/", "example.org/b"]
        assert _report(crawl).failures == (("https://www.example.org/w", "No site has that name."),)


class TestConcurrency:
    @pytest.mark.parametrize("size", [1, 2, 8])
    def test_no_more_requests_are_open_than_slots_nor_than_is_polite_to_one_site(self, size: int) -> None:
        slots = Slots(size, 2)
        crawl, web = _read(TREE, _crawl(slots=slots))
        assert len(_report(crawl).pages) == 6
        assert web.most_open == min(size, LIMITS.requests_a_host)
        assert all(slots.take() for _ in range(size))
        assert not slots.take()

    def test_a_crawl_waits_for_a_slot_and_starts_when_there_is_one(self) -> None:
        slots = Slots(1, 2)
        assert slots.take()
        crawl = _crawl(slots=slots)
        assert crawl.start(0.0) == []
        assert crawl.advance(0.0) == []
        slots.free()
        (command,) = crawl.advance(5.0)
        assert isinstance(command, Resolve)
        assert command.deadline == 8.0
        assert crawl.advance(5.0) == []

    def test_two_crawls_share_their_slots(self) -> None:
        slots = Slots(1, 2)
        one, two = _crawl(slots=slots), _crawl(slots=slots, id="c2")
        web = ScriptedWeb(TREE)
        web.run(one, others=[two])
        assert web.most_open == 1
        assert _asked(one) == _asked(two)

    def test_two_crawls_of_one_site_are_one_visitor_to_it(self) -> None:
        slots = Slots(8, 2)
        seen = SeenHosts(LIMITS)
        seen.add_host("example.org")
        seen.add_host("www.example.org")
        one = _crawl(slots=slots, seen=seen)
        two = _crawl("https://www.example.org/", slots=slots, seen=seen, id="c2")
        web = ScriptedWeb(TREE | {f"www.{address}": answer for address, answer in TREE.items()})
        web.run(one, others=[two])
        assert len(_report(one).pages) == len(_report(two).pages) == 6
        assert web.most_at_a_site == web.most_open == 2

    def test_a_page_that_is_led_to_a_crowded_site_waits_there_and_not_on_its_own_time(self) -> None:
        slots = Slots(8, 1)
        seen = SeenHosts(LIMITS)
        seen.add_host("example.org")
        seen.add_host("other.net")
        one = _crawl(slots=slots, seen=seen)
        other = _crawl("https://other.net/", slots=slots, seen=seen, id="c2")
        pages = {"example.org/": moved("https://other.net/x"), "other.net/": page("O"), "other.net/x": page("X")}
        web = ScriptedWeb(pages)
        web.take([*one.start(0.0), *one.advance(0.0), *other.start(0.0), *other.advance(0.0)])
        lookup, busy = web.open
        web.take(one.receive(Resolved(lookup.id, (PUBLIC,)), 0.0))
        head, *_ = web.answer(web.open[-1])
        assert [type(command) for command in one.receive(head, 1.0)] == [Cancel, LogFetch]
        assert one.advance(2.0) == []
        # Its own site has room again while it waits for the other.
        assert slots.take("example.org")
        slots.free("example.org")
        other.receive(Failed(busy.id, "not_found"), 9.0)
        (resolve,) = one.advance(9.0)
        assert resolve == Resolve(id="c1.p0.h1.lookup", deadline=12.0, host="other.net")
        (connect,) = one.receive(Resolved(resolve.id, (PUBLIC,)), 9.0)
        assert isinstance(connect, Connect)
        assert connect.deadline == 18.0
        assert one.advance(9.0) == []

    def test_all_pages_that_wait_for_room_go_on_when_there_is_enough(self) -> None:
        slots = Slots(8, 2)
        pages = {
            "example.org/": page("Root", "/a", "/b"),
            "example.org/a": moved("https://other.net/a"),
            "example.org/b": moved("https://other.net/b"),
        }
        crawl = _crawl(slots=slots)
        web = ScriptedWeb(pages)
        assert slots.take("other.net")
        assert slots.take("other.net")
        web.take([*crawl.start(0.0), *crawl.advance(0.0)])
        while web.open:
            for event in web.answer(web.open.pop(0)):
                web.take(crawl.receive(event, 0.0))
                web.take(crawl.advance(0.0))
        slots.free("other.net")
        slots.free("other.net")
        commands = crawl.advance(1.0)
        assert [command.id for command in commands if isinstance(command, Resolve)] == [
            "c1.p1.h1.lookup",
            "c1.p2.h1.lookup",
        ]

    def test_cancel_while_a_page_waits_for_room_gives_back_its_slot(self) -> None:
        slots = Slots(1, 1)
        crawl = _crawl(slots=slots)
        web = ScriptedWeb({"example.org/": moved("https://other.net/x")})
        web.take([*crawl.start(0.0), *crawl.advance(0.0)])
        web.take(crawl.receive(Resolved(web.open.pop().id, (PUBLIC,)), 0.0))
        assert slots.move(None, "other.net")
        head, *_ = web.answer(web.open[0])
        web.take(crawl.receive(head, 1.0))
        (line,) = crawl.cancel(3.0)
        assert isinstance(line, LogFetch)
        assert (line.record.id, line.record.error, line.record.milliseconds) == ("c1.p0.h1", "cancelled", 2000)
        assert slots.take("example.org")

    def test_a_lookup_waits_for_its_turn_and_is_taken_as_of_when_it_came(self) -> None:
        crawl = _crawl()
        web = ScriptedWeb(TREE)
        web.take([*crawl.start(0.0), *crawl.advance(0.0)])
        first = web.open.pop()
        for event in web.answer(first):
            web.take(crawl.receive(event, 0.0))
        for event in web.answer(web.open.pop()):
            web.take(crawl.receive(event, 0.0))
        web.take(crawl.advance(0.0))
        lookup_a, lookup_b = web.open
        assert crawl.receive(Resolved(lookup_b.id, (PUBLIC,)), 2.9) == []
        connects = crawl.receive(Failed(lookup_a.id, "timeout"), 3.1)
        assert [type(command).__name__ for command in connects] == ["LogFetch", "Connect"]
        assert connects[1].id == "c1.p2.h0.get"  # type: ignore[union-attr]  # the line above says that it is a Connect


ANSWERS = st.dictionaries(
    st.sampled_from(["example.org/a", "example.org/b", "example.org/c", "www.example.org/d", "example.org/e"]),
    st.one_of(
        st.lists(st.sampled_from(["/a", "/b", "/c", "https://www.example.org/d", "/e", "/f", "/"]), max_size=5).map(
            lambda links: page("T" + "".join(links), *links)
        ),
        st.sampled_from(
            [moved("/a"), moved("/b"), moved("https://www.example.org/d"), moved("http://x.org/"), Answer(status=404)]
        ),
    ),
)


_HOSTS = ("example.org", "other.net", "third.com", "www.example.org", "93.184.215.14")
_PATHS = ("/", "/a", "/b", "/c")
_PLACES = tuple(host + path for host in _HOSTS for path in _PATHS)
_MANY_HOSTS = st.one_of(
    st.sampled_from(_PLACES).map(lambda place: moved(f"https://{place}")),
    st.lists(st.sampled_from(_PATHS), max_size=4).map(lambda links: page("T" + "".join(links), *links)),
    st.sampled_from([moved("https://10.0.0.1/"), moved("https://localhost/"), Answer(status=500)]),
)
"""Sites whose pages lead to each other's."""


class TestAnyOrder:
    @settings(max_examples=150)
    @given(
        ANSWERS,
        st.lists(st.sampled_from(["/a", "/b", "/c", "https://www.example.org/d", "/e"]), max_size=5),
        st.integers(1, 8),
        st.integers(1, 4),
        st.integers(1, 7),
        st.sampled_from([{}, {"www.example.org": "10.0.0.1"}, {"www.example.org": ""}]),
        st.data(),
    )
    def test_the_report_is_the_same_whatever_arrives_first(
        self,
        answers: dict[str, Answer],
        links: list[str],
        size: int,
        at_once: int,
        budget: int,
        hosts: dict[str, str],
        draw: st.DataObject,
    ) -> None:
        pages = {"example.org/": page("Root", *links), **answers}
        reference, _ = _read(pages, _crawl(pages=budget, slots=Slots(1, 1)), hosts=hosts)
        slots = Slots(size, at_once)
        crawl = _crawl(pages=budget, slots=slots)
        web = ScriptedWeb(pages, choose=lambda count: draw.draw(st.integers(0, count - 1)), hosts=hosts)
        web.run(crawl)
        assert crawl.result == reference.result
        assert len({record.address for record in web.records if record.hop == 0}) <= LIMITS.pages_a_crawl
        assert all(slots.take() for _ in range(size))

    @settings(max_examples=150)
    @given(
        st.dictionaries(st.sampled_from(_PLACES), _MANY_HOSTS, min_size=6),
        st.lists(st.sampled_from(_HOSTS), min_size=1, max_size=4),
        st.integers(1, 8),
        st.integers(1, 3),
        st.data(),
    )
    def test_crawls_that_lead_into_each_other_never_crowd_a_site_and_all_end_as_if_alone(
        self, answers: dict[str, Answer], hosts: list[str], size: int, at_once: int, draw: st.DataObject
    ) -> None:
        def crawls(slots: Slots) -> list[Crawl]:
            seen = SeenHosts(LIMITS)
            for host in _HOSTS:
                seen.add_host(host)
            return [_crawl(f"https://{host}/", slots=slots, seen=seen, id=f"c{at}") for at, host in enumerate(hosts)]

        alone = [_read(answers, crawl)[0].result for crawl in crawls(Slots(1, 1))]
        slots = Slots(size, at_once)
        first, *others = together = crawls(slots)
        web = ScriptedWeb(answers, choose=lambda count: draw.draw(st.integers(0, count - 1)))
        web.run(first, others=others)
        assert [crawl.result for crawl in together] == alone
        assert web.most_at_a_site <= at_once
        assert web.most_open <= size
        for host in _HOSTS:
            assert slots.take(host)
            slots.free(host)
        assert all(slots.take() for _ in range(size))


class TestTheContract:
    def test_a_crawl_starts_once(self) -> None:
        crawl = _crawl()
        crawl.start(0.0)
        with pytest.raises(LocalProtocolError, match="twice"):
            crawl.start(0.0)
        crawl = _crawl("nothing")
        crawl.start(0.0)
        with pytest.raises(LocalProtocolError, match="twice"):
            crawl.start(0.0)

    def test_an_event_for_an_id_that_was_never_issued_is_an_error_and_a_stale_one_is_dropped(self) -> None:
        crawl = _crawl()
        crawl.start(0.0)
        crawl.advance(0.0)
        with pytest.raises(LocalProtocolError):
            crawl.receive(Resolved("c2.p0.h0.lookup", (PUBLIC,)), 0.0)
        crawl.receive(Resolved("c1.p0.h0.lookup", (PUBLIC,)), 0.0)
        assert crawl.receive(Resolved("c1.p0.h0.lookup", (PUBLIC,)), 0.0) == []

    def test_cancel_stops_what_is_open_gives_back_the_slots_and_leaves_lines(self) -> None:
        slots = Slots(2, 2)
        crawl = _crawl(slots=slots)
        web = ScriptedWeb(TREE)
        web.take([*crawl.start(0.0), *crawl.advance(0.0)])
        while len(web.open) < 2:
            for event in web.answer(web.open.pop(0)):
                web.take(crawl.receive(event, 0.0))
                web.take(crawl.advance(0.0))
        commands = crawl.cancel(1.0)
        assert [type(command) for command in commands] == [Cancel, LogFetch] * 2
        stopped = list(web.open)
        web.take(commands)
        assert [record.error for record in web.records[-2:]] == ["cancelled", "cancelled"]
        assert isinstance(crawl.result, Refused)
        assert crawl.result.code == "cancelled"
        assert slots.take("example.org")
        assert slots.take("example.org")
        assert crawl.cancel(1.0) == []
        assert crawl.advance(1.0) == []
        for request in stopped:
            assert crawl.receive(Failed(request.id, "reset"), 1.0) == []

    def test_cancel_before_anything_started_is_quiet(self) -> None:
        crawl = _crawl()
        crawl.start(0.0)
        assert crawl.cancel(0.0) == []
        assert crawl.advance(0.0) == []
