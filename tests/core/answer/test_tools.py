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


@pytest.mark.parametrize("name", ["", "two words", "ü", "x" * 65, SEARCH, FETCH])
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
