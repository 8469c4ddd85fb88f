"""The OpenAI wire, whole: every member of a request, every shape of a chunk, every word of a fault."""

import json
from typing import Any

import pytest

from hostcall.data import CallFragment, Usage
from hostcall.engine.faults import read_fault
from hostcall.engine.models import read_models
from hostcall.engine.openai import OpenAIDecoder, OpenAIWire, dump, read_content, read_fragment, read_usage
from hostcall.engine.reply import ChatAsk
from hostcall.engine.settings import Engine
from hostcall.events import ModelChunk
from hostcall.limits import Limits

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
HELLO = [{"role": "user", "content": "Hi é"}]


def sent(engine: Engine, **ask: Any) -> dict[str, Any]:
    request = OpenAIWire(engine, Limits()).request(ChatAsk(messages=HELLO, **ask))
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert "é".encode() in request.body, "text is sent as it is, not escaped"
    return dict(json.loads(request.body))


def test_the_request_is_what_the_wire_says_and_no_more() -> None:
    bare = {"messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
    assert sent(Engine()) == bare
    assert sent(Engine(model="m"), max_tokens=5) == {**bare, "model": "m", "max_tokens": 5}
    assert sent(Engine(), tools=[TOOL]) == {**bare, "tools": [TOOL], "parallel_tool_calls": True}
    assert sent(Engine(), tools=[TOOL], tool_choice="required")["tool_choice"] == "required"
    assert "tool_choice" not in sent(Engine(), tool_choice="none")
    assert sent(Engine(), schema={"type": "object"}) == {
        **bare,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "call", "strict": True, "schema": {"type": "object"}},
        },
    }


def test_what_the_loop_decides_extra_settings_do_not() -> None:
    decided = ("tools", "tool_choice", "parallel_tool_calls", "response_format")
    body = sent(Engine(extra_body={**dict.fromkeys(decided, "x"), "stream": False, "temperature": 0.5}))
    assert not set(decided) & set(body)
    assert (body["stream"], body["temperature"]) == (True, 0.5)
    for own, asked, comes in ((9, 5, 5), (3, 5, 3), (None, 5, 5), ("9", 5, 5), (3, None, 3)):
        assert sent(Engine(extra_body={"max_tokens": own}), max_tokens=asked)["max_tokens"] == comes


def test_the_request_says_what_it_takes() -> None:
    request = OpenAIWire(Engine(), Limits()).request(ChatAsk(messages=HELLO))
    assert request.headers == (
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream, application/json"),
        ("Accept-Encoding", "identity"),
    )
    assert OpenAIWire(Engine(), Limits()).probe() is None


def one(value: Any, *, name: str = "") -> tuple[list[ModelChunk], OpenAIDecoder]:
    """Read a stream of one event."""
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("content-type", "Text/Event-Stream; charset=utf-8"),))
    event = f"event: {name}\n" if name else ""
    return decoder.feed(f"{event}data: {json.dumps(value)}\n\n".encode()), decoder


def delta(**members: Any) -> dict[str, Any]:
    return {"choices": [{"delta": members}]}


@pytest.mark.parametrize(
    ("value", "chunk"),
    [
        (delta(content="a"), ModelChunk(id="r1.e0", text="a")),
        (delta(content="a", role="assistant"), ModelChunk(id="r1.e0", text="a")),
        (delta(content=[{"text": "a"}, {"text": 1}, 2, {"text": "b"}]), ModelChunk(id="r1.e0", text="ab")),
        ({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}, ModelChunk(id="r1.e0", text="a")),
        (delta(reasoning="t"), ModelChunk(id="r1.e0", reasoning="t")),
        (delta(reasoning_content="t"), ModelChunk(id="r1.e0", reasoning="t")),
        (
            {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]},
            ModelChunk(id="r1.e0", text="a", finish="stop"),
        ),
        ({"choices": [{"delta": None, "finish_reason": "stop"}]}, ModelChunk(id="r1.e0", finish="stop")),
        ({"choices": [{"finish_reason": "length"}]}, ModelChunk(id="r1.e0", finish="length")),
        (
            {"choices": [{"delta": 1}], "usage": {"prompt_tokens": 3}},
            ModelChunk(id="r1.e0", usage=Usage(prompt_tokens=3)),
        ),
        (
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
            ModelChunk(id="r1.e0", usage=Usage(3, 2)),
        ),
        (
            {**delta(content="a"), "usage": {"completion_tokens": 2}},
            ModelChunk(id="r1.e0", text="a", usage=Usage(completion_tokens=2)),
        ),
        (
            delta(tool_calls=[{"index": 1, "id": "c", "function": {"name": "get", "arguments": "{"}}, 7]),
            ModelChunk(id="r1.e0", calls=(CallFragment(index=1, id="c", name="get", arguments="{"),)),
        ),
        (delta(tool_calls={"index": 1}), ModelChunk(id="r1.e0")),
    ],
)
def test_a_chunk_says_what_it_holds(value: Any, chunk: ModelChunk) -> None:
    chunks, decoder = one(value)
    assert chunks == [chunk]
    assert decoder.fault is None
    assert decoder.quirks == []
    assert decoder.ended is (chunk.finish is not None)
    assert not decoder.over


