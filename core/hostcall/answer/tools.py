"""The tools that an answer offers: the two of the web, and those of the host.

The web tools read their arguments leniently, because small models fill them in carelessly and a search costs little:
an unknown range is none, one text does for a list. The tools of the host are strict: arguments that do not fit the
schema are never run and never repaired, and the model is told which field is wrong.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from hostcall.data import JsonObject
from hostcall.errors import SettingsError
from hostcall.limits import Limits
from hostcall.web.widen import Kind, TimeRange, read_range, strip_bangs

SEARCH = "web_search"
FETCH = "fetch_page_content_recursive"

SEARCH_DESCRIPTION = (
    "Search the web. Returns numbered results with titles, addresses, dates and snippets. Set time_range when the "
    "answer depends on what is recent."
)
FETCH_DESCRIPTION = (
    "Read a web page as plain text, following the page's own links up to two hops. Only an https address from this "
    "answer's search results, or one the user wrote, can be opened."
)


@attrs.frozen(kw_only=True)
class SearchAsk:
    """A call of the search tool, read."""

    query: str
    queries: tuple[str, ...] = ()
    time_range: TimeRange | None = None
    kind: Kind | None = None
    notes: tuple[str, ...] = ()
    """What was not taken as written; told to the model with the results."""


@attrs.frozen(kw_only=True)
class FetchAsk:
    """A call of the page tool, read."""

    url: str
    offset: int = 0
    notes: tuple[str, ...] = ()


@attrs.frozen
class Fault:
    """Arguments that cannot be used. `text` names the field."""

    text: str


def is_hollow(arguments: JsonObject | None) -> bool:
    """Whether a call asks for nothing: its texts hold no letter and no digit.

    Forced to call, the smallest models copy the dots of the form that they were shown.
    """
    texts = [value for value in (arguments or {}).values() if isinstance(value, str)]
    return bool(texts) and not any(character.isalnum() for text in texts for character in text)


def search_tool(*, research: bool, limits: Limits) -> dict[str, Any]:
    """Return the search tool in the OpenAI shape."""
    properties: dict[str, Any] = {
        "query": {"type": "string", "description": "The search query"},
        "time_range": {
            "type": "string",
            "enum": ["day", "week", "month", "year"],
            "description": "Keep results no older than this",
        },
    }
    if research:
        properties["queries"] = {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": limits.sub_questions,
            "description": f"Up to {limits.sub_questions} further sub-questions, searched in the same round",
        }
        properties["kind"] = {
            "type": "string",
            "enum": ["jobs", "people"],
            "description": "What is looked for; widens the search by the angles that find it",
        }
    return _function(SEARCH, SEARCH_DESCRIPTION, properties, ["query"])


def fetch_tool() -> dict[str, Any]:
    """Return the page tool in the OpenAI shape."""
    properties = {
        "url": {"type": "string", "description": "An https address from this answer's search results"},
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Read a long page on from this character, as an earlier result said",
        },
    }
    return _function(FETCH, FETCH_DESCRIPTION, properties, ["url"])


def offered_tools(tools: Iterable["Tool"], *, web: bool, research: bool, limits: Limits) -> list[dict[str, Any]]:
    """Return all tools of an answer in the OpenAI shape, the web's first."""
    offered = [tool.offer() for tool in tools]
    return [search_tool(research=research, limits=limits), fetch_tool(), *offered] if web else offered


