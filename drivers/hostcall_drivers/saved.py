"""Rows that `hostcall doctor` saved: a TOML file each engine and model, in the operator's own configuration.

They stand in ``$HOSTCALL_ROWS``, or else in ``hostcall/engines`` under ``$XDG_CONFIG_HOME`` or ``~/.config``.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from hostcall.engine.capabilities import Row, write_row
from hostcall.errors import SettingsError
from hostcall_drivers.engines import load_rows


def folder(environment: Mapping[str, str]) -> Path:
    """Return where rows are saved."""
    if environment.get("HOSTCALL_ROWS"):
        return Path(environment["HOSTCALL_ROWS"])
    config = environment.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(config) / "hostcall" / "engines"


def file_for(rows: Path, address: str, model: str) -> Path:
    """Return the file of an engine and a model: a name that a person can read, and a digest that tells it apart."""
    said = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{address.partition('//')[2] or address} {model}".strip())[:80].strip("_.")
    digest = hashlib.sha256(f"{address}\n{model}".encode()).hexdigest()[:8]
    return rows / f"{said}-{digest}.toml"


def saved_row(rows: Path, address: str, model: str | None) -> Row | None:
    """Return what was saved of an engine, with this model or with the one that it serves when none is named.

    Raises:
        SettingsError: The file is broken; the message names it.
    """
    for name in dict.fromkeys((model or "", "")):
        path = file_for(rows, address, name)
        if path.exists():
            found = [row for row in load_rows(path).values() if (row.address, row.model) == (address, name)]
            if found:
                return found[0]
    return None


def save(path: Path, row: Row) -> None:
    """Write a row to a file.

    Raises:
        SettingsError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_row(row), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"the row {str(path)!r} cannot be written: {error.strerror or error}") from error
