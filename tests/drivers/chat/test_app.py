"""The interface of the service, over real sockets: answers with the web on, requests passed on, and what is refused."""

import itertools
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text, stream
from hostcall_drivers.chat.allowed import Allowed
from hostcall_drivers.chunked import ChunkedBody
from tests.drivers.chat.serving import QUESTION, events, served, text_of, told
from tests.drivers.chat.world import ANSWER, FETCH, SEARCH, Held, whole_reply, world
from tests.drivers.servers import Authority, Connection, ScriptedEngine, Server, send_stream

ASK = [{"role": "user", "content": "At what temperature does the kettle boil?"}]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


# With the web on.


def test_an_answer_is_streamed_with_what_was_done_for_it(authority: Authority) -> None:
    with world(authority=authority) as here:
        status, fields, chunks = here.service.complete(
            messages=ASK, stream=True, thor_web_search=True, stream_options={"include_usage": True}
        )
    assert status == 200
    assert text_of(chunks) == "It boils at 94 degrees [1]."
    kinds = [chunk["hostcall"]["type"] for chunk in chunks if "hostcall" in chunk]
    expected = ["round", "searched", "source", "round", "read", "round", "finished"]
    assert [kind for kind in kinds if kind != "progress"] == expected
    assert told(chunks, "searched")[0]["results"][0]["address"] == "https://docs.example.org/guide"
    assert told(chunks, "source") == [
        {"type": "source", "number": 1, "title": "The guide", "address": "https://docs.example.org/guide"}
    ]
    assert told(chunks, "read")[0]["title"] == "The guide"
    (end,) = told(chunks, "finished")
    assert end["why_stopped"] == "answered"
    assert end["sources"][0]["grade"] == "read"
    assert end["citations"] == [{"number": 1, "grade": "read"}]
    assert end["budget"] == {"searches": 1, "searches_allowed": 16, "pages": 1, "pages_allowed": 12}
    assert len(end["receipts_head"]) == 64
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == sum(
        chunks[-1]["usage"][name] for name in ("prompt_tokens", "completion_tokens")
    )
    assert all("tool_calls" not in choice["delta"] for chunk in chunks for choice in chunk["choices"])
    assert all(chunk["choices"][0]["delta"] == {} for chunk in chunks if "hostcall" in chunk)
    assert {chunk["id"] for chunk in chunks} == {f"chatcmpl-{fields['x-request-id']}"}
    assert fields["x-accel-buffering"] == "no"
    assert fields["cache-control"] == "no-cache, no-transform"


def test_usage_is_added_over_rounds(authority: Authority) -> None:
    counted = {"usage": {"prompt_tokens": 10, "completion_tokens": 3}}
    replies = [reply.replace(b'"delta"', b'"x": 1, "delta"', 1) for reply in (SEARCH, ANSWER)]

    def with_usage(body: bytes) -> bytes:
        chunk = json.dumps({"choices": [], **counted}).encode()
        return body.replace(b"data: [DONE]", b"data: " + chunk + b"\n\ndata: [DONE]")

    with world(*map(with_usage, replies), authority=authority) as here:
        _, _, answer = here.service.complete(messages=ASK, thor_web_search=True)
    assert answer["usage"] == {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26}


def test_an_answer_in_one_piece_says_the_same_as_its_stream(authority: Authority) -> None:
    with world(authority=authority) as here:
        status, _, answer = here.service.complete(messages=ASK, thor_web_search=True)
    assert status == 200
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "m"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "It boils at 94 degrees [1]."}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["hostcall"]["sources"][0]["address"] == "https://docs.example.org/guide"


