"""``make load``: the service under load on the loopback, each part a process of its own, the whole bounded in time.

    python -m tests.bench.load [streams|readers|first|stop|weeks] …

- *streams*: 500 answers at once, with the web on and passed on, from an engine at 20 tokens a second, while slow
  readers take a byte a second: what was lost, what the service added to the delay of each token, and its memory.
- *readers*: 100 answers at once without slow readers and with twenty: what those do to the others.
- *first*: what the service adds to the first token at idle, pair by pair beside the bare engine.
- *stop*: how long engine and search are still asked after a client is gone, in each phase of an answer.
- *weeks*: 10,000 short answers with random stops and faults: what is left of memory, sockets and tasks.

Tokens carry the time at which the engine wrote them; all processes read one clock.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

STREAMS = 500
TOKENS = 200
PACE = 0.05
WEEKS = 10_000
TARGETS = {
    "lost": 0,
    "p99 added ms": 50.0,
    "p99 added by slow readers ms": 10.0,
    "first token added ms": 5.0,
    "stop ms": 100.0,
    "tasks more": 0,
    "descriptors more": 4,
}

_STAMP = re.compile(rb"<(\d{9,})>")


# The engine and the search, in a process of their own.


class Engine(asyncio.Protocol):
    """An engine and a SearXNG on one port. What it does is in the model's name: ``tokens-PACE``."""

    live = 0

    def __init__(self) -> None:
        self._data = b""
        self._streams: list[asyncio.TimerHandle] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._streams:
            if not timer.cancelled():
                timer.cancel()
        if self._streams:
            Engine.live -= 1
            self._streams.clear()
            print(f"gone {time.monotonic_ns()}", flush=True)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            found = re.search(rb"content-length: (\d+)", head)
            length = int(found[1]) if found else 0
            if len(self._data) < end + 4 + length:
                return
            body, self._data = self._data[end + 4 : end + 4 + length], self._data[end + 4 + length :]
            self._answer(head.split(b" ")[1], body)

    def _answer(self, target: bytes, body: bytes) -> None:
        if target.startswith(b"/search"):
            if b"q=&" in target:
                self._whole(400, {"error": "No query"})
                return
            results = [{"url": f"https://docs.example.org/{n}", "title": f"T{n}", "content": "c"} for n in range(6)]
            self._whole(200, {"query": "x", "results": results, "unresponsive_engines": []})
        elif target == b"/v1/models":
            names = [f"{tokens}-{pace}" for tokens in (1, 5, TOKENS, 10_000) for pace in (0, 5, 50, 60_000)]
            self._whole(200, {"data": [{"id": name} for name in [*names, "fails", "breaks"]]})
        else:
            asked = json.loads(body)
            if asked["model"] == "fails":
                self._whole(500, {"error": {"message": "out of memory"}})
                return
            if asked.get("tool_choice") == "required":
                self._stream([self._call(), self._finish("tool_calls")], 0)
                return
            if asked["model"] == "breaks":
                self._transport.write(self._head() + self._chunk(self._token()))
                self._transport.close()
                return
            tokens, _, pace = asked["model"].partition("-")
            self._stream([None] * int(tokens) + [self._finish("stop")], int(pace) / 1000)

    def _whole(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self._transport.write(
            b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
            + body
        )

    def _head(self) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def _stream(self, pieces: list[bytes | None], pace: float) -> None:
        loop = asyncio.get_running_loop()
        self._transport.write(self._head())
        if not pace:
            self._transport.write(b"".join(self._chunk(piece or self._token()) for piece in pieces) + b"0\r\n\r\n")
            return
        Engine.live += 1
        begun = loop.time() + random.random() * pace

        def next_piece(number: int) -> None:
            self._transport.write(self._chunk(pieces[number] or self._token()))
            self._streams.clear()
            if number + 1 == len(pieces):
                self._transport.write(b"0\r\n\r\n")
                Engine.live -= 1
                return
            self._streams.append(loop.call_at(begun + (number + 1) * pace, next_piece, number + 1))

        self._streams.append(loop.call_at(begun, next_piece, 0))

    def _token(self) -> bytes:
        text = f"word <{time.monotonic_ns()}> "
        return b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n' % text.encode()

    def _call(self) -> bytes:
        call = {"index": 0, "id": "c1", "type": "function"}
        function = {"name": "web_search", "arguments": json.dumps({"query": "kettle"})}
        delta = {"tool_calls": [{**call, "function": function}]}
        return (
            b"data: "
            + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode()
            + b"\n\n"
        )

    def _finish(self, reason: str) -> bytes:
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        return b"data: " + json.dumps(end).encode() + b"\n\ndata: [DONE]\n\n"

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data)


