"""A model that is led: it picks a page by schema, and answers in statements with a source each."""

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.answer.answer import Answer
from hostcall.answer.statements import Statements, statements_schema
from hostcall.answer.tools import Tool
from hostcall.commands import ShowPage, ShowSearch, ShowText
from hostcall.data import Capabilities, Result
from hostcall.engine.settings import Engine
from hostcall.testing import ScriptedDriver, World, reply_calls, reply_text

QUESTION = "At what temperature does the kettle boil?"
ASKED = [{"role": "user", "content": QUESTION}]
FOUND: dict[str | None, list[dict[str, Any]]] = {
    None: [
        {"url": "https://docs.example.org/a", "title": "Teapots", "content": "Of teapots."},
        {"url": "https://docs.example.org/b", "title": "Kettles", "content": "Of kettles."},
    ]
}
PAGES = {"https://docs.example.org/b": '<title>Kettles</title><p>It boils at 94 degrees. <a href="/c">More</a></p>'}
GUIDED = Engine(capabilities=Capabilities(tool_choice=("none", "auto"), guided=True))
SEARCHED = reply_text('{"name": "web_search", "arguments": {"query": "kettle"}}')
PICKED = reply_text('{"name": "fetch_page_content_recursive", "arguments": {"url": "https://docs.example.org/b"}}')
ANSWERED = reply_text('{"statements": [{"text": "It boils at', ' 94 degrees.", "source": 2', "}]}")


def led(*replies: bytes, engine: Engine = GUIDED, **given_settings: Any) -> tuple[Result, World, ScriptedDriver]:
    world = World(engine=replies, search=FOUND, pages=PAGES, tools={"clock": lambda _: "14:03"})
    driver = ScriptedDriver(world)
    return driver.run(Answer(ASKED, engine=engine, **given_settings)), world, driver


def test_a_led_model_searches_picks_a_page_and_answers_with_its_number() -> None:
    result, world, driver = led(SEARCHED, PICKED, ANSWERED)
    assert result.text == "It boils at 94 degrees. [2]"
    assert (result.why_stopped, [(c.number, c.grade) for c in result.citations]) == ("answered", [(2, "read")])
    assert [receipt.tool for receipt in result.receipts] == ["web_search", "fetch_page_content_recursive"]
    schemas = [body["response_format"]["json_schema"]["schema"] for body in world.asked]
    url = schemas[1]["anyOf"][0]["properties"]["arguments"]["properties"]["url"]
    assert url == {"enum": ["https://docs.example.org/a", "https://docs.example.org/b"]}
    assert schemas[2] == statements_schema([2])
    assert QUESTION in world.asked[2]["messages"][-1]["content"]
    assert not any("tools" in body for body in world.asked)
    shown = [notice.text for notice in driver.notices if isinstance(notice, ShowText)]
    assert "".join(shown) == result.text


def test_a_force_that_brought_nothing_is_not_tried_by_the_next_answer_where_a_schema_works() -> None:
    result, _, _ = led(reply_text("No."), SEARCHED, reply_text("At 94 [1]."), engine=Engine())
    assert result.capabilities.tool_choice == ("none", "auto")
    only = Engine(capabilities=Capabilities(schema=False))
    result, _, _ = led(reply_text("No."), reply_text("At 94 [1]."), engine=only)
    assert result.capabilities.tool_choice == ("none", "auto", "required")


def test_the_page_is_read_without_its_links() -> None:
    _, _, driver = led(SEARCHED, PICKED, ANSWERED)
    assert len([notice for notice in driver.notices if isinstance(notice, ShowPage)]) == 1


def test_the_prompt_only_grows_after_the_forced_round() -> None:
    _, world, _ = led(SEARCHED, PICKED, ANSWERED)
    second, third = (body["messages"] for body in world.asked[1:])
    assert third[: len(second)] == second


def test_a_model_that_picks_nothing_still_answers_from_what_was_found() -> None:
    result, world, _ = led(SEARCHED, reply_text("No."), ANSWERED)
    assert result.text == "It boils at 94 degrees. [2]"
    assert [citation.grade for citation in result.citations] == ["snippet"]
    assert world.asked[2]["response_format"]["json_schema"]["schema"] == statements_schema([1, 2])


