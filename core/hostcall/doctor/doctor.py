"""The doctor itself: the engine first, then the search service, and one report of both."""

import datetime as dt
from collections.abc import Mapping, Sequence

import attrs

from hostcall.commands import Command, Finish
from hostcall.data import Capabilities, Result
from hostcall.doctor.engine import EngineExam
from hostcall.doctor.finding import Finding
from hostcall.doctor.findings import findings_of, row_of
from hostcall.doctor.search import SearchExam, search_findings
from hostcall.engine.capabilities import Row
from hostcall.errors import LocalProtocolError
from hostcall.events import Event, HostCancelled
from hostcall.limits import Limits
from hostcall.machine import Live
from hostcall.web.settings import Web


@attrs.frozen(kw_only=True)
class Report:
    """What the doctor found."""

    findings: tuple[Finding, ...]
    row: Row | None
    """What the engine can do; None when it could not be asked."""
    unusable: str = ""
    """Why a service could not be examined at all."""

    @property
    def healthy(self) -> bool:
        """Whether an answer would be as good as engine and search allow."""
        return not self.unusable and not any(finding.verdict == "trouble" for finding in self.findings)


class Doctor:
    """The machine of one visit. A driver runs it as it runs an `Answer`; afterwards it has a `report`.

    Args:
        rows: The rows that ship, by which the engine is recognised.
        row: The row that the operator chose instead.
        model: The model; None: the first one that the engine lists.
        search: Whether the search service is examined too.
        web: The settings of the searches.
        limits: The bounds; `answer_seconds` is for the whole visit.
    """

    def __init__(
        self,
        rows: Mapping[str, Row],
        *,
        row: Row | None = None,
        model: str | None = None,
        search: bool = False,
        web: Web | None = None,
        limits: Limits = Limits(),
    ) -> None:
        self._rows = rows
        self._row = row
        self._model = model
        self._search = search
        self._web = web or Web()
        self._limits = limits
        self._live: Live[EngineExam | SearchExam] = Live()
        self._engine_exam: EngineExam | None = None
        self._search_exam: SearchExam | None = None
        self._deadline = 0.0
        self.answer_id = ""
        self.report: Report | None = None

    @property
    def engine(self) -> None:
        """Nothing is learned through the driver: the row is the operator's to keep."""
        return

    @property
    def tool_names(self) -> tuple[str, ...]:
        """No tool of a host is run."""
        return ()

    @property
    def web_on(self) -> bool:
        """Whether a driver needs a search service."""
        return self._search

    @property
    def finished(self) -> bool:
        """Whether `Finish` was given."""
        return self.report is not None

    def start(
        self, now: float, *, answer_id: str, today: dt.date, capacity: int, deny_networks: Sequence[str] = ()
    ) -> list[Command]:
        """Return the first commands; the arguments are those of `Answer.start`."""
        if self._engine_exam is not None:
            raise LocalProtocolError("the doctor was started before")
        self.answer_id = answer_id
        self._deadline = now + self._limits.answer_seconds
        self._engine_exam = EngineExam(
            rows=self._rows, row=self._row, model=self._model, limits=self._limits, deadline=self._deadline
        )
        return self._live.track(self._engine_exam.start(now), self._engine_exam)

    def receive(self, event: Event, now: float) -> list[Command]:
        """Take one event and return what to do next.

        Raises:
            LocalProtocolError: The event does not fit.
        """
        if self._engine_exam is None:
            raise LocalProtocolError(f"{type(event).__name__} before start")
        if isinstance(event, HostCancelled):
            return [] if self.finished else self._end("cancelled")
        if self.finished:
            raise LocalProtocolError(f"{type(event).__name__} after Finish")
        owner = self._live.owner(event)
        if owner is None:
            return []
        commands = self._live.track(owner.receive(event, now), owner)
        if not owner.done:
            return commands
        if owner is self._engine_exam and self._search:
            self._search_exam = SearchExam(web=self._web, limits=self._limits, deadline=self._deadline)
            commands += self._live.track(self._search_exam.start(now), self._search_exam)
            return commands if not self._search_exam.done else [*commands, *self._end()]
        return [*commands, *self._end()]

    def _end(self, why: str = "") -> list[Command]:
        commands: list[Command] = list(self._live.cancel())
        engine, search = self._engine_exam, self._search_exam
        findings: tuple[Finding, ...] = ()
        row = None
        unusable = [f"the engine: {engine.unusable}"] if engine is not None and engine.unusable else []
        if engine is not None and not engine.unusable and engine.heard:
            findings, row = findings_of(engine), row_of(engine)
        if search is not None:
            findings += search_findings(search)
            unusable += [f"the search service: {search.unusable}"] if search.unusable else []
        self.report = Report(findings=findings, row=row, unusable=why or "; ".join(unusable))
        result = Result(
            text="\n".join(f"{finding.topic}: {finding.saw}" for finding in findings),
            why_stopped="cancelled" if why else "engine_failed" if unusable else "answered",
            detail=self.report.unusable,
            capabilities=row.capabilities if row is not None else Capabilities(),
        )
        return [*commands, Finish(result)]
