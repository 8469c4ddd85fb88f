"""What the calls of an answer share, and what one call is."""

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from hostcall.answer.budget import Budget
from hostcall.answer.ledger import Ledger
from hostcall.answer.receipts import Chain
from hostcall.answer.tools import FETCH, SEARCH, Tool
from hostcall.answer.work import Work
from hostcall.data import AskedBy, JsonObject, Source
from hostcall.engine.history import text_of
from hostcall.limits import Limits
from hostcall.machine import Slots
from hostcall.web.networks import Networks
from hostcall.web.report import ReadPage
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web

RAN = frozenset({"ran", "failed", "stopped"})
"""Outcomes of a call that was really carried out, to its end or not."""


@attrs.define(kw_only=True)
class Call:
    """One call, from asked to settled."""

    key: str
    """Its structural id: ``r2.c1``."""
    id: str
    """Its id in the history."""
    name: str
    arguments: JsonObject | None
    raw: str
    asked_by: AskedBy = "model"
    problem: str = ""
    started: float = 0.0
    work: Work | None = None
    outcome: str = ""
    """What its receipt says; empty while it runs."""
    text: str = ""
    """The reply, without the budget line."""
    first: "Call | None" = None
    """The call whose result answers this one."""
    settled: bool = False
    asks: str = ""
    """What it asks, spelling aside: under this its tries are counted."""
    searches: int = 0
    pages: int = 0

    def entry(self) -> tuple[str, str, str]:
        """Return the call as the history holds it: what is no object is told as one member, `_unparsed`."""
        if self.arguments is None:
            return self.id, self.name, json.dumps({"_unparsed": self.raw}, ensure_ascii=False)
        return self.id, self.name, self.raw if self.raw.strip() else "{}"


@attrs.define(kw_only=True)
class Past:
    """The calls of the answer so far, by what they ask."""

    exact: dict[str, Call] = attrs.Factory(dict)
    near: dict[str, Call] = attrs.Factory(dict)
    tries: dict[str, int] = attrs.Factory(dict)
    count: int = 0
    """Calls asked in this answer."""
    cuts: int = 0
    """How often the model was told of a cut call."""


@attrs.define(kw_only=True)
class World:
    """What all calls of an answer share."""

    limits: Limits
    web: Web | None
    research: bool
    tools: dict[str, Tool]
    ledger: Ledger
    budget: Budget
    seen: SeenHosts
    networks: Networks
    slots: Slots
    today: dt.date
    chain: Chain
    deadline: Callable[[], float]
    past: Past = attrs.Factory(Past)
    silent: frozenset[str] = frozenset()
    """Search engines that did not answer in the last search."""
    pages: dict[int, ReadPage] = attrs.Factory(dict)
    """The pages that were read, by number, with their whole text."""

    @property
    def names(self) -> list[str]:
        """The names of all tools offered."""
        return [*([SEARCH, FETCH] if self.web is not None else []), *self.tools]


def as_arguments(values: JsonObject) -> str:
    """Return arguments as the JSON text that the history holds."""
    return json.dumps(values, ensure_ascii=False)


def seen_by(
    conversation: Iterable[Mapping[str, Any]], earlier: Iterable[Source], web: Web, limits: Limits
) -> SeenHosts:
    """Return what counts as seen when an answer begins.

    Security:
        Rule 1, only addresses the answer has already seen: in the user's own text, or as a source of an earlier answer.
        Threat: a host that only the model, or a tool, ever named.
    """
    seen = SeenHosts(limits, web.provenance)
    for message in conversation:
        if message["role"] == "user":
            seen.add_user_text(text_of(message["content"]))
    for source in earlier:
        seen.add_result(source.address)
    return seen