@pytest.mark.parametrize(
    "value", [{}, {"choices": []}, {"choices": None}, {"choices": [1]}, {"choices": [{}]}, {"choices": [{"delta": []}]}]
)
def test_a_chunk_of_nothing_is_nothing_and_still_a_chunk(value: Any) -> None:
    chunks, decoder = one(value)
    assert chunks == []
    decoder.end()
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.message) == (
        "truncated",
        "the stream broke off: no finish reason and no [DONE]",
    )


@pytest.mark.parametrize("finish", [None, "", 7, False])
def test_a_finish_that_is_no_word_is_none(finish: Any) -> None:
    _, decoder = one({"choices": [{"delta": {"content": "a"}, "finish_reason": finish}]})
    assert not decoder.ended


@pytest.mark.parametrize(
    ("data", "quirk"),
    [(b"data: {\n\n", "a chunk that is not JSON"), (b"data: [1]\n\n", "a chunk that is no object")],
)
def test_what_is_no_chunk_is_told_once(data: bytes, quirk: str) -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "text/event-stream"),))
    assert decoder.feed(data * 2) == []
    assert decoder.quirks == [quirk]
    decoder.end()
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.message) == ("malformed", "the body holds no chunk of a reply")


def test_text_before_an_error_is_kept_and_nothing_after_it() -> None:
    for error in (b'data: {"error": {"message": "died"}}\n\n', b'event: error\ndata: {"message": "died"}\n\n'):
        decoder = OpenAIDecoder("r1.e0", Limits(), ("my words",))
        decoder.head(200, (("Content-Type", "text/event-stream"),))
        text = f"data: {json.dumps(delta(content='a'))}\n\n".encode()
        assert decoder.feed(text + error + text) == [ModelChunk(id="r1.e0", text="a")]
        assert decoder.fault is not None
        assert (decoder.fault.kind, decoder.fault.message, decoder.over) == ("unavailable", "died", True)
        assert decoder.feed(text) == []
        assert decoder.end() == []
        decoder = OpenAIDecoder("r1.e0", Limits(), ("died",))
        decoder.head(200, ())
        decoder.feed(error)
        assert decoder.fault is not None
        assert decoder.fault.kind == "overflow", "the words that the operator knows count in a stream too"


def test_a_named_event_is_no_plain_text_and_done_ends_all() -> None:
    chunks, decoder = one(delta(content="a"), name="message")
    assert chunks == [ModelChunk(id="r1.e0", text="a")]
    text = f"data: {json.dumps(delta(content='b'))}\n\n".encode()
    assert decoder.feed(b"data: [DONE]\n\n" + text) == []
    assert (decoder.ended, decoder.over, decoder.fault) == (True, True, None)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b'{"choices": ', "malformed", "the body starts like JSON and is none"),
        (b'{"choices": 1}', "malformed", "the body is JSON, but no reply"),
        (b'{"usage": {"prompt_tokens": 1}}', "malformed", "the body is JSON, but no reply"),
        (b'{"error": {"message": "died"}}', "unavailable", "died"),
    ],
)
def test_a_json_body_that_is_no_reply_says_so(body: bytes, kind: str, message: str) -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "application/json"),))
    assert decoder.feed(b"\xef\xbb\xbf \n") == []
    assert decoder.feed(body) == []
    assert decoder.end() == []
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.message) == (kind, message)
    assert decoder.quirks == []


