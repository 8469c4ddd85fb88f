"""The tools: the web's are read leniently, the host's strictly."""

import sys
from typing import Any

import pytest

from hostcall.answer.tools import (
    FETCH,
    SEARCH,
    Fault,
    FetchAsk,
    SearchAsk,
    Tool,
    is_hollow,
    offered_tools,
    read_fetch,
    read_search,
)
from hostcall.errors import SettingsError
from hostcall.limits import Limits


def search(arguments: dict[str, Any], *, research: bool = True) -> SearchAsk | Fault:
    return read_search(arguments, research=research, limits=Limits())


@pytest.mark.parametrize("query", [None, "", "  ", 3, ["x"], "!!g"])
def test_a_search_without_a_query_is_a_fault_that_names_it(query: Any) -> None:
    fault = search({"query": query})
    assert isinstance(fault, Fault)
    assert "`query`" in fault.text


@pytest.mark.parametrize(
    ("arguments", "ask"),
    [
        ({"query": "a"}, SearchAsk(query="a")),
        ({"query": " !!g  a b "}, SearchAsk(query="a b")),
        (
            {"query": "a", "time_range": "today", "kind": "people"},
            SearchAsk(query="a", time_range="day", kind="people"),
        ),
        ({"query": "a", "time_range": "", "kind": None, "depth": 3}, SearchAsk(query="a")),
        ({"query": "a", "queries": "b"}, SearchAsk(query="a", queries=("b",))),
        ({"query": "a", "queries": ["b", 3, "", "!x", "c"]}, SearchAsk(query="a", queries=("b", "c"))),
        ({"query": "a", "queries": {"b": 1}}, SearchAsk(query="a")),
    ],
)
def test_a_search_is_read_leniently(arguments: dict[str, Any], ask: SearchAsk) -> None:
    assert search(arguments) == ask


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"time_range": "fortnight"}, "time_range 'fortnight' is not day"),
        ({"time_range": 7}, "time_range '7' is not day"),
        ({"kind": "poems"}, "kind 'poems' is not jobs or people"),
        ({"kind": ["jobs"]}, "kind \"['jobs']\" is not"),
        ({"queries": ["a", "b", "c", "d", "x" * 99]}, "not run: 'd', 'xxx"),
    ],
)
def test_what_is_not_taken_as_written_is_said(arguments: dict[str, Any], note: str) -> None:
    ask = search({"query": "q", **arguments})
    assert isinstance(ask, SearchAsk)
    assert note in ask.notes[0]
    assert len(ask.notes[0]) < 200


def test_without_research_there_are_no_sub_questions_and_no_kinds() -> None:
    assert search({"query": "a", "queries": ["b"], "kind": "jobs"}, research=False) == SearchAsk(query="a")


@pytest.mark.parametrize(
    ("arguments", "ask"),
    [
        ({"url": "https://x.example.org/"}, FetchAsk(url="https://x.example.org/")),
        ({"url": "x", "offset": 12_000, "depth": 2}, FetchAsk(url="x", offset=12_000)),
        ({"url": "x", "offset": "12000"}, FetchAsk(url="x", offset=12_000)),
        ({"url": "x", "offset": ""}, FetchAsk(url="x")),
        ({"url": "x", "offset": None}, FetchAsk(url="x")),
    ],
)
def test_a_fetch_is_read_leniently(arguments: dict[str, Any], ask: FetchAsk) -> None:
    assert read_fetch(arguments) == ask


@pytest.mark.parametrize("offset", [-1, True, 1.5, "x", [1], "１２"])
def test_an_offset_that_is_none_is_said(offset: Any) -> None:
    ask = read_fetch({"url": "x", "offset": offset})
    assert isinstance(ask, FetchAsk)
    assert ask.offset == 0
    assert "read from the start" in ask.notes[0]


@pytest.mark.parametrize("url", [None, "", " ", 3])
def test_a_fetch_without_an_address_is_a_fault_that_names_it(url: Any) -> None:
    fault = read_fetch({"url": url})
    assert isinstance(fault, Fault)
    assert "`url`" in fault.text


def test_the_webs_tools_stand_first() -> None:
    tool = Tool("get", "Get.", {"type": "object"}, side_effects=False)
    names = [offer["function"]["name"] for offer in offered_tools([tool], web=True, research=True, limits=Limits())]
    assert names == [SEARCH, FETCH, "get"]
    assert len(offered_tools([tool], web=False, research=True, limits=Limits())) == 1