async def run_engine() -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Engine, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


# The processes.


@contextlib.contextmanager
def engine() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the engine."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.load", "engine"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def service(engine_url: str, *arguments: str) -> Iterator[tuple[int, int]]:
    """Run ``hostcall serve``; gives its port and process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.load", "serve", "--port", "0", "--log", "none", "--engine", engine_url,
         "--search", engine_url, "--answers", "100000", "--answers-a-key", "100000", "--answers-a-minute", "1000000",
         "--connections", "100000", *arguments],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        yield int(line.rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        rest = process.stderr.read()
        if rest.strip():
            print(f"the service said: {rest[:2000]}")


def memory(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu(pid: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def tasks(pid: int) -> int:
    """Return how many trio tasks the service has."""
    path = Path(tempfile.gettempdir()) / f"hostcall-load-{pid}"
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    for _ in range(100):
        if path.exists() and (text := path.read_text()):
            path.unlink()
            return int(text)
        time.sleep(0.05)
    raise AssertionError("the service does not say how many tasks it has")


def run_service() -> int:
    """Run ``hostcall serve``, and write down how many tasks there are at each SIGUSR1."""
    import trio

    from hostcall_drivers.cli import main as hostcall

    def tell(number: int, frame: object) -> None:
        living = trio.lowlevel.current_statistics().tasks_living
        (Path(tempfile.gettempdir()) / f"hostcall-load-{os.getpid()}").write_text(str(living))

    signal.signal(signal.SIGUSR1, tell)
    return hostcall(["serve", *sys.argv[2:]])


# The clients.


class Client(asyncio.Protocol):
    """One client: asks once, and notes the delay of each token."""

    def __init__(self, request: bytes, *, stop_after: int = -1) -> None:
        self.request = request
        self.delays: list[float] = []
        self.first_token = 0.0
        self.tail = b""
        self.size = 0
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._stop_after = stop_after
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self.size += len(data)
        stamps = _STAMP.findall(data)
        if stamps and not self.delays:
            self.first_token = now / 1e6
        self.delays += [(now - int(stamp)) / 1e6 for stamp in stamps]
        self.tail = (self.tail + data)[-100:]
        if 0 <= self._stop_after <= self.size:
            self.transport.abort()
        elif b"[DONE]" in self.tail and not self.done.done():
            self.done.set_result(True)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(False)


def request(port: int, model: str, *, web: bool, stream: bool = True) -> bytes:
    """Return one request, ready to send."""
    messages = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
    body = json.dumps({"model": model, "stream": stream, "thor_web_search": web, "messages": messages}).encode()
    fields = ("Host: localhost", "Connection: close", f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(("POST /v1/chat/completions HTTP/1.1", *fields)).encode() + body


async def ask(port: int, model: str, *, web: bool, stop_after: int = -1) -> Client:
    """Ask once and wait for the end; what does not come to it in two minutes is lost."""
    client = await begun(port, model, web=web, stop_after=stop_after)
    try:
        await asyncio.wait_for(client.done, 120)
    except TimeoutError:
        client.done = asyncio.get_running_loop().create_future()
        client.done.set_result(False)
        client.transport.abort()
    return client


async def begun(port: int, model: str, *, web: bool, stop_after: int = -1) -> Client:
    """Ask once."""
    loop = asyncio.get_running_loop()
    made = Client(request(port, model, web=web), stop_after=stop_after)
    await loop.create_connection(lambda: made, "127.0.0.1", port)
    return made


@contextlib.asynccontextmanager
async def slow_readers(port: int, count: int) -> AsyncIterator[None]:
    """Have some clients that take one byte a second."""

    async def read_slowly() -> None:
        import socket

        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        with contextlib.closing(sock):
            await loop.sock_connect(sock, ("127.0.0.1", port))
            await loop.sock_sendall(sock, request(port, "10000-5", web=True))
            while await loop.sock_recv(sock, 1):
                await asyncio.sleep(1)

    tasks = [asyncio.create_task(read_slowly()) for _ in range(count)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# What is measured.


async def streams(
    port: int, pid: int, engine_port: int, *, web: bool, count: int = STREAMS, readers: int = 5
) -> dict[str, float]:
    """Run many answers at once; return what came of it.

    A tenth as many ask the engine itself at the same time: what delays their tokens is not the service's doing.
    """
    model = f"{TOKENS}-{int(PACE * 1000)}"
    used, began = cpu(pid), time.monotonic()
    most = 0.0
    async with slow_readers(port, readers):
        waves = [asyncio.create_task(_spread(port, model, web, n / count)) for n in range(count)]
        beside = [asyncio.create_task(_spread(engine_port, model, False, n * 10 / count)) for n in range(count // 10)]
        while not all(task.done() for task in (*waves, *beside)):
            most = max(most, memory(pid))
            await asyncio.sleep(0.25)
        clients = [task.result() for task in waves]
    delays = sorted(delay for client in clients for delay in client.delays)
    bare = sorted(delay for task in beside for delay in task.result().delays)
    lost = sum(not client.done.result() or len(client.delays) != TOKENS for client in clients)
    return {
        "answers": count,
        "lost": lost,
        "tokens": len(delays),
        "p50 ms": delays[len(delays) // 2],
        "p50 bare ms": bare[len(bare) // 2],
        "p99 ms": delays[int(len(delays) * 0.99)],
        "p99 bare ms": bare[int(len(bare) * 0.99)],
        "p99 added ms": delays[int(len(delays) * 0.99)] - bare[int(len(bare) * 0.99)],
        "MiB at most": most,
        "MiB after": memory(pid),
        "processor %": 100 * (cpu(pid) - used) / (time.monotonic() - began),
    }


async def _spread(port: int, model: str, web: bool, share: float) -> Client:
    await asyncio.sleep(share * 4.0)
    return await ask(port, model, web=web)


async def first(port: int, engine_port: int, *, pairs: int = 200) -> dict[str, float]:
    """Ask the engine and the service in turn; return what the service adds to the first token."""
    bare, passed = [], []
    loop = asyncio.get_running_loop()
    for number in range(pairs + 20):
        taken = []
        for at in (engine_port, port) if number % 2 else (port, engine_port):
            began = loop.time()
            client = await ask(at, "5-0", web=False)
            taken.append((at, client.first_token - began * 1000))
        times = dict(taken)
        if number >= 20:
            bare.append(times[engine_port])
            passed.append(times[port])
    added = sorted(one - other for one, other in zip(passed, bare, strict=True))
    return {
        "pairs": pairs,
        "bare ms": statistics.median(bare),
        "first token added ms": statistics.median(added),
        "p95 added ms": added[int(pairs * 0.95)],
    }


async def stops(port: int, told: "asyncio.Queue[int]", *, times: int = 60) -> dict[str, float]:
    """Close connections in the middle; return how long the engine was still asked."""
    taken = []
    for number in range(times):
        web = bool(number % 2)
        # A byte after a few tokens, or, at a pace of a minute, while nothing comes at all.
        slow = number % 3 == 0
        client = await begun(port, "10000-60000" if slow else "10000-5", web=web)
        await asyncio.sleep(0.15)
        closed = time.monotonic_ns()
        client.transport.abort()
        gone = await asyncio.wait_for(told.get(), 20)
        taken.append((gone - closed) / 1e6)
    taken.sort()
    return {"stops": times, "p50 ms": taken[times // 2], "stop ms": taken[-1]}


async def weeks(port: int, pid: int, *, count: int = WEEKS, at_once: int = 40) -> dict[str, float]:
    """Run many short answers with stops and faults; return what is left."""
    seed = random.Random(7)
    ends: dict[str, int] = {"whole": 0, "not": 0}
    waiting = asyncio.Semaphore(at_once)
    marks: list[float] = []

    async def one(number: int) -> None:
        async with waiting:
            stop = seed.choice((-1, -1, -1, 0, 1, 300, 700, 1500))
            model = seed.choice(("1-0", "5-0", "5-5", "fails", "breaks", "10000-5"))
            if model == "10000-5" and stop < 0:
                stop = 3000
            with contextlib.suppress(OSError):
                client = await ask(port, model, web=seed.random() < 0.7, stop_after=stop)
                ends["whole" if client.done.result() else "not"] += 1
        if number % 1000 == 999:
            marks.append(memory(pid))

    for number in range(200):
        await one(number)
    begun = tasks(pid), descriptors(pid)
    for start in range(200, count, 500):
        await asyncio.gather(*(one(number) for number in range(start, min(start + 500, count))))
    await asyncio.sleep(2)
    return {
        "answers": count, "whole": ends["whole"], "MiB at 1/5": marks[1], "MiB at the end": memory(pid),
        "tasks": tasks(pid), "tasks more": tasks(pid) - begun[0],
        "descriptors": descriptors(pid), "descriptors more": descriptors(pid) - begun[1],
    }  # fmt: skip


# The whole.


def show(name: str, figures: dict[str, float]) -> bool:
    """Print what was measured, and return whether it is within the targets."""
    print(f"{name}: " + " · ".join(f"{what} {round(value, 1):,g}" for what, value in figures.items()), flush=True)
    missed = [what for what, most in TARGETS.items() if what in figures and figures[what] > most]
    for what in missed:
        print(f"  {what} is over {TARGETS[what]:g}")
    return not missed


def listen(process: "subprocess.Popen[str]", told: "asyncio.Queue[int]", loop: asyncio.AbstractEventLoop) -> None:
    """Pass on what the engine says of streams that were left."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("gone "):
            loop.call_soon_threadsafe(told.put_nowait, int(line[5:]))


