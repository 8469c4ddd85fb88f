"""The demo answers questions that nobody tuned it for: facts, citations, and the honest no."""

import trio

from tests.bench import answers


def test_most_questions_are_answered_with_the_fact_and_a_right_citation() -> None:
    """Its engine quotes and does not think, so not all: `python -m tests.bench.answers` names those it misses."""
    questions = answers.read(answers.QUESTIONS)
    assert len({question["module"] for question in questions if question["fact"]}) == 30
    judged = trio.run(answers.ask, questions)
    assert sum(not judged[question["id"]].wrong for question in questions if question["fact"]) >= 24
    assert judged["none"].wrong == ""
    assert {asked.result.why_stopped for asked in judged.values()} == {"answered"}
    assert not any(citation.grade == "unknown" for asked in judged.values() for citation in asked.result.citations)
