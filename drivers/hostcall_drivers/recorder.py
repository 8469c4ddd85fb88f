"""Writes the recording of a run to a file that only its owner can read."""

import os
from pathlib import Path
from typing import TextIO

from hostcall.commands import Finish
from hostcall.errors import SettingsError
from hostcall.events import Event
from hostcall.record.recording import Recipe, Started, event_line, finish_line, header


class FileRecorder:
    """A recording in the making.

    Args:
        path: Where it is written, with the mode 0600: it holds the conversation and page text.
        recipe: What the answer is made from.

    Raises:
        SettingsError: The file cannot be written.
    """

    def __init__(self, path: Path, recipe: Recipe) -> None:
        self._recipe = recipe
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.fchmod(handle, 0o600)
        except OSError as error:
            raise SettingsError(f"the recording {str(path)!r} cannot be written: {error.strerror}") from error
        self._file: TextIO = os.fdopen(handle, "w", encoding="utf-8")

    def started(self, started: Started) -> None:
        """Write the first line."""
        self._write(header(self._recipe, started))

    def event(self, now: float, event: Event) -> None:
        """Write the line of an event."""
        self._write(event_line(now, event))

    def finished(self, finish: Finish) -> None:
        """Write the last line."""
        self._write(finish_line(finish))
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()