async def measure(names: list[str], engine_url: str, process: "subprocess.Popen[str]") -> bool:
    """Measure what was asked for."""
    told: asyncio.Queue[int] = asyncio.Queue()
    threading.Thread(target=listen, args=(process, told, asyncio.get_running_loop()), daemon=True).start()
    well = True
    if "first" in names:
        with service(engine_url) as (port, _):
            well &= show("first", await first(port, int(engine_url.rpartition(":")[2])))
    if "stop" in names:
        with service(engine_url) as (port, _):
            well &= show("stop", await stops(port, told))
    if "streams" in names:
        with service(engine_url) as (port, pid):
            for number, web in enumerate((True, False, True)):
                figures = await streams(port, pid, int(engine_url.rpartition(":")[2]), web=web)
                well &= show(f"streams, {'web on' if web else 'passed on'} ({number + 1} of 3)", figures)
    if "readers" in names:
        with service(engine_url) as (port, pid):
            p99 = []
            for readers in (0, 20, 0, 20):
                at = int(engine_url.rpartition(":")[2])
                figures = await streams(port, pid, at, web=True, count=100, readers=readers)
                well &= show(f"streams beside {readers} slow readers", figures)
                p99.append(figures["p99 ms"])
            well &= show("readers", {"p99 added by slow readers ms": (p99[1] + p99[3] - p99[0] - p99[2]) / 2})
    if "weeks" in names:
        with service(engine_url) as (port, pid):
            well &= show("weeks", await weeks(port, pid))
    return well


def main() -> int:
    """Measure, and return 1 when a target was missed."""
    if sys.argv[1:2] == ["serve"]:
        return run_service()
    names = sys.argv[1:] or ["first", "stop", "streams", "readers", "weeks"]
    if names == ["engine"]:
        asyncio.run(run_engine())
        return 0
    with engine() as (url, process):
        return 0 if asyncio.run(measure(names, url, process)) else 1


if __name__ == "__main__":
    sys.exit(main())