def test_reasoning_goes_where_clients_look_for_it(authority: Authority) -> None:
    thinking = stream({"reasoning_content": "Hm."}, {"content": "Yes."})
    with world(SEARCH, thinking, authority=authority) as here:
        _, _, chunks = here.service.complete(messages=ASK, stream=True, thor_web_search=True)
        here.scripted.bodies.clear()
        _, _, answer = here.service.complete(messages=ASK, thor_web_search=True)
    assert "".join(c["choices"][0]["delta"].get("reasoning_content", "") for c in chunks if c["choices"]) == "Hm."
    assert answer["choices"][0]["message"]["reasoning_content"] == "Hm."


def test_what_concerns_the_engine_passes_to_it_in_every_round(authority: Authority) -> None:
    asked: dict[str, Any] = {
        "temperature": 0.3,
        "seed": 7,
        "chat_template_kwargs": {"enable_thinking": False},
        "max_tokens": 900,
    }
    with world(authority=authority) as here:
        here.service.complete(messages=ASK, model="m", thor_web_search=True, **asked)
        bodies = here.scripted.bodies
    assert len(bodies) == 3
    for body in bodies:
        assert body["model"] == "m"
        assert {name: body[name] for name in asked if name != "max_tokens"} == {
            name: value for name, value in asked.items() if name != "max_tokens"
        }
        assert not [name for name in body if name.startswith("thor_")]
    # A forced round is bounded more narrowly; the others are as the client asked.
    assert [body["max_tokens"] for body in bodies] == [512, 900, 900]


def test_a_text_that_the_engine_cut_says_so(authority: Authority) -> None:
    with world(SEARCH, reply_text("It bo", finish="length"), authority=authority) as here:
        _, _, answer = here.service.complete(messages=ASK, thor_web_search=True, max_completion_tokens=2)
        assert here.scripted.bodies[1]["max_tokens"] == 2
    assert answer["choices"][0]["finish_reason"] == "length"


def test_research_can_be_left_out(authority: Authority) -> None:
    with world(authority=authority) as here:
        here.service.complete(messages=ASK, thor_web_search=True, thor_research=False)
        (tool, _) = here.scripted.bodies[0]["tools"]
    assert set(tool["function"]["parameters"]["properties"]) == {"query", "time_range"}


def test_sources_of_an_earlier_answer_keep_their_numbers_and_may_be_opened(authority: Authority) -> None:
    found = [{"url": "https://other.example.org/new", "title": "New", "content": "Another."}]
    with world(authority=authority) as here:
        _, _, first = here.service.complete(messages=ASK, thor_web_search=True)
    with world(SEARCH, FETCH, ANSWER, authority=authority, results=found) as here:
        _, _, second = here.service.complete(
            messages=[{"role": "user", "content": "And on the hill?"}],
            thor_web_search=True,
            thor_sources=first["hostcall"]["sources"],
        )
        assert here.site.accepted == 1
    assert [(s["number"], s["address"]) for s in second["hostcall"]["sources"]] == [
        (1, "https://docs.example.org/guide"),
        (2, "https://other.example.org/new"),
    ]


def test_a_refusal_is_told_and_counted(authority: Authority) -> None:
    away = reply_calls(("fetch_page_content_recursive", {"url": "https://elsewhere.example.org/?q=secret"}))
    with world(SEARCH, away, ANSWER, authority=authority) as here:
        _, _, chunks = here.service.complete(messages=ASK, stream=True, thor_web_search=True)
        _, _, metrics = here.service.request("GET", "/metrics")
        assert here.site.accepted == 0
    (refused,) = told(chunks, "refused")
    assert "not in this answer's search results" in refused["reason"]
    assert b'hostcall_refusals_total{rule="1"} 1.0' in metrics


def test_a_silent_stream_is_kept_alive_with_comments(authority: Authority) -> None:
    def slow(connection: Connection) -> None:
        time.sleep(0.5)
        send_stream(connection, ANSWER)

    with world(SEARCH, slow, authority=authority, allowed=Allowed(heartbeat_seconds=0.1)) as here:
        _, _, data = here.service.request(
            "POST", "/v1/chat/completions", {"messages": ASK, "stream": True, "thor_web_search": True}
        )
    assert data.count(b": waiting\n") >= 2
    assert text_of(events(data)) == "It boils at 94 degrees [1]."