# Tools of the host.

SCHEMA = {
    "type": "object",
    "properties": {
        "place": {"type": "object", "properties": {"floor": {"type": "integer"}}, "required": ["city"]},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["place"],
    "additionalProperties": False,
}


def tool(parameters: Any = SCHEMA, name: str = "get", **changed: Any) -> Tool:
    return Tool(name, "Get.", parameters, **{"side_effects": False, **changed})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "'place' is a required property"),
        ({"place": {"city": "x"}, "zone": 1}, "zone"),
        ({"place": {"city": "x", "floor": "two"}}, "`place.floor`"),
        ({"place": {"city": "x", "floor": True}}, "`place.floor`"),
        ({"place": {"city": "x"}, "names": ["a", 3]}, "`names[1]`"),
    ],
)
def test_arguments_that_do_not_fit_name_the_field(arguments: Any, says: str) -> None:
    fault = tool().fault(arguments)
    assert fault is not None
    assert says in fault.text


def test_arguments_that_fit_are_no_fault() -> None:
    assert tool().fault({"place": {"city": "x", "floor": 2}}) is None


@pytest.mark.parametrize("name", ["", "_", "-", "two words", "ü", "x" * 65, SEARCH, FETCH])
def test_a_name_that_cannot_be_called_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="name"):
        tool(name=name)


@pytest.mark.parametrize("changed", [{"timeout": 0}, {"max_result_chars": 0}])
def test_bounds_of_nothing_are_refused(changed: Any) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        tool(**changed)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "of the type object"),
        ({"type": "array"}, "of the type object"),
        ({"type": "object", "properties": {"a": {"type": "thing"}}}, "no JSON schema"),
        ({"type": "object", "properties": {"a": {"$ref": "https://x.example.org/schema"}}}, "refer to"),
        ({"type": "object", "anyOf": [{"$dynamicRef": "other.json"}]}, "refer to"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(parameters: Any, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        tool(parameters)


def test_references_inside_a_schema_work() -> None:
    inner = {"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert tool(inner).fault({"a": 1}) is None
    assert tool(inner).fault({"a": "x"}) is not None


def test_whether_a_tool_has_side_effects_must_be_said() -> None:
    with pytest.raises(TypeError, match="side_effects"):
        Tool("get", "Get.", {"type": "object"})  # type: ignore[call-arg]  # leaving it out is the test


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SettingsError, match=r"hostcall\[tools\]"):
        tool()


# The whole of what is said: each word of it is read by a model.


def test_the_search_tool_is_described_whole() -> None:
    full = offered_tools([], web=True, research=True, limits=Limits(sub_questions=2))[0]
    query = {"type": "string", "description": "The search query"}
    time_range = {
        "type": "string",
        "enum": ["day", "week", "month", "year"],
        "description": "Keep results no older than this",
    }
    assert full == {
        "type": "function",
        "function": {
            "name": "web_search",
            "description": (
                "Search the web. Returns numbered results with titles, addresses, dates and snippets. Set time_range "
                "when the answer depends on what is recent."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "query": query,
                    "time_range": time_range,
                    "queries": {
                        "type": "array",
                        "items": {"type": "string"},
                        "maxItems": 2,
                        "description": "Up to 2 further sub-questions, searched in the same round",
                    },
                    "kind": {
                        "type": "string",
                        "enum": ["jobs", "people"],
                        "description": "What is looked for; widens the search by the angles that find it",
                    },
                },
                "required": ["query"],
            },
        },
    }
    plain = offered_tools([], web=True, research=False, limits=Limits())[0]
    assert plain["function"]["parameters"]["properties"] == {"query": query, "time_range": time_range}


def test_the_page_tool_is_described_whole() -> None:
    assert offered_tools([], web=True, research=True, limits=Limits())[1] == {
        "type": "function",
        "function": {
            "name": "fetch_page_content_recursive",
            "description": (
                "Read a web page as plain text, following the page's own links up to two hops. Only an https address "
                "from this answer's search results, or one the user wrote, can be opened."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "url": {"type": "string", "description": "An https address from this answer's search results"},
                    "offset": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "Read a long page on from this character, as an earlier result said",
                    },
                },
                "required": ["url"],
            },
        },
    }


