"""The address cases that come with an exchange, through both drivers: real sockets, real TLS, the bytes of the case.

What comes of a case must be what comes of it in the pure run, to the code of the refusal and the text of the page. One
server serves them all, under whatever name is asked for. Waits are a fortieth of the case's, and so is the time that a
page has where a case is about running out of it.
"""

import functools
import json
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from hostcall.answer.reading import Reading
from hostcall.commands import Resolve
from hostcall.events import Failed, Resolved
from hostcall.limits import Limits
from hostcall.web.crawl import CrawlReport, report_text
from tests.cases import address as pure
from tests.drivers.driving import KINDS, Kind, carry_out, descriptors, open_descriptors, settled_descriptors
from tests.drivers.servers import PUBLIC_V4, PUBLIC_V6, Authority, Connection, Server, never

SCALE = 1 / 40
PATH = Path(__file__).parent.parent / "cases" / "address-open.jsonl"
CASES = [
    case
    for case in map(json.loads, PATH.read_text(encoding="utf-8").splitlines())
    if "exchange" in case["input"] or "raw" in case["input"]
]
FIELDS = ["host", "user-agent", "accept", "accept-encoding", "connection"]


@attrs.define
class Stage:
    """A server that plays one case after the other, under any name."""

    authority: Authority = attrs.field(factory=Authority)
    server: Server = attrs.field(init=False)
    answers: Sequence[Any] = ()
    played: int = 0

    def play(self, connection: Connection) -> None:
        """Send what the case's server sends to this request."""
        stream = self.answers[min(self.played, len(self.answers) - 1)]
        self.played += 1
        for wait, data in pure.served(stream) if isinstance(stream, dict) else pure.raw(stream):
            if wait:
                time.sleep(wait * SCALE)
            if data is None:
                return
            connection.send(data)
        never(connection)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    contexts: dict[str, ssl.SSLContext] = {}

    def choose(sock: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None:
            if name not in contexts:
                contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                stage.authority.ca.issue_cert(name).configure_cert(contexts[name])
            sock.context = contexts[name]

    # Where no name is sent, the host is a number.
    first = stage.authority.server(PUBLIC_V4, PUBLIC_V6, "1.1.1.1")
    first.sni_callback = choose
    with Server(stage.play, first) as stage.server:
        yield stage


@pytest.fixture(autouse=True)
def nothing_left_open(stage: Stage) -> Iterator[None]:
    before, named = open_descriptors(), descriptors()
    yield
    assert settled_descriptors(before) <= before, descriptors() - named


@functools.cache
def played_purely(number: int) -> pure.World:
    """Return a case's world after the pure run, which both drivers are held to."""
    world = pure.World(CASES[number]["input"])
    world.run()
    return world


def runs_out_of_time(case: Any) -> bool:
    answers = case["input"].get("exchange", ())
    waits = any(answer.get("wait_ms") for answer in answers)
    never = any(answer["body"].get("silent") or answer["body"].get("informational_forever") for answer in answers)
    return case["expect"] == "refuse" and (waits or never)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number]["id"])
def test_a_case_ends_in_a_driver_as_it_does_in_the_pure_run(stage: Stage, kind: Kind, number: int) -> None:
    case = CASES[number]
    world = played_purely(number)
    stage.answers = [case["input"]["raw"]] if "raw" in case["input"] else case["input"]["exchange"]
    stage.played = 0
    stage.server.requests.clear()
    names = pure.World(case["input"])

    def look_up(host: str) -> Sequence[str]:
        (event,) = names.look_up(Resolve(id="x", deadline=0.0, host=host))
        if isinstance(event, Resolved):
            return event.addresses
        assert isinstance(event, Failed)
        raise TimeoutError(host) if event.kind == "timeout" else socket.gaierror(socket.EAI_NONAME, host)

    hurried = runs_out_of_time(case)
    limits = Limits(pages_a_crawl=1, page_seconds=Limits().page_seconds * (SCALE if hurried else 1))
    reading = Reading(case["input"]["url"], limits=limits)
    asked = [connect.addresses[0].ip for connect in world.connects]
    carried = carry_out(
        kind,
        reading,
        ports={(ip, 443): ("127.0.0.1", stage.server.port) for ip in asked},
        names=look_up,
        page_tls=stage.authority.client(),
    )

    result = world.crawl.result
    assert (reading.refused is None) is (case["expect"] == "open")
    if isinstance(result, CrawlReport):
        assert carried.result.text == report_text(result, [1], limits)
    else:
        assert reading.refused is not None
        assert result is not None
        assert (reading.refused.code, reading.refused.rule) == (result.code, result.rule)
    called = [ip for ip, _ in carried.calls]
    # A hurried page may come less far, for the time that real sockets take.
    assert called == (asked[: len(called)] if hurried else asked)
    for request, connect in zip(stage.server.requests, world.connects, strict=not hurried):
        assert [line.partition(":")[0].lower() for line in request.head.decode().split("\r\n")[1:]] == FIELDS
        assert request.target == connect.request.target
