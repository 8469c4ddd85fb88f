"""One search of SearXNG's JSON interface: the request, the retry without a range, and what the answer means.

Three outcomes are kept apart, because a model that is told the difference can say so instead of guessing: a *healthy*
search found something or nothing; in a *degraded* one some engines did not answer; an *unavailable* one has nothing
because no engine, or not the service itself, answered.
"""

import datetime as dt
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import attrs

from hostcall.commands import CallSearch, Cancel, Command
from hostcall.data import Health, HttpRequest, Recency
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall.limits import Limits
from hostcall.web.settings import Web
from hostcall.web.widen import TimeRange

USER_AGENT = "hostcall (search client)"
RANGE_DAYS: dict[TimeRange, int] = {"day": 1, "week": 7, "month": 31, "year": 366}
TITLE_CHARS = 200
SNIPPET_CHARS = 500
ENGINES_NAMED = 20


@attrs.frozen(kw_only=True)
class Found:
    """One result as SearXNG gave it, cleaned: addresses are not judged here."""

    address: str
    title: str
    snippet: str
    published: str = ""
    recency: Recency = ""


@attrs.frozen(kw_only=True)
class SearchOutcome:
    """What one search came to."""

    query: str
    time_range: TimeRange | None
    results: tuple[Found, ...] = ()
    unanswered: tuple[tuple[str, str], ...] = ()
    """Engines that did not answer, with SearXNG's own word for why."""
    health: Health = "healthy"
    trouble: str = ""
    """Why the service itself failed; fit for the model and the reader."""
    widened: bool = False
    """The range gave nothing, and the search was made again without it."""


@attrs.define
class Search:
    """The machine of one search. Its `result` is a `SearchOutcome`, never an exception."""

    id: str
    query: str
    time_range: TimeRange | None
    web: Web
    limits: Limits
    today: dt.date
    deadline: float
    """The answer's own end; the search ends earlier by its own limit."""
    result: SearchOutcome | None = None
    _current: str = ""
    _until: float = 0.0
    _again: bool = False
    _status: int = 0
    _json: bool = False
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0
    _unanswered: tuple[tuple[str, str], ...] = ()

    def start(self, now: float) -> list[Command]:
        """Ask."""
        return self._ask(now, self.time_range)

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take what the service answers; what comes after the deadline counts as if it had not come."""
        if now >= self._until and not isinstance(event, Failed):
            self._fail(_FAILURES["timeout"])
            return [] if isinstance(event, ResponseEnded) else [Cancel(event.id)]
        match event:
            case ResponseStarted():
                self._status = event.status
                self._json = any(
                    name.lower() == "content-type" and "json" in value.lower() for name, value in event.headers
                )
                return []
            case BodyReceived():
                self._size += len(event.data)
                if self._size > self.limits.search_bytes:
                    self._fail(f"the search service sent more than {self.limits.search_bytes} bytes")
                    return [Cancel(event.id)]
                self._body.append(event.data)
                return []
            case ResponseEnded():
                return self._read(now)
            case Failed():
                self._fail(_FAILURES.get(event.kind, "the search service could not be reached"))
                return []
            case _:
                raise LocalProtocolError(f"a search is answered by a response, not by {type(event).__name__}")

    def _ask(self, now: float, time_range: TimeRange | None) -> list[Command]:
        self._current = f"{self.id}.again" if self._again else self.id
        self._body.clear()
        self._size = 0
        self._until = min(now + self.limits.search_seconds, self.deadline)
        return [
            CallSearch(
                id=self._current,
                deadline=self._until,
                request=search_request(self.query, time_range, self.web),
            )
        ]

    def _read(self, now: float) -> list[Command]:
        body = b"".join(self._body)
        trouble = service_trouble(self._status, self._json, body)
        value: Any = None
        if not trouble:
            try:
                value = json.loads(body.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                trouble = "the search service's answer is not readable JSON"
            else:
                if not isinstance(value, dict) or not isinstance(value.get("results"), list):
                    trouble = "the search service's answer is JSON, but no search result"
        if trouble:
            self._fail(trouble)
            return []
        unanswered = read_unanswered(value.get("unresponsive_engines"))
        asked_range = None if self._again else self.time_range
        results = read_results(value["results"], self.limits.results_a_search, self.time_range, self.today)
        if not results and asked_range is not None:
            # With a range SearXNG drops every engine without support for it, and does not name them.
            self._again = True
            self._unanswered = unanswered
            return self._ask(now, None)
        unanswered = tuple(dict.fromkeys((*self._unanswered, *unanswered)))
        health: Health = "healthy"
        if unanswered:
            health = "degraded" if results else "unavailable"
        self.result = SearchOutcome(
            query=self.query,
            time_range=self.time_range,
            results=results,
            unanswered=unanswered,
            health=health,
            widened=self._again,
        )
        return []

    def _fail(self, trouble: str) -> None:
        self.result = SearchOutcome(
            query=self.query,
            time_range=self.time_range,
            unanswered=self._unanswered,
            health="unavailable",
            trouble=trouble,
            widened=self._again,
        )


_FAILURES = {
    "timeout": "the search service did not answer in time",
    "idle": "the search service did not answer in time",
    "reset": "the search service's answer broke off",
    "protocol": "what answered is not a search service",
    "tls": "the search service's certificate could not be verified",
}


def search_request(query: str, time_range: TimeRange | None, web: Web) -> HttpRequest:
    """Return the request for one search. Only the query and the operator's settings go out."""
    fields = [("q", query), ("format", "json"), ("language", web.language), ("safesearch", str(web.safesearch))]
    if web.categories:
        fields.append(("categories", ",".join(web.categories)))
    if time_range is not None:
        fields.append(("time_range", time_range))
    target = "/search?" + "&".join(f"{name}={quote(value, safe='', errors='replace')}" for name, value in fields)
    headers = (
        # The limiter answers 429 to a client that does not take HTML.
        ("Accept", "application/json, text/html;q=0.9"),
        # The words for why an engine did not answer are translated to this language.
        ("Accept-Language", "en"),
        ("Accept-Encoding", "identity"),
        ("User-Agent", USER_AGENT),
    )
    return HttpRequest("GET", target, headers)


