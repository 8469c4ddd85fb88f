"""Whether the services an answer needs are there, asked before it starts: what is wrong becomes one line.

What a status or a body means is the core's and `services.py`'s knowledge; this file asks and puts it into words.
"""

import json
from typing import Any

import httpcore
import trio

from hostcall.data import HttpRequest
from hostcall.engine.faults import read_fault
from hostcall.errors import HostcallError
from hostcall.web.search import service_trouble
from hostcall_drivers.services import Service, failure_of
from hostcall_drivers.trio import TrioDriver

SECONDS = 10.0


class UnreachableError(HostcallError):
    """A service does not answer, or is not what it should be. The message says what to do."""


async def check_engine(driver: TrioDriver, model: str | None) -> None:
    """Check that the engine answers, takes the key and knows the model.

    Raises:
        UnreachableError: It does not.
    """
    engine = driver.engine
    status, body = await _ask(driver, engine, "engine", "/v1/models")
    if status in (401, 403):
        raise UnreachableError(f"the engine at {engine.text} wants a key: --key, or HOSTCALL_ENGINE_KEY")
    if status == 503:
        raise UnreachableError(f"the engine at {engine.text} is not ready: {read_fault(status, body).message}")
    if body.lstrip().startswith(b"<"):
        raise UnreachableError(f"what answers at {engine.text} is a web page, not an engine; check the address")
    if status >= 500:
        raise UnreachableError(f"the engine at {engine.text} answers {status}: {read_fault(status, body).message}")
    names = _models(body) if status == 200 else []
    if model is not None and names and model not in names:
        raise UnreachableError(f"the engine has no model {model!r}; it has: {', '.join(names[:10])}")


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
            async with driver.sent(service, request) as response:
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


def _models(body: bytes) -> list[str]:
    try:
        value: Any = json.loads(body)
        return [model["id"] for model in value["data"] if isinstance(model.get("id"), str)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
