"""Clients that others wrote, unmodified: OpenAI's own, curl, and Hugging Face's, which reads streams in its own way."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import huggingface_hub
import openai
import pytest

from hostcall.testing import reply_calls
from tests.drivers.chat.serving import Service, events, served, text_of
from tests.drivers.chat.world import ANSWER, FETCH, SEARCH, World, world
from tests.drivers.servers import Authority, Connection, ScriptedEngine, Server, send_stream

KEY = "a-key-of-a-client-" + "x" * 20
ASK: Any = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
TEXT = "It boils at 94 degrees [1]."
WEB: Any = {"thor_web_search": True}
TOOLS: Any = [
    {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
]


@pytest.fixture
def here() -> Iterator[World]:
    with world(authority=Authority(), keys={"client": KEY}) as running:
        yield running


def client(service: Service, **settings: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.url}/v1", api_key=KEY, max_retries=0, **settings)


# OpenAI's own.


def test_openai_asks_and_reads_a_whole_answer(here: World) -> None:
    with client(here.service) as api:
        answer = api.chat.completions.create(model="m", messages=ASK, extra_body=WEB, temperature=0.2, seed=1)
    assert answer.choices[0].message.content == TEXT
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer._request_id is not None
    assert answer.id == f"chatcmpl-{answer._request_id}"
    assert answer.model_extra is not None
    assert answer.model_extra["hostcall"]["sources"][0]["address"] == "https://docs.example.org/guide"


def test_openai_reads_a_stream(here: World) -> None:
    with (
        client(here.service) as api,
        api.chat.completions.create(
            model="m", messages=ASK, stream=True, stream_options={"include_usage": True}, extra_body=WEB
        ) as stream,
    ):
        chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == TEXT
    assert not any(c.choices[0].delta.tool_calls for c in chunks if c.choices)
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    kinds = [(c.model_extra or {}).get("hostcall", {}).get("type") for c in chunks]
    assert [kind for kind in kinds if kind in ("searched", "read", "finished")] == ["searched", "read", "finished"]


def test_openai_gathers_a_stream_with_its_helper(here: World) -> None:
    with client(here.service) as api, api.chat.completions.stream(model="m", messages=ASK, extra_body=WEB) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        answer = stream.get_final_completion()
    assert "".join(deltas) == TEXT
    assert answer.choices[0].message.content == TEXT
    assert not answer.choices[0].message.tool_calls


def test_openai_asks_many_at_once_on_asyncio(here: World) -> None:
    async def main() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{here.service.url}/v1", api_key=KEY, max_retries=0) as api:

            async def one() -> str:
                stream = await api.chat.completions.create(model="m", messages=ASK, stream=True)
                return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

            whole = await api.chat.completions.create(model="m", messages=ASK, extra_body=WEB)
            assert whole.choices[0].message.content == TEXT
            async with api.chat.completions.stream(model="m", messages=ASK, extra_body=WEB) as stream:
                final = await stream.get_final_completion()
            assert final.choices[0].message.content == TEXT
            return list(await asyncio.gather(*(one() for _ in range(8))))

    def engine(connection: Connection) -> None:
        asked = json.loads(connection.body)
        done = [m for m in asked["messages"] if m["role"] == "tool"]
        send_stream(connection, (SEARCH, FETCH, ANSWER)[len(done)] if "tools" in asked else ANSWER)

    here.scripted.replies = [engine]
    assert asyncio.run(main()) == [TEXT] * 8


def test_openai_lists_models_and_gets_its_own_tools_back() -> None:
    call = reply_calls(("get_time", {}))
    with Server(ScriptedEngine((call,))) as engine, served(engine.url) as service, client(service) as api:
        assert [model.id for model in api.models.list()] == ["m"]
        assert api.models.retrieve("m").owned_by == "engine"
        with api.chat.completions.stream(model="m", messages=ASK, tools=TOOLS) as stream:
            message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    assert [tool.function.name for tool in message.tool_calls] == ["get_time"]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"model": "nothing"}, openai.NotFoundError),
        ({"model": "m", "extra_body": {**WEB, "tools": TOOLS}}, openai.BadRequestError),
        ({"model": "m", "extra_body": {"thor_web_search": "yes"}}, openai.BadRequestError),
        ({"model": "m", "extra_headers": {"Authorization": "Bearer wrong"}}, openai.AuthenticationError),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_openai_knows_our_errors_for_what_they_are(here: World, asked: Any, error: Any, stream: bool) -> None:
    with client(here.service) as api, pytest.raises(error) as raised:
        api.chat.completions.create(messages=ASK, stream=stream, **asked)
    assert raised.value.body["message"]


def test_openai_is_told_of_an_engine_that_fails_in_the_middle(here: World) -> None:
    broken = (
        b'data: {"choices":[{"index":0,"delta":{"content":"It"}}]}\n\ndata: {"error": {"message": "no memory"}}\n\n'
    )
    here.scripted.replies = [here.scripted.replies[0], broken]
    chunks: list[Any] = []
    with client(here.service) as api, pytest.raises(openai.APIError, match="not available"):
        chunks.extend(api.chat.completions.create(model="m", messages=ASK, stream=True, extra_body=WEB))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "It"


# Others.


def test_hugging_faces_client_reads_both(here: World) -> None:
    api = huggingface_hub.InferenceClient(base_url=f"{here.service.url}/v1", api_key=KEY)
    answer = api.chat_completion(ASK, model="m", extra_body=WEB)
    assert answer.choices[0].message.content == TEXT
    here.scripted.bodies.clear()
    stream = api.chat_completion(ASK, model="m", stream=True, extra_body=WEB)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == TEXT


def test_curl_shows_a_stream_as_it_comes(here: World) -> None:
    curl = shutil.which("curl")
    assert curl is not None, "curl is one of the clients that must work"
    body = json.dumps({"messages": ASK, "stream": True, **WEB})
    done = subprocess.run(
        [curl, "-sS", "-N", "-m", "20", f"{here.service.url}/v1/chat/completions", "-H", f"Authorization: Bearer {KEY}",
         "-d", body],
        capture_output=True, check=True,
    )  # fmt: skip
    assert text_of(events(done.stdout)) == TEXT