def service_trouble(status: int, is_json: bool, body: bytes) -> str:
    """Return what is wrong with an answer before it is read, in words that say what to do; or nothing."""
    if status == 200:
        if not is_json and body.lstrip()[:1] != b"{":
            return "the search service answered with HTML instead of JSON (enable json under search.formats)"
        return ""
    if status == 403:
        return "the search service refuses JSON (enable json under search.formats in its settings)"
    if status == 429:
        return "the search service's limiter says too many requests (pass-list this host in its limiter settings)"
    if 300 <= status < 400:
        return "the search service redirects elsewhere, which is not followed"
    message = ""
    try:
        value = json.loads(body.decode("utf-8", "replace"))
        if isinstance(value, dict) and isinstance(value.get("error"), str):
            message = f": {plain(value['error'], TITLE_CHARS)}"
    except (ValueError, RecursionError):
        message = ""
    return f"the search service answered {status}{message}"


def read_results(values: Sequence[Any], most: int, time_range: TimeRange | None, today: dt.date) -> tuple[Found, ...]:
    """Return the first `most` results that have an address, each address once.

    SearXNG gives an address twice when two engines found it in different categories, and often only one has a date.
    """
    dates: dict[str, dt.date | None] = {}
    firsts: dict[str, Mapping[str, Any]] = {}
    for value in values:
        address = value.get("url") if isinstance(value, dict) else None
        if isinstance(address, str) and (address := address.strip()):
            firsts.setdefault(address, value)
            dates[address] = dates.get(address) or read_date(value.get("publishedDate"))
    return tuple(
        Found(
            address=address,
            title=plain(first.get("title"), TITLE_CHARS),
            snippet=plain(first.get("content"), SNIPPET_CHARS),
            published=date.isoformat() if (date := dates[address]) else "",
            recency=recency(date, time_range, today),
        )
        for address, first in list(firsts.items())[:most]
    )


def read_unanswered(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the engines that did not answer, with the service's word for why."""
    if not isinstance(value, list):
        return ()
    named = []
    for item in value[:ENGINES_NAMED]:
        if isinstance(item, list) and item and isinstance(item[0], str):
            why = item[1] if len(item) > 1 and isinstance(item[1], str) else "no answer"
            named.append((plain(item[0], 40), plain(why, 80)))
        elif isinstance(item, str):
            named.append((plain(item, 40), "no answer"))
    return tuple(named)


def read_date(value: Any) -> dt.date | None:
    """Return the day of a `publishedDate` (ISO 8601, with or without time and zone); None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return dt.date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None


def recency(published: dt.date | None, time_range: TimeRange | None, today: dt.date) -> Recency:
    """Return how a date stands to the range asked for. Nothing undated is called recent."""
    if time_range is None:
        return ""
    if published is None:
        return "undated"
    return "in range" if (today - published).days <= RANGE_DAYS[time_range] else "out of range"


_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>")


def plain(value: Any, most: int) -> str:
    """Return a short text of a result without markup, on one line, at most `most` characters."""
    if not isinstance(value, str):
        return ""
    # Bounded first: the text is a stranger's, and the tag pattern runs over it.
    text = " ".join(html.unescape(_TAG.sub("", value[: most * 8])).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
