"""Recordings: written, read, replayed, and what is wrong with one."""

import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.answer.tools import Tool
from hostcall.commands import Command, Finish
from hostcall.data import Source
from hostcall.engine.settings import Engine
from hostcall.errors import RecordingError
from hostcall.events import BodyReceived, Event
from hostcall.limits import Limits
from hostcall.record.recording import Recipe, Recording, Started, event_line, finish_line, header, read
from hostcall.record.replay import difference, replay
from hostcall.testing import TODAY, ScriptedDriver, World, reply_calls, reply_text
from hostcall.web.settings import Web

RECIPE = Recipe(
    conversation=[{"role": "user", "content": "At what temperature does the kettle boil?"}],
    engine=Engine(model="m", extra_body={"seed": 1}),
    web=Web(deny_hosts=("bad.example.org",), contact="ops@example.org"),
    tools=(Tool("get_time", "Get the time.", {"type": "object"}, side_effects=False),),
    seen=(Source(number=1, address="https://early.example.org/", grade="read"),),
    limits=Limits(rounds=4),
)
WORLD = World(
    engine=[
        reply_calls(("web_search", {"query": "kettle"}), ("get_time", {})),
        reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"})),
        reply_text("It boils at 94 degrees [2]."),
    ],
    search={None: [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How."}]},
    pages={"https://docs.example.org/guide": "<title>The guide</title><p>The kettle boils at 94 degrees.</p>"},
    tools={"get_time": lambda arguments: "14:03"},
)


@pytest.fixture(scope="module")
def recorded() -> list[str]:
    """A recording of a whole answer."""
    driver = ScriptedDriver(attrs.evolve(WORLD))
    result = driver.run(RECIPE.answer())
    assert result.why_stopped == "answered"
    started = Started(now=0.0, answer_id="test", today=TODAY, capacity=8)
    lines = [header(RECIPE, started), *(event_line(now, event) for now, event in driver.log)]
    finish = driver.commands[-1]
    assert isinstance(finish, Finish)
    return [*lines, finish_line(finish)]


def test_a_recording_holds_all_that_the_answer_was_made_from(recorded: list[str]) -> None:
    recording = read(recorded)
    assert recording.recipe == attrs.evolve(RECIPE, conversation=list(RECIPE.conversation))
    assert recording.started.today == TODAY
    assert recording.finish is not None


def test_a_replay_gives_the_same_end(recorded: list[str]) -> None:
    recording = read(recorded)
    commands = list(replay(recording))
    assert difference(recording, commands) is None


def test_a_recording_cut_short_has_no_end(recorded: list[str]) -> None:
    recording = read(recorded[:-3])
    commands = list(replay(recording))
    assert recording.finish is None
    said = difference(recording, commands)
    assert said is not None
    assert "cut off" in said


def cut_anew(events: tuple[tuple[float, Event], ...], sizes: Iterator[int]) -> Iterator[tuple[float, Event]]:
    """Yield the events with every body cut into other pieces."""
    for now, event in events:
        if not isinstance(event, BodyReceived):
            yield now, event
            continue
        position = 0
        while position < len(event.data):
            size = next(sizes)
            yield now, BodyReceived(event.id, event.data[position : position + size])
            position += size


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_replay_with_every_body_cut_anew_gives_the_same_end(recorded: list[str], data: st.DataObject) -> None:
    recording = read(recorded)
    sizes = iter(lambda: data.draw(st.integers(1, 90)), None)
    events = tuple(cut_anew(recording.events, sizes))
    cut = attrs.evolve(recording, events=events)
    assert difference(recording, list(replay(cut))) is None


def end(recording: Recording) -> tuple[list[Command], Finish]:
    commands = list(replay(recording))
    last = commands[-1]
    assert isinstance(last, Finish)
    return commands, last


def test_a_difference_names_what_differs(recorded: list[str]) -> None:
    recording = read(recorded)
    commands, finish = end(recording)
    changed = [*commands[:-1], Finish(attrs.evolve(finish.result, text="other"))]
    assert difference(recording, changed) == "the replay's text is another"
    changed = [*commands[:-1], Finish(attrs.evolve(finish.result, marks=("x",)))]
    assert difference(recording, changed) == "the replay's result is another"
    assert difference(recording, commands[:-1]) == "the replay does not come to its end"
    assert difference(recording, []) == "the replay does not come to its end"
    without = attrs.evolve(recording, finish=None)
    said = difference(without, commands)
    assert said is not None
    assert said.startswith("the recording has no end")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "empty"),
        (["\n", ""], "empty"),
        (["nonsense"], "line 1 is not JSON"),
        (["[]"], "line 1 is no object"),
        (['{"hostcall": 99}'], "no header of a recording in format 1"),
        (['{"hostcall": 1}'], "line 1 is no header: KeyError"),
    ],
)
def test_what_is_no_recording_says_where(lines: list[str], says: str) -> None:
    with pytest.raises(RecordingError, match=says):
        read(lines)


def test_a_wrong_line_is_named(recorded: list[str]) -> None:
    with pytest.raises(RecordingError, match="line 2: 'x' is no event"):
        read([recorded[0], '{"at": 1, "class": "x"}'])
    with pytest.raises(RecordingError, match="line 2 is no event with a time"):
        read([recorded[0], '{"class": "Woken", "id": "a"}'])
    wrong = json.loads(recorded[0])
    wrong["engine"]["capabilities"] = {"class": "Usage"}
    with pytest.raises(RecordingError, match="line 1 is no header"):
        read([json.dumps(wrong)])
    wrong["limits"] = {"x": 1}
    with pytest.raises(RecordingError, match="line 1 is no header"):
        read([json.dumps(wrong)])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("conversation", 0, "role"), "bob"),
        (("conversation",), "x"),
        (("engine", "wire"), "x"),
        (("engine", "extra_body"), []),
        (("engine", "model"), 5),
        (("web",), {"allow_networks": ["x"]}),
        (("seen",), "x"),
        (("seen",), [5]),
        (("limits", "parallel"), "8"),
        (("limits", "parallel"), 1e308),
        (("limits", "overlap"), 1),
        (("started", "capacity"), 0),
        (("started", "now"), float("nan")),
        (("started", "answer_id"), None),
        (("tools",), 5),
    ],
)
def test_a_header_without_an_answer_is_refused(recorded: list[str], path: tuple[Any, ...], value: Any) -> None:
    first = json.loads(recorded[0])
    inner = first
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(RecordingError, match="line 1"):
        read([json.dumps(first), *recorded[1:]])


@pytest.mark.parametrize("at", [None, "x", True, -1.0, 1e308, float("nan")])
def test_an_event_has_a_time(recorded: list[str], at: Any) -> None:
    event = json.loads(recorded[1])
    with pytest.raises(RecordingError, match="line 2"):
        read([recorded[0], json.dumps({**event, "at": at})])


def test_time_does_not_go_back_and_nothing_comes_after_the_end(recorded: list[str]) -> None:
    late = json.dumps({**json.loads(recorded[1]), "at": 50.0})
    with pytest.raises(RecordingError, match="line 3 goes back in time"):
        read([recorded[0], late, *recorded[1:]])
    with pytest.raises(RecordingError, match="comes after the end"):
        read([*recorded, recorded[-1]])


def test_lines_nested_without_end_are_refused(recorded: list[str]) -> None:
    with pytest.raises(RecordingError, match="line 2 is not JSON"):
        read([recorded[0], '{"at": 0, "class": ' + "[" * 100_000])
