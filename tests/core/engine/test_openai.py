"""The OpenAI wire: requests, and replies as engines really send them, cut anywhere."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.data import CallFragment, Usage
from hostcall.engine.openai import OpenAIDecoder, OpenAIWire, dump, read_content, read_fragment, read_usage
from hostcall.engine.reply import ChatAsk
from hostcall.engine.settings import Engine
from hostcall.events import ModelChunk
from hostcall.limits import Limits
from tests.strategies import cuts, every_byte

RECORDINGS = Path(__file__).parents[2] / "recordings"
STREAMS = sorted(RECORDINGS.glob("*.sse"))


@attrs.frozen
class Whole:
    """What a reply comes to, whatever its pieces were."""

    text: str
    reasoning: str
    calls: tuple[CallFragment, ...]
    finish: str | None
    usage: Usage | None
    fault: str | None
    ended: bool


def read(
    pieces: list[bytes], *, status: int = 200, kind: str = "text/event-stream", limits: Limits = Limits()
) -> Whole:
    decoder = OpenAIDecoder("r1.e0", limits)
    decoder.head(status, (("Content-Type", kind),))
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    chunks += decoder.end()
    return whole(chunks, decoder)


def whole(chunks: list[ModelChunk], decoder: OpenAIDecoder) -> Whole:
    return Whole(
        "".join(chunk.text for chunk in chunks),
        "".join(chunk.reasoning for chunk in chunks),
        tuple(call for chunk in chunks for call in chunk.calls),
        next((chunk.finish for chunk in reversed(chunks) if chunk.finish), None),
        next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None),
        decoder.fault.kind if decoder.fault else None,
        decoder.ended,
    )


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_every_recorded_stream_reads_the_same_whole_and_a_byte_at_a_time(path: Path) -> None:
    data = path.read_bytes()
    reply = read([data])
    assert read(every_byte(data)) == reply
    assert reply.fault == ("truncated" if "disconnect" in path.name else None)


@settings(max_examples=60)
@given(st.sampled_from(STREAMS), st.data())
def test_every_recorded_stream_reads_the_same_in_any_cut(path: Path, data: st.DataObject) -> None:
    stream = path.read_bytes()
    assert read(data.draw(cuts(stream))) == read([stream])


def test_a_recorded_call_is_read() -> None:
    reply = read([(RECORDINGS / "06-auto-structured-fetch.sse").read_bytes()])
    assert reply.calls[0].name == "fetch_page_content_recursive"
    assert json.loads("".join(str(call.arguments or "") for call in reply.calls))["url"].startswith("https://")
    assert reply.finish == "tool_calls"


def test_a_recorded_stream_cut_short_is_truncated_after_every_byte() -> None:
    """Whatever is missing, nothing raises, and a reply without its end is never called whole."""
    data = (RECORDINGS / "12-required-structured-search-with-time-range.sse").read_bytes()
    end = data.index(b'"finish_reason":"tool_calls"')
    for position in range(1, end, 7):
        reply = read([data[:position]])
        assert reply.fault in ("truncated", "malformed")
        assert not reply.ended


def test_usage_stands_in_a_chunk_of_its_own_after_the_finish() -> None:
    reply = read([(RECORDINGS / "05-usage-and-progress.sse").read_bytes()])
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 0


@pytest.mark.parametrize("name", ["10-required-nonstream.json", "16-second-turn-nonstream.json"])
def test_a_json_body_is_read_where_a_stream_was_asked_for(name: str) -> None:
    data = (RECORDINGS / name).read_bytes()
    reply = read([data], kind="application/json")
    assert read(every_byte(data), kind="application/json") == reply
    assert reply.fault is None
    assert reply.calls or reply.text


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(**members: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": members, "finish_reason": None}]})


DONE = b"data: [DONE]\n\n"


def test_neighbouring_texts_of_one_read_become_one_chunk() -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "text/event-stream"),))
    assert decoder.feed(delta(content="a") + delta(content="b")) == [ModelChunk(id="r1.e0", text="ab")]


def test_odd_chunks_do_no_harm() -> None:
    pieces = [
        event({"choices": []}),
        event({"object": "chat.completion.chunk"}),
        event({"choices": [{"index": 0, "delta": None}]}),
        event({"choices": [{"index": 0}]}),
        event([1]),
        event({"choices": ["x"]}),
        b"data: not json\n\n",
        delta(content=None, tool_calls=None),
        delta(content=[{"type": "text", "text": "Yes"}, {"type": "image"}, 3]),
        delta(content=".", tool_calls=["x", {"index": True, "function": 3}]),
        DONE,
        delta(content="never"),
    ]
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "text/event-stream"),))
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)] + decoder.end()
    reply = whole(chunks, decoder)
    assert reply.text == "Yes."
    assert reply.calls == (CallFragment(),)
    assert reply.fault is None
    assert decoder.quirks == ["a chunk that is no object", "a chunk that is not JSON"]


def test_reasoning_is_taken_once_and_its_name_remembered() -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, ())
    (chunk,) = decoder.feed(delta(reasoning_content="", reasoning="Hm.", reasoning_text="Hm."))
    assert chunk.reasoning == "Hm."
    assert decoder.reasoning_field == "reasoning"


def test_a_last_chunk_that_still_carries_content_is_read_whole() -> None:
    last = event({"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}]})
    reply = read([delta(content="a") + last])
    assert (reply.text, reply.finish, reply.fault) == ("ab", "stop", None)


@pytest.mark.parametrize(
    "error",
    [
        event({"error": {"message": "boom", "code": 500}}),
        event({"error": "boom"}),
        event({"object": "error", "message": "boom"}),
        event({"error_type": "x", "error_message": "boom"}),
        b'error: {"message": "boom"}\n\n',
        b'event: error\ndata: {"error": {"message": "boom"}}\n\n',
        b'{"error": {"message": "boom"}}\n\n',
    ],
)
def test_an_error_inside_a_stream_ends_it(error: bytes) -> None:
    reply = read([delta(content="Forty-"), error, delta(content="never"), DONE])
    assert (reply.text, reply.fault) == ("Forty-", "unavailable")


def test_an_empty_or_foreign_body_is_malformed() -> None:
    assert read([]).fault == "malformed"
    assert read([b" \n"], kind="").fault == "malformed"
    assert read([b"<html></html>"], kind="text/html").fault == "malformed"
    assert read([b'{"a": 1}'], kind="application/json").fault == "malformed"
    assert read([b'{"a": '], kind="application/json").fault == "malformed"
    assert read([b'{"choices": 3}'], kind="application/json").fault == "malformed"
    assert read([b'{"error": "boom"}'], kind="application/json").fault == "unavailable"


def test_a_stream_without_its_content_type_is_still_read() -> None:
    data = b" \n" + delta(content="x") + DONE
    assert read(every_byte(data), kind="text/plain").text == "x"


def test_bounds_hold() -> None:
    small = Limits(engine_bytes=100, event_bytes=50)
    assert read([delta(content="x" * 200)], limits=small).fault == "oversize"
    assert read([b"data: " + b"x" * 60], limits=Limits(event_bytes=50)).fault == "oversize"
    assert read([b'{"a":"' + b"x" * 200], kind="application/json", limits=small).fault == "oversize"


def test_an_error_status_reads_its_body_up_to_a_bound() -> None:
    reply = read([b'{"error": ', b'"busy"}', b" " * 100_000], status=429)
    assert reply.fault == "busy"


def body_of(engine: Engine, ask: ChatAsk) -> dict[str, Any]:
    value = json.loads(OpenAIWire(engine, Limits()).request(ask).body)
    assert isinstance(value, dict)
    return value


def test_the_request_holds_what_was_asked_and_nothing_that_extra_body_may_not_decide() -> None:
    engine = Engine(model="m", extra_body={"temperature": 0, "tools": [1], "tool_choice": "x", "max_tokens": 2000})
    body = body_of(engine, ChatAsk(messages=[{"role": "user", "content": "x"}], max_tokens=512))
    assert body == {
        "temperature": 0,
        "max_tokens": 512,
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_bring_their_choice_and_parallel_calls() -> None:
    tool = {"type": "function", "function": {"name": "x"}}
    body = body_of(Engine(), ChatAsk(messages=[], tools=[tool], tool_choice="required"))
    assert (body["tools"], body["tool_choice"], body["parallel_tool_calls"]) == ([tool], "required", True)
    assert "tool_choice" not in body_of(Engine(), ChatAsk(messages=[], tools=[tool]))
    assert "model" not in body


def test_a_schema_is_a_response_format() -> None:
    body = body_of(Engine(), ChatAsk(messages=[], schema={"type": "object"}, max_tokens=5))
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_a_lone_surrogate_in_a_conversation_does_not_stop_the_request() -> None:
    assert dump({"a": "x\ud800"}) == b'{"a":"x?"}'


def test_small_readers_take_anything() -> None:
    assert read_content(3) == ""
    assert read_usage([]) is None
    assert read_usage({"prompt_tokens": "x", "completion_tokens": 2}) == Usage(0, 2)
    assert read_fragment({"id": 3, "function": {"name": 4, "arguments": 5}}) == CallFragment()


def test_an_error_body_without_end_is_an_error_long_before() -> None:
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(500, ())
    fed = 0
    while not decoder.over:
        decoder.feed(b"x" * 1000)
        fed += 1000
    assert decoder.fault is not None
    assert fed < 70_000
