"""What the calls of an answer share, what one is before anything became of it, and what counts as seen."""

from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import FETCH, SEARCH, Tool
from hostcall.answer.world import RAN, Call, Past, as_arguments, seen_by
from hostcall.data import Refused, Source
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, World, reply_calls, reply_text
from hostcall.web.address import Address, parse_address
from hostcall.web.settings import Web

LOOK = Tool("look", "Looks.", {"type": "object"}, side_effects=False)
LIMITS = Limits()


def test_a_call_begins_with_nothing_decided() -> None:
    call = Call(key="r1.c0", id="a", name="look", arguments={}, raw="{}")
    assert call == Call(
        key="r1.c0",
        id="a",
        name="look",
        arguments={},
        raw="{}",
        asked_by="model",
        problem="",
        started=0.0,
        work=None,
        outcome="",
        text="",
        first=None,
        settled=False,
        asks="",
        searches=0,
        pages=0,
    )
    assert Past() == Past(exact={}, near={}, tries={}, count=0, cuts=0)
    assert as_arguments({"a": "é"}) == '{"a": "é"}'


@pytest.mark.parametrize(
    ("handler", "outcome"), [(lambda _: "seen", "ran"), (lambda _: ("no", True), "failed"), (lambda _: 1 / 0, "failed")]
)
def test_a_call_that_was_carried_out_is_no_missing_one_even_where_it_failed(handler: Any, outcome: str) -> None:
    world = World(engine=[reply_calls(("look", {})), reply_text("Yes.")], tools={"look": handler})
    result = ScriptedDriver(world).run(Answer([{"role": "user", "content": "?"}], web=False, tools=[LOOK]))
    assert [receipt.outcome for receipt in result.receipts] == [outcome]
    assert result.marks == ()
    assert sorted(RAN) == ["failed", "ran", "stopped"]


@pytest.mark.parametrize(("web", "names"), [(True, [SEARCH, FETCH, "look"]), (False, ["look"])])
def test_the_tools_of_the_web_are_known_where_it_is_on(web: bool, names: list[str]) -> None:
    answer = Answer([{"role": "user", "content": "?"}], web=web, tools=[LOOK])
    answer.start(0.0, answer_id="a", today=TODAY, capacity=1)
    world = answer._world
    assert world.names == names
    assert (world.silent, world.pages, world.past) == (frozenset(), {}, Past())


def test_what_the_user_wrote_and_what_was_found_before_is_seen_and_what_the_model_said_is_not() -> None:
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "See https://user.example.org/x"}]},
        {"role": "assistant", "content": "And https://model.example.org/x"},
        {"role": "tool", "tool_call_id": "a", "content": "And https://tool.example.org/x"},
    ]
    earlier = [Source(number=1, address="https://earlier.example.org/x")]
    seen = seen_by(conversation, earlier, Web(), LIMITS)
    known = []
    for name in ("user", "model", "tool", "earlier"):
        address = parse_address(f"https://{name}.example.org/y", LIMITS)
        assert isinstance(address, Address)
        known.append(not isinstance(seen.check(address), Refused))
    assert known == [True, False, False, True]
