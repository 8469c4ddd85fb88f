"""One request to the engine that goes wrong: what is asked again, and what the reply comes to when it is not."""

import json
from typing import Any

import pytest

from hostcall.answer.round import Round, State
from hostcall.commands import CallEngine, Cancel, Command, ShowProgress, ShowText, Wait
from hostcall.engine.faults import EngineFault
from hostcall.events import BodyReceived, Failed, ModelEnded, ResponseEnded, ResponseStarted, Woken
from hostcall.limits import Limits
from hostcall.testing import reply_text, stream
from tests.core.answer.test_round import CALL, HEADERS, ID, JSON, begun, chunk, chunks, error, read, reply

# What is asked again.


WAIT = [ShowProgress(kind="waiting", text="the engine is asked once more", round=3), Wait(id="r3.w2", until=2.0)]


def failed(round_: Round, event: Failed) -> list[Command]:
    return round_.receive(event, 1.0)


def test_an_engine_that_cannot_be_reached_is_asked_once_more_after_a_second() -> None:
    round_ = begun()
    assert failed(round_, Failed(ID, "connect", "refused")) == WAIT
    assert round_.result is None
    (again,) = round_.receive(Woken("r3.w2"), 2.0)
    assert isinstance(again, CallEngine)
    assert again.id == "r3.e2"
    assert failed(round_, Failed("r3.e2", "connect", "")) == []
    assert reply(round_).fault == EngineFault("unavailable", "the engine could not be reached (connect)")
    assert reply(round_).requests == 2


def test_a_wait_that_fails_is_over() -> None:
    round_ = begun()
    failed(round_, Failed(ID, "connect", "refused"))
    (again,) = round_.receive(Failed("r3.w2", "handler", ""), 1.5)
    assert isinstance(again, CallEngine)


@pytest.mark.parametrize(
    ("status", "headers", "until"),
    [
        (500, (), 2.0),
        (503, (("Retry-After", "4"),), 5.0),
        (503, (("Retry-After", "10"),), 11.0),
        (503, (("Retry-After", "11"),), None),
        (429, (("Retry-After", "0"),), 1.0),
        (429, (), None),
        (429, (("Retry-After", "11"),), None),
        (400, (("Retry-After", "1"),), None),
        (401, (), None),
    ],
)
def test_what_may_pass_is_waited_for_and_nothing_else(status: int, headers: Any, until: float | None) -> None:
    round_ = begun()
    commands = read(round_, error(status), status=status, headers=(*JSON, *headers))
    waits = [command.until for command in commands if isinstance(command, Wait)]
    assert waits == ([] if until is None else [until])
    assert (round_.result is None) is (until is not None)


def test_a_wait_ends_with_the_answer() -> None:
    round_ = begun(limits=Limits(retry_seconds=5.0))
    round_.deadline = lambda: 3.0
    assert Wait(id="r3.w2", until=3.0) in failed(round_, Failed(ID, "connect", ""))


def test_what_came_before_the_second_request_is_forgotten() -> None:
    round_ = begun(forced=True)
    chunks(round_, chunk(reasoning="Hm.", finish="length"))
    failed(round_, Failed(ID, "reset", "gone"))
    fault = reply(round_).fault
    assert fault == EngineFault("truncated", "the engine's reply broke off (gone)")
    round_ = begun(forced=True)
    started = stream({"reasoning_content": "Hm."}, finish=None, done=False) + b'data: {"error": {"code": 500}}\n\n'
    assert any(isinstance(command, Wait) for command in read(round_, started, end=False))
    round_.receive(Woken("r3.w2"), 2.0)
    commands = read(round_, reply_text("Prose."))
    assert not any(isinstance(command, ShowText) for command in commands), "still held: the round is still forced"
    assert (reply(round_).text, reply(round_).reasoning, reply(round_).thought) == ("Prose.", "", "")
    assert (reply(round_).requests, reply(round_).cut) == (2, False)


@pytest.mark.parametrize(
    "begins",
    [
        {"content": "It"},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "web_search", "arguments": "{"}}]},
        {"content": CALL},
    ],
    ids=["text", "call", "call in text"],
)
def test_what_has_begun_is_not_asked_again(begins: Any) -> None:
    round_ = begun()
    data = stream(begins, finish=None, done=False) + b'data: {"error": {"code": 500, "message": "died"}}\n\n'
    commands = read(round_, data, end=False)
    assert not any(isinstance(command, Wait) for command in commands)
    assert Cancel(ID) in commands
    fault = reply(round_).fault
    assert fault is not None
    assert (fault.kind, fault.message) == ("unavailable", "died")


# How it fails.


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("idle", EngineFault("idle", "the engine was silent for too long (why)")),
        ("timeout", EngineFault("idle", "the engine was silent for too long (why)")),
        ("reset", EngineFault("truncated", "the engine's reply broke off (why)")),
    ],
)
def test_a_failure_in_the_middle_says_what_happened(kind: Any, fault: EngineFault) -> None:
    half = stream({"content": "It"}, finish=None, done=False)
    for mode in ("chunks", "bytes"):
        round_ = begun()
        if mode == "chunks":
            chunks(round_, chunk("It"))
        else:
            read(round_, half, end=False)
        assert failed(round_, Failed(ID, kind, "why")) == []
        assert (reply(round_).fault, reply(round_).text) == (fault, "It")


def test_silence_before_the_first_byte_is_not_asked_again() -> None:
    for kind in ("idle", "timeout"):
        round_ = begun()
        assert failed(round_, Failed(ID, kind, "")) == []
        assert reply(round_).fault == EngineFault("idle", f"the engine was silent for too long ({kind})")


def test_an_error_that_was_read_says_more_than_the_broken_connection() -> None:
    round_ = begun()
    round_.receive(ResponseStarted(ID, 401, JSON), 1.0)
    round_.receive(BodyReceived(ID, error(401, "no key")), 1.0)
    failed(round_, Failed(ID, "reset", "gone"))
    fault = reply(round_).fault
    assert fault is not None
    assert (fault.kind, fault.message) == ("access", "no key")


def test_a_connection_that_breaks_before_the_first_chunk_may_be_tried_again() -> None:
    round_ = begun()
    round_.receive(ResponseStarted(ID, 200, HEADERS), 1.0)
    assert failed(round_, Failed(ID, "reset", "gone")) == WAIT


def test_a_whole_reply_lets_its_connection_end() -> None:
    round_ = begun()
    assert read(round_, reply_text("Yes."), end=False) == [
        ShowText("Yes.", 3),
        Wait(id=f"{ID}.close", until=1.5),
    ]
    assert round_.state is State.CLOSING
    assert round_.receive(BodyReceived(ID, b": more\n\n"), 1.1) == []
    assert round_.receive(ResponseEnded(ID), 1.2) == [Cancel(f"{ID}.close")]
    assert reply(round_).fault is None
    for late in (Woken(f"{ID}.close"), Failed(f"{ID}.close", "handler", "")):
        round_ = begun()
        read(round_, reply_text("Yes."), end=False)
        assert round_.receive(late, 1.5) == [Cancel(ID)]


def test_statements_are_read_as_prose() -> None:
    round_ = begun(statements=True)
    written = json.dumps({"statements": [{"text": "It boils", "source": 2}]})
    chunks(round_, *(chunk(character) for character in written))
    round_.receive(ModelEnded(ID), 1.0)
    assert reply(round_).text.strip() == "It boils [2]"
