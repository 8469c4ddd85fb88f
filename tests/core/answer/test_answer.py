"""Whole answers: the contract with a driver, and what an answer comes to."""

from typing import Any

import attrs
import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import Cancel, Finish, ShowText, Wait
from hostcall.engine.settings import Engine
from hostcall.errors import LocalProtocolError, SettingsError
from hostcall.events import (
    BodyReceived,
    Failed,
    HostCancelled,
    ModelChunk,
    ModelEnded,
    ResponseEnded,
    ResponseStarted,
    Woken,
)
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, World, reply_calls, reply_text, stream
from hostcall.web.settings import Web

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
HTML = "<title>Guide {0}</title><p>Words of page {0}.</p><a href='/two'>Two</a>"


def start(answer: Answer, **changed: Any) -> list[Any]:
    return answer.start(**{"now": 0.0, "answer_id": "a", "today": TODAY, "capacity": 8, **changed})


# The contract.


def test_an_answer_is_started_once_and_before_it_is_fed() -> None:
    answer = Answer(QUESTION)
    with pytest.raises(LocalProtocolError, match="before start"):
        answer.receive(HostCancelled(), 0.0)
    start(answer)
    with pytest.raises(LocalProtocolError, match="started before"):
        start(answer)


def test_an_id_that_was_never_issued_is_the_drivers_mistake() -> None:
    answer = Answer(QUESTION)
    start(answer)
    with pytest.raises(LocalProtocolError, match="no request has that id"):
        answer.receive(Woken("r9.e9"), 0.0)


def test_an_event_that_the_state_does_not_take_is_the_drivers_mistake() -> None:
    answer = Answer(QUESTION)
    start(answer)
    with pytest.raises(LocalProtocolError, match="while the round is calling"):
        answer.receive(BodyReceived("r1.e0", b"x"), 0.0)


def test_nothing_is_fed_after_finish_but_a_cancel() -> None:
    driver = ScriptedDriver(World(engine=[reply_text("Yes.")]))
    answer = Answer(QUESTION, web=False)
    driver.run(answer)
    assert answer.receive(HostCancelled(), 9.0) == []
    with pytest.raises(LocalProtocolError, match="after Finish"):
        answer.receive(BodyReceived("r1.e0", b"x"), 9.0)


def test_settings_that_mean_nothing_say_so() -> None:
    tool = Tool("get", "Get.", {"type": "object"}, side_effects=False)
    with pytest.raises(SettingsError, match="two tools have the same name"):
        Answer(QUESTION, tools=[tool, tool])
    with pytest.raises(SettingsError, match="at least 1"):
        start(Answer(QUESTION), capacity=0)
    with pytest.raises(SettingsError, match="deny_networks"):
        start(Answer(QUESTION, web=Web(deny_networks=("x",))))
    with pytest.raises(SettingsError, match="wire 'x'"):
        start(Answer(QUESTION, engine=Engine(wire="x")))  # type: ignore[arg-type]  # what a host may still write


def test_a_host_with_an_engine_client_of_its_own_feeds_chunks() -> None:
    answer = Answer(QUESTION, web=False)
    start(answer)
    (shown,) = answer.receive(ModelChunk(id="r1.e0", text="Yes."), 1.0)
    assert shown == ShowText("Yes.", 1)
    *_, last = answer.receive(ModelEnded("r1.e0"), 2.0)
    assert isinstance(last, Finish)
    assert (last.result.text, last.result.why_stopped) == ("Yes.", "answered")


@pytest.mark.parametrize("by", [Woken("r1.e0.close"), Failed("r1.e0", "reset"), ResponseEnded("r1.e0")])
def test_a_reply_that_says_it_is_done_is_not_waited_for_long(by: Any) -> None:
    """Some proxies keep the connection open behind the last event; others end it so that it can be used again."""
    answer = Answer(QUESTION, web=False)
    start(answer)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 1.0)
    commands = answer.receive(BodyReceived("r1.e0", reply_text("Yes.")), 1.0)
    assert commands == [ShowText("Yes.", 1), Wait(id="r1.e0.close", until=1.5)]
    assert answer.receive(BodyReceived("r1.e0", b": more\n\n"), 1.1) == []
    cancel, last = answer.receive(by, 1.2)
    assert cancel == Cancel("r1.e0" if isinstance(by, Woken) else "r1.e0.close")
    assert isinstance(last, Finish)
    assert last.result.why_stopped == "answered"


