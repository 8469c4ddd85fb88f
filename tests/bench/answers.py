"""``python -m tests.bench.answers [FILE]``: the demo asked every question of a file, facts and citations counted.

An answer counts when it holds one of the facts, cites at least one source, and every ``[n]`` in it was read. A question
without a fact counts when the answer says that the pages do not hold it.

``--gguf FILE`` (or ``--model small | middle | tiny``, as ``tests.real.install`` fetches them) puts a model behind
llama.cpp's server in the place of the demo's engine, and ``--engine URL`` any engine (HOSTCALL_ENGINE_KEY is its key).
Then it also tells on which rung each first call came, and what each rung cost in seconds. ``--keep FILE`` keeps the
answers, a JSON line each.
"""

import argparse
import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import trio

from hostcall.answer.answer import Answer
from hostcall.answer.plan import ladder
from hostcall.commands import Finish, Notice, ShowProgress
from hostcall.data import Result
from hostcall.limits import Limits
from hostcall_drivers.demo.mapped import MappedTrioNetwork
from hostcall_drivers.demo.server import demo_world
from hostcall_drivers.engines import Engines, known_rows
from hostcall_drivers.options import read_row
from hostcall_drivers.trio import TrioDriver
from tests.real import install
from tests.real.conftest import LAUNCHER, answers, process

QUESTIONS = Path(__file__).parents[1] / "cases" / "demo_questions.jsonl"
MODELS = {"small": install.SMALL, "middle": install.MIDDLE, "tiny": install.TINY}
ANSWER_SECONDS = 600.0
EXTRA = {"temperature": 0, "max_tokens": 400}


@attrs.define(kw_only=True)
class Asked:
    """One question and what became of it."""

    result: Result
    fact: bool
    """One of the facts stands in the answer."""
    cited: bool
    """Something is cited, and all that is cited was read."""
    wrong: str
    """What is wrong with the answer, or nothing."""
    rung: str
    """How the first call came: by ``required``, ``schema`` or ``rescue``, or made by the ``host``."""
    rungs: dict[str, float]
    """Seconds that each rung took."""
    seconds: float


def judge(question: dict[str, Any], result: Result) -> tuple[bool, bool, str]:
    """Return whether the fact and the citations are right, and what is wrong, or nothing."""
    if question["fact"] is None:
        missing = "" if "do not hold the answer" in result.text else "it does not say that the pages lack the answer"
        return not missing, not missing, missing
    fact = any(fact.lower() in result.text.lower() for fact in question["fact"])
    unread = [citation.number for citation in result.citations if citation.grade != "read"]
    cited = bool(result.citations) and not unread
    false = [quote.text for quote in result.quotes if quote.found is False]
    if not fact:
        return fact, cited, "the fact is missing"
    if not result.citations:
        return fact, cited, "nothing is cited"
    if unread:
        return fact, cited, f"[{unread[0]}] was not read"
    return fact, cited, f"not found: {false[0][:60]}" if false else ""


@attrs.define
class Timed:
    """Reads off the notices how long each rung of the forced round took."""

    rungs: tuple[str, ...]
    seconds: dict[str, float] = attrs.Factory(dict)
    _since: float | None = None
    _over: bool = False

    def note(self, notice: Notice) -> None:
        """Take a notice as it comes: the ladder is over with the first that is none of its rounds."""
        if self._over or not isinstance(notice, ShowProgress) or notice.kind == "waiting":
            return
        now = time.monotonic()
        if self._since is not None and len(self.seconds) < len(self.rungs):
            self.seconds[self.rungs[len(self.seconds)]] = now - self._since
        self._over = notice.kind != "round" or notice.text != "forced round"
        self._since = now


def first_call(result: Result, rungs: tuple[str, ...]) -> str:
    """Return the rung on which the first call came."""
    if not result.receipts:
        return "none"
    if result.receipts[0].asked_by == "host":
        return "host"
    missed = sum(quirk.startswith("a call forced by") for quirk in result.quirks)
    return rungs[missed]


