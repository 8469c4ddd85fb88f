"""Every shape of error that engines send, read into one value."""

import json
from pathlib import Path

import pytest

from hostcall.engine.faults import NO_TOOLS_WORDS, OVERFLOW_WORDS, EngineFault, FaultKind, is_error, read_fault

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


@pytest.mark.parametrize("words", [*OVERFLOW_WORDS, *(word.upper() for word in OVERFLOW_WORDS)])
@pytest.mark.parametrize("place", ["message", "type", "code"])
def test_every_word_for_a_full_context_is_known_wherever_it_stands(words: str, place: str) -> None:
    body = json.dumps({"error": {"message": "no", place: f"x {words} y"}}).encode()
    assert read_fault(400, body).kind == "overflow"
    assert read_fault(413, body).kind == "overflow"
    assert [read_fault(status, body).kind for status in (401, 403, 404)] == ["access", "access", "rejected"]


@pytest.mark.parametrize("words", NO_TOOLS_WORDS)
def test_every_word_for_a_model_without_tools_is_known(words: str) -> None:
    assert read_fault(400, json.dumps({"error": f"x {words} y"}).encode()).kind == "no_tools"
    assert read_fault(500, json.dumps({"error": f"x {words} y"}).encode()).kind == "no_tools"


def test_the_words_are_those_that_engines_write() -> None:
    for said in (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "This model's maximum context length is 4096 tokens.",
        "prompt is too long: 210000 tokens",
        "input exceeds the context length",
        "the context window is full",
    ):
        assert read_fault(400, json.dumps({"error": said}).encode()).kind == "overflow"
    for said in (
        "model does not support tools",
        "Conversation roles must alternate user/assistant/user",
        "Only user and assistant roles are supported!",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ):
        assert read_fault(400, json.dumps({"error": said}).encode()).kind == "no_tools"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "rejected"),
        (401, "access"),
        (402, "rejected"),
        (403, "access"),
        (404, "rejected"),
        (428, "rejected"),
        (429, "busy"),
        (430, "rejected"),
        (499, "rejected"),
        (500, "unavailable"),
        (503, "unavailable"),
        (None, "unavailable"),
    ],
)
def test_a_status_alone_says_what_can_be_done(status: int | None, kind: FaultKind) -> None:
    fault = read_fault(status, b"")
    assert fault == EngineFault(kind, f"status {status}", status)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "m", "type": "t"}}', "m"),
        ('{"error": {"message": "", "type": "t"}}', "t"),
        ('{"error": {"x": 1}}', "{'x': 1}"),
        ('{"error": "", "message": "m"}', "m"),
        ('{"error": {}, "message": "m"}', "{}"),
        ('{"message": "m", "detail": "d"}', "m"),
        ('{"message": "", "error_message": "e", "detail": "d"}', "e"),
        ('{"message": 1, "detail": "d"}', "d"),
        ('{"detail": ["d"]}', '{"detail": ["d"]}'),
        ("null", "null"),
        (" \n one\ntwo", "one"),
        ("<p>x", "the answer is an HTML page, not an engine's"),
        ("x" * 301, "x" * 300),
        (json.dumps("y" * 501), "y" * 500),
    ],
)
def test_the_message_is_what_says_most(body: str, message: str) -> None:
    assert read_fault(400, body.encode()).message == message


@pytest.mark.parametrize("member", ["type", "error_type"])
def test_the_type_of_a_flat_error_counts_too(member: str) -> None:
    body = json.dumps({"message": "m", member: "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 4}).encode()
    assert read_fault(400, body) == EngineFault("overflow", "m", 400, None, 9, 4)


def test_reasoning_that_is_wanted_back_is_told_from_other_words_about_it() -> None:
    def kind(text: str) -> str:
        return read_fault(400, json.dumps({"error": text}).encode()).kind

    assert kind("reasoning_content must be passed") == "needs_reasoning"
    assert kind("missing reasoning_content") == "needs_reasoning"
    assert kind("missing field") == "rejected"
    assert kind("pass a password") == "rejected"


@pytest.mark.parametrize(("text", "seconds"), [(" 7 ", 7.0), ("0", 0.0), ("1234567890", 123_456_789.0), ("", None)])
def test_a_wait_is_bounded_digits(text: str, seconds: float | None) -> None:
    assert read_fault(429, b"", retry_after=text).retry_after == seconds


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"error": ""}, False),
        ({"error": 1}, True),
        ({"error_message": ""}, True),
        ({"object": "chunk"}, False),
        ({"object": "error"}, True),
        ({}, False),
        ("error", False),
        (None, False),
    ],
)
def test_what_is_an_error(value: object, is_one: bool) -> None:
    assert is_error(value) is is_one


def test_a_byte_order_mark_hides_no_error() -> None:
    assert read_fault(400, b"\xef\xbb\xbf" + b'{"error": "does not support tools"}') == EngineFault(
        "no_tools", "does not support tools", 400
    )
