"""Tools made of typed functions: schema, conversion, faults, and what a driver does with them."""

import asyncio
import datetime as dt
import enum
import inspect
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import attrs
import pytest
from pydantic import Field

from hostcall import Answer, Tool
from hostcall.errors import SettingsError
from hostcall.events import ApprovalGiven
from hostcall.testing import ScriptedDriver, World, reply_calls, reply_text
from hostcall_drivers import FunctionTool, tool
from hostcall_drivers.functions import content_of, handlers_of
from tests.drivers.driving import KINDS, Kind, carry_out
from tests.drivers.servers import ScriptedEngine, Server

QUESTION = [{"role": "user", "content": "When does the train leave?"}]


class Class(enum.Enum):
    FIRST = "first"
    SECOND = "second"


@attrs.frozen
class Ran:
    arguments: list[dict[str, Any]] = attrs.Factory(list)


RAN = Ran()


@tool(side_effects=False)
def next_train(
    station: Annotated[str, Field(description="where it leaves", min_length=1)],
    day: dt.date,
    travel: Class = Class.SECOND,
    *,
    clock: Literal["12h", "24h"] = "24h",
) -> dict[str, Any]:
    """Get the next train.

    Not for the model.
    """
    RAN.arguments.append({"station": station, "day": day, "travel": travel, "clock": clock})
    return {"at": "14:03", "day": day}


def test_the_schema_comes_from_the_annotations() -> None:
    assert (next_train.tool.name, next_train.name) == ("next_train", "next_train")
    assert next_train.tool.description == "Get the next train."
    schema = next_train.tool.parameters
    assert schema["required"] == ["station", "day"]
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {
        "station": {"type": "string", "minLength": 1, "description": "where it leaves"},
        "day": {"type": "string", "format": "date"},
        "travel": {"$ref": "#/$defs/Class", "default": "second"},
        "clock": {"type": "string", "enum": ["12h", "24h"], "default": "24h"},
    }
    assert next_train.tool.fault({"station": "Ghent", "day": "2026-12-01", "travel": "third"}) is not None


def test_calling_it_is_calling_the_function() -> None:
    assert next_train("Ghent", dt.date(2026, 12, 1))["at"] == "14:03"


def test_a_model_s_arguments_become_the_function_s() -> None:
    RAN.arguments.clear()
    content = next_train.handler({"station": "Ghent", "day": "2026-12-01", "travel": "first"})
    assert json.loads(content) == {"at": "14:03", "day": "2026-12-01"}
    assert RAN.arguments == [
        {"station": "Ghent", "day": dt.date(2026, 12, 1), "travel": Class.FIRST, "clock": "24h"},
    ]


def test_what_only_the_annotation_refuses_is_a_fault_that_names_the_field() -> None:
    RAN.arguments.clear()
    content, is_error = next_train.handler({"station": "secret", "day": "tomorrow"})
    assert is_error
    assert content.startswith("`day`: Input should be a valid date")
    assert "tomorrow" not in content
    assert RAN.arguments == []


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, None),
        ("text", "text"),
        (("no", True), ("no", True)),
        (7, "7"),
        ([1, 2], "[1,2]"),
        (("a", "b"), '["a","b"]'),
        (dt.date(2026, 12, 1), '"2026-12-01"'),
        (object, "\"<class 'object'>\""),
    ],
)
def test_a_result_that_is_no_text_is_told_as_json(value: Any, content: Any) -> None:
    assert content_of(value) == content


def no_annotation(city) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001 - that is the point
    """Doc."""
    return str(city)


def many(*cities: str) -> str:
    """Doc."""
    return str(cities)


def silent(city: str) -> str:
    return city


def opaque(city: object, made: "Callable[[int], Ran]") -> str:
    """Doc."""
    return str((city, made))


