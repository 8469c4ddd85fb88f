"""``python -m tests.bench.stream``: CPU per chunk from the socket's bytes to the notice, as ratios in one run.

20,000 chunks as llama-server sends them, about 190 bytes of JSON each. The floor splits lines and decodes JSON, and
does nothing else. Peers are measured when they are installed.
"""

import json
import statistics
import time
from collections.abc import Callable

from hostcall.answer.answer import Answer
from hostcall.events import BodyReceived, ResponseStarted
from hostcall.limits import Limits
from hostcall.testing import TODAY

CHUNKS = 20_000
RUNS = 5
READ = 65_536


def body(chunks: int) -> bytes:
    """Return a stream of so many chunks of text."""
    lines = []
    for number in range(chunks):
        chunk = {
            "choices": [{"finish_reason": None, "index": 0, "delta": {"content": f" word{number % 97}"}}],
            "created": 1_764_500_000,
            "id": "chatcmpl-0123456789abcdefghijklmnopqrstuv",
            "model": "qwen2.5-coder-0.5b-instruct",
            "system_fingerprint": "b0-unknown",
            "object": "chat.completion.chunk",
        }
        lines.append(f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n")
    lines.append('data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}\n\ndata: [DONE]\n\n')
    return "".join(lines).encode()


def floor(pieces: list[bytes]) -> None:
    """Split lines and decode JSON: what no reader of such a stream can do without."""
    carry = b""
    for piece in pieces:
        *lines, carry = (carry + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                json.loads(line[6:])


def core(pieces: list[bytes], *, web: bool) -> None:
    """Feed a whole answer's core."""
    limits = Limits(engine_bytes=1 << 30)
    answer = Answer([{"role": "user", "content": "Hi."}], web=web, limits=limits)
    answer.start(0.0, answer_id="bench", today=TODAY, capacity=8)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 0.0)
    for piece in pieces:
        answer.receive(BodyReceived("r1.e0", piece), 0.0)


def cpu(work: Callable[[], None]) -> float:
    """Return the least CPU seconds of several runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def cut(data: bytes, size: int) -> list[bytes]:
    """Return the bytes as reads of one size."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def report(name: str, seconds: float, base: float, chunks: int) -> None:
    """Print a line."""
    print(f"{name:44} {seconds / chunks * 1e6:7.2f} µs/chunk  {seconds / base:5.2f} x floor")


def main() -> None:
    """Print the figures."""
    data = body(CHUNKS)
    events = [event + b"\n\n" for event in data.split(b"\n\n") if event]
    for name, pieces in (("burst", cut(data, READ)), ("paced", events)):
        base = cpu(lambda pieces=pieces: floor(pieces))  # type: ignore[misc]  # bound at once
        report(f"floor, {name}", base, base, CHUNKS)
        for web in (False, True):
            took = cpu(lambda pieces=pieces, web=web: core(pieces, web=web))  # type: ignore[misc]  # bound at once
            report(f"core, {name}, web {'on' if web else 'off'}", took, base, CHUNKS)
    long = cut(body(CHUNKS * 10), READ)
    once = statistics.median(cpu(lambda: core(cut(data, READ), web=True)) for _ in range(3))
    ten = cpu(lambda: core(long, web=True))
    print(f"200,000 chunks cost {ten / once:.2f} x 20,000")


if __name__ == "__main__":
    main()