def test_a_json_body_that_is_a_reply_is_whole() -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "application/json"),))
    message = {"role": "assistant", "content": "Yes.", "reasoning": "Hm."}
    body = json.dumps({"choices": [{"message": message}], "usage": {"prompt_tokens": 3}}).encode()
    assert decoder.feed(b"\xef\xbb\xbf" + body[:9]) == decoder.feed(body[9:]) == []
    assert decoder.end() == [ModelChunk(id="r1.e0", text="Yes.", reasoning="Hm.", usage=Usage(prompt_tokens=3))]
    assert (decoder.ended, decoder.fault, decoder.reasoning_field) == (True, None, "reasoning")
    assert decoder.quirks == ["one JSON body where a stream was asked for"]


def test_bounds_are_said_with_their_size() -> None:
    limits = Limits(engine_bytes=50, event_bytes=20)
    for data, says in (
        (b"x" * 51, "more than 50 bytes in one reply"),
        (b"data: " + b"x" * 30, "an event is larger than 20"),
    ):
        decoder = OpenAIDecoder("r1.e0", limits)
        decoder.head(200, (("Content-Type", "text/event-stream"),))
        assert decoder.feed(data) == []
        assert decoder.fault is not None
        assert (decoder.fault.kind, decoder.over) == ("oversize", True)
        assert says in decoder.fault.message
    decoder = OpenAIDecoder("r1.e0", Limits(engine_bytes=50))
    decoder.head(200, (("Content-Type", "text/event-stream"),))
    decoder.feed(b":" + b"x" * 48 + b"\n")
    assert decoder.fault is None


def test_a_failed_request_keeps_what_the_head_said() -> None:
    decoder = OpenAIDecoder("r1.e0", Limits(), ("my words",))
    decoder.head(503, (("retry-AFTER", "7"), ("content-type", "text/event-stream")))
    assert decoder.feed(b'{"error": "load') == decoder.feed(b'ing"}') == decoder.end() == []
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.message, decoder.fault.retry_after) == ("unavailable", "loading", 7.0)
    assert (decoder.fault.status, decoder.over) == (503, False)
    decoder = OpenAIDecoder("r1.e0", Limits(), ("my words",))
    decoder.head(400, ())
    decoder.feed(b'{"error": "my words"}')
    decoder.end()
    assert decoder.fault is not None
    assert decoder.fault.kind == "overflow"


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        ({}, CallFragment()),
        ({"index": True, "id": 7, "function": {"name": 1, "arguments": [1]}}, CallFragment()),
        ({"function": "x"}, CallFragment()),
        ({"index": 0, "function": {"arguments": {"a": 1}}}, CallFragment(index=0, arguments={"a": 1})),
    ],
)
def test_a_fragment_takes_what_fits(value: dict[str, Any], fragment: CallFragment) -> None:
    assert read_fragment(value) == fragment


def test_counts_are_whole_numbers_above_zero() -> None:
    for count, comes in ((1, 1), (0, 0), (-1, 0), (True, 0), ("1", 0), (1.0, 0)):
        assert read_usage({"prompt_tokens": count, "completion_tokens": 2}) == Usage(comes, 2)
    assert read_usage([1]) is None
    assert read_content(None) == ""
    assert dump({"a": "\ud800"}) == b'{"a":"?"}'


def test_what_is_called_a_stream_is_read_as_one_even_where_it_begins_like_json() -> None:
    """Builds of llama-server write an error as a bare line into the stream: it ends the reply at once."""
    line = b'{"error": {"message": "died"}}\n'
    for kind, at_once in (("Text/EVENT-stream", True), ("application/json", False)):
        decoder = OpenAIDecoder("r1.e0", Limits())
        decoder.head(200, (("content-type", kind),))
        decoder.feed(line)
        assert (decoder.fault is not None) is at_once
        decoder.end()
        assert decoder.fault is not None
        assert decoder.fault.message == "died"


def test_bytes_that_are_no_text_are_read_as_question_marks_wherever_they_stand() -> None:
    chunk = b'{"choices": [{"delta": {"role": "assistant", "content": "a\xff"}}]}'
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("content-type", "text/event-stream"),))
    assert decoder.feed(b"event: \xff\ndata: " + chunk + b"\n\n") == [ModelChunk(id="r1.e0", text="a\ufffd")]
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, ())
    decoder.feed(chunk.replace(b"delta", b"message"))
    assert [piece.text for piece in decoder.end()] == ["a\ufffd"]
    assert read_fault(400, b'{"error": "a\xff"}').message == "a\ufffd"
    assert read_models(b'{"data": [{"id": "a\xff"}]}') == (("a\ufffd",), ())
