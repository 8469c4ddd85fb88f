"""``python -m tests.bench.stream``: CPU per chunk from the socket to the notice, as ratios in one run.

20,000 chunks as llama-server sends them, about 190 bytes of JSON each, an HTTP chunk each, from a server in another
process; *burst* at full speed, *paced* one every 200 µs, so that each is a wake-up of its own. The floor reads the
socket, splits lines and decodes JSON, and does nothing else. Ours go on to the filter and to `ShowText`, with the web
on; the core alone is fed what the floor read. Peers are measured where they are installed (group `peers`, best in an
environment of its own).

The exit status is 1 when a target is missed: in a burst core 1.2 floors, sync 3.5, trio and asyncio 4, the openai
client 7 times ours (paced, the wake-ups alone take more than a seventh of it), and ten times the chunks within a tenth
of ten times the cost.
"""

import asyncio
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import trio

from hostcall import Answer, Limits, ShowText
from hostcall.events import BodyReceived, ResponseStarted
from hostcall.testing import TODAY
from hostcall_drivers import AsyncioDriver, SyncDriver, TrioDriver
from hostcall_drivers.async_driver import AsyncDriver

CHUNKS = 20_000
RUNS = 4
READ = 65_536
PACE = 200e-6
QUESTION = [{"role": "user", "content": "Hi."}]
# No search and no page: the web is on and its tools are armed, and no first call is forced.
LIMITS = Limits(engine_bytes=1 << 30, searches=0, pages=0)
MOST = {"core": 1.2, "sync": 3.5, "trio": 4.0, "asyncio": 4.0}
LEAST_AHEAD_OF_OPENAI = 7.0
GROWTH = 1.1

Client: TypeAlias = Callable[[int], int]
"""Reads the stream from a port, and returns the characters of text that it got."""


# The server.


def events(chunks: int, *, ollama: bool = False) -> list[bytes]:
    """Return a stream of so many chunks of text, an event each."""
    if ollama:
        lines = [
            {
                "model": "m",
                "created_at": "2026-11-30T12:00:00.000000Z",
                "message": {"role": "assistant", "content": f" word{number % 97}"},
                "done": False,
            }
            for number in range(chunks)
        ]
        last = {**lines[-1], "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        return [json.dumps(line).encode() + b"\n" for line in (*lines, last)]
    frame = {
        "created": 1_764_500_000,
        "id": "chatcmpl-0123456789abcdefghijklmnopqrstuv",
        "model": "qwen2.5-coder-0.5b-instruct",
        "system_fingerprint": "b0-unknown",
        "object": "chat.completion.chunk",
    }
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"content": f" word{number % 97}"}, None) for number in range(chunks)
    ]
    deltas.append(({}, "stop"))
    out = []
    for delta, finish in deltas:
        chunk = {"choices": [{"finish_reason": finish, "index": 0, "delta": delta}], **frame}
        out.append(f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode())
    return [*out, b"data: [DONE]\n\n"]


def serve(listener: socket.socket, *, paced: bool) -> None:
    """Answer every request with the stream, until the process is ended."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    bodies = {}
    for ollama in (False, True):
        bodies[ollama] = [f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in events(CHUNKS, ollama=ollama)]
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ollama = read_request(connection)
            kind = b"application/x-ndjson" if ollama else b"text/event-stream"
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nTransfer-Encoding: chunked\r\n"
                b"Connection: close\r\n\r\n"
            )
            if not paced:
                connection.sendall(b"".join(bodies[ollama]) + b"0\r\n\r\n")
                continue
            at = time.perf_counter()
            for piece in bodies[ollama]:
                connection.sendall(piece)
                at += PACE
                while time.perf_counter() < at:
                    pass
            connection.sendall(b"0\r\n\r\n")


def read_request(connection: socket.socket) -> bool:
    """Read a request, and say whether it is Ollama's."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(READ)
    head, _, body = data.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += connection.recv(READ)
    return b" /api/chat " in head


