"""The models of all engines behind the service, and which is whose."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import httpcore
import trio

from hostcall.data import HttpRequest
from hostcall.engine.capabilities import recognised
from hostcall.engine.models import read_models
from hostcall_drivers.chat.faults import ApiError
from hostcall_drivers.engines import EngineAt, known_rows
from hostcall_drivers.saved import saved_row
from hostcall_drivers.services import failure_of
from hostcall_drivers.trio import TrioDriver

LIST_SECONDS = 5.0
FRESH_SECONDS = 15.0
"""How long a list of models, and a look at the services, is good for."""
AWAY_SECONDS = 1.0
"""How long one is good for that says a service is away."""
MAX_LIST_BYTES = 1_000_000

FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, trio.TooSlowError)


@attrs.frozen
class Model:
    """One model of one engine."""

    engine: str
    """The engine's name; empty where there is one without a name."""
    name: str | None
    """As the engine calls it; None leaves it out."""

    @property
    def asked(self) -> str:
        """What `Engines.settings` is asked for."""
        return f"{self.engine}/{self.name or ''}" if self.engine else self.name or ""


@attrs.frozen
class Listed:
    """What an engine said of its models."""

    names: tuple[str, ...] | None = None
    """None: it has no list, or is not there."""
    created: Mapping[str, int] = attrs.field(factory=dict)
    failure: str = ""
    until: float = 0.0

    @property
    def takes_any(self) -> bool:
        """Whether the engine is there and has no list: it may have any model."""
        return self.names is None and not self.failure

    def has(self, name: str) -> bool:
        """Whether a model is on the list, under this name or under Ollama's longer one."""
        return self.names is not None and (name in self.names or f"{name}:latest" in self.names)


class Models:
    """The models, in the operator's order of engines; where two have one of the same name, it is the first one's.

    Any model can be asked for as ``ENGINE/MODEL`` too.

    Args:
        driver: Its engines are told what row each has.
        rows: Where `doctor` saves rows. None: the operator chose the row of each engine.
    """

    def __init__(self, driver: TrioDriver, *, rows: Path | None = None) -> None:
        self._driver = driver
        self._rows = rows
        self._listed: dict[str, Listed] = {}
        self._asking = trio.Lock()

    async def all(self) -> list[dict[str, Any]]:
        """Return the models of all engines, in OpenAI's shape.

        Raises:
            ApiError: No engine answers.
        """
        await self._refresh()
        if all(listed.failure for listed in self._listed.values()):
            raise _away()
        rows: dict[str, dict[str, Any]] = {}
        for engine, listed in self._listed.items():
            for model in listed.names or ():
                name = model if model not in rows else f"{engine}/{model}"
                rows[name] = {
                    "id": name,
                    "object": "model",
                    "created": listed.created.get(model, 0),
                    "owned_by": shown(engine),
                }
        return list(rows.values())

    async def find(self, name: str | None) -> Model:
        """Return the model that a client asks for.

        Raises:
            ApiError: 404 when no engine has it, 400 when it has to be named, 503 when no engine answers.
        """
        if name is None:
            return await self._unnamed()
        # A list that is old will do where it names the model: an engine that is away must not hold up the others.
        found = self._known(name)
        if found is None:
            await self._refresh()
            found = self._known(name)
        if found is not None:
            return found
        if all(listed.failure for listed in self._listed.values()):
            raise _away()
        text = f"there is no model {name[:200]!r}; GET /v1/models lists them"
        raise ApiError(404, text, param="model", code="model_not_found")

    def name_of(self, model: Model) -> str:
        """Return what a model is called in a reply, where the client left it to the service."""
        listed = self._listed.get(model.engine)
        first = listed.names[0] if listed is not None and listed.names else shown(model.engine)
        return model.name or first

    async def health(self) -> dict[str, str]:
        """Return how each engine is: empty when it answers."""
        await self._refresh()
        return {shown(engine): listed.failure for engine, listed in self._listed.items()}

    async def _unnamed(self) -> Model:
        engines = self._driver.engines
        missing = ApiError(400, "model is missing; GET /v1/models lists them", param="model")
        if engines.several:
            raise missing
        if engines.first.name not in self._listed:
            await self._refresh()
        listed = self._listed[engines.first.name]
        if listed.names is not None and len(listed.names) == 1:
            return Model(engines.first.name, listed.names[0])
        if engines.first.row.wire == "ollama":
            raise missing
        return Model(engines.first.name, None)

    def _known(self, name: str) -> Model | None:
        for engine, listed in self._listed.items():
            if listed.has(name):
                return Model(engine, name)
        engine, slash, rest = name.partition("/")
        if slash and engine in self._listed:
            named = self._listed[engine]
            if rest and (named.takes_any or named.has(rest)):
                return Model(engine, rest)
        return next((Model(engine, name) for engine, listed in self._listed.items() if listed.takes_any), None)

    # The lists.

    async def _refresh(self) -> None:
        async with self._asking:
            now = trio.current_time()
            engines = list(self._driver.engines)
            found = {at.name: self._listed[at.name] for at in engines if at.name in self._listed}
            async with trio.open_nursery() as nursery:
                for at in engines:
                    if at.name not in found or found[at.name].until <= now:
                        nursery.start_soon(self._list, at, found)
            self._listed = {at.name: found[at.name] for at in engines}

    async def _list(self, at: EngineAt, found: dict[str, Listed]) -> None:
        request = HttpRequest("GET", "/v1/models", (("Accept", "application/json"),))
        try:
            with trio.fail_after(LIST_SECONDS):
                status, body = await self._fetched(at, request)
            failure = f"status {status}" if status in (401, 403) or status >= 500 else ""
        except FAILURES as error:
            status, body = 0, b""
            failure = failure_of(error)[1] or "no answer in time"
        names, owners = read_models(body) if status == 200 else ((), ())
        self._recognise(at, names, owners)
        fresh = AWAY_SECONDS if failure else FRESH_SECONDS
        until = trio.current_time() + fresh
        found[at.name] = Listed(names or None, read_created(body) if names else {}, failure, until)

    def _recognise(self, at: EngineAt, names: tuple[str, ...], owners: tuple[str, ...]) -> None:
        """Tell the driver what is known of an engine, when it is heard of for the first time."""
        if self._rows is not None and names and (at.name not in self._listed or self._listed[at.name].names is None):
            only = names[0] if len(names) == 1 else None
            row = saved_row(self._rows, at.service.text, only) or recognised(known_rows(), owners)
            if row is not None:
                self._driver.engines.know(at.name, row)

    async def _fetched(self, at: EngineAt, request: HttpRequest) -> tuple[int, bytes]:
        body = bytearray()
        async with self._driver.exchange(request, at.name) as response:
            async for data in response.aiter_stream():
                if len(body) < MAX_LIST_BYTES:
                    body += data
            return response.status, bytes(body[:MAX_LIST_BYTES])


def read_created(body: bytes) -> dict[str, int]:
    """Return when each model of a list was made, as far as it says."""
    rows = json.loads(body.decode("utf-8", "replace"))["data"]
    models = [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]
    return {row["id"]: row["created"] for row in models if type(row.get("created")) is int}


def shown(engine: str) -> str:
    """Return the name of an engine as clients see it."""
    return engine or "engine"


def _away() -> ApiError:
    return ApiError(503, "no engine is available; try again later", code="engine_failed", retry_after=5)
