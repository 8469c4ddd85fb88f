"""What engines can do, as rows of data: read from TOML text, written as TOML text.

The rows that ship with the package stand in ``rows.toml`` beside this file, each with where it is known from. Reading
files is a driver's work: ``hostcall_drivers.engines.known_rows()`` hands the text to `read_rows`.

::

    [lm-studio]
    title = "LM Studio"
    source = "its documentation of 2026-04"
    owned_by = ["organization_owner"]
    dialects = ["auto", "bare-json"]
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from hostcall.data import Capabilities
from hostcall.errors import SettingsError

MEMBERS = tuple(field.name for field in attrs.fields(Capabilities))
CHOICES: dict[str, tuple[str, ...]] = {
    "wire": ("openai", "ollama"),
    "answer_round": ("no_tools", "same_tools"),
    "echo_reasoning": ("never", "tool_rounds", "always"),
}
"""Members that are one of a few words."""

LISTED: dict[str, tuple[str, ...]] = {"tool_choice": ("none", "auto", "required")}
"""Members that list some of a few words."""


@attrs.frozen(kw_only=True)
class Row:
    """What is known of one engine, or of one model on it."""

    name: str
    title: str = ""
    source: str = ""
    """Where it is known from."""
    wire: Literal["openai", "ollama"] = "openai"
    owned_by: tuple[str, ...] = ()
    """What the engine's ``/v1/models`` says of who owns its models; how the row is recognised."""
    address: str = ""
    """The engine that the row was filled by, and `model` the model on it; empty in the rows that ship."""
    model: str = ""
    capabilities: Capabilities = Capabilities()


OWN = tuple(field.name for field in attrs.fields(Row) if field.name not in ("name", "capabilities"))
"""The members of a row beside its capabilities."""


def read_rows(text: str, *, where: str = "the rows") -> dict[str, Row]:
    """Return the rows of a TOML text, by name.

    Args:
        text: One table a row.
        where: What the text is, for the error.

    Raises:
        SettingsError: It is no TOML, or a member of a row is unknown or has no meaning; the message names it.
    """
    import tomllib

    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{where}: no TOML: {error}") from error
    rows = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{where}: {name} is no table; a row begins with a line like [llama-server]")
        rows[name] = _row(name, table, where)
    return rows


def write_row(row: Row) -> str:
    """Return a row as TOML, with every member."""
    lines = [f"[{_text(row.name)}]"]
    lines += [f"{member} = {_value(getattr(row, member))}" for member in OWN]
    lines += [f"{member} = {_value(getattr(row.capabilities, member))}" for member in MEMBERS]
    return "\n".join(lines) + "\n"


def recognised(rows: Mapping[str, Row], owners: tuple[str, ...]) -> Row | None:
    """Return the row of an engine by what its ``/v1/models`` says of who owns the models."""
    return next((row for row in rows.values() if any(owner in row.owned_by for owner in owners)), None)


def _row(name: str, table: Mapping[str, Any], where: str) -> Row:
    own: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for member, value in table.items():
        if member in OWN:
            own[member] = _checked(getattr(_PLAIN, member), member, value, f"{where}: {name}.{member}")
        elif member in MEMBERS:
            known[member] = _checked(getattr(_PLAIN.capabilities, member), member, value, f"{where}: {name}.{member}")
        else:
            raise SettingsError(
                f"{where}: {name} has an unknown member {member!r}; known are {', '.join(OWN + MEMBERS)}"
            )
    return Row(name=name, capabilities=Capabilities(**known), **own)


_PLAIN = Row(name="")


def _checked(like: Any, member: str, value: Any, what: str) -> Any:
    """Return a value of the same kind as `like`."""
    choices = CHOICES.get(member)
    if choices is not None and value not in choices:
        raise SettingsError(f"{what} is {value!r}; it may be {' or '.join(choices)}")
    if isinstance(like, tuple):
        listed = LISTED.get(member)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SettingsError(f"{what} is no list of texts")
        wrong = [item for item in value if listed is not None and item not in listed]
        if wrong:
            raise SettingsError(f"{what} holds {wrong[0]!r}; it may hold {', '.join(listed or ())}")
        return tuple(value)
    if type(value) is not type(like):
        raise SettingsError(f"{what} is no {'text' if isinstance(like, str) else 'true or false'}")
    return value


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return ("true" if value else "false") if isinstance(value, bool) else _text(value)


def _text(value: str) -> str:
    """Return a text in quotes. JSON's escapes are TOML's, but for DEL; and TOML knows no lone surrogates."""
    plain = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