@pytest.mark.parametrize("room", [0, 1, 50, 1000])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_whose_socket_is_full_gets_all_of_the_text_in_its_order(
    authority: Authority, room: int, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of text are written where they arise, and what does not fit goes before everything that follows."""
    words = [f"word-{number} " for number in range(60)]

    def paced(connection: Connection) -> None:
        head, *rest = reply_text(*words).split(b"\n\n")
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + head + b"\n\n"
        )
        for piece in rest:
            connection.send(piece + b"\n\n")
            time.sleep(0.002)
        connection.sock.shutdown(socket.SHUT_WR)

    write, calls = os.write, itertools.count()

    def little(file: int, data: bytes) -> int:
        if room == 0 or next(calls) % 3 == 0:
            raise BlockingIOError
        return write(file, data[:room])

    with world(SEARCH, paced, authority=authority) as here:
        body = json.dumps({"messages": ASK, "stream": True, "thor_web_search": True}).encode()
        fields = f"Host: localhost\r\nConnection: close\r\nContent-Length: {len(body)}"
        monkeypatch.setattr("hostcall_drivers.chat.server.os.write", little)
        with socket.create_connection(("127.0.0.1", here.service.port), timeout=20) as sock:
            sock.sendall(f"POST /v1/chat/completions HTTP/{version}\r\n{fields}\r\n\r\n".encode() + body)
            data = b""
            while piece := sock.recv(65_536):
                data += piece
        monkeypatch.undo()
    head, _, stream_ = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    if version == "1.1":
        reader = ChunkedBody()
        stream_ = reader.feed(stream_)
        assert reader.ended
        assert reader.rest == b""
    assert text_of(events(stream_)) == "".join(words)


# Engines that fail.


def broken(status: int, body: bytes = b'{"error": {"message": "at 10.1.2.3 it went wrong"}}') -> Any:
    return lambda connection: connection.answer(status, body, ("Content-Type", "application/json"))


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("fault", "status"), [(400, 400), (401, 503), (429, 429), (500, 503), (503, 503)])
def test_an_engine_that_fails_before_its_first_word_is_a_status(
    authority: Authority, fault: int, status: int, streamed: bool
) -> None:
    quick = Limits(retry_seconds=0.01)
    with world(broken(fault), authority=authority, limits=quick, results=[]) as here:
        got, fields, answer = here.service.complete(messages=ASK, stream=streamed, thor_web_search=True)
    if streamed and got == 200:
        # The ladder had the host search before the engine was asked again: the head was sent.
        assert "error" in answer[-1]
        return
    assert got == status
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert ("10.1.2.3" in answer["error"]["message"]) == (fault == 400)
    assert ("retry-after" in fields) == (status in (429, 503))


def test_an_engine_that_fails_in_the_middle_ends_the_stream_with_an_error(authority: Authority) -> None:
    def breaks(connection: Connection) -> None:
        send_stream(
            connection,
            stream({"content": "It bo"}, finish=None, done=False)
            + b'data: {"error": {"message": "out of memory at 10.1.2.3"}}\n\n',
        )

    with world(SEARCH, breaks, authority=authority) as here:
        _, _, chunks = here.service.complete(messages=ASK, stream=True, thor_web_search=True)
    assert text_of(chunks) == "It bo"
    assert chunks[-1]["error"]["code"] == "engine_failed"
    assert "10.1.2.3" not in chunks[-1]["error"]["message"]
    (end,) = told(chunks, "finished")
    assert end["why_stopped"] == "engine_failed"


def test_an_engine_that_is_not_there_is_a_503_and_says_nothing_of_where_it_should_be(authority: Authority) -> None:
    with served("http://127.0.0.1:9", "http://127.0.0.1:9", limits=Limits(retry_seconds=0.01)) as service:
        for body in ({"thor_web_search": True}, {"thor_web_search": True, "stream": True}, {"model": "m"}, {}):
            status, fields, answer = service.complete(**body)
            assert (status, fields["retry-after"]) == (503, "5")
            assert "127.0.0.1" not in json.dumps(answer)
        status, _, data = service.request("GET", "/v1/models")
        assert (status, json.loads(data)["error"]["code"]) == (503, "engine_failed")


# What is refused.


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [1]}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages"),
        ({"messages": ASK * 11}, "messages"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"functions": [{}]}, "functions"),
        ({"n": 2}, "n"),
        ({"n": "1"}, "n"),
        ({"n": 1.0}, "n"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"model": 7}, "model"),
        ({"model": ""}, "model"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"thor_web_search": "true"}, "thor_web_search"),
        ({"thor_web_search": 1}, "thor_web_search"),
        ({"thor_research": "no"}, "thor_research"),
        ({"thor_sources": {}}, "thor_sources"),
        ({"thor_sources": ["https://example.org/"]}, "thor_sources[0]"),
        ({"thor_sources": [{"number": 2, "address": "https://example.org/"}]}, "thor_sources[0].number"),
        ({"thor_sources": [{"address": ""}]}, "thor_sources[0].address"),
        ({"thor_sources": [{"address": 7}]}, "thor_sources[0].address"),
        ({"thor_sources": [{"address": "x" * 9000}]}, "thor_sources[0].address"),
        ({"thor_sources": [{"address": "https://a.example/", "grade": "gold"}]}, "thor_sources[0].grade"),
        ({"thor_sources": [{"address": "https://a.example/", "grade": []}]}, "thor_sources[0].grade"),
        ({"thor_sources": [{"address": "https://a.example/"}] * 401}, "thor_sources"),
    ],
)
def test_what_cannot_be_asked_is_a_400_that_names_the_member(engineless: Any, body: Any, param: str) -> None:
    status, _, answer = engineless.complete(**{"messages": ASK, "thor_web_search": True, **body})
    assert (status, answer["error"]["param"]) == (400, param)
    assert answer["error"]["type"] == "invalid_request_error"
    assert param.rpartition(".")[2].split("[")[0] in answer["error"]["message"] or param == "messages"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe{",
        b"\xef\xbb\xbf{}",
        b'{"messages": NaN}',
        b'{"temperature": 1e999999, "messages": -Infinity}',
        b'{"temperature": 1e999}',
        b'{"a":' * 20_000,
        b"[" * 100_000,
        b'{"n": ' + b"9" * 100_000 + b"}",
        b'{"messages": [{"role": "user", "content": "\x00"}]}',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_body_that_is_no_request_is_a_400(engineless: Any, body: bytes) -> None:
    status, _, data = engineless.request("POST", "/v1/chat/completions", body)
    assert status == 400
    assert json.loads(data)["error"]["message"]
    assert b"Traceback" not in data


def test_members_that_go_along_with_every_round_have_a_bound(authority: Authority) -> None:
    with world(authority=authority) as here:
        body: dict[str, Any] = {
            "messages": ASK,
            "thor_web_search": True,
            **{f"k{number}": 1 for number in range(40_000)},
        }
        status, _, answer = here.service.complete(**body)
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert not [seen for seen in here.engine.requests if seen.target != "/v1/models"]


def test_a_conversation_that_is_too_long_is_a_400_of_the_kind_that_clients_know(authority: Authority) -> None:
    with world(authority=authority) as here:
        long = [{"role": "user", "content": "x" * 500_000}]
        status, _, answer = here.service.complete(messages=long, thor_web_search=True)
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")


def test_lone_surrogates_and_every_letter_go_through(authority: Authority) -> None:
    odd = "\ud800 \u2028\u2029 \U0001f600 \x00"
    with world(SEARCH, reply_text("Yes \u2028\u2029."), authority=authority) as here:
        body = json.dumps({"messages": [{"role": "user", "content": odd}], "stream": True, "thor_web_search": True})
        status, _, data = here.service.request("POST", "/v1/chat/completions", body.encode())
    assert status == 200
    assert text_of(events(data)) == "Yes \u2028\u2029."
    assert data.isascii()


def test_a_body_that_is_too_large_is_a_413_and_the_answer_is_read(engineless: Any) -> None:
    chunked = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    for fields, body in ({}, b"x" * 200_000), ({"Transfer-Encoding": "chunked"}, chunked * 4 + b"0\r\n\r\n"):
        status, _, data = engineless.request("POST", "/v1/chat/completions", body, fields)
        assert (status, json.loads(data)["error"]["code"]) == (413, "request_too_large")


def test_a_body_in_chunks_that_are_none_is_a_400(engineless: Any) -> None:
    fields = {"Transfer-Encoding": "chunked"}
    status, _, data = engineless.request("POST", "/v1/chat/completions", b"{" * 100_000, fields)
    assert (status, json.loads(data)["error"]["type"]) == (400, "invalid_request_error")


def test_a_body_that_does_not_come_is_a_408(engineless: Any) -> None:
    status, _, data = engineless.request("POST", "/v1/chat/completions", b"{", {"Content-Length": "20"})
    assert (status, json.loads(data)["error"]["type"]) == (408, "timeout_error")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("PUT", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/embeddings", 404),
        ("GET", "/v1/models/../../etc/passwd", 404),
        ("GET", "/%2e%2e/%00", 404),
        ("GET", "//", 404),
        ("OPTIONS", "*", 404),
        ("BREW", "/", 405),
        ("GET", "/v1/models/nothing", 404),
    ],
)
def test_what_is_not_there_says_so_in_the_same_shape(engineless: Any, method: str, path: str, status: int) -> None:
    got, fields, data = engineless.request(method, path)
    assert got == status
    assert set(json.loads(data)["error"]) == {"message", "type", "param", "code"}
    assert ("allow" in fields) == (status == 405)


@pytest.fixture(scope="module")
def engineless() -> Any:
    """A service that refuses before it would ask its engine, which knows one model."""
    allowed = Allowed(body_bytes=150_000, messages=10, answers_a_minute=100_000, body_seconds=0.3)
    with (
        Server(ScriptedEngine((whole_reply(),))) as engine,
        served(engine.url, "http://127.0.0.1:9", allowed=allowed) as service,
    ):
        yield service


def test_a_service_without_a_search_says_so() -> None:
    with Server(ScriptedEngine((ANSWER,))) as engine, served(engine.url) as service:
        status, _, answer = service.complete(thor_web_search=True)
        assert (status, answer["error"]["param"]) == (400, "thor_web_search")
        assert json.loads(service.request("GET", "/healthz")[2]) == {
            "status": "ok", "engines": {"engine": "ok"}, "search": "none",
        }  # fmt: skip


# Passed on.


def test_without_the_switch_a_request_passes_untouched_and_so_does_its_answer() -> None:
    tools = [{"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}}}]
    sent = json.dumps({"messages": QUESTION, "tools": tools, "n": 2, "response_format": {"type": "json_object"},
                       "temperature": 1.0, "x": [1, {"y": None}]}, indent=3).encode()  # fmt: skip
    calls = [{"id": "c1", "type": "function", "function": {"name": "mine", "arguments": "{}"}}]
    seen: list[bytes] = []

    def engine(connection: Connection) -> None:
        if connection.target == "/v1/chat/completions":
            seen.append(connection.body)
        whole_reply(tool_calls=calls)(connection)

    with Server(engine) as server, served(server.url) as service:
        status, fields, data = service.request("POST", "/v1/chat/completions", sent)
        assert (status, fields["content-type"]) == (200, "application/json")
        assert seen == [sent]
        assert json.loads(data)["choices"][0]["message"]["tool_calls"] == calls


def test_a_stream_passes_byte_for_byte() -> None:
    body = reply_calls(("mine", {"a": 1}))
    with Server(ScriptedEngine((body,))) as engine, served(engine.url) as service:
        _, fields, data = service.request("POST", "/v1/chat/completions", {"messages": QUESTION, "stream": True})
    assert data == body
    assert fields["content-type"] == "text/event-stream"


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
                                  b"HTTP/1.1 200 OK\r\nConnection: close\r\nX: y\r\n\r\n"])  # fmt: skip
def test_a_body_passes_whole_whatever_its_engine_says_of_its_length(head: bytes) -> None:
    def handle(connection: Connection) -> None:
        connection.send(head + (b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in head else b"hello"))
        raise OSError

    with Server(handle) as engine, served(engine.url) as service:
        status, _, data = service.request("POST", "/v1/chat/completions", {"messages": QUESTION})
    assert (status, data) == (200, b"hello")


@pytest.mark.parametrize("answer", [b"", b"hello\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"])
def test_what_is_no_reply_is_a_502_or_503(answer: bytes) -> None:
    def handle(connection: Connection) -> None:
        connection.send(answer)
        raise OSError

    with Server(handle) as engine, served(engine.url) as service:
        status, _, data = service.request("POST", "/v1/chat/completions", {"messages": QUESTION})
    assert status in (502, 503)
    assert json.loads(data)["error"]["code"] == "engine_failed"


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500])
def test_an_engines_own_error_passes_too(status: int) -> None:
    with Server(broken(status)) as engine, served(engine.url) as service:
        got, _, data = service.request("POST", "/v1/chat/completions", {"messages": QUESTION})
    assert (got, data) == (status, b'{"error": {"message": "at 10.1.2.3 it went wrong"}}')


def test_an_engine_that_does_not_take_the_services_key_is_no_affair_of_the_clients_key() -> None:
    with Server(broken(401)) as engine, served(engine.url) as service:
        got, _, answer = service.complete()
    assert (got, answer["error"]["code"]) == (502, "engine_failed")


def test_a_reply_that_breaks_off_does_not_look_whole() -> None:
    def half(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(b"6\r\ndata: \r\n")
        raise OSError

    import http.client

    with Server(half) as engine, served(engine.url) as service, pytest.raises(http.client.IncompleteRead):
        service.complete(stream=True)


def test_members_of_ours_do_not_reach_a_strict_engine() -> None:
    scripted = ScriptedEngine((whole_reply(),))
    with Server(scripted) as engine, served(engine.url) as service:
        service.complete(thor_web_search=False, thor_sources=[], thor_research=True, temperature=0.5)
    assert scripted.bodies == [{"messages": QUESTION, "temperature": 0.5}]


# Models.


def listing(*names: str) -> Any:
    def handle(connection: Connection) -> None:
        if connection.target == "/v1/models":
            body = json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()
            connection.answer(200, body, ("Content-Type", "application/json"))
        else:
            whole_reply(json.loads(connection.body)["model"] + " of " + names[0])(connection)

    return handle


def test_the_models_are_those_of_all_engines_and_each_goes_to_its_own() -> None:
    with (
        Server(listing("small", "shared")) as one,
        Server(listing("big", "shared")) as two,
        served({"one": one.url, "two": two.url, "gone": "http://127.0.0.1:9"}) as service,
    ):
        models = json.loads(service.request("GET", "/v1/models")[2])["data"]
        assert [model["id"] for model in models] == ["small", "shared", "big", "two/shared"]
        assert json.loads(service.request("GET", "/v1/models/two/shared")[2])["owned_by"] == "two"
        for asked, said in [
            ("small", "small of small"),
            ("big", "big of big"),
            ("shared", "shared of small"),
            ("two/shared", "shared of big"),
            ("one/small", "small of small"),
        ]:
            assert service.complete(model=asked)[2]["choices"][0]["message"]["content"] == said
        for wrong in ("nothing", "one/big", "gone/small", "two/"):
            status, _, answer = service.complete(model=wrong)
            assert (status, answer["error"]["code"], answer["error"]["param"]) == (404, "model_not_found", "model")
        status, _, answer = service.complete()
        assert (status, answer["error"]["param"]) == (400, "model")
        assert json.loads(service.request("GET", "/healthz")[2]) == {
            "status": "degraded", "engines": {"one": "ok", "two": "ok", "gone": "away"}, "search": "none",
        }  # fmt: skip


@pytest.mark.parametrize("body", [b"{}", b"[]", b"nothing", b'{"data": 7}', b"[" * 100_000])
def test_an_engine_without_a_list_takes_any_model(body: bytes) -> None:
    def handle(connection: Connection) -> None:
        if connection.target == "/v1/models":
            connection.answer(200, body)
        else:
            whole_reply()(connection)

    with Server(handle) as engine, served(engine.url) as service:
        assert service.complete(model="any")[0] == 200


def test_nothing_answers_is_a_503_of_the_health_check() -> None:
    with served("http://127.0.0.1:9", "http://127.0.0.1:9") as service:
        status, _, data = service.request("GET", "/healthz")
    assert (status, json.loads(data)) == (503, {"status": "away", "engines": {"engine": "away"}, "search": "away"})


def owned(owner: str, *names: str) -> Any:
    rows = [{"id": name, "owned_by": owner, "created": 7} for name in names]
    body = json.dumps({"data": rows}).encode()
    return lambda connection: connection.answer(200, body, ("Content-Type", "application/json"))


def test_an_engine_is_recognised_by_its_list_and_a_row_of_the_operators_stands(tmp_path: Path) -> None:
    with Server(owned("llamacpp", "m")) as engine, served(engine.url, rows=tmp_path) as service:
        assert json.loads(service.request("GET", "/v1/models")[2])["data"][0]["created"] == 7
        assert service.chat.driver.engines.first.row.name == "llama-server"
    with Server(owned("llamacpp", "m")) as engine, served(engine.url) as service:
        service.request("GET", "/v1/models")
        assert service.chat.driver.engines.first.row.name == "openai"


def test_an_ollama_with_several_models_must_be_told_which_and_knows_a_name_without_its_tag(tmp_path: Path) -> None:
    with Server(owned("library", "a:latest", "b:latest")) as engine, served(engine.url, rows=tmp_path) as service:
        status, _, answer = service.complete()
        assert (status, answer["error"]["param"]) == (400, "model")
        assert service.complete(model="a")[0] == 200


@pytest.mark.parametrize("web", [True, False])
def test_an_answer_that_takes_too_long_is_a_504(authority: Authority, web: bool) -> None:
    held = Held()
    with world(held, authority=authority, limits=Limits(answer_seconds=0.3)) as here:
        status, _, answer = here.service.complete(messages=ASK, thor_web_search=web)
        assert (status, answer["error"]["code"]) == (504, "deadline")
        assert held.gone.wait(10)


def test_a_fault_of_our_own_is_a_500_and_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with Server(owned("x", "m")) as engine, served(engine.url) as service:
        service.chat.models = None
        for method, path in (("POST", "/v1/chat/completions"), ("GET", "/v1/models")):
            status, _, data = service.request(method, path, {"messages": QUESTION} if method == "POST" else None)
            assert (status, json.loads(data)["error"]["type"]) == (500, "server_error")
            assert b"NoneType" not in data
        assert service.chat.gate.running == 0
    assert caplog.text.count("a fault of the service itself: AttributeError at ") == 2
    assert "Traceback" not in caplog.text
