"""Requests that a host passes through to its engine, with any driver."""

import asyncio
from collections.abc import Iterable

import httpcore
import pytest
import trio

from hostcall.data import HttpRequest
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.sync import SyncDriver
from hostcall_drivers.trio import TrioDriver
from tests.drivers.driving import KINDS, Kind
from tests.drivers.servers import Connection, Server

REQUEST = HttpRequest(
    "POST", "/v1/embeddings", (("Content-Type", "application/json"), ("X-Own", "1")), b'{"input": ""}'
)


def exchanged(kind: Kind, url: str) -> tuple[int, dict[str, str], bytes]:
    """Exchange one request, and return status, fields and body."""

    async def on_loop(driver: AsyncDriver) -> tuple[int, dict[str, str], bytes]:
        async with driver, driver.exchange(REQUEST) as response:
            body = b"".join([data async for data in response.aiter_stream()])
            return response.status, fields_of(response.headers), body

    if kind == "trio":
        return trio.run(on_loop, TrioDriver(url, engine_key="k" * 20))
    if kind == "asyncio":
        return asyncio.run(on_loop(AsyncioDriver(url, engine_key="k" * 20)))
    with SyncDriver(url, engine_key="k" * 20) as driver, driver.exchange(REQUEST) as response:
        return response.status, fields_of(response.headers), b"".join(response.iter_stream())


def fields_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in headers}


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_goes_to_the_engine_as_it_is_with_the_engines_key(kind: Kind) -> None:
    def answer(connection: Connection) -> None:
        connection.answer(418, b"short and stout", ("X-Engine", "yes"))

    with Server(answer) as server:
        status, fields, body = exchanged(kind, server.url)
    (seen,) = server.requests
    assert seen.head.startswith(b"POST /v1/embeddings HTTP/1.1\r\n")
    assert seen.body == REQUEST.body
    assert seen.headers["x-own"] == "1"
    assert seen.headers["authorization"] == f"Bearer {'k' * 20}"
    assert (status, fields["x-engine"], body) == (418, "yes", b"short and stout")


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_that_is_not_there_is_one_of_httpcores_errors(kind: Kind) -> None:
    with pytest.raises(httpcore.ConnectError):
        exchanged(kind, "http://127.0.0.1:9")
