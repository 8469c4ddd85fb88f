"""The calls of a round: what is decided of each, under which id it is known, and what counts as the same again."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.answer.calls import HOST_QUERY_CHARS, host_call, make_calls
from hostcall.answer.round import AskedCall
from hostcall.answer.tools import FETCH, SEARCH, Tool
from hostcall.commands import CallSearch, Connect, RunTool
from hostcall.data import Result
from hostcall.limits import Limits
from hostcall.testing import ScriptedDriver, World, query_of, reply_calls, reply_text, stream

PAGE = "https://docs.example.org/a"
QUESTION = [{"role": "user", "content": f"Read {PAGE} please."}]
LOOK = Tool("look", "Looks.", {"type": "object", "required": ["n"]}, side_effects=False)
AGAIN = Tool("again", "Looks.", {"type": "object"}, side_effects=False, repeatable=True)
LONG = " ".join(f"word{number}" for number in range(4_000))


def asked(id: str = "", name: str = "look", arguments: Mapping[str, Any] | None = None, **more: Any) -> AskedCall:
    values = {} if arguments is None else arguments
    return AskedCall(**{"id": id, "name": name, "arguments": values, "raw": json.dumps(values), **more})


def raw_calls(*calls: tuple[str, str], finish: str = "tool_calls") -> bytes:
    """Return a reply whose calls have the arguments as they are written here."""
    members = [
        {"index": index, "id": f"call_{index}", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    return stream({"tool_calls": members}, finish=finish)


def run(*replies: bytes, world: Any = None, **settings: Any) -> tuple[list[str], ScriptedDriver, Result]:
    """Play replies, and return what the model was told (the budget line aside), the driver and the result."""
    tools = {"look": lambda _: "seen", "again": lambda _: "seen"}
    driver = ScriptedDriver(World(engine=[*replies, reply_text("Done.")], tools=tools, **(world or {})))
    result = driver.run(Answer(QUESTION, **{"tools": [LOOK, AGAIN], **settings}))
    said = [message["content"] for message in result.transcript if message["role"] == "tool"]
    return [text.split("\n\nSearches used ")[0] for text in said], driver, result


def outcomes(result: Result) -> list[str]:
    return [receipt.outcome for receipt in result.receipts]


# What is decided.


def test_what_cannot_be_run_is_answered_with_the_reason() -> None:
    said, driver, result = run(
        raw_calls(
            ("lok", "{}"),
            ("look", '{"n": "' + "x" * 90 + '"}'),
            ("look", "[1]"),
            ("look", "{}"),
            (SEARCH, "{}"),
            (FETCH, "{}"),
            ("look", '{"n": 2}'),
            ("look", '{"n": 3}'),
        ),
        limits=Limits(arguments_bytes=80, calls_a_round=7),
    )
    assert said == [
        f"Error: there is no tool named 'lok'. The tools are: {SEARCH}, {FETCH}, look, again.",
        "Error: the call was not run. Its arguments are longer than 80.",
        "Error: the call was not run. Its arguments are not a JSON object.",
        "Error: the call was not run. `arguments`: 'n' is a required property.",
        "Error: the call was not run. `query` must be a text that is not empty.",
        "Error: the call was not run. `url` must be an https address.",
        "seen",
        "Not run: at most 7 calls are taken in one round. Ask again in the next round if it is still needed.",
    ]
    assert outcomes(result) == ["unknown", "fault", "fault", "fault", "fault", "fault", "ran", "over limit"]
    assert [request.arguments for request in driver.requests if isinstance(request, RunTool)] == [{"n": 2}]


def test_a_long_unknown_name_is_not_said_back_whole() -> None:
    (said,), _, _ = run(raw_calls(("n" * 81, "{}")), web=False)
    assert said == f"Error: there is no tool named {'n' * 80!r}. The tools are: look, again."


def test_a_call_cut_by_the_engines_limit_is_not_run_and_told_of() -> None:
    cut = raw_calls(("look", '{"n": 1}'), ("look", '{"n": '), finish="length")
    said, _, result = run(cut, web=False)
    assert said == [
        "seen",
        (
            "Error: the call was not run, because the reply was cut by its length limit before the call was complete. "
            "Make the call again with shorter arguments."
        ),
    ]
    assert outcomes(result) == ["ran", "cut"]


def test_the_calls_of_an_answer_are_counted_over_its_rounds() -> None:
    one, two = (reply_calls(("look", {"n": number}), ("look", {"n": -number})) for number in (1, 2))
    said, _, result = run(one, two, web=False, limits=Limits(calls_an_answer=3))
    assert outcomes(result) == ["ran", "ran", "ran", "over limit"]
    assert said[3] == "Not run: the 3 calls of this answer are used. Answer from what you have."
    assert result.why_stopped == "budget_spent"


def test_a_call_in_the_last_answer_round_is_not_run() -> None:
    call = reply_calls(("look", {"n": 1}))
    limits = Limits(rounds=1, answer_rounds=1)
    said, driver, result = run(call, reply_calls(("look", {"n": 2})), web=False, limits=limits)
    assert outcomes(result) == ["ran", "not run"]
    assert said[1] == "Not run: this was the last chance to answer, and no tool may be called in it."
    assert len([request for request in driver.requests if isinstance(request, RunTool)]) == 1


# What counts as the same again.


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ({"query": "hot kettle"}, {"query": "hot kettle"}, "repeated"),
        ({"query": "hot kettle"}, {"query": "Kettle, HOT"}, "repeated"),
        ({"query": "hot kettle"}, {"query": "hot kettles"}, "ran"),
        ({"query": "hot kettle"}, {"query": "hot kettle", "time_range": "week"}, "ran"),
        ({"query": "hot kettle"}, {"query": "kettle hot", "kind": "jobs"}, "ran"),
        ({"query": "a", "queries": ["b", "c"]}, {"query": "a", "queries": ["c", "b"]}, "repeated"),
        ({"query": "a", "queries": ["b"]}, {"query": "b", "queries": ["a"]}, "ran"),
        ({"query": "a", "queries": ["b"]}, {"query": "a"}, "ran"),
    ],
)
def test_a_search_in_the_same_words_is_made_once(first: Any, second: Any, outcome: str) -> None:
    _, driver, result = run(reply_calls((SEARCH, first)), reply_calls((SEARCH, second)))
    assert outcomes(result) == ["ran", outcome]
    if outcome == "repeated":
        made = [query_of(request) for request in driver.requests if isinstance(request, CallSearch)]
        assert len(made) == 1 + len(first.get("queries", ()))


def test_equal_calls_of_one_round_are_run_once_and_point_to_the_first() -> None:
    calls = reply_calls(("look", {"n": 1}), ("look", {"n": 1}), ("again", {}), ("again", {}))
    said, driver, result = run(calls, web=False)
    assert outcomes(result) == ["ran", "repeated", "ran", "ran"]
    assert said[1].endswith(f"Its result stands above, under {result.receipts[0].id}.")
    assert len([request for request in driver.requests if isinstance(request, RunTool)]) == 3


@pytest.mark.parametrize("again", [f"{PAGE}#part", "https://DOCS.example.org:443/a", f"{PAGE}?utm_source=x"])
def test_the_same_page_in_another_spelling_is_read_once(again: str) -> None:
    said, driver, result = run(
        reply_calls((FETCH, {"url": PAGE})),
        reply_calls((FETCH, {"url": again})),
        world={"pages": {PAGE: "<p>Hot.</p>"}},
    )
    assert outcomes(result) == ["ran", "repeated"]
    assert said[1].startswith("This asks the same as an earlier call (")
    assert said[1].endswith(said[0])
    assert len([request for request in driver.requests if isinstance(request, Connect)]) == 1


def test_a_page_is_read_on_without_a_request_and_at_no_cost() -> None:
    world = {"pages": {PAGE: "".join(f"<p>{LONG[at : at + 500]}</p>" for at in range(0, len(LONG), 500))}}
    rounds = [reply_calls((FETCH, {"url": PAGE, **more})) for more in ({}, {"offset": 12_000}, {"offset": 12_000})]
    said, driver, result = run(*rounds, world=world)
    assert outcomes(result) == ["ran", "ran", "repeated"]
    assert len([request for request in driver.requests if isinstance(request, Connect)]) == 1
    assert said[1].split("\n\n")[0] == said[0].split("\n\n")[0]
    assert said[1] != said[0]
    assert result.budget is not None
    assert result.budget.pages == 1


def test_an_offset_into_a_page_that_was_not_read_reads_it() -> None:
    _, driver, result = run(reply_calls((FETCH, {"url": PAGE, "offset": 3})), world={"pages": {PAGE: "<p>Hot.</p>"}})
    assert outcomes(result) == ["ran"]
    assert len([request for request in driver.requests if isinstance(request, Connect)]) == 1


# Ids.


def test_calls_keep_their_own_ids_where_these_can_be_used() -> None:
    taken = {"old", "hc_3_2"}
    given = [asked("a"), asked("a"), asked(""), asked("old"), asked("x" * 128), asked("x" * 129), asked("b\n")]
    calls = make_calls(given, number=3, taken=taken, first=0)
    assert [call.id for call in calls] == ["a", "hc_3_1", "hc_3_2_1", "hc_3_3", "x" * 128, "hc_3_5", "hc_3_6"]
    assert [call.key for call in calls] == [f"r3.c{position}" for position in range(7)]
    assert {call.id for call in calls} < taken
    (later,) = make_calls([asked("")], number=3, taken={"hc_3_7", "hc_3_7_1", "hc_3_7_2"}, first=7)
    assert (later.key, later.id, later.asked_by) == ("r3.c7", "hc_3_7_3", "model")


def test_a_call_enters_the_history_as_it_was_asked() -> None:
    written = [asked(raw='{"n":  1}'), asked(raw=" "), asked(arguments=None, raw="[é")]
    written[2] = AskedCall(id="", name="look", arguments=None, raw="[é", problem="unparsed")
    entries = [call.entry() for call in make_calls(written, number=1, taken=set(), asked_by="host")]
    assert entries == [
        ("hc_1_0", "look", '{"n":  1}'),
        ("hc_1_1", "look", "{}"),
        ("hc_1_2", "look", '{"_unparsed": "[é"}'),
    ]


# The host's own call.


@pytest.mark.parametrize(
    ("question", "pages", "name", "arguments"),
    [
        (f"Read {PAGE} and https://b.example.org/.", 2, FETCH, {"url": PAGE}),
        (f"Read {PAGE} now.", 0, SEARCH, {"query": f"Read {PAGE} now."}),
        (" How\n hot,  Zoë? ", 1, SEARCH, {"query": "How hot, Zoë?"}),
        ("x" * (HOST_QUERY_CHARS + 1), 1, SEARCH, {"query": "x" * HOST_QUERY_CHARS}),
        (" \n", 1, SEARCH, {"query": "?"}),
    ],
)
def test_the_host_opens_the_first_address_or_searches_for_the_question(
    question: str, pages: int, name: str, arguments: dict[str, str]
) -> None:
    answer = Answer([{"role": "user", "content": question}], limits=Limits(pages=pages))
    ScriptedDriver(World(engine=[reply_text("Yes.")])).run(answer)
    call = host_call(question, answer._world)
    assert (call.id, call.name, call.arguments, call.problem) == ("", name, arguments, "")
    assert call.raw == json.dumps(arguments, ensure_ascii=False)