def test_a_hosts_tool_is_offered_as_it_was_given() -> None:
    assert tool().offer() == {
        "type": "function",
        "function": {"name": "get", "description": "Get.", "parameters": SCHEMA},
    }


def test_every_note_is_said_whole_and_in_order() -> None:
    ask = search({"query": "q", "time_range": 7, "queries": ["a", "b", "c", "d", "e"], "kind": "x" * 61})
    assert isinstance(ask, SearchAsk)
    assert (ask.time_range, ask.kind, ask.queries) == (None, None, ("a", "b", "c"))
    assert ask.notes == (
        "time_range '7' is not day, week, month or year: searched without a range.",
        "At most 3 queries are taken; not run: 'd', 'e'.",
        f"kind '{'x' * 59}…' is not jobs or people: searched without a kind.",
    )
    ask = search({"query": "q", "kind": "y" * 60})
    assert isinstance(ask, SearchAsk)
    assert ask.notes == (f"kind '{'y' * 60}' is not jobs or people: searched without a kind.",)


@pytest.mark.parametrize("blank", ["", None])
def test_what_is_left_empty_is_not_remarked(blank: Any) -> None:
    assert search({"query": "q", "time_range": blank, "kind": blank}) == SearchAsk(query="q")
    assert read_fetch({"url": "x", "offset": blank}) == FetchAsk(url="x", offset=0)


def test_a_kind_of_jobs_is_taken() -> None:
    assert search({"query": "q", "kind": "jobs"}) == SearchAsk(query="q", kind="jobs")


def test_an_offset_is_a_whole_number_from_zero() -> None:
    assert read_fetch({"url": "x", "offset": 0}) == FetchAsk(url="x", offset=0)
    assert read_fetch({"url": "x", "offset": "0"}) == FetchAsk(url="x", offset=0)
    assert read_fetch({"url": "x", "offset": "1234567890"}) == FetchAsk(url="x", offset=123_456_789)
    assert read_fetch({"url": "x", "offset": -1}) == FetchAsk(
        url="x", notes=("offset '-1' is not a whole number from 0: read from the start.",)
    )


def test_faults_are_said_whole_and_at_most_three() -> None:
    assert search({}) == Fault("`query` must be a text that is not empty.")
    assert read_fetch({}) == Fault("`url` must be an https address.")
    wrong = {"place": 1, "names": ["a", 3, 4], "zone": 1}
    assert tool().fault(wrong) == Fault(
        "`arguments`: Additional properties are not allowed ('zone' was unexpected); "
        "`names[1]`: 3 is not of type 'string'; `names[2]`: 4 is not of type 'string'."
    )
    long = tool({"type": "object", "properties": {"a": {"enum": ["x" * 400]}}}).fault({"a": "y"})
    assert long is not None
    assert len(long.text) == len("`a`: ") + 300 + len(".")


@pytest.mark.parametrize(
    ("arguments", "hollow"),
    [
        ({"query": "..."}, True),
        ({"query": "", "url": " … "}, True),
        ({"query": "...", "kind": "jobs"}, False),
        ({"query": "7"}, False),
        ({"n": 3}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_call_without_a_letter_or_digit_asks_for_nothing(arguments: Any, hollow: bool) -> None:
    assert is_hollow(arguments) is hollow


@pytest.mark.parametrize("name", ["a", "x" * 64, "get_time-2", "A"])
def test_a_name_of_letters_digits_and_lines_is_taken(name: str) -> None:
    assert tool(name=name).name == name


def test_what_a_tool_is_by_default() -> None:
    made = tool()
    assert (made.repeatable, made.timeout, made.max_result_chars) == (False, 30.0, 24_000)
    assert tool(timeout=0.5, max_result_chars=1).timeout == 0.5
    with pytest.raises(SettingsError, match="above 0"):
        tool(timeout=-1)
    with pytest.raises(SettingsError, match="above 0"):
        tool(max_result_chars=-1)


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "other.json"}]},
        {"properties": {"$ref": {"type": "string"}, "b": {"$ref": "other.json#/x"}}},
        {"items": {"items": {"$dynamicRef": "https://x.example.org/"}}},
    ],
)
def test_a_reference_out_of_the_schema_is_found_wherever_it_stands(schema: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="refer to"):
        tool({"type": "object", **schema})


def test_a_field_that_is_named_like_a_reference_is_none() -> None:
    assert tool({"type": "object", "properties": {"$ref": {"type": "string"}}}).fault({"$ref": "x"}) is None