def _function(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def read_search(arguments: JsonObject, *, research: bool, limits: Limits) -> SearchAsk | Fault:
    """Read the arguments of the search tool."""
    query = arguments.get("query")
    if not isinstance(query, str) or not strip_bangs(query):
        return Fault("`query` must be a text that is not empty.")
    notes: list[str] = []
    time_range = None
    given = arguments.get("time_range")
    if given not in (None, ""):
        time_range = read_range(given) if isinstance(given, str) else None
        if time_range is None:
            notes.append(f"time_range {_short(given)} is not day, week, month or year: searched without a range.")
    kind: Kind | None = None
    queries: tuple[str, ...] = ()
    if research:
        queries, left = _queries(arguments.get("queries"), limits)
        if left:
            notes.append(f"At most {limits.sub_questions} queries are taken; not run: {', '.join(map(_short, left))}.")
        asked = arguments.get("kind")
        if asked in ("jobs", "people"):
            kind = asked
        elif asked not in (None, ""):
            notes.append(f"kind {_short(asked)} is not jobs or people: searched without a kind.")
    return SearchAsk(query=strip_bangs(query), queries=queries, time_range=time_range, kind=kind, notes=tuple(notes))


def read_fetch(arguments: JsonObject) -> FetchAsk | Fault:
    """Read the arguments of the page tool."""
    url = arguments.get("url")
    if not isinstance(url, str) or not url.strip():
        return Fault("`url` must be an https address.")
    offset = arguments.get("offset")
    if isinstance(offset, str) and offset.isascii() and offset.isdigit():
        offset = int(offset[:9])
    if offset is None or offset == "":
        offset = 0
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        note = f"offset {_short(offset)} is not a whole number from 0: read from the start."
        return FetchAsk(url=url, notes=(note,))
    return FetchAsk(url=url, offset=offset)


def _queries(given: Any, limits: Limits) -> tuple[tuple[str, ...], list[str]]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return (), []
    texts = [text for text in (strip_bangs(item) for item in given if isinstance(item, str)) if text]
    return tuple(texts[: limits.sub_questions]), texts[limits.sub_questions :]


def _short(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 60 else text[:59] + "…")


# Tools of the host.

Validator: TypeAlias = Any
"""A validator of the `jsonschema` library, which is loaded at the first tool of a host and not before."""


@attrs.frozen
class Tool:
    """A tool of the host: what the model is told of it, and what the loop must know to run it.

    Args:
        name: Letters, digits, ``_`` and ``-``, at most 64.
        description: A sentence that says what it does.
        parameters: A JSON schema (draft 2020-12) of the type ``object``.
        side_effects: Whether a run changes anything. With True each call waits for an approval. There is no default:
            who writes a tool must know.
        repeatable: Whether the same call may run again in one answer.
        timeout: Seconds that a run may take.
        max_result_chars: Characters of a result that reach the model.

    Raises:
        SettingsError: A field has no meaning, or `parameters` is no usable schema.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    side_effects: bool = attrs.field(kw_only=True)
    repeatable: bool = attrs.field(default=False, kw_only=True)
    timeout: float = attrs.field(default=30.0, kw_only=True)
    max_result_chars: int = attrs.field(default=24_000, kw_only=True)
    _validator: Validator = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        plain = self.name.replace("_", "").replace("-", "")
        if not (plain.isascii() and plain.isalnum() and len(self.name) <= 64):
            raise SettingsError(f"the tool name {self.name!r} must be 1 to 64 letters, digits, _ or -")
        if self.name in (SEARCH, FETCH):
            raise SettingsError(f"the tool name {self.name!r} is taken by a web tool")
        if self.timeout <= 0 or self.max_result_chars <= 0:
            raise SettingsError(f"the tool {self.name!r} needs a timeout and a max_result_chars above 0")
        object.__setattr__(self, "_validator", _validator(self.name, self.parameters))

    def offer(self) -> dict[str, Any]:
        """Return the tool in the OpenAI shape."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def fault(self, arguments: JsonObject) -> Fault | None:
        """Return why the arguments do not fit the schema, naming the field; None when they fit."""
        try:
            found = list(self._validator.iter_errors(arguments))
        except RecursionError:
            # A schema that refers to itself, around arguments that are nested: within bounds, and still too deep.
            return Fault("`arguments`: nested too deeply.")
        errors = sorted(found, key=lambda error: list(map(str, error.absolute_path)))
        if not errors:
            return None
        lines = []
        for error in errors[:3]:
            where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
            lines.append(f"`{where.lstrip('.') or 'arguments'}`: {error.message[:300]}")
        return Fault("; ".join(lines) + ".")


def _validator(name: str, parameters: Mapping[str, Any]) -> Validator:
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing import Registry
    except ImportError as error:
        raise SettingsError("tools of a host need the jsonschema library: pip install 'hostcall[tools]'") from error
    schema = dict(parameters)
    if schema.get("type") != "object":
        raise SettingsError(f"the parameters of the tool {name!r} must be a JSON schema of the type object")
    remote = _remote_reference(schema)
    if remote is not None:
        raise SettingsError(
            f"the parameters of the tool {name!r} refer to {remote!r}; only references inside them work"
        )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise SettingsError(f"the parameters of the tool {name!r} are no JSON schema: {error.message}") from error
    return Draft202012Validator(schema, registry=Registry())


def _remote_reference(value: Any) -> str | None:
    """Return a `$ref` that leads out of the schema, if there is one.

    Security:
        Rule 2. Threat: a schema, perhaps a stranger's, that makes the host fetch an address.
    """
    if isinstance(value, dict):
        for key in ("$ref", "$dynamicRef"):
            target = value.get(key)
            if isinstance(target, str) and not target.startswith("#"):
                return target
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            found = _remote_reference(item)
            if found is not None:
                return found
    return None
