"""``python -m tests.bench.answers [FILE]``: the demo asked every question of a file, facts and citations counted.

An answer counts when it holds one of the facts, cites at least one source, and every ``[n]`` in it was read. A question
without a fact counts when the answer says that the pages do not hold it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import trio

from hostcall.answer.answer import Answer
from hostcall.commands import Finish
from hostcall.data import Result
from hostcall.engine.capabilities import capabilities_for
from hostcall.engine.settings import Engine
from hostcall_drivers.demo.mapped import MappedTrioNetwork
from hostcall_drivers.demo.server import demo_world
from hostcall_drivers.trio import TrioDriver

QUESTIONS = Path(__file__).parents[1] / "cases" / "demo_questions.jsonl"


def judge(question: dict[str, Any], result: Result) -> str:
    """Return what is wrong with an answer, or nothing."""
    if question["fact"] is None:
        return "" if "do not hold the answer" in result.text else "it does not say that the pages lack the answer"
    if not any(fact.lower() in result.text.lower() for fact in question["fact"]):
        return "the fact is missing"
    if not result.citations:
        return "nothing is cited"
    unread = [citation.number for citation in result.citations if citation.grade != "read"]
    if unread:
        return f"[{unread[0]}] was not read"
    false = [quote.text for quote in result.quotes if quote.found is False]
    return f"not found: {false[0][:60]}" if false else ""


async def ask(questions: list[dict[str, Any]]) -> dict[str, tuple[Result, str]]:
    """Ask every question in the demo's world, and judge each answer."""
    judged = {}
    async with demo_world() as world:

        async def resolve(host: str) -> list[str]:
            return world.resolve(host)

        network = MappedTrioNetwork(world.mapping)
        driver = TrioDriver(world.engine_url, world.search_url, resolver=resolve, network=network, page_tls=world.ca)
        async with driver:
            for question in questions:
                conversation = [{"role": "user", "content": question["question"]}]
                answer = Answer(conversation, engine=Engine(capabilities=capabilities_for("llama-server")))
                async with driver.run(answer) as notices:
                    async for notice in notices:
                        if isinstance(notice, Finish):
                            judged[question["id"]] = (notice.result, judge(question, notice.result))
    return judged


def read(path: Path) -> list[dict[str, Any]]:
    """Return the questions of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Print each question that was not answered well, and the count."""
    path = Path(sys.argv[1]) if sys.argv[1:] else QUESTIONS
    judged = trio.run(ask, read(path))
    for id_, (_, wrong) in judged.items():
        if wrong:
            print(f"{id_}: {wrong}")
    print(f"passed {sum(not wrong for _, wrong in judged.values())} of {len(judged)}")


if __name__ == "__main__":
    main()
