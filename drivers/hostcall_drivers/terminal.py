"""An answer on the terminal: a live line while something is waited for, then text as it comes, then the sources."""

import re
from types import TracebackType

from rich.console import Console
from rich.status import Status

from hostcall.commands import Notice, ShowPage, ShowProgress, ShowReasoning, ShowRefusal, ShowSearch, ShowText
from hostcall.data import Result

_SEQUENCES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-_])")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return a text without what would steer a terminal. A page or a model may write escape sequences."""
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", _SEQUENCES.sub("", text)))


class Screen:
    """One answer on the screen. Progress goes to the error stream, and only where that is a terminal."""

    def __init__(self) -> None:
        self._out = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._progress = Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._status: Status | None = None
        self._midline = False

    def __enter__(self) -> "Screen":
        self._status = self._progress.status("thinking …") if self._progress.is_terminal else None
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._quiet()

    def show(self, notice: Notice) -> None:
        """Show a notice."""
        match notice:
            case ShowText():
                self._quiet()
                self._out.print(clean(notice.text), end="")
                self._midline = not notice.text.endswith("\n")
            case ShowSearch():
                found = f"{len(notice.results)} results" if notice.health != "unavailable" else "not available"
                within = f", {notice.time_range}" if notice.time_range else ""
                self._line(f"searched: {notice.query} ({found}{within})")
            case ShowPage():
                self._line(f"read: {notice.title or notice.address} {notice.address}")
            case ShowRefusal():
                self._line(f"refused: {notice.tool}: {notice.reason}")
            case ShowProgress(kind="failed"):
                self._line(f"not read: {notice.text}")
            case ShowProgress():
                self._say(f"{notice.kind}: {notice.text}")
            case ShowReasoning():
                self._say("thinking …")

    def end(self, result: Result) -> None:
        """Show what stands under an answer: sources, then marks."""
        self._quiet()
        self._new_line()
        cited = {citation.number for citation in result.citations}
        sources = [source for source in result.ledger if source.number in cited] or list(result.ledger)
        if sources:
            self._out.print("\nSources")
            for source in sources:
                read = "read" if source.grade == "read" else "snippet"
                self._out.print(clean(f"[{source.number}] {source.title} {source.address} ({read})"))
        for mark in result.marks:
            self._out.print(clean(f"note: {mark}"))

    def _line(self, text: str) -> None:
        self._new_line()
        self._out.print(clean(text))

    def _new_line(self) -> None:
        if self._midline:
            self._out.print()
            self._midline = False

    def _say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(clean(text)[:100])

    def _quiet(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
