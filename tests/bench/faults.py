"""``python -m tests.bench.faults [kill] [cancel] [cut]``: every fault at every place, over all scenarios.

*kill*: an engine, a search or a site is gone after each byte of each of its bodies. *cancel*: the host cancels after
each event. *cut*: each recorded reply of a real engine comes in two pieces cut at each byte, and breaks off there. Each
time the history must be valid, `Finish` come once and last, nothing be open behind it, and for a reply only cut
the result be the same. Prints how many runs it made; exit status 1 when any failed. It takes an hour; a sample of it is
among the tests.
"""

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from hostcall.answer.answer import Answer
from hostcall.commands import CallEngine, Finish, Request, ShowText
from hostcall.data import Result
from hostcall.engine.history import validate
from hostcall.events import BodyReceived, Failed, ResponseEnded, ResponseStarted
from hostcall.testing import ScriptedDriver, Timed, World, WorldFunction, reply_text
from tests.cases.answers import CaseWorld, make_answer
from tests.cases.report import read_cases

CASES = Path(__file__).parents[1] / "cases" / "answers-open.jsonl"
RECORDINGS = Path(__file__).parents[1] / "recordings"
QUESTION = [{"role": "user", "content": "What is new? See https://docs.example.org/ too."}]
Case: TypeAlias = dict[str, Any]


def scenarios() -> list[Case]:
    """Return the cases that are played against a world, and not event by event."""
    return [case for case in read_cases(CASES) if "events" not in case]


def sound(driver: ScriptedDriver, result: Result) -> None:
    """Check what must hold however an answer ended. That nothing is open behind it the driver checks itself."""
    validate(list(result.transcript))
    finishes = [command for command in driver.commands if isinstance(command, Finish)]
    assert len(finishes) == 1, "Finish came more than once"
    assert driver.commands[-1] is finishes[0], "something came after Finish"


# Kill.


def bodies(case: Case) -> list[int]:
    """Return how long each body of a scenario is, in the order that they come."""
    sizes: list[int] = []

    def play(world: WorldFunction, request: Request) -> Iterator[Timed]:
        for delay, event in world(request):
            if isinstance(event, BodyReceived):
                sizes.append(len(event.data))
            yield delay, event

    ScriptedDriver(functools.partial(play, CaseWorld(case))).run(make_answer(case))
    return sizes


def kill(case: Case, body: int, byte: int) -> None:
    """Play a scenario whose body number `body` breaks off after `byte` bytes."""
    given = -1

    def play(world: WorldFunction, request: Request) -> Iterator[Timed]:
        nonlocal given
        for delay, event in world(request):
            if isinstance(event, BodyReceived):
                given += 1
                if given == body:
                    if byte:
                        yield delay, BodyReceived(event.id, event.data[:byte])
                    yield 0.0, Failed(event.id, "reset", "killed")
                    return
            yield delay, event

    driver = ScriptedDriver(functools.partial(play, CaseWorld(case)))
    sound(driver, driver.run(make_answer(case)))


# Cancel.


def length(case: Case) -> int:
    """Return how many events a scenario has."""
    driver = ScriptedDriver(CaseWorld(case))
    driver.run(make_answer(case))
    return len(driver.log)


def cancel(case: Case, position: int) -> None:
    """Play a scenario that is cancelled after so many events."""
    driver = ScriptedDriver(CaseWorld(case), cancel_when=lambda driver: len(driver.log) >= position)
    sound(driver, driver.run(make_answer(case)))


# Cut.


def recordings() -> list[Path]:
    """Return the recorded replies of a real engine."""
    return sorted((*RECORDINGS.glob("*.sse"), *RECORDINGS.glob("[0-9]*.json")))


def replay(path: Path, pieces: list[bytes], *, broken: bool = False) -> tuple[ScriptedDriver, Result]:
    """Play an answer whose first reply is a recorded one in these pieces."""
    world = World(
        engine=[reply_text("Done [1].")],
        search={None: [{"url": "https://docs.example.org/", "title": "Docs", "content": "New."}]},
        pages={"https://docs.example.org/": "<p>New things.</p>"},
    )
    kind = "application/json" if path.suffix == ".json" else "text/event-stream"
    first = True

    def play(request: Request) -> Iterable[Timed]:
        nonlocal first
        if not first or not isinstance(request, CallEngine):
            yield from world(request)
            return
        first = False
        yield 0.0, ResponseStarted(request.id, 200, (("Content-Type", kind),))
        for piece in pieces:
            yield 0.0, BodyReceived(request.id, piece)
        yield 0.0, Failed(request.id, "reset", "broken") if broken else ResponseEnded(request.id)

    driver = ScriptedDriver(play)
    return driver, driver.run(Answer(QUESTION))


def end(driver: ScriptedDriver, result: Result) -> tuple[Any, ...]:
    """Return what must not depend on the cut."""
    shown = "".join(notice.text for notice in driver.notices if isinstance(notice, ShowText))
    return shown, result.text, result.why_stopped, result.transcript, result.ledger, result.usage, result.quirks


@functools.cache
def whole(path: Path) -> tuple[Any, ...]:
    """Return how a recording ends when it comes in one piece."""
    return end(*replay(path, [path.read_bytes()]))


def cut(path: Path, byte: int) -> None:
    """Play a recording in two pieces, and one that breaks off after the first."""
    data = path.read_bytes()
    driver, result = replay(path, [data[:byte], data[byte:]])
    sound(driver, result)
    assert end(driver, result) == whole(path), "the result depends on the cut"
    sound(*replay(path, [data[:byte]], broken=True))


# All of it.


def runs(part: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield every run of a part with its name."""
    if part == "cut":
        for path in recordings():
            for byte in range(1, len(path.read_bytes())):
                yield f"{path.stem} cut at {byte}", functools.partial(cut, path, byte)
        return
    for case in scenarios():
        if part == "kill":
            for number, size in enumerate(bodies(case)):
                for byte in range(size):
                    yield f"{case['id']}: body {number} gone after {byte}", functools.partial(kill, case, number, byte)
        else:
            for position in range(length(case) + 1):
                yield f"{case['id']}: cancelled after {position}", functools.partial(cancel, case, position)


def main(parts: list[str]) -> int:
    """Make all runs, and return 1 when one failed."""
    failed = 0
    for part in parts or ["cancel", "cut", "kill"]:
        started, made = time.monotonic(), 0
        for name, run in runs(part):
            made += 1
            try:
                run()
            except Exception as error:  # noqa: BLE001 - each is a finding, and the rest is tried too
                failed += 1
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
        print(f"{part}: {made} runs in {time.monotonic() - started:.0f} s", flush=True)
    print(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