def unknown(city: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821 - that is the point
    """Doc."""
    return str(city)


class Odd:
    pass


def odd(city: Odd) -> str:
    """Doc."""
    return str(city)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (no_annotation, "no annotation for 'city'"),
        (many, r"\*cities: str, and a model can only give arguments by name"),
        (silent, "give the function a docstring"),
        (opaque, "cannot be described"),
        (unknown, "names nothing: name 'Nowhere' is not defined"),
        (odd, "cannot be described"),
    ],
)
def test_a_function_that_is_no_tool_says_why(function: Callable[..., Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        tool(side_effects=False)(function)


class Shelf:
    """Find a book on this shelf."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, title: str) -> str:
        return f"{title}: {self.name}"

    def find(self, title: str, *, row: int = 1, key: str = "") -> str:
        """Find a book."""
        return f"{title}: {self.name} {row} {key}"

    async def fetch(self, title: str) -> str:
        """Fetch a book."""
        return f"{title} from {self.name}"


class AsyncShelf:
    """Find a book, some time."""

    async def __call__(self, title: str) -> str:
        return title


@pytest.mark.parametrize(
    ("function", "name", "told", "properties", "found"),
    [
        (Shelf("north"), "Shelf", "Find a book on this shelf.", {"title"}, "Dune: north"),
        (Shelf("north").find, "find", "Find a book.", {"title", "row", "key"}, "Dune: north 1 "),
        (partial(Shelf("south").find, key="k"), "find", "Find a book.", {"title", "row"}, "Dune: south 1 k"),
        (partial(partial(Shelf("s").find, row=2), key="k"), "find", "Find a book.", {"title"}, "Dune: s 2 k"),
        (partial(Shelf.find, Shelf("east"), row=3), "find", "Find a book.", {"title", "key"}, "Dune: east 3 "),
        (partial(Shelf("west").fetch), "fetch", "Fetch a book.", {"title"}, "Dune from west"),
        (AsyncShelf(), "AsyncShelf", "Find a book, some time.", {"title"}, "Dune"),
    ],
)
def test_whatever_can_be_called_becomes_a_tool(
    function: Callable[..., Any], name: str, told: str, properties: set[str], found: str
) -> None:
    """What a partial has bound is not the model's to give."""
    made = tool(side_effects=False)(function)
    assert (made.name, made.tool.description) == (name, told)
    assert set(made.tool.parameters["properties"]) == properties
    result = made.handler({"title": "Dune"})
    assert (asyncio.run(result) if inspect.iscoroutine(result) else result) == found


@pytest.mark.parametrize("function", ["next_train", 7, None])
def test_what_cannot_be_called_is_no_tool(function: Any) -> None:
    with pytest.raises(SettingsError, match="is no function"):
        tool(side_effects=False)(function)


def test_what_has_no_signature_is_no_tool() -> None:
    with pytest.raises(SettingsError, match="'int' has no signature"):
        tool(side_effects=False, description="Make a number.")(int)


def test_what_the_function_does_not_say_can_be_given() -> None:
    made = tool(
        side_effects=True, name="city", description="A city.", repeatable=True, timeout=1.0, max_result_chars=9
    )(silent)
    assert isinstance(made, FunctionTool)
    assert (made.tool.name, made.tool.description, made.tool.repeatable) == ("city", "A city.", True)
    assert (made.tool.side_effects, made.tool.timeout, made.tool.max_result_chars) == (True, 1.0, 9)


def test_handlers_are_found_by_name_in_either_form() -> None:
    assert handlers_of(None) == {}
    assert handlers_of([next_train])["next_train"]({"station": "a", "day": "2026-12-01"}).startswith("{")
    by_name: dict[str, Callable[..., Any]] = {"next_train": next_train, "x": str}
    assert handlers_of(by_name)["x"] is str
    assert handlers_of(by_name)["next_train"]({"station": "a", "day": "2026-12-01"}).startswith("{")
    with pytest.raises(SettingsError, match="decorate it with @tool"):
        handlers_of([silent])  # type: ignore[list-item]  # that is the point


def test_the_core_sees_a_tool_like_any_other() -> None:
    world = World(
        engine=[reply_calls(("next_train", {"station": "Ghent"})), reply_text("I cannot tell.")],
        tools={"next_train": next_train.handler},
    )
    result = ScriptedDriver(world).run(Answer(QUESTION, web=False, tools=[next_train.tool]))
    (reply,) = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert "'day' is a required property" in reply


@tool(side_effects=False)
async def next_bus(stop: str) -> list[str]:
    """Get the next buses."""
    return ["14:05", stop]


@tool(side_effects=False)
def next_tram(stop: str) -> list[str]:
    """Get the next trams."""
    return ["14:05", stop]


@pytest.mark.parametrize(("kind", "function"), [("sync", next_tram), ("trio", next_tram), ("trio", next_bus)])
def test_a_driver_runs_it(kind: Kind, function: FunctionTool[..., Any]) -> None:
    engine = ScriptedEngine([reply_calls((function.name, {"stop": "Zuid"})), reply_text("Soon.")])
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[function.tool])
        result = carry_out(kind, answer, engine=server.url, handlers=[function]).result
    assert [message["content"] for message in result.transcript if message["role"] == "tool"] == ['["14:05","Zuid"]']


@pytest.mark.parametrize("kind", KINDS)
def test_handlers_that_never_return_do_not_use_up_the_machine(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each keeps its thread; with none left a call waits for one, and is given up like one that takes too long."""
    monkeypatch.setattr(f"hostcall_drivers.{kind}.WORKERS", 1)
    release = threading.Event()
    begun: list[Any] = []

    def wait(arguments: Any) -> str:
        begun.append(arguments)
        release.wait(20)
        return "late"

    slow = Tool("slow", "Wait.", {"type": "object"}, side_effects=False, repeatable=True, timeout=0.3)
    calls = reply_calls(("slow", {}), ("slow", {"n": 1}))
    engine = ScriptedEngine([calls, reply_text("Neither came.")])
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[slow])
        result = carry_out(kind, answer, engine=server.url, handlers={"slow": wait}).result
        assert len(begun) == 1
        assert begun[0] in ({}, {"n": 1})  # two that begin together do so in either order
        release.set()
    replies = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert replies == ["Error: the tool took longer than 0.3 seconds."] * 2


class UnspeakableError(BaseException):
    """What another library raises to end a task; it cannot even say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("raised", [UnspeakableError(), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_a_blocking_handler_raises_the_answer_goes_on(kind: Kind, raised: BaseException) -> None:
    def fail(arguments: Any) -> str:
        raise raised

    tool_ = Tool("fail", "Fail.", {"type": "object"}, side_effects=False)
    engine = ScriptedEngine([reply_calls(("fail", {})), reply_text("It failed.")])
    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[tool_])
        result = carry_out(kind, answer, engine=server.url, handlers={"fail": fail}).result
    assert result.text == "It failed."
    assert [message["content"] for message in result.transcript if message["role"] == "tool"] == [
        "Error: the tool failed."
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("allowed", ["no", "false", 1, [0]])
def test_only_true_allows_in_an_approval_too(kind: Kind, allowed: Any) -> None:
    ran: list[Any] = []
    send = Tool("send", "Send.", {"type": "object"}, side_effects=True)
    engine = ScriptedEngine([reply_calls(("send", {})), reply_text("Not sent.")])

    def approve(request: Any) -> ApprovalGiven:
        return ApprovalGiven("another id", allowed, 5)  # type: ignore[arg-type]  # that is the point

    with Server(engine) as server:
        answer = Answer(QUESTION, web=False, tools=[send])
        carry_out(kind, answer, engine=server.url, handlers={"send": ran.append}, approve=approve)
    assert ran == []


def test_a_scripted_world_takes_handlers_as_a_driver_does() -> None:
    world = World(
        engine=[reply_calls(("next_train", {"station": "Ghent", "day": "2026-02-30"})), reply_text("No such day.")],
        tools={"next_train": next_train.handler},
    )
    result = ScriptedDriver(world).run(Answer(QUESTION, web=False, tools=[next_train.tool]))
    (reply,) = [message["content"] for message in result.transcript if message["role"] == "tool"]
    assert reply.startswith("Error: `day`: ")
