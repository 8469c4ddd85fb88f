"""Scores guards against request forgery on the address cases: ``python -m tests.bench.guard``.

Every `url` and `resolve` case is put to each guard through its own front door. The resolver answers what the case says,
and connections are only recorded. So what counts is not what a guard says but where it would have connected:

- *inwards*: connections to an address that the table of rule 2 refuses,
- *false opens*: connections in cases that must be refused,
- *false refusals*: none in cases that must open.

Cases with a policy tag, which a sound guard may decide the other way, are counted apart. Peers are measured when they
are installed: ``pip install ssrfguard microsoft-antissrf drawbridge httpx-secure safehttpx``. `httpx-secure` judges an
address after the connection stands and before anything is sent; here, as in a port scan, the connection counts. The
exit status is 0 when ours has no false open and no false refusal, policy cases included.
"""

import asyncio
import contextlib
import importlib
import json
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import attrs

from hostcall.web.ranges import is_public, read_ip
from tests.cases.address import World

CASES = Path(__file__).parent.parent / "cases" / "address-open.jsonl"
THIRD_PARTY = "192.0.2.53"
"""Where names of other hosts than the case's lead: a guard that asks a public resolver over HTTPS is not opening it."""

Open: TypeAlias = Callable[[str], object]
_getaddrinfo = socket.getaddrinfo


@attrs.define
class Recorder:
    """Stands between a guard and the network."""

    dns: dict[str, Any]
    connected: list[str] = attrs.field(factory=list)
    lookups: int = 0

    def getaddrinfo(
        self, host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[tuple[Any, ...]]:
        """Answer a lookup. Literals are read as the system reads them, odd spellings too."""
        name = host.decode() if isinstance(host, bytes) else str(host)
        with contextlib.suppress(socket.gaierror, UnicodeError):
            return _getaddrinfo(name, port, family, type, proto, socket.AI_NUMERICHOST)
        answers = self._answers(name.removesuffix(".").lower())
        entries: list[tuple[Any, ...]] = []
        for address in answers:
            kind = socket.AF_INET6 if ":" in address else socket.AF_INET
            number = int(port) if str(port).isdigit() else 443
            if family in (0, kind):
                place = (address, number, 0, 0) if kind == socket.AF_INET6 else (address, number)
                entries.append((kind, socket.SOCK_STREAM, 6, "", place))
        if not entries:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return entries

    def _answers(self, name: str) -> list[str]:
        if name == "dns.google":
            return [THIRD_PARTY]
        answers = self.dns.get(name, self.dns.get(name + ".", self.dns.get("*")))
        if answers is None or isinstance(answers, dict):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        self.lookups += 1
        if answers and isinstance(answers[0], list):
            answers = answers[min(self.lookups, len(answers)) - 1]
        return list(answers)

    def connect(self, sock: socket.socket, address: Any) -> None:
        """Note where a connection would have gone."""
        if sock.family in (socket.AF_INET, socket.AF_INET6) and address[0] != THIRD_PARTY:
            self.connected.append(str(address[0]))
        raise ConnectionRefusedError("only recorded")

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Put the recorder in the place of the network."""
        recorder = self

        class Recorded(socket.socket):
            def connect(self, address: Any) -> None:
                recorder.connect(self, address)

        with mock.patch("socket.getaddrinfo", self.getaddrinfo), mock.patch("socket.socket", Recorded):
            yield


# Front doors.


def _ours(case: dict[str, Any]) -> list[str]:
    world = World(case["input"])
    world.run()
    return [address.ip for connect in world.connects for address in connect.addresses]


def _httpx() -> Open:
    httpx: Any = importlib.import_module("httpx")
    return lambda url: httpx.get(url, timeout=5)


def _ssrfguard() -> Open:
    policy = importlib.import_module("ssrfguard").Policy()
    client = importlib.import_module("ssrfguard.httpx").Client(policy=policy)
    return lambda url: client.get(url)


def _antissrf() -> Open:
    module: Any = importlib.import_module("AntiSSRF")
    session = module.AntiSSRFPolicy(module.PolicyConfigOptions.EXTERNAL_ONLY_LATEST).get_antissrf_session()
    return lambda url: session.get(url, timeout=5)


def _drawbridge() -> Open:
    client = importlib.import_module("drawbridge").SyncClient()
    return lambda url: client.get(url)


def _httpx_secure() -> Open:
    protect = importlib.import_module("httpx_secure").httpx_ssrf_protection
    httpx: Any = importlib.import_module("httpx")

    async def get(url: str) -> None:
        async with protect(httpx.AsyncClient(), dns_cache_size=1) as client:
            await client.get(url, timeout=5)

    return lambda url: asyncio.run(get(url))


def _safehttpx() -> Open:
    module: Any = importlib.import_module("safehttpx")

    async def get(url: str) -> None:
        # Its cache would carry the answer of one case into the next.
        importlib.reload(module)
        await module.get(url, timeout=5)

    return lambda url: asyncio.run(get(url))


PEERS: dict[str, Callable[[], Open]] = {
    "httpx, no guard": _httpx,
    "ssrfguard": _ssrfguard,
    "microsoft-antissrf": _antissrf,
    "drawbridge": _drawbridge,
    "httpx-secure": _httpx_secure,
    "safehttpx": _safehttpx,
}


def _peer(open_: Open, case: dict[str, Any]) -> list[str]:
    recorder = Recorder(case["input"]["dns"])
    with recorder.installed(), contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        open_(case["input"]["url"])
    return recorder.connected


# The score.


@attrs.define
class Score:
    """Counts of one guard, cases without a policy tag and with one."""

    inwards: list[int] = attrs.field(factory=lambda: [0, 0])
    false_opens: list[int] = attrs.field(factory=lambda: [0, 0])
    false_refusals: list[int] = attrs.field(factory=lambda: [0, 0])

    def add(self, case: dict[str, Any], connected: list[str]) -> None:
        """Count one case."""
        tagged = int("policy" in case)
        addresses = [read_ip(text) for text in connected]
        self.inwards[tagged] += any(address is None or not is_public(address) for address in addresses)
        self.false_opens[tagged] += bool(connected) and case["expect"] == "refuse"
        self.false_refusals[tagged] += not connected and case["expect"] == "open"

    def row(self, name: str) -> str:
        """Return the counts as a line; the second of two numbers is that of the policy cases."""
        cells = [f"{plain} + {tagged}" for plain, tagged in (self.inwards, self.false_opens, self.false_refusals)]
        return f"{name:<20} {cells[0]:>10} {cells[1]:>13} {cells[2]:>16}"


def main() -> int:
    """Score ours and every peer that is installed, in one run."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    cases = [case for case in cases if case["kind"] in {"url", "resolve"}]
    print(f"{len(cases)} cases; plain + policy-tagged")
    print(f"{'':<20} {'inwards':>10} {'false opens':>13} {'false refusals':>16}")
    ours = Score()
    for case in cases:
        ours.add(case, _ours(case))
    print(ours.row("hostcall"))
    for name, make in PEERS.items():
        try:
            open_ = make()
        except ImportError:
            print(f"{name:<20} not installed")
            continue
        score = Score()
        for case in cases:
            score.add(case, _peer(open_, case))
        print(score.row(name), flush=True)
    return int(any((*ours.inwards, *ours.false_opens, *ours.false_refusals)))


if __name__ == "__main__":
    sys.exit(main())
