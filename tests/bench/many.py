"""``python -m tests.bench.many``: 200 answers at once at 50 tokens a second each, on one driver; trio, then asyncio.

Prints for each the share of a core that the driver's process takes while they stream, and the memory that an answer
holds beside its text. The engine is scripted and runs in a process of its own. The exit status is 1 when it takes more
than 40 % of a core, or an answer more than 100 kB.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import select
import socket
import sys
import time
import tracemalloc
from collections.abc import Iterator

import trio

from hostcall import Answer, Finish, Limits, ShowText
from hostcall_drivers import AsyncioDriver, TrioDriver
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.loops import Loop
from tests.bench.stream import events, read_request

ANSWERS = 200
TOKENS_A_SECOND = 50
SECONDS = 10
CHUNKS = TOKENS_A_SECOND * SECONDS
WORD = sum(len(f" word{number % 97}") for number in range(CHUNKS)) / CHUNKS
"""Characters of a token."""
MOST_OF_A_CORE = 0.40
MOST_BYTES = 100_000
QUESTION = [{"role": "user", "content": "Hi."}]
LIMITS = Limits(searches=0, pages=0)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


def serve(listener: socket.socket) -> None:
    """Give every connection a token each fiftieth of a second, until the process is ended."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pieces = [f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in events(CHUNKS)] + [b"0\r\n\r\n"]
    open_: dict[socket.socket, int] = {}
    at = time.perf_counter()
    while True:
        at += 1 / TOKENS_A_SECOND
        for connection in list(open_):
            try:
                connection.sendall(pieces[open_[connection]])
                open_[connection] += 1
            except OSError:
                open_[connection] = len(pieces)
            if open_[connection] == len(pieces):
                del open_[connection]
                connection.close()
        while (left := at - time.perf_counter()) > 0:
            ready, _, _ = select.select([listener], [], [], left)
            if ready:
                connection, _ = listener.accept()
                connection.settimeout(5)
                read_request(connection)
                connection.sendall(HEAD)
                open_[connection] = 0


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """Run the engine, and give its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    process = multiprocessing.get_context("fork").Process(target=serve, args=(listener,))
    process.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        process.terminate()
        process.join()
        listener.close()


class Load:
    """All answers at once, and what they cost while all of them stream."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.begun = self.ended = self.over = self.characters = 0
        self.share = self.bytes = 0.0

    async def answer(self, driver: AsyncDriver) -> None:
        """Run one answer to its end."""
        size = 0
        async with driver.run(Answer(QUESTION, limits=LIMITS)) as notices:
            async for notice in notices:
                if isinstance(notice, ShowText):
                    self.begun += size == 0
                    size += len(notice.text)
                    self.characters += len(notice.text)
                elif isinstance(notice, Finish):
                    self.ended += notice.result.why_stopped == "answered"
        self.over += 1

    async def watch(self, *, memory: bool) -> None:
        """Measure from the moment that all stream until shortly before the first ends."""
        gc.collect()
        before = tracemalloc.get_traced_memory()[0] if memory else 0
        while self.begun < ANSWERS:
            await self.loop.sleep(0.05)
        cpu, characters = time.process_time(), self.characters
        await self.loop.sleep(SECONDS * 0.5)
        # By what came and not by the clock: on a busy machine less comes.
        seconds = (self.characters - characters) / (WORD * TOKENS_A_SECOND * ANSWERS)
        self.share = (time.process_time() - cpu) / seconds
        if memory:
            gc.collect()
            # Its text is held twice at the most: as shown, and as it came.
            self.bytes = (tracemalloc.get_traced_memory()[0] - before - 2 * self.characters) / ANSWERS

    async def run(self, driver: AsyncDriver, *, memory: bool) -> None:
        """Run all."""
        async with driver, self.loop.beside() as tasks:
            tasks.start_soon(lambda: self.watch(memory=memory))
            for _ in range(ANSWERS):
                tasks.start_soon(self.answer, driver)
            while self.over < ANSWERS:
                await self.loop.sleep(0.05)


def loaded(kind: str, url: str, *, memory: bool) -> Load:
    """Run all on a driver, and return what they cost."""
    driver = (TrioDriver if kind == "trio" else AsyncioDriver)(url, "http://127.0.0.1:9", deny_networks=())
    load = Load(driver.loop)
    if kind == "trio":
        trio.run(lambda: load.run(driver, memory=memory))
    else:
        asyncio.run(load.run(driver, memory=memory))
    return load


def main() -> int:
    """Print the two figures of each driver, each from a run of its own: tracing memory takes time."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    good = True
    for kind in ("trio", "asyncio"):
        with engine() as url:
            load = loaded(kind, url, memory=False)
            tracemalloc.start()
            traced = loaded(kind, url, memory=True)
            tracemalloc.stop()
        print(
            f"{kind}: {ANSWERS} answers at {TOKENS_A_SECOND} tokens/s: {load.share:.0%} of a core, {load.ended} whole"
        )
        print(f"{kind}: an answer holds {traced.bytes / 1000:.1f} kB beside its text", flush=True)
        good &= load.ended == ANSWERS and load.share < MOST_OF_A_CORE and traced.bytes < MOST_BYTES
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
