"""The options of every command that talks to engines, and what becomes of them."""

import math
import os
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from hostcall.engine.capabilities import Row
from hostcall.errors import SettingsError
from hostcall_drivers.engines import Engines, known_rows, load_rows, read_keys, split_name
from hostcall_drivers.services import service_tls_context

Command = TypeVar("Command", bound=Callable[..., Any])

_ENGINE = click.option(
    "--engine",
    "addresses",
    metavar="[NAME=]URL",
    multiple=True,
    required=True,
    help="An engine, like http://127.0.0.1:8080 or unix:/run/engine.sock; several with a name each.",
)
_OPTIONS = (
    click.option("--model", metavar="[NAME/]MODEL", help="The model; before the slash the name of its engine."),
    click.option(
        "--engine-key",
        "--key",
        "keys",
        metavar="[NAME=]KEY",
        multiple=True,
        help="An engine's key; better in the environment: HOSTCALL_ENGINE_KEY, or HOSTCALL_ENGINE_KEY_NAME.",
    ),
    click.option(
        "--row",
        "rows",
        metavar="[NAME=]ROW",
        multiple=True,
        help="What is known of an engine: a row that ships (llama-server, vllm, lm-studio, ollama, ollama-v1, "
        "strict-host, stripping-proxy, openai) or a file of `doctor`. Else what `doctor` saved, or what it says it is.",
    ),
    click.option(
        "--ca",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Certificates in PEM form of authorities to trust for engines and search, beside the system's.",
    ),
)


def engine_options(command: Command) -> Command:
    """Give a command the options of engines: it gets `addresses`, `model`, `keys`, `rows` and `ca`."""
    return _ENGINE(known_engine_options(command))


def known_engine_options(command: Command) -> Command:
    """Give a command the options of engines whose addresses it knows already."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_engines(
    addresses: Sequence[str], keys: Sequence[str], rows: Sequence[str], ca: Path | None
) -> tuple[Engines, ssl.SSLContext | None]:
    """Return the engines that the options describe, and the TLS settings of the operator's services.

    Raises:
        SettingsError: An option has no meaning; the message says which and what it may be.
    """
    names = [split_name(address)[0] for address in addresses]
    read = dict(read_row(text, names) for text in rows)
    engines = Engines.read(addresses, keys=read_keys(keys, addresses, os.environ), rows=read)
    return engines, (service_tls_context(ca) if ca is not None else None)


def read_row(text: str, names: Sequence[str]) -> tuple[str, Row]:
    """Return the engine and the row that ``[NAME=]ROW`` means.

    Raises:
        SettingsError: There is no such row and no such file.
    """
    name, said = split_name(text)
    if name not in names:
        name, said = "", text
    known = known_rows()
    if said in known:
        return name, known[said]
    path = Path(said)
    if not path.exists():
        raise SettingsError(f"there is no row {said!r} and no such file; the rows are {', '.join(known)}")
    rows = list(load_rows(path).values())
    if len(rows) != 1:
        raise SettingsError(f"the file {said!r} holds {len(rows)} rows; it must hold one")
    return name, rows[0]


def finite(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    """Refuse what is a float and no number of seconds."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds")
    return value
