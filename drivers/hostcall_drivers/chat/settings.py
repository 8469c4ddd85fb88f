"""The settings of the service: from flags, else the environment, else one TOML file, else the default.

Each has one name: ``answer_seconds`` is ``--answer-seconds``, ``HOSTCALL_ANSWER_SECONDS`` and ``answer_seconds = …``.
What is wrong with a value is said with the name under which it was given.
"""

import difflib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from hostcall.engine.capabilities import Row
from hostcall.errors import SettingsError
from hostcall.limits import Limits
from hostcall.web.networks import Networks
from hostcall.web.settings import Web
from hostcall_drivers.chat.access import Keys, only_this_machine
from hostcall_drivers.chat.allowed import Allowed, Bounds
from hostcall_drivers.engines import Engines, known_rows, load_rows, read_keys, split_name
from hostcall_drivers.saved import folder
from hostcall_drivers.services import Service


@attrs.frozen(kw_only=True)
class Settings:
    """All settings, checked."""

    host: str
    port: int
    engines: Engines
    search: str | None
    ca: Path | None
    """Certificates of authorities to trust for engines and search, beside the system's."""
    rows: Path | None
    """Where rows of engines are looked for; None where the operator chose them."""
    keys: Mapping[str, str] = attrs.field(repr=False)
    log: str
    grace_seconds: float
    allowed: Allowed
    bounds: Bounds
    limits: Limits
    web: Web


Reader = Callable[[Any, str], Any]


@attrs.frozen(kw_only=True)
class Setting:
    """One setting of one value."""

    name: str
    read: Reader
    default: Any
    help: str
    many: bool = False
    """Whether it is a list; its flag may repeat, and a variable holds it with commas."""

    @property
    def flag(self) -> str:
        """Its flag."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"HOSTCALL_{self.name.upper()}"


def whole(low: int, high: int) -> Reader:
    """Return what reads a whole number."""

    def read(value: Any, where: str) -> int:
        text = str(value).strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
        if isinstance(value, bool) or number is None or not low <= number <= high:
            raise SettingsError(f"{where} must be a whole number from {low} to {high}, not {str(value)[:80]!r}")
        return number

    return read


def seconds(low: float, high: float) -> Reader:
    """Return what reads a number of seconds."""

    def read(value: Any, where: str) -> float:
        number = float("nan")
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = float("nan")
        if not low <= number <= high:
            raise SettingsError(
                f"{where} must be a number of seconds from {low:g} to {high:g}, not {str(value)[:80]!r}"
            )
        return number

    return read


def text(value: Any, where: str) -> str:
    """Read a text."""
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{where} must be a text that is not empty, not {str(value)[:80]!r}")
    return value.strip()


def one_of(*words: str) -> Reader:
    """Return what reads one of some words."""

    def read(value: Any, where: str) -> str:
        if value not in words:
            raise SettingsError(f"{where} must be one of {', '.join(words)}, not {str(value)[:80]!r}")
        return str(value)

    return read


def texts(value: Any, where: str) -> tuple[str, ...]:
    """Read a list of texts; one text may hold several, with commas."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{where} must be a list of texts, not {str(value)[:80]!r}")
    return tuple(text(item, where) for item in value)


_ALLOWED, _BOUNDS, _LIMITS = Allowed(), Bounds(), Limits()

