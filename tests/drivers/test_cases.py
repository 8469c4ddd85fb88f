"""Every answer case over real HTTP and TLS on the loopback, with each driver: all classes, all wires."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from hostcall.commands import Finish
from hostcall_drivers.async_driver import Resolver
from hostcall_drivers.asyncio_network import in_thread
from hostcall_drivers.demo.mapped import MappedSyncNetwork
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.threads import Threads
from tests.cases.answers import CaseWorld, judge, make_answer
from tests.cases.report import read_cases
from tests.drivers.case_servers import CaseServers, Playing, Watched, scale_of
from tests.drivers.driving import KINDS, Kind
from tests.drivers.onloop import ASYNCIO, TRIO, On

FILE = Path(__file__).parents[1] / "cases" / "answers-open.jsonl"
CASES = list(read_cases(FILE))
POLL_SECONDS = 0.002


@pytest.fixture(scope="module")
def servers() -> Iterator[CaseServers]:
    names = sorted(set(re.findall(r"https?://([a-z0-9.-]+)", FILE.read_text(encoding="utf-8").lower())))
    with CaseServers(name.strip(".") for name in names if not name.startswith("-")) as running:
        yield running


def settings(case: dict[str, Any], servers: CaseServers) -> dict[str, Any]:
    tools = case["settings"].get("tools", ())
    return {
        "handlers": {tool["name"]: servers.handler(tool["name"]) for tool in tools},
        "approve": servers.approve,
        "page_tls": servers.authority.client(),
        "deny_networks": (),
    }


def over_sync(case: dict[str, Any], servers: CaseServers, playing: Playing) -> None:
    network = MappedSyncNetwork(servers.lead)
    with (
        SyncDriver(
            servers.engine_url, servers.search_url, network=network, resolver=servers.resolve, **settings(case, servers)
        ) as driver,
        driver.run(playing.watched) as run,
    ):
        done = threading.Event()

        def cancel() -> None:
            while not done.wait(POLL_SECONDS):
                if playing.due():
                    run.cancel()
                    run.cancel()
                    playing.stopped.set()
                    return

        watcher = threading.Thread(target=cancel)
        if playing.after:
            watcher.start()
        try:
            for _ in run:
                continue
        finally:
            done.set()
            if playing.after:
                watcher.join()


def over_trio(case: dict[str, Any], servers: CaseServers, playing: Playing) -> None:
    async def resolve(host: str) -> list[str]:
        return await trio.to_thread.run_sync(servers.resolve, host, abandon_on_cancel=True)

    TRIO.run(read, TRIO, resolve, case, servers, playing)


def over_asyncio(case: dict[str, Any], servers: CaseServers, playing: Playing) -> None:
    threads = Threads("lookup", 16)

    async def resolve(host: str) -> list[str]:
        return await in_thread(threads, lambda: servers.resolve(host))

    ASYNCIO.run(read, ASYNCIO, resolve, case, servers, playing)
    threads.close()


async def read(on: On, resolve: Resolver, case: dict[str, Any], servers: CaseServers, playing: Playing) -> None:
    network = on.mapped(servers.lead)
    async with (
        on.driver(
            servers.engine_url, servers.search_url, network=network, resolver=resolve, **settings(case, servers)
        ) as driver,
        driver.run(playing.watched) as run,
        on.loop.beside() as tasks,
    ):

        async def cancel() -> None:
            while not playing.due():
                await on.loop.sleep(POLL_SECONDS)
            run.cancel()
            run.cancel()
            playing.stopped.set()

        if playing.after:
            tasks.start_soon(cancel)
        async for _ in run:
            continue


OVER = {"trio": over_trio, "asyncio": over_asyncio, "sync": over_sync}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case(case: dict[str, Any], kind: Kind, servers: CaseServers) -> None:
    world = CaseWorld(case)
    scale = scale_of(case)
    watched = Watched(make_answer(case, scale=scale))
    playing = Playing(case, world, watched, scale or 0.0)
    servers.playing = playing
    try:
        OVER[kind](case, servers, playing)
    finally:
        playing.stopped.set()
    last = watched.notices[-1]
    assert isinstance(last, Finish)
    playing.as_asked()
    assert judge(case, world, watched, playing.as_scripted(last.result)) == []


def test_all_cases_are_there() -> None:
    assert len(CASES) >= 200
    assert {case["wire"] for case in CASES} == {"openai", "ollama"}
    assert {case["class"] for case in CASES} >= {"ollama", "rescue", "cancel", "forced", "fetch"}
