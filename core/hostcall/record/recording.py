"""A recording: everything that went into an answer, a line each, so that it can be played again anywhere.

The first line is the *header*: the conversation, the settings and what `start` was given. Then a line for each event
with its time. The last line is the `Finish` that came out. Page text stands in a recording, because without it nothing
could be replayed; the journal (rule 8) is another file and never has it. Keys of services stand in neither: the core
never sees them.
"""

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import Finish
from hostcall.data import Capabilities, Source
from hostcall.engine.settings import Engine
from hostcall.errors import HostcallError, RecordingError
from hostcall.events import Event
from hostcall.limits import Limits
from hostcall.record import codec
from hostcall.web.settings import Web

FORMAT = 1
"""Raised when an older recording can no longer be read."""

LATEST = 1e12
"""The largest time in seconds, and the largest bound, that are read: some thousands of years."""


@attrs.frozen(kw_only=True)
class Recipe:
    """All that an answer is made from: enough to make it again."""

    conversation: Sequence[Mapping[str, Any]]
    engine: Engine = Engine()
    web: bool | Web = True
    research: bool = True
    tools: Sequence[Tool] = ()
    seen: Sequence[Source] = ()
    limits: Limits = Limits()

    def answer(self) -> Answer:
        """Return a new answer."""
        return Answer(
            self.conversation,
            engine=self.engine,
            web=self.web,
            research=self.research,
            tools=self.tools,
            seen=self.seen,
            limits=self.limits,
        )


@attrs.frozen(kw_only=True)
class Started:
    """What `Answer.start` was given."""

    now: float
    answer_id: str
    today: dt.date
    capacity: int
    deny_networks: Sequence[str] = ()


@attrs.frozen
class Recording:
    """A recording that was read."""

    recipe: Recipe
    started: Started
    events: tuple[tuple[float, Event], ...]
    finish: Finish | None
    """None when the recording ends before the answer did."""


def header(recipe: Recipe, started: Started) -> str:
    """Return the first line of a recording."""
    value = {
        "hostcall": FORMAT,
        "conversation": list(recipe.conversation),
        "engine": {
            "name": recipe.engine.name,
            "wire": recipe.engine.wire,
            "model": recipe.engine.model,
            "capabilities": codec.dump(recipe.engine.capabilities),
            "extra_body": dict(recipe.engine.extra_body),
        },
        "web": attrs.asdict(recipe.web) if isinstance(recipe.web, Web) else recipe.web,
        "research": recipe.research,
        "tools": [_dump_tool(tool) for tool in recipe.tools],
        "seen": [codec.dump(source) for source in recipe.seen],
        "limits": attrs.asdict(recipe.limits),
        "started": {
            "now": started.now,
            "answer_id": started.answer_id,
            "today": started.today.isoformat(),
            "capacity": started.capacity,
            "deny_networks": list(started.deny_networks),
        },
    }
    return json.dumps(value)


def event_line(now: float, event: Event) -> str:
    """Return the line of an event."""
    return json.dumps({"at": now, **codec.dump(event)})


def finish_line(finish: Finish) -> str:
    """Return the last line of a recording."""
    return json.dumps(codec.dump(finish))


def read(lines: Iterable[str]) -> Recording:
    """Read a recording.

    Raises:
        RecordingError: A line cannot be read; the message gives its number.
    """
    numbered = _objects(lines)
    _, first = next(numbered, (1, None))
    if first is None:
        raise RecordingError("the recording is empty")
    if first.get("hostcall") != FORMAT:
        raise RecordingError(f"line 1 is no header of a recording in format {FORMAT}")
    try:
        recipe, started = _read_header(first)
        # What the parts do not say of themselves the answer does: an answer that cannot start was never recorded.
        recipe.answer().start(**attrs.asdict(started))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, HostcallError) as error:
        raise RecordingError(f"line 1 is no header: {type(error).__name__}: {error}") from error
    events: list[tuple[float, Event]] = []
    finish: Finish | None = None
    last = started.now
    for number, value in numbered:
        if finish is not None:
            raise RecordingError(f"line {number} comes after the end")
        try:
            at = value.pop("at", None)
            loaded = codec.load(value)
        except (RecordingError, RecursionError) as error:
            raise RecordingError(f"line {number}: {error}") from error
        if isinstance(loaded, Finish):
            finish = loaded
        elif not isinstance(loaded, Event) or not _is_time(at):
            raise RecordingError(f"line {number} is no event with a time")
        elif at < last:
            raise RecordingError(f"line {number} goes back in time")
        else:
            last = float(at)
            events.append((last, loaded))
    return Recording(recipe, started, tuple(events), finish)


def _objects(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"line {number} is not JSON") from error
        if not isinstance(value, dict):
            raise RecordingError(f"line {number} is no object")
        yield number, value


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= LATEST


def _read_limits(value: Mapping[str, Any]) -> Limits:
    for name, bound in value.items():
        if name == "overlap":
            if not isinstance(bound, bool):
                raise RecordingError(f"limits.overlap is true or false, not {bound!r}")
        elif type(bound) not in (int, float) or not 0 <= bound <= LATEST:
            raise RecordingError(f"limits.{name} is no number within bounds: {bound!r}")
    return Limits(**value)


def _read_header(value: Mapping[str, Any]) -> tuple[Recipe, Started]:
    engine = value["engine"]
    capabilities = codec.load(engine["capabilities"])
    if not isinstance(capabilities, Capabilities):
        raise RecordingError("engine.capabilities are none")
    started = value["started"]
    web: Any = value["web"]
    if isinstance(web, dict):
        members: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in web.items()}
        web = Web(**members)
    recipe = Recipe(
        conversation=value["conversation"],
        engine=Engine(
            name=str(engine.get("name", "")),
            wire=engine["wire"],
            model=engine["model"],
            capabilities=capabilities,
            extra_body=engine["extra_body"],
        ),
        web=web if isinstance(web, Web) else bool(web),
        research=bool(value["research"]),
        tools=tuple(Tool(**tool) for tool in value["tools"]),
        seen=tuple(codec.load(source) for source in value["seen"]),
        limits=_read_limits(value["limits"]),
    )
    if not all(isinstance(source, Source) for source in recipe.seen):
        raise RecordingError("seen holds what is no Source")
    if not isinstance(engine["extra_body"], dict) or not isinstance(engine["model"], str | None):
        raise RecordingError("engine.extra_body is no object, or engine.model no text")
    if not isinstance(started["answer_id"], str) or not _is_time(started["now"]):
        raise RecordingError("started has no answer_id, or no time")
    return recipe, Started(
        now=float(started["now"]),
        answer_id=started["answer_id"],
        today=dt.date.fromisoformat(started["today"]),
        capacity=int(started["capacity"]),
        deny_networks=tuple(started["deny_networks"]),
    )


def _dump_tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "side_effects": tool.side_effects,
        "repeatable": tool.repeatable,
        "timeout": tool.timeout,
        "max_result_chars": tool.max_result_chars,
    }
