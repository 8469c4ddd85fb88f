"""What a result holds of an answer, with the web and without."""

from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.receipts import START
from hostcall.answer.tools import FETCH, Tool
from hostcall.data import Citation, Result, Spent
from hostcall.testing import ScriptedDriver, World, reply_calls, reply_text

PAGE = "https://docs.example.org/a"
ASKED = [{"role": "user", "content": f"Read {PAGE} please."}]
SAID = 'It says "the kettle boils at ninety-four degrees" [1], and [2].'
LOOK = Tool("look", "Looks.", {"type": "object"}, side_effects=False)


def run(*replies: bytes, **settings: Any) -> Result:
    pages = {PAGE: "<p>There the kettle boils at ninety-four degrees.</p>"}
    world = World(engine=replies, pages=pages, tools={"look": lambda _: "seen"})
    return ScriptedDriver(world).run(Answer(ASKED, **settings))


def test_with_the_web_what_is_cited_and_quoted_is_checked() -> None:
    result = run(reply_calls((FETCH, {"url": PAGE})), reply_text(SAID))
    assert result.citations == (Citation(number=1, grade="read"), Citation(number=2, grade="unknown"))
    assert [(quote.found, quote.number) for quote in result.quotes] == [(True, 1)]
    assert result.marks == ("[2] is not a source",)
    assert result.budget == Spent(searches=0, searches_allowed=16, pages=1, pages_allowed=12)
    assert result.receipts_head == result.receipts[-1].digest


def test_without_the_web_there_is_nothing_to_check_against() -> None:
    result = run(reply_text(SAID), web=False)
    assert (result.citations, result.quotes, result.marks, result.budget) == ((), (), (), None)
    assert (result.ledger, result.receipts, result.receipts_head) == ((), (), START)


@pytest.mark.parametrize(
    ("replies", "settings", "marks"),
    [
        ((reply_text("Yes."),), {"tools": [LOOK]}, ("no tool ran",)),
        ((reply_calls(("look", {})), reply_text("Yes.")), {"tools": [LOOK]}, ()),
        ((reply_calls(("lok", {})), reply_text("Yes.")), {"tools": [LOOK]}, ("no tool ran",)),
        ((reply_text("Yes."),), {}, ()),
    ],
)
def test_an_answer_beside_tools_that_did_not_run_is_marked(replies: Any, settings: Any, marks: Any) -> None:
    assert run(*replies, web=False, **settings).marks == marks
