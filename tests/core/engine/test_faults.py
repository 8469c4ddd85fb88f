"""Every shape of error that engines send, read into one value."""

import json
from pathlib import Path

import pytest

from hostcall.engine.faults import FaultKind, is_error, read_fault

RECORDINGS = Path(__file__).parents[2] / "recordings"


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("e1-400-grammar-with-tools.json", 400, "rejected"),
        ("e2-400-bad-grammar.json", 400, "rejected"),
        ("e3-400-context-overflow.json", 400, "overflow"),
        ("e4-bad-json-body.json", 500, "unavailable"),
        ("e5-404-route.json", 404, "rejected"),
        ("e6-400-no-messages.json", 400, "rejected"),
        ("e7-unknown-tool-choice.json", 400, "rejected"),
        ("e8-503-loading-model.json", 503, "unavailable"),
        ("e9-401-no-api-key.json", 401, "access"),
    ],
)
def test_recorded_errors(name: str, status: int, kind: FaultKind) -> None:
    body = (RECORDINGS / name).read_bytes()
    fault = read_fault(status, body)
    assert fault.kind == kind
    assert fault.message == json.loads(body)["error"]["message"][:500]
    assert fault.status == status


def test_an_overflow_tells_the_token_counts() -> None:
    fault = read_fault(400, (RECORDINGS / "e3-400-context-overflow.json").read_bytes())
    assert fault.prompt_tokens is not None
    assert fault.context_tokens is not None
    assert fault.prompt_tokens > fault.context_tokens


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (400, '{"error":"registry.ollama.ai/library/x:latest does not support tools"}', "no_tools", "registry"),
        (400, '{"error":{"message":"The reasoning_content must be passed back","code":1}}', "needs_reasoning", "The r"),
        (400, '{"error":{"message":"reasoning_content is missing in message 2"}}', "needs_reasoning", "reas"),
        (400, '{"error":{"message":"reasoning_content is too long"}}', "rejected", "reas"),
        (None, '{"error":"boom"}', "unavailable", "boom"),
        (None, '{"message":"boom","object":"error","type":"x"}', "unavailable", "boom"),
        (None, '{"error_type":"server","error_message":"boom"}', "unavailable", "boom"),
        (None, '"boom"', "unavailable", "boom"),
        (422, '{"detail":"bad field"}', "rejected", "bad field"),
        (400, '{"error":{"type":"context_length_exceeded"}}', "overflow", "context_length_exceeded"),
        (400, '{"error":{"message":"my own words for full"}}', "overflow", "my own"),
        (429, '{"error":{"message":"slow down"}}', "busy", "slow down"),
        (403, "<html>forbidden</html>", "access", "the answer is an HTML page"),
        (502, "Bad gateway\nmore", "unavailable", "Bad gateway"),
        (500, "", "unavailable", "status 500"),
        (500, "[1]", "unavailable", "[1]"),
        (500, '{"a":1}', "unavailable", '{"a":1}'),
    ],
)
def test_shapes(status: int | None, body: str, kind: FaultKind, message: str) -> None:
    fault = read_fault(status, body.encode(), overflow_words=("my own words",))
    assert fault.kind == kind
    assert fault.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10", 10.0), (None, None), ("soon", None), ("-1", None), ("１０", None)]
)
def test_retry_after_is_whole_seconds_or_none(text: str | None, seconds: float | None) -> None:
    assert read_fault(429, b"{}", retry_after=text).retry_after == seconds


@pytest.mark.parametrize("count", [True, "9", 9.5, None])
def test_a_token_count_that_is_no_whole_number_is_none(count: object) -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": count, "n_ctx": 4096}}
    fault = read_fault(400, json.dumps(body).encode())
    assert (fault.kind, fault.prompt_tokens, fault.context_tokens) == ("overflow", None, 4096)


def test_a_chunk_is_no_error() -> None:
    assert not is_error({"choices": [], "error": None})
    assert not is_error([1])
    assert is_error({"error": {"message": "x"}})
    assert is_error({"error_message": "x"})
    assert is_error({"object": "error"})
