"""Ollama's native wire."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given

from hostcall.data import CallFragment, Capabilities, Usage
from hostcall.engine.history import call_message, reply_message
from hostcall.engine.ollama import OllamaDecoder, OllamaWire, for_ollama
from hostcall.engine.reply import ChatAsk
from hostcall.engine.settings import Engine
from hostcall.events import ModelChunk
from hostcall.limits import Limits
from tests.strategies import cuts, every_byte


def line(**members: Any) -> bytes:
    return json.dumps({"model": "m", "done": False, **members}).encode() + b"\n"


def message(**members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", **members}


LAST = line(message=message(), done=True, done_reason="stop", prompt_eval_count=38, eval_count=10)
STREAM = (
    line(message=message(thinking="Hm. "))
    + line(message=message(thinking="é"))
    + line(message=message(content="Forty-"))
    + line(message=message(content="twö"))
    + LAST
)


def read(
    pieces: list[bytes], status: int = 200, limits: Limits = Limits()
) -> tuple[str, str, str | None, OllamaDecoder]:
    decoder = OllamaDecoder("r1.e0", limits)
    decoder.head(status, (("Retry-After", "3"),))
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)] + decoder.end()
    text = "".join(chunk.text for chunk in chunks)
    reasoning = "".join(chunk.reasoning for chunk in chunks)
    return text, reasoning, decoder.fault.kind if decoder.fault else None, decoder


@given(cuts(STREAM))
def test_any_cut_of_a_stream_means_the_same(pieces: list[bytes]) -> None:
    assert read(pieces)[:3] == ("Forty-twö", "Hm. é", None)


def test_one_body_is_read_where_a_stream_was_asked_for() -> None:
    body = line(message=message(content="Yes."), done=True, done_reason="stop")[:-1]
    assert read(every_byte(body))[:3] == ("Yes.", "", None)


def test_counters_and_the_reason_stand_in_the_last_line() -> None:
    decoder = OllamaDecoder("r1.e0", Limits())
    assert decoder.feed(LAST) == [ModelChunk(id="r1.e0", finish="stop", usage=Usage(38, 10))]
    assert decoder.ended
    assert decoder.feed(line(message=message(content="never"))) == []
    assert OllamaDecoder("r1.e0", Limits()).feed(line(done=True)) == [ModelChunk(id="r1.e0", finish="stop")]


def test_calls_come_whole_and_their_indices_say_nothing() -> None:
    calls = [
        {"id": "a", "function": {"index": 0, "name": "get", "arguments": {"city": "Ghent"}}},
        {"function": {"index": 0, "name": "ping"}},
        "x",
    ]
    (chunk,) = OllamaDecoder("r1.e0", Limits()).feed(line(message=message(tool_calls=calls)))
    assert chunk.calls == (
        CallFragment(index=0, id="a", name="get", arguments={"city": "Ghent"}),
        CallFragment(index=0, id=None, name="ping", arguments={}),
    )


@pytest.mark.parametrize(
    ("pieces", "status", "fault"),
    [
        ([b'{"error": "does not support tools"}'], 400, "no_tools"),
        ([b'{"error": "server busy"}'], 503, "unavailable"),
        ([line(message=message(content="x")), b'{"error": "boom"}\n'], 200, "unavailable"),
        ([line(message=message(content="x"))], 200, "truncated"),
        ([b"<html>"], 200, "malformed"),
        ([b"[1]\n"], 200, "malformed"),
        ([], 200, "malformed"),
    ],
)
def test_faults(pieces: list[bytes], status: int, fault: str) -> None:
    assert read(pieces, status)[2] == fault


def test_quirks_are_counted_and_do_no_harm() -> None:
    text, _, fault, decoder = read([b"oops\n", b"3\n", line(message=3), line(message=message(content="x")), LAST])
    assert (text, fault) == ("x", None)
    assert decoder.quirks == ["a line that is not JSON", "a line that is no object", "a line without a message"]


def test_bounds_hold() -> None:
    assert read([b"x" * 60], limits=Limits(event_bytes=50))[2] == "oversize"
    assert read([line(message=message(content="x" * 200))], limits=Limits(engine_bytes=100))[2] == "oversize"
    assert read([b'{"error": "x"', b" " * 100_000, b"}"], 500)[2] == "unavailable"


def body_of(engine: Engine, ask: ChatAsk) -> dict[str, Any]:
    value = json.loads(OllamaWire(engine, Limits()).request(ask).body)
    assert isinstance(value, dict)
    return value


def test_the_request_has_no_tool_choice_and_forces_with_format() -> None:
    engine = Engine(wire="ollama", model="m", extra_body={"think": False, "options": {"seed": 1}, "tools": [1]})
    ask = ChatAsk(messages=[{"role": "user", "content": "x"}], schema={"type": "object"}, max_tokens=512)
    assert body_of(engine, ask) == {
        "think": False,
        "options": {"seed": 1, "num_predict": 512},
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "stream": True,
        "format": {"type": "object"},
    }
    small = attrs.evolve(engine, extra_body={"options": {"num_predict": 5}})
    assert body_of(small, ask)["options"]["num_predict"] == 5
    endless = attrs.evolve(engine, extra_body={"options": {"num_predict": -1}})
    assert body_of(endless, ask)["options"]["num_predict"] == 512
    tools = ChatAsk(messages=[], tools=[{"type": "function"}], tool_choice="required")
    assert body_of(Engine(wire="ollama"), tools) == {"messages": [], "stream": True, "tools": [{"type": "function"}]}


def test_messages_are_written_ollamas_way() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    far = {"type": "image_url", "image_url": {"url": "https://x.example.org/a.png"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "See."}, image, far]},
        call_message("", [("a", "get", '{"city": "Ghent"}')], "Hm."),
        reply_message("a", "14:03"),
    ]
    assert for_ollama(messages, Capabilities()) == [
        {"role": "user", "content": "See.", "images": ["AAAA"]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "a", "function": {"name": "get", "arguments": {"city": "Ghent"}}}],
            "thinking": "Hm.",
        },
        {"role": "tool", "content": "14:03", "tool_name": "get", "tool_call_id": "a"},
    ]
    assert "thinking" not in for_ollama(messages, Capabilities(echo_reasoning="never"))[1]


def test_a_model_is_asked_once_what_it_can_do() -> None:
    request = OllamaWire(Engine(wire="ollama", model="m"), Limits()).probe()
    assert request is not None
    assert (request.target, request.body) == ("/api/show", b'{"model":"m"}')
    for capabilities in (Capabilities(probed=True), Capabilities(rescue=True)):
        assert OllamaWire(Engine(wire="ollama", model="m", capabilities=capabilities), Limits()).probe() is None
    assert OllamaWire(Engine(wire="ollama"), Limits()).probe() is None


@pytest.mark.parametrize(
    ("status", "value", "rescue", "probed"),
    [
        (200, {"capabilities": ["completion", "tools"], "template": "{{ .Prompt }}"}, False, True),
        (200, {"capabilities": ["completion"], "template": "{{ .Tools }}"}, False, True),
        (200, {"capabilities": ["completion"], "template": "{{ .Prompt }}"}, True, True),
        (200, {}, True, True),
        (404, {"error": "no"}, False, False),
        (200, [1], False, False),
    ],
)
def test_either_sign_of_tool_support_is_enough(status: int, value: Any, rescue: bool, probed: bool) -> None:
    wire = OllamaWire(Engine(wire="ollama", model="m"), Limits())
    learned = wire.read_probe(status, json.dumps(value).encode(), Capabilities())
    assert (learned.rescue, learned.probed) == (rescue, probed)
    assert wire.read_probe(200, b"{", Capabilities()) == Capabilities()


def test_an_error_body_without_end_is_an_error_long_before() -> None:
    decoder = OllamaDecoder("r1.e0", Limits())
    decoder.head(500, ())
    fed = 0
    while not decoder.over:
        decoder.feed(b"x" * 1000)
        fed += 1000
    assert decoder.fault is not None
    assert fed < 70_000


def test_counts_that_are_none_count_nothing() -> None:
    (chunk,) = OllamaDecoder("r1.e0", Limits()).feed(line(done=True, prompt_eval_count=True, eval_count=-5))
    assert chunk.usage == Usage(0, 0)


# The whole request and every line of a reply.


def test_the_request_is_what_the_wire_says_and_no_more() -> None:
    hello = [{"role": "user", "content": "Hi"}]

    def sent(engine: Engine = Engine(), **ask: Any) -> dict[str, Any]:
        request = OllamaWire(engine, Limits()).request(ChatAsk(messages=hello, **ask))
        assert (request.method, request.target) == ("POST", "/api/chat")
        assert request.headers == (
            ("Content-Type", "application/json"),
            ("Accept", "application/x-ndjson, application/json"),
            ("Accept-Encoding", "identity"),
        )
        return dict(json.loads(request.body))

    bare = {"messages": hello, "stream": True}
    assert sent() == bare
    assert sent(Engine(model="m", extra_body={"tools": 1, "stream": False, "keep_alive": 5})) == {
        **bare,
        "model": "m",
        "keep_alive": 5,
    }
    assert sent(tools=[{"a": 1}], tool_choice="required") == {**bare, "tools": [{"a": 1}]}
    assert sent(schema={"type": "object"}) == {**bare, "format": {"type": "object"}}
    for own, comes in (({}, 5), ({"num_predict": 3}, 3), ({"num_predict": 9}, 5), ({"num_predict": -1}, 5)):
        extra: dict[str, Any] = {"options": {"seed": 1, **own}}
        assert sent(Engine(extra_body=extra), max_tokens=5)["options"] == {"seed": 1, "num_predict": comes}
    assert sent(Engine(extra_body={"options": None}), max_tokens=5)["options"] == {"num_predict": 5}


def test_a_model_is_asked_about_by_its_name_where_nothing_is_known() -> None:
    request = OllamaWire(Engine(model="m"), Limits()).probe()
    assert request is not None
    assert (request.method, request.target, request.body) == ("POST", "/api/show", b'{"model":"m"}')
    for engine in (
        Engine(),
        Engine(model="m", capabilities=Capabilities(probed=True)),
        Engine(model="m", capabilities=Capabilities(rescue=True)),
    ):
        assert OllamaWire(engine, Limits()).probe() is None


def one(value: Any) -> tuple[list[ModelChunk], OllamaDecoder]:
    decoder = OllamaDecoder("r1.e0", Limits(), ("my words",))
    decoder.head(200, ())
    return decoder.feed(json.dumps(value).encode() + b"\n"), decoder


@pytest.mark.parametrize(
    ("value", "chunk"),
    [
        ({"message": {"content": "a"}}, ModelChunk(id="r1.e0", text="a")),
        ({"message": {"content": "a", "thinking": "t"}}, ModelChunk(id="r1.e0", text="a", reasoning="t")),
        ({"message": {"thinking": 1}, "done": False}, ModelChunk(id="r1.e0")),
        ({"message": {}, "done": True, "done_reason": "length"}, ModelChunk(id="r1.e0", finish="length")),
        ({"message": {}, "done": True, "done_reason": None}, ModelChunk(id="r1.e0", finish="stop")),
        ({"message": {}, "done": "yes"}, ModelChunk(id="r1.e0")),
        (
            {"message": {}, "done": True, "prompt_eval_count": 3},
            ModelChunk(id="r1.e0", finish="stop", usage=Usage(3, 0)),
        ),
        ({"message": {}, "done": False, "eval_count": 3}, ModelChunk(id="r1.e0")),
        (
            {"message": {"tool_calls": [{"id": "c", "function": {"index": 4, "name": "get", "arguments": {"a": 1}}}]}},
            ModelChunk(id="r1.e0", calls=(CallFragment(index=0, id="c", name="get", arguments={"a": 1}),)),
        ),
        (
            {"message": {"tool_calls": [{"function": {"name": "get"}}]}},
            ModelChunk(id="r1.e0", calls=(CallFragment(index=0, name="get", arguments={}),)),
        ),
    ],
)
def test_a_line_says_what_it_holds(value: Any, chunk: ModelChunk) -> None:
    chunks, decoder = one(value)
    assert chunks == [chunk]
    assert (decoder.quirks, decoder.fault) == ([], None)
    assert decoder.ended is decoder.over is (chunk.finish is not None)


@pytest.mark.parametrize(
    ("body", "quirk", "fault"),
    [
        (b"x\n", "a line that is not JSON", "the body holds no line of a reply"),
        (b"[1]\n", "a line that is no object", "the body holds no line of a reply"),
        (b'{"done": false}\n', "a line without a message", "the stream broke off before its last line"),
        (
            b'{"message": {"tool_calls": {}}}\n',
            "tool_calls that are no list",
            "the stream broke off before its last line",
        ),
        (
            b'{"message": {"tool_calls": [1]}}\n',
            "a tool call without a name",
            "the stream broke off before its last line",
        ),
    ],
)
def test_what_is_odd_is_told_once_and_what_lacks_its_end_is_a_fault(body: bytes, quirk: str, fault: str) -> None:
    decoder = OllamaDecoder("r1.e0", Limits())
    decoder.head(200, ())
    decoder.feed(body * 2)
    assert decoder.quirks == [quirk]
    decoder.end()
    assert decoder.fault is not None
    assert decoder.fault.message == fault
    assert decoder.fault.kind == ("malformed" if "holds no" in fault else "truncated")


def test_an_error_ends_the_reply_with_its_own_words() -> None:
    _, decoder = one({"error": "my words"})
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.message, decoder.over) == ("overflow", "my words", True)
    assert decoder.feed(LAST) == decoder.end() == []
    decoder = OllamaDecoder("r1.e0", Limits(), ("my words",))
    decoder.head(400, (("RETRY-after", "4"),))
    assert decoder.feed(b'{"error": "my wo') == decoder.feed(b'rds"}') == decoder.end() == []
    assert decoder.fault is not None
    assert (decoder.fault.kind, decoder.fault.status, decoder.fault.retry_after) == ("overflow", 400, 4.0)


def test_bounds_are_said_with_their_size() -> None:
    for limits, data, says in (
        (Limits(engine_bytes=50), b"x" * 51, "more than 50 bytes in one reply"),
        (Limits(event_bytes=20), b"x" * 30, "a line is larger than 20 bytes"),
    ):
        decoder = OllamaDecoder("r1.e0", limits)
        decoder.head(200, ())
        assert decoder.feed(data) == []
        assert decoder.fault is not None
        assert (decoder.fault.kind, decoder.fault.message, decoder.over) == ("oversize", says, True)


def test_a_conversation_is_written_whole() -> None:
    parts = [
        {"type": "text", "text": "See."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "data:image/png,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://a.example.org/x;base64,B"}},
        {"type": "image_url", "image_url": "data:image/png;base64,CCCC"},
    ]
    messages = [
        {"role": "user", "content": parts},
        call_message("", [("c1", "get", '{"n": 1}')], "Hm."),
        reply_message("c1", "x"),
        reply_message("c2", "y"),
        call_message("Yes.", (), "So."),
    ]

    def written(echo: Any) -> list[dict[str, Any]]:
        return for_ollama(messages, Capabilities(echo_reasoning=echo))

    assert written("tool_rounds") == [
        {"role": "user", "content": "See.", "images": ["AAAA"]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": {"n": 1}}}],
            "thinking": "Hm.",
        },
        {"role": "tool", "content": "x", "tool_name": "get", "tool_call_id": "c1"},
        {"role": "tool", "content": "y", "tool_name": "", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Yes."},
    ]
    assert [message.get("thinking") for message in written("never")] == [None] * 5
    assert [message.get("thinking") for message in written("always")] == [None, "Hm.", None, None, "So."]


def test_bytes_that_are_no_text_are_read_as_question_marks() -> None:
    decoder = OllamaDecoder("r1.e0", Limits())
    decoder.head(200, ())
    assert [chunk.text for chunk in decoder.feed(b'{"message": {"content": "a\xff"}}\n')] == ["a\ufffd"]
    body = b'{"capabilities": ["tools"], "template": "\xff"}'
    assert OllamaWire(Engine(), Limits()).read_probe(200, body, Capabilities(rescue=True)) == Capabilities(probed=True)
