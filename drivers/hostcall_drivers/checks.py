"""Whether the services an answer needs are there, asked before it starts: what is wrong becomes one line.

What a status or a body means is the core's and `services.py`'s knowledge; this file asks and puts it into words.
"""

from pathlib import Path

import httpcore
import trio

from hostcall.data import HttpRequest
from hostcall.engine.capabilities import recognised
from hostcall.engine.faults import read_fault
from hostcall.engine.models import read_models
from hostcall.errors import HostcallError
from hostcall.web.search import service_trouble
from hostcall_drivers.engines import key_variable, known_rows
from hostcall_drivers.saved import saved_row
from hostcall_drivers.services import Service, failure_of
from hostcall_drivers.trio import TrioDriver

SECONDS = 10.0


class UnreachableError(HostcallError):
    """A service does not answer, or is not what it should be. The message says what to do."""


async def check_engine(driver: TrioDriver, model: str | None, *, rows: Path | None = None) -> str | None:
    """Check that an engine answers, takes the key and has the model, and look up what is known of it.

    Args:
        driver: Its `engines` are told what row the engine has.
        model: As the operator wrote it: ``NAME/model``, ``model`` or nothing.
        rows: Where `doctor` saves rows. None: the engine has a row that the operator chose.

    Returns:
        The model, with its engine's name: the only one that there is when none was named.

    Raises:
        UnreachableError: The engine cannot be used.
    """
    at, wanted = driver.engines.pick(model)
    engine = at.service
    status, body = await _ask(driver, engine, "engine", "/v1/models")
    if status in (401, 403):
        raise UnreachableError(f"the engine at {engine.text} wants a key: --engine-key, or {key_variable(at.name)}")
    if status == 503:
        raise UnreachableError(f"the engine at {engine.text} is not ready: {read_fault(status, body).message}")
    if body.lstrip().startswith(b"<"):
        raise UnreachableError(f"what answers at {engine.text} is a web page, not an engine; check the address")
    if status >= 500:
        raise UnreachableError(f"the engine at {engine.text} answers {status}: {read_fault(status, body).message}")
    names, owners = read_models(body) if status == 200 else ((), ())
    if wanted is not None and names and wanted not in names and f"{wanted}:latest" not in names:
        raise UnreachableError(f"the engine has no model {wanted!r}; it has: {', '.join(names[:10])}")
    if wanted is None and len(names) == 1:
        wanted = names[0]
    if rows is not None:
        row = saved_row(rows, engine.text, wanted) or recognised(known_rows(), owners)
        driver.engines.know(at.name, row or known_rows()["openai"])
    if wanted is None and driver.engines.named(at.name).row.wire == "ollama":
        said = f"it has: {', '.join(names[:10])}" if names else "it has none yet: ollama pull NAME"
        raise UnreachableError(f"Ollama needs --model: {said}")
    return f"{at.name}/{wanted or ''}" if at.name else wanted


async def check_search(driver: TrioDriver) -> None:
    """Check that the search service answers in JSON. The empty query asks no search engine anything.

    Raises:
        UnreachableError: It does not.
    """
    search = driver.search
    if search is None:
        raise AssertionError("there is a search service to check")
    status, body = await _ask(driver, search, "search", "/search?q=&format=json")
    if status == 400:
        return
    trouble = service_trouble(status, is_json=False, body=body)
    if trouble:
        raise UnreachableError(f"{trouble}; it is at {search.text}")


async def _ask(driver: TrioDriver, service: Service, name: str, target: str) -> tuple[int, bytes]:
    request = HttpRequest("GET", target, (("Accept", "application/json, text/html;q=0.9"),))
    body = b""
    try:
        with trio.fail_after(SECONDS):
            async with driver.services.sent(service, request) as response:
                async for data in response.aiter_stream():
                    body += data
                    if len(body) > 1_000_000:
                        break
                return response.status, body
    except trio.TooSlowError as error:
        raise UnreachableError(f"the {name} at {service.text} did not answer within {SECONDS:g} seconds") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        _, why = failure_of(error)
        raise UnreachableError(
            f"the {name} at {service.text} does not answer ({why}); start it, or give another --{name}"
        ) from error
