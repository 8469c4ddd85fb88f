"""One page, read without an engine."""

from typing import Any

import pytest

from hostcall.answer.reading import Reading
from hostcall.commands import Connect, Finish, LogFetch, Resolve, ShowPage, ShowRefusal
from hostcall.data import Capabilities, Refused, Result, Source, Spent
from hostcall.errors import LocalProtocolError, SettingsError
from hostcall.events import HostCancelled, Resolved, Woken
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, World

PAGES = {
    "https://docs.example.org/a": "<title>A</title><p>Words of a.</p><a href='/b'>The other page</a>",
    "https://docs.example.org/b": "<title>B</title><p>Words of b.</p>",
}


def read(address: str, **settings: Any) -> tuple[ScriptedDriver, Result]:
    driver = ScriptedDriver(World(pages=PAGES))
    return driver, driver.run(Reading(address, **settings))  # type: ignore[arg-type]  # a reading is run as an answer is


def test_a_page_and_its_links_are_read_as_a_model_would_get_them() -> None:
    driver, result = read("https://docs.example.org/a")
    assert result.text.startswith("Untrusted text from https://docs.example.org/a.")
    assert "Words of b." in result.text
    assert [source.address for source in result.ledger] == list(PAGES)
    assert [notice.title for notice in driver.notices if isinstance(notice, ShowPage)] == ["A", "B"]
    assert sum(isinstance(notice, LogFetch) for notice in driver.notices) == 2
    assert result.budget is not None
    assert result.budget.pages == 2


def test_hops_are_a_limit() -> None:
    _, result = read("https://docs.example.org/a", limits=Limits(hops=0))
    assert "Words of b." not in result.text


def test_a_page_that_is_not_there_says_so() -> None:
    driver, result = read("https://docs.example.org/c")
    assert (result.text, result.why_stopped, result.detail) == ("", "blank", "The site answered 404.")
    assert not [notice for notice in driver.notices if isinstance(notice, ShowRefusal)]


def test_a_refusal_is_shown_and_logged() -> None:
    driver, result = read("https://127.0.0.1/")
    assert result.detail == "That address is not on the public internet."
    assert [notice.reason for notice in driver.notices if isinstance(notice, ShowRefusal)] == [result.detail]
    assert sum(isinstance(notice, LogFetch) for notice in driver.notices) == 1


def test_no_page_left_is_said() -> None:
    _, result = read("https://docs.example.org/a", limits=Limits(pages=0))
    assert "page budget is spent" in result.detail


def test_with_seen_hosts_the_address_alone_opens_nothing() -> None:
    driver, result = read("https://evil.example.org/?q=secret", seen=["docs.example.org"])
    assert result.detail == "not in this answer's search results"
    assert driver.requests == []
    assert read("https://docs.example.org/a", seen=["docs.example.org"])[1].why_stopped == "answered"
    with pytest.raises(SettingsError, match="is no host name"):
        Reading("https://docs.example.org/", seen=["no host"])


def test_a_cancel_ends_it_and_leaves_its_line() -> None:
    reading = Reading("https://docs.example.org/a")
    with pytest.raises(LocalProtocolError, match="before start"):
        reading.receive(HostCancelled(), 0.0)
    reading.start(0.0, answer_id="a", today=TODAY, capacity=8)
    with pytest.raises(LocalProtocolError, match="started before"):
        reading.start(0.0, answer_id="a", today=TODAY, capacity=8)
    (connect,) = reading.receive(Resolved("r1.c0.p0.h0.lookup", ("93.184.215.14",)), 0.1)
    assert isinstance(connect, Connect)
    commands = reading.receive(HostCancelled(), 0.2)
    assert [type(command).__name__ for command in commands] == ["Cancel", "LogFetch", "Finish"]
    assert isinstance(commands[-1], Finish)
    assert commands[-1].result.why_stopped == "cancelled"
    assert reading.receive(HostCancelled(), 0.3) == []
    with pytest.raises(LocalProtocolError, match="after Finish"):
        reading.receive(Woken("x"), 0.3)


