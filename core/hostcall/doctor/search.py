"""The examination of a search service: does it give JSON, does it let us ask, which engines answer, what of ranges.

Six requests. Four of them have no query, so that no search engine behind the service is asked anything for them.
"""

import json
from collections import deque
from typing import Any, Literal, TypeAlias

import attrs

from hostcall.commands import CallSearch, Cancel, Command, ShowProgress
from hostcall.doctor.finding import Finding
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall.limits import Limits
from hostcall.web.search import read_unanswered, search_request, service_trouble
from hostcall.web.settings import Web
from hostcall.web.widen import TimeRange

QUERY = "weather forecast"
RANGE: TimeRange = "month"
NAMED = 12
"""Search engines that a finding names."""

Step: TypeAlias = Literal["json", "search", "range", "limit1", "limit2", "limit3"]
STEPS: tuple[Step, ...] = ("json", "search", "range", "limit1", "limit2", "limit3")
"""The limiter of SearXNG lets four requests an hour for JSON pass, so the fifth and sixth tell whether it is on."""


@attrs.frozen(kw_only=True)
class Answered:
    """The answer to one request."""

    status: int
    is_json: bool
    body: bytes
    failure: str = ""

    @property
    def trouble(self) -> str:
        """What is wrong with it."""
        if self.failure:
            return self.failure
        # Without a query the service has nothing to search for, and says so.
        return "" if self.status == 400 else service_trouble(self.status, self.is_json, self.body)

    @property
    def value(self) -> dict[str, Any]:
        """Its JSON, or nothing."""
        try:
            value = json.loads(self.body.decode("utf-8", "replace")) if self.status == 200 else None
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


@attrs.define(kw_only=True)
class SearchExam:
    """The machine of one examination. `done` says that it is over, `unusable` why it could not go on."""

    web: Web
    limits: Limits
    deadline: float
    answers: dict[Step, Answered] = attrs.Factory(dict)
    done: bool = False
    unusable: str = ""
    _left: deque[Step] = attrs.field(factory=lambda: deque(STEPS))
    _step: Step = "json"
    _status: int = 0
    _json: bool = False
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0

    def start(self, now: float) -> list[Command]:
        """Ask the first question."""
        return self._next(now)

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take a piece of an answer."""
        match event:
            case ResponseStarted():
                self._status = event.status
                self._json = any(
                    name.lower() == "content-type" and "json" in value.lower() for name, value in event.headers
                )
                return []
            case BodyReceived():
                self._size += len(event.data)
                self._body.append(event.data)
                if self._size > self.limits.search_bytes:
                    return [Cancel(event.id), *self._answered("more than may be read was sent", now)]
                return []
            case ResponseEnded():
                return self._answered("", now)
            case Failed():
                return self._answered(event.detail or event.kind, now)
            case _:
                raise LocalProtocolError(f"a service answers with a response, not with {type(event).__name__}")

    def _next(self, now: float) -> list[Command]:
        if not self._left or now >= self.deadline:
            self.done = True
            return []
        self._step = self._left.popleft()
        self._status, self._size, self._json = 0, 0, False
        self._body.clear()
        asks = self._step in ("search", "range")
        time_range = RANGE if self._step == "range" else None
        return [
            ShowProgress(kind="searching", text=f"the search service is asked: {self._step}", round=0),
            CallSearch(
                id=f"s.{self._step}",
                deadline=min(now + self.limits.search_seconds, self.deadline),
                request=search_request(QUERY if asks else "", time_range, self.web),
            ),
        ]

    def _answered(self, failure: str, now: float) -> list[Command]:
        answer = Answered(status=self._status, is_json=self._json, body=b"".join(self._body), failure=failure)
        self.answers[self._step] = answer
        if self._step == "json" and failure:
            self.unusable = f"it does not answer ({failure}); start it, or give another --search"
        if self.unusable or (self._step == "json" and answer.trouble):
            self.done = True
            return []
        return self._next(now)


def search_findings(exam: SearchExam) -> tuple[Finding, ...]:
    """Return what an examination found."""
    answer = exam.answers.get("json")
    if answer is None or answer.failure:
        return ()
    if answer.trouble:
        topic = "search limiter" if answer.status == 429 else "search JSON"
        return (Finding(topic=topic, verdict="trouble", saw=answer.trouble, change=_CHANGES[topic]),)
    found = [Finding(topic="search JSON", verdict="ok", saw="JSON is enabled"), _limiter(exam)]
    return (*found, *filter(None, (_engines(exam), _ranges(exam))))


_CHANGES = {
    "search JSON": "set `formats: [html, json]` under `search` in SearXNG's settings.yml",
    "search limiter": "set `limiter: false` under `server`, or put this host's address under `pass_ip` in limiter.toml",
}


def _limiter(exam: SearchExam) -> Finding:
    if any(answer.status == 429 for answer in exam.answers.values()):
        saw = f"it refuses after {sum(answer.status != 429 for answer in exam.answers.values())} requests"
        return Finding(topic="search limiter", verdict="trouble", saw=saw, change=_CHANGES["search limiter"])
    return Finding(topic="search limiter", verdict="ok", saw="it is off, or lets this host pass")


def _engines(exam: SearchExam) -> Finding | None:
    answer = exam.answers.get("search")
    if answer is None or answer.status == 429:
        return None
    if answer.trouble:
        return Finding(topic="search engines", verdict="trouble", saw=answer.trouble, change="look into SearXNG's log")
    names = engines_of(answer)
    silent = [f"{name} ({why})" for name, why in read_unanswered(answer.value.get("unresponsive_engines"))]
    dead = f"; these do not answer: {', '.join(silent[:NAMED])}" if silent else ""
    if not names:
        change = "enable other engines in SearXNG's settings.yml, or wait until they are no longer suspended"
        return Finding(topic="search engines", verdict="trouble", saw=f"nothing was found{dead}", change=change)
    verdict: Literal["ok", "note"] = "note" if silent else "ok"
    change = "disable the engines that never answer: each search waits for them" if silent else ""
    saw = f"{', '.join(names[:NAMED])} answer{dead}"
    return Finding(topic="search engines", verdict=verdict, saw=saw, change=change)


def _ranges(exam: SearchExam) -> Finding | None:
    plain, ranged = exam.answers.get("search"), exam.answers.get("range")
    if plain is None or ranged is None or plain.trouble or ranged.trouble or not engines_of(plain):
        return None
    kept = engines_of(ranged)
    lost = [name for name in engines_of(plain) if name not in kept]
    if not kept:
        saw = "no engine keeps a time range; such a search is made again without one, and dated"
        return Finding(topic="search ranges", verdict="note", saw=saw, change="enable an engine that knows time ranges")
    drops = f"; without a range of their own: {', '.join(lost[:NAMED])}" if lost else ""
    return Finding(topic="search ranges", verdict="ok", saw=f"{', '.join(kept[:NAMED])} keep a time range{drops}")


def engines_of(answer: Answered) -> list[str]:
    """Return the names of the engines whose results stand in an answer."""
    results = answer.value.get("results")
    names: set[str] = set()
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict):
            listed = result.get("engines")
            named = listed if isinstance(listed, list) else [result.get("engine")]
            names.update(name for name in named if isinstance(name, str))
    return sorted(names)
