"""How an answer's end is told: which are errors, what they say, and what they must not."""

import json
from typing import Any

import pytest

from hostcall.commands import Finish, LogFetch, ShowProgress, ShowReasoning, ShowText
from hostcall.data import FetchRecord, Result
from hostcall_drivers.chat.chunks import DONE, Chunks, fault_of, finish_reason

WHERE = "connecting to 10.1.2.3:8080"


@pytest.mark.parametrize(
    ("result", "status", "code", "tells"),
    [
        (
            Result(text="", why_stopped="engine_failed", fault="rejected", detail="bad seed"),
            400,
            "engine_rejected",
            True,
        ),
        (Result(text="", why_stopped="engine_failed", fault="busy", detail=WHERE), 429, "engine_busy", False),
        (Result(text="", why_stopped="engine_failed", fault="idle", detail=WHERE), 504, "engine_silent", False),
        (Result(text="", why_stopped="engine_failed", fault="oversize", detail=WHERE), 502, "engine_failed", False),
        (Result(text="", why_stopped="engine_failed", fault="malformed", detail=WHERE), 502, "engine_failed", False),
        (Result(text="", why_stopped="engine_failed", fault="unavailable", detail=WHERE), 503, "engine_failed", False),
        (Result(text="", why_stopped="engine_failed", fault="access", detail=WHERE), 503, "engine_failed", False),
        (
            Result(text="It", why_stopped="engine_failed", fault="unavailable", detail=WHERE),
            503,
            "engine_failed",
            False,
        ),
        (Result(text="", why_stopped="overflow", detail="over 9"), 400, "context_length_exceeded", True),
        (Result(text="", why_stopped="truncated", detail=WHERE), 502, "truncated", False),
        (Result(text="", why_stopped="deadline", detail=WHERE), 504, "deadline", False),
        (Result(text="It", why_stopped="cancelled"), 503, "cancelled", False),
    ],
)
def test_an_end_that_is_no_answer_is_an_error_that_names_no_address(
    result: Result, status: int, code: str, tells: bool
) -> None:
    fault = fault_of(result)
    assert fault is not None
    assert (fault.status, fault.code) == (status, code)
    assert (result.detail in fault.message) is (tells or not result.detail)
    assert ("Retry-After" in fault.headers) is (status in (429, 503))
    end = lines(Chunks("a", "m", 1, False).tell([Finish(result)]))
    assert end[-1]["error"]["code"] == code
    assert WHERE not in json.dumps(end)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (Result(text="It boils.", why_stopped="answered"), "stop"),
        (Result(text="It boils.", why_stopped="rounds_used"), "stop"),
        (Result(text="It boils.", why_stopped="budget_spent"), "stop"),
        (Result(text="Hm.", why_stopped="blank", from_reasoning=True), "stop"),
        (Result(text="It bo", why_stopped="answered", cut=True), "length"),
        (Result(text="It bo", why_stopped="truncated"), "length"),
        (Result(text="It bo", why_stopped="deadline"), "length"),
        (Result(text="It bo", why_stopped="overflow"), "length"),
    ],
)
def test_an_end_with_something_to_read_is_an_answer(result: Result, reason: str) -> None:
    assert fault_of(result) is None
    assert finish_reason(result) == reason
    end = lines(Chunks("a", "m", 1, True).tell([Finish(result)]))
    assert [chunk["choices"][0]["finish_reason"] for chunk in end if chunk["choices"]][-1] == reason
    assert end[-1]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def test_neighbouring_pieces_of_text_are_one_chunk_and_nothing_else_is_joined() -> None:
    told = lines(
        Chunks("a", "m", 1, False).tell(
            [
                ShowText("It ", 1),
                ShowText("boils.", 1),
                LogFetch(FetchRecord(id="r1", address="https://example.org/")),
                ShowReasoning("Hm.", 1),
                ShowProgress(kind="searching", text="kettle", round=1),
                ShowText("Yes.", 1),
            ]
        )
        + DONE
    )
    deltas = [chunk["choices"][0]["delta"] for chunk in told]
    assert deltas == [{"content": "It boils."}, {"reasoning_content": "Hm."}, {}, {"content": "Yes."}]
    assert told[2]["hostcall"] == {"type": "progress", "kind": "searching", "text": "kettle", "round": 1}


def test_a_model_of_any_name_breaks_no_chunk() -> None:
    for name in ('"', "\\", "}\n\n", "\u2028", "\ud800", "é"):
        (chunk,) = lines(Chunks("a", name, 1, False).role() + DONE)
        assert chunk["model"] == name


def lines(data: bytes) -> list[dict[str, Any]]:
    assert data.isascii()
    *events, done, rest = data.split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    return [json.loads(event.removeprefix(b"data: ")) for event in events]