@contextlib.contextmanager
def server(*, paced: bool) -> Iterator[int]:
    """Run the server in a process of its own, and give its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(target=serve, args=(listener,), kwargs={"paced": paced})
    process.start()
    try:
        yield listener.getsockname()[1]
    finally:
        process.terminate()
        process.join()
        listener.close()


# Ours, and the floor.


def floor(port: int) -> int:
    """Read the socket, split lines and decode JSON: what no reader of such a stream can do without."""
    size, carry = 0, b""
    for piece in _pieces(port):
        *lines, carry = (carry + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                size += len(json.loads(line[6:])["choices"][0]["delta"].get("content", ""))
    return size


def _pieces(port: int) -> Iterator[bytes]:
    body = json.dumps({"model": "m", "messages": QUESTION, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        while piece := connection.recv(READ):
            yield piece


def core(pieces: list[bytes]) -> int:
    """Feed a whole answer's core, and return the characters shown."""
    answer = Answer(QUESTION, limits=LIMITS)
    answer.start(0.0, answer_id="bench", today=TODAY, capacity=8)
    (request,) = answer.live
    size = 0
    answer.receive(ResponseStarted(request, 200, (("Content-Type", "text/event-stream"),)), 0.0)
    for piece in pieces:
        for command in answer.receive(BodyReceived(request, piece), 0.0):
            if type(command) is ShowText:
                size += len(command.text)
    return size


def sync(port: int) -> int:
    """Run an answer on `SyncDriver`."""
    with (
        SyncDriver(f"http://127.0.0.1:{port}", "http://127.0.0.1:9", deny_networks=()) as driver,
        driver.run(Answer(QUESTION, limits=LIMITS)) as notices,
    ):
        return sum(len(notice.text) for notice in notices if isinstance(notice, ShowText))


def on_trio(port: int) -> int:
    """Run an answer on `TrioDriver`."""
    return trio.run(_shown, TrioDriver(f"http://127.0.0.1:{port}", "http://127.0.0.1:9", deny_networks=()))


def on_asyncio(port: int) -> int:
    """Run an answer on `AsyncioDriver`."""
    return asyncio.run(_shown(AsyncioDriver(f"http://127.0.0.1:{port}", "http://127.0.0.1:9", deny_networks=())))


async def _shown(driver: AsyncDriver) -> int:
    async with driver, driver.run(Answer(QUESTION, limits=LIMITS)) as notices:
        return sum([len(notice.text) async for notice in notices if isinstance(notice, ShowText)])


# Peers.


def openai_client(port: int) -> int:
    client = importlib.import_module("openai").OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
    chunks = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    return sum(len(chunk.choices[0].delta.content or "") for chunk in chunks)


def httpx_sse(port: int) -> int:
    httpx, sse = importlib.import_module("httpx"), importlib.import_module("httpx_sse")
    size = 0
    with httpx.Client() as client:
        body = {"model": "m", "messages": QUESTION, "stream": True}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with sse.connect_sse(client, "POST", url, json=body) as source:
            for event in source.iter_sse():
                if event.data != "[DONE]":
                    size += len(json.loads(event.data)["choices"][0]["delta"].get("content", ""))
    return size


def ollama_client(port: int) -> int:
    client = importlib.import_module("ollama").Client(host=f"http://127.0.0.1:{port}")
    return sum(len(part.message.content or "") for part in client.chat(model="m", messages=QUESTION, stream=True))


