"""The operator's engines: where each is, what is known of it, and what its answers taught.

::

    engines = Engines.read(["home=http://127.0.0.1:8080", "big=https://gpu.example.org"], keys={"big": key})
    driver = TrioDriver(engines, "http://127.0.0.1:8888")
    answer = Answer(conversation, engine=engines.settings("big/qwen3-32b"))

One `Engines` may serve several drivers and threads. What an answer learns of engine and model (a value of `tool_choice`
that is refused, tools that a model does not know) is kept here, and the next answer begins with it.
"""

import re
import ssl
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import attrs

from hostcall.data import Capabilities
from hostcall.engine.capabilities import Row, read_rows
from hostcall.engine.settings import Engine
from hostcall.errors import SettingsError
from hostcall_drivers.services import Service

Kind = TypeVar("Kind")

MODELS_KEPT = 512
"""Models of which something learned is kept; a service's clients may name any number."""

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(.*)", re.DOTALL)


@cache
def known_rows() -> Mapping[str, Row]:
    """Return the rows that ship with the package, by name."""
    file = resources.files("hostcall.engine").joinpath("rows.toml")
    return read_rows(file.read_text(encoding="utf-8"), where="rows.toml")


@attrs.frozen(kw_only=True)
class EngineAt:
    """One engine: its name among the operator's, where it is, and the row of what is known of it."""

    service: Service
    name: str = ""
    row: Row = attrs.field(factory=lambda: known_rows()["openai"])


class Engines:
    """The operator's engines, the first of them the one that is used when none is named.

    Args:
        engines: Each with a name of its own; a single one needs none.

    Raises:
        SettingsError: There is none, or two have the same name.
    """

    def __init__(self, engines: Iterable[EngineAt]) -> None:
        given = list(engines)
        self._engines = {engine.name: engine for engine in given}
        if not given:
            raise SettingsError("there is no engine; give one like http://127.0.0.1:8080")
        if len(self._engines) != len(given):
            twice = next(name for name in self._engines if sum(engine.name == name for engine in given) > 1)
            said = f"the name {twice!r}" if twice else "no name"
            raise SettingsError(f"two engines have {said}; write them as NAME=URL, each with a name of its own")
        self._learned: OrderedDict[tuple[str, str | None], Capabilities] = OrderedDict()

    @classmethod
    def read(
        cls,
        addresses: Sequence[str],
        *,
        keys: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        rows: Mapping[str, Row] | None = None,
    ) -> "Engines":
        """Return the engines at ``[NAME=]URL`` each.

        Args:
            addresses: What the operator wrote.
            keys: Name to bearer token; the name of an engine without one is empty.
            tls: For https, an authority of the operator's own.
            rows: Name to what is known; for the others nothing is.

        Raises:
            SettingsError: An address is none, a key or a row belongs to no engine, or a key has several to choose from.
        """
        given = [split_name(address) for address in addresses]
        names = [name for name, _ in given]
        keys = _of_engines("key", keys or {}, names)
        rows = _of_engines("row", rows or {}, names)
        known = known_rows()["openai"]
        return cls(
            EngineAt(
                name=name,
                service=Service.at(url, name="engine", key=keys.get(name), tls=tls),
                row=rows.get(name, known),
            )
            for name, url in given
        )

    def __iter__(self) -> Iterator[EngineAt]:
        return iter(tuple(self._engines.values()))

    @property
    def first(self) -> EngineAt:
        """The one that is used when none is named."""
        return next(iter(self._engines.values()))

    @property
    def several(self) -> bool:
        """Whether there are more than one."""
        return len(self._engines) > 1

    def named(self, name: str) -> EngineAt:
        """Return the engine of this name; the empty name means the first.

        Raises:
            SettingsError: There is none.
        """
        found = self._engines.get(name) or (None if name else self.first)
        if found is None:
            names = ", ".join(map(repr, self._engines)) if self.several else repr(self.first.name)
            raise SettingsError(f"there is no engine named {name!r}; there is {names}")
        return found

    def pick(self, model: str | None) -> tuple[EngineAt, str | None]:
        """Return the engine and the model that ``NAME/model``, ``NAME/`` or ``model`` means.

        A model's own name may hold slashes: only the name of an engine before the first one counts as such.
        """
        name, slash, rest = (model or "").partition("/")
        if slash and name and name in self._engines:
            return self._engines[name], rest or None
        return self.first, model or None

    def settings(self, model: str | None = None, *, extra_body: Mapping[str, Any] | None = None) -> Engine:
        """Return the settings of an answer: wire and model, and all that is known of them by now."""
        at, name = self.pick(model)
        known = self._learned.get((at.name, name), at.row.capabilities)
        return Engine(name=at.name, wire=at.row.wire, model=name, capabilities=known, extra_body=extra_body or {})

    def learn(self, engine: Engine, capabilities: Capabilities) -> None:
        """Keep what an answer learned. A driver does so at each answer's end."""
        key = (engine.name, engine.model)
        if capabilities != engine.capabilities or key in self._learned:
            self._learned[key] = capabilities
            self._learned.move_to_end(key)
            while len(self._learned) > MODELS_KEPT:
                self._learned.popitem(last=False)

    def know(self, name: str, row: Row) -> None:
        """Put a row in the place of what was known of an engine."""
        self._engines[name] = attrs.evolve(self.named(name), row=row)


def _of_engines(what: str, given: Mapping[str, Kind], names: Sequence[str]) -> dict[str, Kind]:
    """Return what is given for engines by their names.

    Raises:
        SettingsError: Something is given for an engine that there is not.
    """
    members = dict(given)
    stray = [name for name in members if name not in names]
    if stray == [""] and len(names) == 1:
        # A single engine is meant, whatever its name.
        members[names[0]] = members.pop("")
    elif stray:
        said = f"for {stray[0]!r}, which is no engine" if stray[0] else "and there are several engines"
        raise SettingsError(f"a {what} is given {said}; write it as NAME=…, with one of {', '.join(names)}")
    return members


def split_name(text: str) -> tuple[str, str]:
    """Return the name and the rest of ``[NAME=]REST``."""
    found = _NAMED.fullmatch(text.strip())
    return (found[1], found[2]) if found is not None else ("", text)


def read_keys(given: Iterable[str], addresses: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the key of each engine, from ``[NAME=]KEY`` each and from the environment.

    A key may hold ``=`` itself: what stands before it is a name only where an engine has it.
    """
    names = [split_name(address)[0] for address in addresses]
    keys = {}
    for name in names:
        variable = key_variable(name)
        if environment.get(variable):
            keys[name] = environment[variable]
    if len(names) == 1 and names[0] not in keys and environment.get(key_variable("")):
        keys[names[0]] = environment[key_variable("")]
    for text in given:
        name, rest = split_name(text)
        if name in names and name:
            keys[name] = rest
        else:
            keys["" if len(names) > 1 else names[0]] = text
    return keys


def key_variable(name: str) -> str:
    """Return the environment variable that holds the key of an engine."""
    return "_".join(("HOSTCALL_ENGINE_KEY", *([re.sub(r"[^A-Z0-9]", "_", name.upper())] if name else ())))


def load_rows(path: Path) -> Mapping[str, Row]:
    """Return the rows of a file.

    Raises:
        SettingsError: It cannot be read, or holds no rows.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise SettingsError(f"the rows {str(path)!r} cannot be read: {why}") from error
    return read_rows(text, where=str(path))
