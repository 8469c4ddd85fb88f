"""The book of open requests, and the slots."""

import pytest

from hostcall.commands import Cancel, Resolve, ShowText
from hostcall.errors import LocalProtocolError
from hostcall.events import Failed, Resolved
from hostcall.machine import Live, Slots


def ask(id: str) -> Resolve:
    return Resolve(id=id, deadline=1.0, host="x.example.org")


def test_an_event_finds_its_owner_until_the_request_ends() -> None:
    live: Live[str] = Live()
    assert live.track([ask("a"), ShowText("x", 1)], "one") == [ask("a"), ShowText("x", 1)]
    assert live.ids == ("a",)
    assert live.owner(Resolved("a", ())) == "one"
    assert len(live) == 0
    assert live.owner(Failed("a", "timeout")) is None


def test_an_event_for_an_id_that_was_never_issued_is_the_drivers_mistake() -> None:
    live: Live[str] = Live()
    with pytest.raises(LocalProtocolError, match="no request has that id"):
        live.owner(Resolved("a", ()))


def test_an_event_that_crossed_with_a_cancel_is_dropped() -> None:
    live: Live[str] = Live()
    live.track([ask("a")], "one")
    live.track([Cancel("a")], "one")
    assert live.owner(Resolved("a", ())) is None


def test_ids_are_never_reused() -> None:
    live: Live[str] = Live()
    live.track([ask("a"), Cancel("a")], "one")
    with pytest.raises(AssertionError, match="never reused"):
        live.track([ask("a")], "two")


def test_cancel_closes_all_requests_or_those_of_one_owner() -> None:
    live: Live[str] = Live()
    live.track([ask("a"), ask("b")], "one")
    live.track([ask("c")], "two")
    assert live.cancel("two") == [Cancel("c")]
    assert live.cancel() == [Cancel("a"), Cancel("b")]
    assert live.cancel() == []


def test_slots_are_counted() -> None:
    slots = Slots(1, 2)
    assert slots.take()
    assert not slots.take()
    slots.free()
    assert slots.take()
    slots.free()
    with pytest.raises(AssertionError, match="nobody took"):
        slots.free()


def test_slots_at_one_site_are_fewer() -> None:
    slots = Slots(3, 1)
    assert slots.take("a")
    assert not slots.take("a")
    assert slots.take("b")
    assert slots.take()
    assert not slots.take("c")
    slots.free("a")
    assert slots.take("a")


def test_what_was_not_taken_for_want_of_room_at_a_site_takes_no_slot() -> None:
    slots = Slots(2, 1)
    assert slots.take("a")
    assert not slots.take("a")
    assert slots.take("b")


def test_a_slot_moves_from_site_to_site_and_may_be_at_none_meanwhile() -> None:
    slots = Slots(3, 1)
    assert slots.take("a")
    assert slots.take("b")
    assert not slots.move("a", "b")
    assert slots.take("a")
    assert not slots.move(None, "b")
    slots.free("b")
    assert slots.move(None, "b")
    assert not slots.take("b")


def test_a_site_is_left_by_whoever_is_there() -> None:
    slots = Slots(1, 1)
    assert slots.take()
    with pytest.raises(AssertionError, match="nobody was"):
        slots.move("a", "b")