def test_a_reply_without_its_done_that_breaks_after_the_finish_is_whole() -> None:
    answer = Answer(QUESTION, web=False)
    start(answer)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 1.0)
    answer.receive(BodyReceived("r1.e0", stream({"content": "Yes."}, done=False)), 1.0)
    *_, last = answer.receive(Failed("r1.e0", "reset"), 1.0)
    assert isinstance(last, Finish)
    assert last.result.why_stopped == "answered"


# Whole answers.


@pytest.mark.parametrize("capacity", [1, 2])
def test_no_more_is_open_at_once_than_the_driver_can_carry(capacity: int) -> None:
    queries = [f"words {number}" for number in range(3)]
    calls = reply_calls(
        ("web_search", {"query": "first words", "queries": queries, "kind": "jobs"}),
        ("fetch_page_content_recursive", {"url": "https://docs.example.org/a"}),
        ("fetch_page_content_recursive", {"url": "https://docs.example.org/b"}),
    )
    pages = {f"https://docs.example.org/{name}": HTML.format(name) for name in ("a", "b", "two")}
    world = World(engine=[calls, reply_text("Done.")], pages=pages)
    conversation = [{"role": "user", "content": "Compare https://docs.example.org/a and /b"}]
    answer = Answer(conversation)
    open_: set[str] = set()
    most = 0

    def watch(driver: ScriptedDriver) -> bool:
        nonlocal most
        open_.clear()
        open_.update(id_ for id_ in answer.live if ".e" not in id_)
        most = max(most, len(open_))
        return False

    result = ScriptedDriver(world, capacity=capacity, cancel_when=watch).run(answer)
    assert most == capacity
    assert result.budget is not None
    assert (result.budget.searches, result.budget.pages) == (7, 4)
    full = ScriptedDriver(attrs.evolve(world, asked=[])).run(Answer(conversation))
    assert [source.address for source in full.ledger] == [source.address for source in result.ledger]
    assert full.transcript == result.transcript


def test_a_conversation_over_its_bound_is_an_overflow() -> None:
    conversation = [{"role": "user", "content": "x" * 500}]
    result = ScriptedDriver(World(engine=[reply_text("Yes.")])).run(
        Answer(conversation, web=False, limits=Limits(history_chars=400))
    )
    assert result.why_stopped == "overflow"
    assert result.detail == "the conversation is over 400 characters"


def test_a_long_history_is_shortened_once_before_it_is_sent() -> None:
    pages = {"https://docs.example.org/a": "<p>" + "many words here. " * 400 + "</p>"}
    calls = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/a"}))
    world = World(engine=[calls, reply_text("Done.")], pages=pages)
    conversation = [{"role": "user", "content": "Read https://docs.example.org/a"}]
    result = ScriptedDriver(world).run(Answer(conversation, limits=Limits(history_chars=6000)))
    assert result.why_stopped == "answered"
    assert [rewrite.reason for rewrite in result.rewrites] == [
        "the conversation is too long: old tool results were shortened"
    ]
    assert len(world.asked[1]["messages"][-1]["content"]) < 1000


def test_a_key_makes_the_receipts_an_hmac() -> None:
    from hostcall.answer.receipts import verify

    world = World(engine=[reply_calls(("web_search", {"query": "a"})), reply_text("Done.")])
    result = ScriptedDriver(world).run(Answer(QUESTION, receipt_key=b"secret"))
    assert verify(result.receipts, b"secret") is None
    assert verify(result.receipts) == 0


def test_a_result_says_whether_the_engine_cut_its_text_and_what_kind_of_fault_it_had() -> None:
    cut = ScriptedDriver(World(engine=[reply_text("It bo", finish="length")])).run(Answer(QUESTION, web=False))
    assert (cut.cut, cut.fault) == (True, "")
    whole = ScriptedDriver(World(engine=[reply_text("It boils.")])).run(Answer(QUESTION, web=False))
    assert (whole.cut, whole.fault) == (False, "")
    refused = ScriptedDriver(World(engine=[422])).run(Answer(QUESTION, web=False))
    assert (refused.why_stopped, refused.fault, refused.detail) == ("engine_failed", "rejected", "scripted")