SETTINGS = (
    Setting(name="host", read=text, default="127.0.0.1", help="The address to listen on."),
    Setting(name="port", read=whole(0, 65_535), default=8_300, help="The port; 0 takes a free one."),
    Setting(name="search", read=text, default=None, help="SearXNG, like http://127.0.0.1:8888."),
    Setting(name="ca", read=text, default=None,
            help="A file of authorities to trust for engines and search, beside the system's."),
    Setting(name="log", read=one_of("stderr", "systemd", "none"), default="stderr",
            help="Where a line for each answer and each page request goes: stderr, systemd or none."),
    Setting(name="answers", read=whole(1, 100_000), default=_ALLOWED.answers, help="Answers at once, in all."),
    Setting(name="answers_a_key", read=whole(1, 100_000), default=_ALLOWED.answers_a_key,
            help="Answers at once with one key."),
    Setting(name="answers_a_minute", read=whole(1, 1_000_000), default=_ALLOWED.answers_a_minute,
            help="Answers that may start a minute with one key."),
    Setting(name="answer_seconds", read=seconds(1, 86_400), default=_LIMITS.answer_seconds,
            help="The longest that an answer may take."),
    Setting(name="body_bytes", read=whole(1_000, 1_000_000_000), default=_ALLOWED.body_bytes,
            help="The largest request."),
    Setting(name="body_seconds", read=seconds(0.1, 3_600), default=_ALLOWED.body_seconds,
            help="The longest that a request may take to come."),
    Setting(name="messages", read=whole(1, 1_000_000), default=_ALLOWED.messages,
            help="The most messages of a request."),
    Setting(name="heartbeat_seconds", read=seconds(0.05, 3_600), default=_ALLOWED.heartbeat_seconds,
            help="The longest silence of a stream; then a comment is sent."),
    Setting(name="connections", read=whole(1, 1_000_000), default=_BOUNDS.connections, help="Connections at once."),
    Setting(name="send_seconds", read=seconds(0.1, 3_600), default=_BOUNDS.send_seconds,
            help="A client that takes a piece of its answer no faster is let go."),
    Setting(name="grace_seconds", read=seconds(0, 3_600), default=20.0,
            help="What running answers get when the service is told to end."),
    Setting(name="contact", read=text, default=None, help="Named to the sites that are read: an address to write to."),
    Setting(name="language", read=text, default="auto", help="SearXNG's language."),
    Setting(name="safesearch", read=whole(0, 2), default=0, help="SearXNG's safesearch."),
    Setting(name="allow_host", read=texts, default=(), many=True, help="If given, only these hosts are read."),
    Setting(name="deny_host", read=texts, default=(), many=True, help="Hosts that are never read."),
    Setting(name="allow_network", read=texts, default=(), many=True,
            help="A network that is opened although the table refuses it."),
    Setting(name="deny_network", read=texts, default=(), many=True, help="A network that is refused beside the table."),
)  # fmt: skip


def read_settings(flags: Mapping[str, Any], environ: Mapping[str, str], file: Path | None) -> Settings:
    """Return the settings.

    Args:
        flags: What was given on the command line: texts, and None or an empty tuple for what was not.
        environ: The environment.
        file: The TOML file.

    Raises:
        SettingsError: A value is none, or a name in the file is not known.
    """
    table = _table(file) if file is not None else {}
    values = {setting.name: _value(setting, flags, environ, table, file) for setting in SETTINGS}
    keys = _keys(environ, table, file)
    if not keys and not only_this_machine(values["host"]):
        raise SettingsError(
            f"keys: there are none, and without one only a loopback address is bound, not host {values['host']}; "
            "set [keys] in the file, or HOSTCALL_KEYS=NAME=KEY"
        )
    engines, chosen = _engines(flags, environ, table, file)
    ca = Path(values["ca"]) if values["ca"] is not None else None
    if ca is not None and not ca.is_file():
        raise SettingsError(f"ca: there is no file {str(ca)!r}")
    if values["search"] is not None:
        Service.at(values["search"], name="search")
    return Settings(
        host=values["host"],
        port=values["port"],
        engines=engines,
        search=values["search"],
        ca=ca,
        rows=None if chosen else folder(environ),
        keys=keys,
        log=values["log"],
        grace_seconds=values["grace_seconds"],
        allowed=Allowed(**{field.name: values[field.name] for field in attrs.fields(Allowed)}),
        bounds=Bounds(connections=values["connections"], send_seconds=values["send_seconds"]),
        limits=Limits(answer_seconds=values["answer_seconds"]),
        web=_web(values),
    )


def _web(values: Mapping[str, Any]) -> Web:
    """Return the settings of the web tools, each tried here: the core would find a fault only with the first answer."""
    web = Web(language=values["language"], safesearch=values["safesearch"])
    for name, field in (("allow_host", "allow_hosts"), ("deny_host", "deny_hosts"),
                        ("allow_network", "allow_networks"), ("deny_network", "deny_networks"),
                        ("contact", "contact")):  # fmt: skip
        web = attrs.evolve(web, **{field: values[name]})
        try:
            Networks.of(web, ())
        except SettingsError as error:
            raise SettingsError(f"{name}: {str(error).partition(': ')[2]}") from error
    return web