def test_a_model_without_tools_is_led_by_schema_and_not_by_a_description() -> None:
    engine = Engine(capabilities=Capabilities(tool_choice=(), guided=True, rescue=True))
    result, world, _ = led(SEARCHED, PICKED, ANSWERED, engine=engine)
    assert result.text == "It boils at 94 degrees. [2]"
    assert not any("TOOL_CALL" in json.dumps(body) for body in world.asked)
    assert not any("DIRECTIVE" in json.dumps(body) for body in world.asked)
    assert result.capabilities.rescue


def test_a_call_that_asks_for_nothing_is_none_on_the_ladder() -> None:
    hollow = reply_text('{"name": "web_search", "arguments": {"query": "…"}}')
    result, _world, driver = led(hollow, PICKED, ANSWERED)
    assert [receipt.asked_by for receipt in result.receipts] == ["host", "model"]
    assert result.text == "It boils at 94 degrees. [2]"
    assert [notice.query for notice in driver.notices if isinstance(notice, ShowSearch)] == [QUESTION]


def test_prose_in_the_place_of_the_form_is_the_answer_as_it_is() -> None:
    result, _, _ = led(SEARCHED, PICKED, reply_text("At 94", " degrees [2]."))
    assert result.text == "At 94 degrees [2]."


def test_a_blank_answer_is_asked_for_again_in_the_same_form() -> None:
    result, world, _ = led(SEARCHED, PICKED, reply_text(""), ANSWERED)
    assert result.text == "It boils at 94 degrees. [2]"
    assert "response_format" in world.asked[3]


def test_a_tool_of_the_hosts_is_not_led_past() -> None:
    clock = Tool("clock", "The time", {"type": "object", "properties": {}}, side_effects=False)
    calls = reply_calls(("clock", {}))
    result, world, _ = led(SEARCHED, calls, reply_text("It is 14:03."), tools=[clock])
    assert result.text == "It is 14:03."
    assert "tools" in world.asked[1]


def test_nothing_is_led_without_the_web_or_where_no_schema_works() -> None:
    result, world, _ = led(reply_text("Hello."), web=False)
    assert (result.text, "response_format" in world.asked[0]) == ("Hello.", False)
    engine = Engine(capabilities=Capabilities(tool_choice=(), guided=True, schema=False))
    result, world, _ = led(reply_text("It boils [1]."), engine=engine)
    assert result.text == "It boils [1]."


def test_a_search_that_finds_nothing_is_followed_by_a_plain_answer() -> None:
    world = World(engine=[SEARCHED, reply_text("I do not know.")], search={None: []})
    result = ScriptedDriver(world).run(Answer(ASKED, engine=GUIDED))
    assert result.text == "I do not know."
    assert "response_format" not in world.asked[1]


statements = st.lists(st.tuples(st.text(), st.integers(0, 99_999)), min_size=1, max_size=6)


@settings(deadline=None)
@given(statements, st.booleans(), st.sampled_from([None, 2]), st.data())
def test_the_form_reads_as_prose_however_it_is_written_and_cut(
    said: list[tuple[str, int]], ascii_only: bool, indent: int | None, data: st.DataObject
) -> None:
    value = {"statements": [{"text": text, "source": source} for text, source in said]}
    whole = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    form = Statements()
    ends = [0, *cuts, len(whole)]
    shown = "".join(form.feed(whole[start:end]) for start, end in itertools.pairwise(ends))
    plain = " ".join(f"{_spaced(text, ascii_only)} [{source}]" for text, source in said)
    assert shown == plain


def _spaced(text: str, ascii_only: bool) -> str:
    for mark in "\n\t\r":
        text = text.replace(mark, " ")
    return text.replace("\b", "").replace("\f", "")


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,\\u0aDd8text source\n1'))
def test_nothing_breaks_the_form(text: str) -> None:
    form = Statements()
    assert isinstance(form.feed(text), str)


def test_a_call_that_was_cut_keeps_the_name_it_had() -> None:
    """A made-up name in the history would be called next by a small model."""
    cut = reply_text('<tool_call>{"name": "web_search", "arguments": {"query": "kett', finish="length")
    world = World(engine=[SEARCHED, cut, reply_text("At 94 degrees [1].")], search=FOUND)
    result = ScriptedDriver(world).run(Answer(ASKED, engine=Engine(capabilities=Capabilities(tool_choice=("auto",)))))
    names = [call["function"]["name"] for message in result.transcript for call in message.get("tool_calls", ())]
    assert names == ["web_search", "web_search"]
    assert [receipt.outcome for receipt in result.receipts][1] != "ran"
