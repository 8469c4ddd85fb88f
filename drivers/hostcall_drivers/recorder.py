"""Writes the recording of a run to a file that only its owner can read."""

import contextlib
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
        recipe: What the answer is made from; it may be set anew until the answer starts.

    Raises:
        SettingsError: The file cannot be written.
    """

    def __init__(self, path: Path, recipe: Recipe) -> None:
        self.recipe = recipe
        self._path = path
        self._used = False
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.fchmod(handle, 0o600)
        except OSError as error:
            raise SettingsError(f"the recording {str(path)!r} cannot be written: {error.strerror}") from error
        self._file: TextIO = os.fdopen(handle, "w", encoding="utf-8")

    def started(self, started: Started) -> None:
        """Write the first line.

        Raises:
            SettingsError: An answer was recorded here before: a recording is one answer's.
        """
        if self._used:
            raise SettingsError("a recording is one answer's: make another FileRecorder")
        self._used = True
        self._write(header(self.recipe, started))

    def event(self, now: float, event: Event) -> None:
        """Write the line of an event."""
        self._write(event_line(now, event))

    def finished(self, finish: Finish) -> None:
        """Write the last line."""
        self._write(finish_line(finish))
        self.close()

    def close(self) -> None:
        """Close the file; what could not be written then was told before."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _write(self, line: str) -> None:
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            self.close()
            raise SettingsError(f"the recording {str(self._path)!r} cannot be written: {error.strerror}") from error