def _table(file: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"the file {str(file)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8 (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not TOML: {error}") from error
    known = ["engine", "keys", *(setting.name for setting in SETTINGS)]
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise SettingsError(f"{file}: there is no setting {name!r}{f'; is it {near[0]}?' if near else ''}")
    return table


def _value(
    setting: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], table: Mapping[str, Any], file: Path | None
) -> Any:
    given = flags.get(setting.name)
    if given not in (None, ()):
        return setting.read(given, setting.flag)
    if setting.variable in environ:
        return setting.read(environ[setting.variable], setting.variable)
    if setting.name in table:
        return setting.read(table[setting.name], f"{file}: {setting.name}")
    return setting.default


def _engines(
    flags: Mapping[str, Any], environ: Mapping[str, str], table: Mapping[str, Any], file: Path | None
) -> tuple[Engines, bool]:
    """Return the engines, and whether the operator chose a row for one of them."""
    keys: dict[str, str] = {}
    rows: dict[str, str] = {}
    where = "--engine"
    addresses: tuple[str, ...] = tuple(flags.get("engine") or ())
    if not addresses and "HOSTCALL_ENGINE" in environ:
        where = "HOSTCALL_ENGINE"
        addresses = texts(environ[where], where)
    elif not addresses:
        where = f"{file}: engine"
        given = table.get("engine")
        if given is None:
            raise SettingsError(
                "engine: at least one is needed: --engine http://127.0.0.1:8080, HOSTCALL_ENGINE, or engine in the file"
            )
        if isinstance(given, dict) and given:
            addresses = tuple(_engine(name, row, f"{where}.{name}", keys, rows) for name, row in given.items())
        else:
            addresses = texts(given, where)
    chosen = tuple(flags.get("row") or ())
    if chosen:
        rows = dict(_row_of(item, addresses) for item in chosen)
    try:
        read = {name: _row(row) for name, row in rows.items()}
        return Engines.read(addresses, keys={**read_keys((), addresses, environ), **keys}, rows=read), bool(rows)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


def _engine(name: str, row: Any, where: str, keys: dict[str, str], rows: dict[str, str]) -> str:
    """Read one table ``[engine.NAME]``, and return its address as it is written elsewhere."""
    if isinstance(row, str):
        return f"{name}={text(row, where)}"
    if not isinstance(row, dict):
        raise SettingsError(f"{where} must be an address, or a table with url")
    for member in row:
        if member not in ("url", "key", "row"):
            raise SettingsError(f"{where}: there is no setting {member!r}; it may have url, key and row")
    if "key" in row:
        keys[name] = text(row["key"], f"{where}.key")
    if "row" in row:
        rows[name] = text(row["row"], f"{where}.row")
    return f"{name}={text(row.get('url'), f'{where}.url')}"


def _row_of(item: str, addresses: tuple[str, ...]) -> tuple[str, str]:
    name, said = split_name(item)
    return (name, said) if name in [split_name(address)[0] for address in addresses] else ("", item)


def _row(said: str) -> Row:
    known = known_rows()
    if said in known:
        return known[said]
    if not Path(said).exists():
        raise SettingsError(f"there is no row {said!r} and no such file; the rows are {', '.join(known)}")
    rows = list(load_rows(Path(said)).values())
    if len(rows) != 1:
        raise SettingsError(f"the file {said!r} holds {len(rows)} rows; it must hold one")
    return rows[0]


def _keys(environ: Mapping[str, str], table: Mapping[str, Any], file: Path | None) -> dict[str, str]:
    keys: dict[str, str] = {}
    if "HOSTCALL_KEYS" in environ:
        for item in texts(environ["HOSTCALL_KEYS"], "HOSTCALL_KEYS"):
            name, mark, key = item.partition("=")
            if not mark or not name.strip():
                raise SettingsError("HOSTCALL_KEYS must be like NAME=KEY, several with commas")
            if name.strip() in keys:
                raise SettingsError(f"HOSTCALL_KEYS has the name {name.strip()!r} twice")
            keys[name.strip()] = key.strip()
    else:
        rows = table.get("keys", {})
        if not isinstance(rows, dict) or not all(isinstance(key, str) for key in rows.values()):
            raise SettingsError(f'{file}: keys must be a table of NAME = "KEY"')
        keys = dict(rows)
    Keys(keys)
    return keys