async def ask(
    questions: list[dict[str, Any]],
    *,
    engines: Engines | None = None,
    extra_body: Mapping[str, Any] | None = None,
    guided: bool = False,
    limits: Limits = Limits(answer_seconds=ANSWER_SECONDS),
    keep: Path | None = None,
) -> dict[str, Asked]:
    """Ask every question in the demo's world, and judge each answer."""
    judged = {}
    async with demo_world() as world:

        async def resolve(host: str) -> list[str]:
            return world.resolve(host)

        network = MappedTrioNetwork(world.mapping)
        engines = engines or Engines.read([world.engine_url], rows={"": known_rows()["llama-server"]})
        driver = TrioDriver(engines, world.search_url, resolver=resolve, network=network, page_tls=world.ca)
        async with driver:
            for question in questions:
                asking = engines.settings(extra_body=extra_body)
                if guided:
                    asking = attrs.evolve(asking, capabilities=attrs.evolve(asking.capabilities, guided=True))
                rungs = ladder(asking.capabilities, web=True, left=True)
                answer = Answer([{"role": "user", "content": question["question"]}], engine=asking, limits=limits)
                timed, began = Timed(rungs), time.monotonic()
                async with driver.run(answer) as notices:
                    async for notice in notices:
                        timed.note(notice)
                        if not isinstance(notice, Finish):
                            continue
                        fact, cited, wrong = judge(question, notice.result)
                        asked = Asked(
                            result=notice.result,
                            fact=fact,
                            cited=cited,
                            wrong=wrong,
                            rung=first_call(notice.result, rungs),
                            rungs=timed.seconds,
                            seconds=time.monotonic() - began,
                        )
                        judged[question["id"]] = asked
                        if keep is not None:
                            kept(keep, question["id"], asked)
    return judged


def kept(path: Path, id_: str, asked: Asked) -> None:
    """Append an answer to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": id_, **attrs.asdict(asked)}) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the questions of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@contextlib.contextmanager
def served(gguf: Path) -> Iterator[tuple[str, str]]:
    """Serve a model with llama.cpp's own server; gives its address and key."""
    key = secrets.token_hex(16)
    python = install.CACHE / "engine" / "bin" / "python"
    with process(str(python), str(LAUNCHER), str(gguf), env={"HOSTCALL_LLAMA_KEY": key}) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        answers(f"{url}/health", 120.0)
        yield url, key


def report(judged: dict[str, Asked], *, real: bool) -> None:
    """Print each question that was not answered well, and the counts."""
    for id_, asked in judged.items():
        if asked.wrong:
            print(f"{id_}: {asked.wrong}")
    if real:
        total = len(judged)
        print(f"facts right {sum(a.fact for a in judged.values())} of {total}")
        print(f"[n] right {sum(a.cited for a in judged.values())} of {total}")
        for rung in ("required", "schema", "rescue", "host", "none"):
            count = sum(a.rung == rung for a in judged.values())
            spent = sorted(a.rungs[rung] for a in judged.values() if rung in a.rungs)
            cost = (
                f", {len(spent)} tried, median {spent[len(spent) // 2]:.1f} s, longest {spent[-1]:.1f} s"
                if spent
                else ""
            )
            print(f"first call by {rung}: {count}{cost}")
        print(f"seconds an answer: {sum(a.seconds for a in judged.values()) / total:.1f} on average")
    print(f"passed {sum(not asked.wrong for asked in judged.values())} of {len(judged)}")


def main() -> None:
    """Ask, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=QUESTIONS)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--model", choices=list(MODELS))
    parser.add_argument("--engine")
    parser.add_argument("--row", default="llama-server", help="a row that ships, or a file of `hostcall doctor`")
    parser.add_argument("--guided", action="store_true", help="lead the model, as `hostcall doctor` finds it needs")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--first", type=int, help="ask only so many")
    given = parser.parse_args()
    questions = read(given.file)[: given.first]
    gguf = MODELS[given.model].path if given.model else given.gguf
    real = gguf is not None or given.engine is not None
    _, row = read_row(given.row, [""])
    with contextlib.ExitStack() as stack:
        url, key = given.engine, os.environ.get("HOSTCALL_ENGINE_KEY")
        if gguf is not None:
            url, key = stack.enter_context(served(gguf))

        async def asking() -> dict[str, Asked]:
            if url is None:
                return await ask(questions)
            engines = Engines.read([url], keys={"": key} if key else {}, rows={"": row})
            return await ask(questions, engines=engines, extra_body=EXTRA, guided=given.guided, keep=given.keep)

        report(trio.run(asking), real=real)


if __name__ == "__main__":
    main()
