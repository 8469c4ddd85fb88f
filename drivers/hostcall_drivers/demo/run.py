"""The demo, end to end: its own web, search and engine on the loopback, and the real driver between them.

Nothing is turned off for it. The address check sees public addresses, TLS is checked against the demo's own authority,
and the journal gets its lines; only the network leads the two public addresses it knows to the loopback.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import trio

from hostcall.answer.answer import Answer
from hostcall.errors import SettingsError
from hostcall_drivers.common import Recorder
from hostcall_drivers.demo.mapped import MappedTrioNetwork
from hostcall_drivers.demo.server import demo_world
from hostcall_drivers.trio import TrioDriver

SAMPLE = "How do I run a function in a new thread and wait until it is done?"
NOT_A_MODEL = "The engine of this demo is no language model: it searches the pages and quotes what it reads."
START_SECONDS = 120.0

Show = Callable[[TrioDriver, Answer], Awaitable[int]]


async def run_demo(answer: Answer, show: Show, *, gguf: Path | None = None, recorder: Recorder | None = None) -> int:
    """Carry an answer out in the demo's world, and return what `show` does.

    Args:
        answer: The answer.
        show: Carries it out on the terminal.
        gguf: A model to put in the place of the demo's engine.
        recorder: Told of the run, for a replay.

    Raises:
        SettingsError: The model cannot be served.
    """
    async with demo_driver(gguf=gguf, recorder=recorder) as driver:
        return await show(driver, answer)


@contextlib.asynccontextmanager
async def demo_driver(
    *, gguf: Path | None = None, recorder: Recorder | None = None, pace: float = 0.0
) -> AsyncIterator[TrioDriver]:
    """Run the demo's world, and give the driver that is at home in it.

    Args:
        gguf: A model to put in the place of the demo's engine.
        recorder: Told of the run, for a replay.
        pace: Seconds between two pieces of the engine's reply.

    Raises:
        SettingsError: The model cannot be served.
    """
    async with contextlib.AsyncExitStack() as stack:
        world = await stack.enter_async_context(demo_world(pace=pace))
        engine_url, key = world.engine_url, None
        if gguf is not None:
            engine_url, key = await stack.enter_async_context(served(gguf))

        async def resolve(host: str) -> Sequence[str]:
            return world.resolve(host)

        driver = await stack.enter_async_context(
            TrioDriver(
                engine_url,
                world.search_url,
                engine_key=key,
                resolver=resolve,
                network=MappedTrioNetwork(world.mapping),
                page_tls=world.ca,
                record=recorder,
            )
        )
        yield driver


@contextlib.asynccontextmanager
async def served(gguf: Path) -> AsyncIterator[tuple[str, str]]:
    """Serve a model with llama.cpp's own server; gives its address and key.

    Raises:
        SettingsError: The package is missing, or the server does not start.
    """
    key = secrets.token_hex(16)
    launcher = Path(__file__).with_name("llama.py")
    async with trio.open_nursery() as nursery:
        process = await nursery.start(
            lambda task_status: trio.run_process(
                [sys.executable, str(launcher), str(gguf)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "HOSTCALL_LLAMA_KEY": key},
                check=False,
                task_status=task_status,
            )
        )
        try:
            with trio.move_on_after(START_SECONDS):
                line = bytes(await process.stdout.receive_some(1000)).decode("utf-8", "replace").strip()
                if line.startswith("http://127.0.0.1:"):
                    yield line, key
                    return
            raise SettingsError(
                f"the model {str(gguf)!r} cannot be served; is it a GGUF file, and is 'hostcall[local]' installed?"
            )
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            nursery.cancel_scope.cancel()