def pydantic_ai(port: int) -> int:
    library = importlib.import_module("pydantic_ai")
    models = importlib.import_module("pydantic_ai.models.openai")
    providers = importlib.import_module("pydantic_ai.providers.openai")
    provider = providers.OpenAIProvider(base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
    agent = library.Agent(models.OpenAIChatModel("m", provider=provider))

    async def main() -> int:
        async with agent.run_stream("Hi.") as stream:
            return sum([len(text) async for text in stream.stream_text(delta=True, debounce_by=None)])

    return asyncio.run(main())


def litellm(port: int) -> int:
    library = importlib.import_module("litellm")
    chunks = library.completion(
        model="openai/m", messages=QUESTION, stream=True, api_base=f"http://127.0.0.1:{port}/v1", api_key="x"
    )
    return sum(len(chunk.choices[0].delta.content or "") for chunk in chunks)


PEERS: dict[str, tuple[str, Client]] = {
    "openai client": ("openai", openai_client),
    "httpx-sse and json": ("httpx_sse", httpx_sse),
    "ollama client": ("ollama", ollama_client),
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
    "litellm": ("litellm", litellm),
}


# Measuring.


def cpu(work: Callable[[], int], runs: int, chunks: int = CHUNKS) -> float:
    """Return the least CPU seconds of several runs, all threads together."""
    best = float("inf")
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        size = work()
        best = min(best, time.process_time() - start)
        expected = sum(len(f" word{number % 97}") for number in range(chunks))
        if size != expected:
            raise AssertionError(f"{size} characters came, and not {expected}")
    return best


def installed(module: str) -> bool:
    """Say whether a peer can be imported."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the internet for prices
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def main() -> int:
    """Print the figures, and return 1 when a target is missed."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    missed = []
    for pace in ("burst", "paced"):
        with server(paced=pace == "paced") as port:
            base = cpu(lambda port=port: floor(port), RUNS)  # type: ignore[misc]  # bound at once
            read = _unchunked(list(_pieces(port)))
            ours = {
                "core": cpu(lambda read=read: core(read), RUNS),  # type: ignore[misc]  # the same
                "sync": cpu(lambda port=port: sync(port), RUNS),  # type: ignore[misc]  # the same
                "trio": cpu(lambda port=port: on_trio(port), RUNS),  # type: ignore[misc]  # the same
                "asyncio": cpu(lambda port=port: on_asyncio(port), RUNS),  # type: ignore[misc]  # the same
            }
            print(f"{pace}: {CHUNKS} chunks in {len(read)} reads")
            _report("floor: socket, lines, JSON", base, base)
            for name, took in ours.items():
                most = MOST[name] if pace == "burst" or name == "core" else float("inf")
                _report(f"hostcall {name}", took, base, "" if took <= most * base else "missed")
                if took > most * base:
                    missed.append(f"{name}, {pace}")
            for name, (module, client) in PEERS.items():
                if not installed(module):
                    print(f"  {name:34} not installed")
                    continue
                took = cpu(lambda client=client, port=port: client(port), 2)  # type: ignore[misc]  # the same
                _report(name, took, base)
                if pace == "burst" and name == "openai client" and took < LEAST_AHEAD_OF_OPENAI * ours["trio"]:
                    missed.append(f"openai client: only {took / ours['trio']:.1f} x the trio driver")
    data = b"".join(events(CHUNKS))
    short = _cut(data)
    once = cpu(lambda: core(short), 5)
    long = _cut(b"".join(events(CHUNKS * 10)))
    ten = cpu(lambda: core(long), 3, CHUNKS * 10)
    print(f"200,000 chunks cost {ten / once:.2f} x 20,000")
    if ten > 10 * GROWTH * once:
        missed.append("growth")
    for name in missed:
        print(f"missed: {name}")
    return int(bool(missed))


def _cut(data: bytes) -> list[bytes]:
    return [data[start : start + READ] for start in range(0, len(data), READ)]


def _unchunked(pieces: list[bytes]) -> list[bytes]:
    """Return the body of a response in the pieces that it was read in, as a driver hands it on."""
    rest = b"".join(pieces).partition(b"\r\n\r\n")[2]
    events_: list[bytes] = []
    while rest:
        line, _, rest = rest.partition(b"\r\n")
        size = int(line, 16)
        events_.append(rest[:size])
        rest = rest[size + 2 :]
    # As many events a piece as the socket gave at once.
    many = max(1, round(len(events_) / len(pieces)))
    pieces = [b"".join(events_[at : at + many]) for at in range(0, len(events_), many)]
    return [piece for piece in pieces if piece]


def _report(name: str, seconds: float, base: float, note: str = "") -> None:
    print(f"  {name:34} {seconds / CHUNKS * 1e6:8.2f} µs a chunk {seconds / base:7.2f} x floor {note}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