def test_a_late_event_is_dropped() -> None:
    reading = Reading("https://docs.example.org/a")
    reading.start(0.0, answer_id="a", today=TODAY, capacity=8)
    reading.receive(Resolved("r1.c0.p0.h0.lookup", ("93.184.215.14",)), 0.1)
    assert reading.receive(Resolved("r1.c0.p0.h0.lookup", ("93.184.215.14",)), 0.2) == []


def test_a_reading_is_told_as_the_hosts_own() -> None:
    driver, result = read("https://docs.example.org/a")
    assert [notice for notice in driver.notices if isinstance(notice, ShowPage)] == [
        ShowPage(number=number, title=name.upper(), address=f"https://docs.example.org/{name}", asked_by="host")
        for number, name in ((1, "a"), (2, "b"))
    ]
    assert result.ledger == tuple(
        Source(number=number, address=f"https://docs.example.org/{name}", title=name.upper(), grade="read")
        for number, name in ((1, "a"), (2, "b"))
    )
    assert result.budget == Spent(searches=0, searches_allowed=0, pages=2, pages_allowed=12)
    assert (result.why_stopped, result.detail, result.capabilities) == ("answered", "", Capabilities())


def test_what_a_driver_is_told_of_a_reading() -> None:
    reading = Reading("https://docs.example.org/a")
    assert (reading.engine, reading.tool_names, reading.web_on, reading.finished) == (None, (), False, False)
    assert (reading.answer_id, reading.result) == ("", None)
    commands = reading.start(0.0, answer_id="name", today=TODAY, capacity=8)
    assert [command.id for command in commands if isinstance(command, Resolve)] == ["r1.c0.p0.h0.lookup"]
    assert (reading.answer_id, reading.refused) == ("name", None)
    reading.receive(HostCancelled(), 1.0)
    assert reading.finished
    assert reading.refused == Refused(0, "cancelled", "Stopped before it was read.")


def test_every_page_is_paid_for() -> None:
    driver, result = read("https://docs.example.org/a", limits=Limits(pages=1))
    assert len([request for request in driver.requests if isinstance(request, Connect)]) == 1
    assert "Words of b." not in result.text
    driver, result = read("https://docs.example.org/a", limits=Limits(pages=0))
    assert [notice for notice in driver.notices if isinstance(notice, ShowRefusal)] == [
        ShowRefusal("fetch", "The page budget is spent. Answer from what you have found.")
    ]
    assert result.budget is not None
    assert (result.budget.pages, result.why_stopped) == (0, "blank")


def test_networks_of_the_drivers_are_refused_and_one_page_is_open_at_a_time_where_one_can_be() -> None:
    world = World(pages=PAGES)
    reading: Any = Reading("https://docs.example.org/a")
    result = ScriptedDriver(world, deny_networks=("93.184.0.0/16",)).run(reading)
    assert result.why_stopped == "blank"
    assert reading.refused is not None
    assert reading.refused.rule == 2
    one: Any = Reading("https://docs.example.org/a")
    assert "Words of b." in ScriptedDriver(world, capacity=1).run(one).text


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_no_more_names_are_looked_up_than_there_are_pages_left_and_one(pages: int) -> None:
    """The one more is told that none is left."""
    links = "".join(f"<a href='/{number}'>The page of number {number}</a> " for number in range(8))
    linked = {f"https://docs.example.org/{number}": f"<p>Words of {number}.</p>" for number in range(8)}
    driver = ScriptedDriver(World(pages={"https://docs.example.org/a": f"<p>Words.</p>{links}", **linked}))
    reading: Any = Reading("https://docs.example.org/a", limits=Limits(pages=pages, requests_a_host=9))
    driver.run(reading)
    asked = [type(request) for request in driver.requests]
    assert (asked.count(Connect), asked.count(Resolve)) == (pages, pages + 1)
