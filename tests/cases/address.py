"""Runs a file of address cases through the whole pure path: parser, rules, machine, wire, page and report.

`python -m tests.cases.address FILE` prints each failing id with its reason and, last, ``passed N of M``.

Time is virtual: a server that waits or drips moves the clock, and nothing sleeps. A connection is whatever
`hostcall_drivers.wire` makes of the bytes that the case's server would send.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from hostcall.commands import Cancel, Command, Connect, LogFetch, Resolve
from hostcall.events import Failed, RequestEvent, Resolved
from hostcall.limits import Limits
from hostcall.machine import Slots
from hostcall.web.address import Address, parse_address
from hostcall.web.crawl import Crawl, CrawlReport, report_text
from hostcall.web.networks import Networks
from hostcall.web.ranges import is_public, read_ip
from hostcall.web.seen import SeenHosts
from hostcall.web.settings import Web
from hostcall_drivers.wire import Exchange

Case: TypeAlias = Mapping[str, Any]
Sent: TypeAlias = tuple[float, bytes | None]
"""What a server does next: seconds to wait, then bytes to send, or None to close."""

LIMITS = Limits(pages_a_crawl=1)
DEFAULT_ANSWER = {
    "status": 200,
    "headers": [["Content-Type", "text/html; charset=utf-8"]],
    "body": {"text": "<title>t</title><p>hello</p>"},
}
FORBIDDEN_FIELDS = {"cookie", "authorization", "proxy-authorization", "referer"}
READ_BYTES = 65_536


def check(case: Case) -> str | None:
    """Return why a case fails, or None."""
    world = World(case["input"])
    world.run()
    result = world.crawl.result
    opened = isinstance(result, CrawlReport)
    if world.faults:
        return world.faults[0]
    if isinstance(result, CrawlReport):
        if not world.connects:
            return "a page was read without a connection"
        if not report_text(result, [1], LIMITS).startswith("Untrusted text from https://"):
            return "the report does not say whose text it is"
    if not world.records:
        return "nothing was written to the journal"
    if case["expect"] == "open":
        return None if opened else f"refused: {result}"
    if opened:
        return "opened"
    if case["kind"] in {"url", "resolve", "seen"} and world.connects:
        return "a connection was asked for"
    return None


@attrs.define
class World:
    """A resolver, the servers, and a driver that answers one crawl."""

    input: Case
    now: float = 0.0
    lookups: dict[str, int] = attrs.field(factory=dict)
    connects: list[Connect] = attrs.field(factory=list)
    records: list[LogFetch] = attrs.field(factory=list)
    faults: list[str] = attrs.field(factory=list)
    pending: list[Resolve | Connect] = attrs.field(factory=list)
    cancelled: set[str] = attrs.field(factory=set)
    crawl: Crawl = attrs.field(init=False)

    def run(self) -> None:
        """Run the case to its end."""
        web = Web()
        self.crawl = Crawl(
            self.input["url"],
            seen=self._seen(),
            limits=LIMITS,
            id="c",
            web=web,
            networks=Networks.of(web),
            slots=Slots(1, 2),
            take_page=lambda: True,
            pages_left=lambda: 1,
        )
        self._take(self.crawl.start(self.now))
        self._take(self.crawl.advance(self.now))
        while self.pending:
            request = self.pending.pop(0)
            events = self.look_up(request) if isinstance(request, Resolve) else self._connect(request)
            for event in events:
                if event.id in self.cancelled:
                    break
                self._take(self.crawl.receive(event, self.now))
        if self.crawl.result is None:
            self.faults.append("the crawl did not end")

    def _seen(self) -> SeenHosts:
        seen = SeenHosts(LIMITS)
        if self.input.get("seen") == "*":
            address = parse_address(self.input["url"], LIMITS)
            if isinstance(address, Address):
                seen.add_host(f"[{address.host}]" if ":" in address.host else address.host)
        for text in self.input.get("user", ()):
            seen.add_user_text(text)
        for result in self.input.get("results", ()):
            seen.add_result(result["url"])
        return seen

    def _take(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case Resolve() | Connect():
                    self.pending.append(command)
                case Cancel():
                    self.cancelled.add(command.id)
                case LogFetch():
                    self.records.append(command)
                case _:
                    self.faults.append(f"unexpected {type(command).__name__}")

    def look_up(self, request: Resolve) -> Iterator[RequestEvent]:
        """Answer a lookup as the case says."""
        dns = self.input["dns"]
        answers = dns.get(request.host, dns.get("*"))
        count = self.lookups[request.host] = self.lookups.get(request.host, 0) + 1
        if isinstance(answers, dict):
            if answers["error"] == "TIMEOUT":
                self.now = request.deadline
                yield Failed(request.id, "timeout")
            else:
                yield Failed(request.id, "not_found", answers["error"])
            return
        if answers is None:
            yield Failed(request.id, "not_found")
            return
        if answers and isinstance(answers[0], list):
            answers = answers[min(count, len(answers)) - 1]
        yield Resolved(request.id, tuple(answers))

    def _connect(self, request: Connect) -> Iterator[RequestEvent]:
        self._inspect(request)
        number = len(self.connects)
        self.connects.append(request)
        exchange = Exchange(request.request, request.bounds, request.id, peer=request.addresses[0].ip)
        if "raw" in self.input:
            stream: Iterator[Sent] = raw(self.input["raw"])
        else:
            answers = self.input.get("exchange") or [DEFAULT_ANSWER]
            stream = served(answers[min(number, len(answers) - 1)])
        for wait, data in stream:
            self.now += wait
            if self.now > request.deadline:
                self.now = request.deadline
                break
            yield from exchange.receive_eof() if data is None else exchange.receive(data)
            if exchange.done or request.id in self.cancelled:
                return
        self.now = request.deadline
        yield Failed(request.id, "timeout")

    def _inspect(self, request: Connect) -> None:
        """Look at what is sent, as a server would, and where to."""
        sent = Exchange(request.request, request.bounds, "x").to_send.decode("latin-1")
        line, *fields = sent.removesuffix("\r\n\r\n").split("\r\n")
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        host = request.server_name
        if FORBIDDEN_FIELDS & set(headers):
            self.faults.append(f"sent {FORBIDDEN_FIELDS & set(headers)}")
        if headers.get("host") != (f"[{host}]" if ":" in host else host):
            self.faults.append(f"Host is {headers.get('host')!r} for {host!r}")
        if "#" in line or request.port != 443:
            self.faults.append(f"asked for {line!r} on port {request.port}")
        for address in request.addresses:
            ip = read_ip(address.ip)
            if ip is None or not is_public(ip):
                self.faults.append(f"a connection to {address.ip} was asked for")


def raw(text: str) -> Iterator[Sent]:
    """Yield what a server sends that is given by its bytes."""
    yield 0.0, text.encode("latin-1")
    yield 0.0, None


def served(answer: Case) -> Iterator[Sent]:
    """Yield what a server of the case sends."""
    wait = answer.get("wait_ms", 0) / 1000
    body = answer["body"]
    if body.get("silent"):
        return
    if body.get("close_at_once"):
        yield wait, None
        return
    if "raw_hex" in body:
        yield wait, bytes.fromhex(body["raw_hex"])
        yield 0.0, None
        return
    yield wait, b""
    if status := body.get("informational_forever"):
        # A tenth of a second apart, which brings both bounds into play: the bytes of the heads and the time.
        while True:
            yield 0.1, b"HTTP/1.1 %d Wait\r\n\r\n" % status
    for status in body.get("informational", ()):
        yield 0.0, b"HTTP/1.1 %d Wait\r\nLink: </x.css>\r\n\r\n" % status
    payload = _payload(body)
    yield from _dripped(_head(answer, payload), body.get("head_drip"))
    if size := body.get("chunked"):
        payload = b"".join(
            b"%x\r\n%s\r\n" % (len(payload[at : at + size]), payload[at : at + size])
            for at in range(0, len(payload), size)
        ) + (b"" if body.get("no_last_chunk") else b"0\r\n\r\n")
    yield from _dripped(payload, body.get("drip"))
    yield 0.0, None


def _head(answer: Case, payload: bytes) -> bytes:
    headers = [(name, value) for name, value in answer["headers"]]
    names = {name.lower() for name, _ in headers}
    body = answer["body"]
    if body.get("chunked"):
        headers.append(("Transfer-Encoding", "chunked"))
    elif not body.get("close") and "content-length" not in names:
        headers.append(("Content-Length", str(len(payload))))
    lines = [f"HTTP/1.1 {answer['status']} X", *[f"{name}: {value}" for name, value in headers], "", ""]
    return "\r\n".join(lines).encode("utf-8")


def _dripped(data: bytes, drip: Case | None) -> Iterator[Sent]:
    size, wait = (READ_BYTES, 0.0) if drip is None else (drip["bytes"], drip["every_ms"] / 1000)
    for at in range(0, len(data), size):
        yield wait, data[at : at + size]


def _payload(body: Case) -> bytes:
    """Build the bytes of a body, packed as the case says."""
    if "hex" in body:
        data = bytes.fromhex(body["hex"])
    elif body.get("make") == "zeros":
        data = bytes(body["size"])
    elif body.get("make") == "repeat":
        text = body["text"].encode("utf-8")
        data = (text * (body["size"] // len(text) + 1))[: body["size"]]
    else:
        data = body.get("text", "").encode("utf-8")
    for coding in body.get("encode", ()):
        data = PACKERS[coding](data)
    data = data * int(body.get("members", 1)) + str(body.get("trail", "")).encode("utf-8")
    return data[: int(body["truncate"])] if "truncate" in body else data


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zlib": zlib.compress,
    "raw-deflate": _raw_deflate,
}


def run(path: Path) -> tuple[int, int]:
    """Run the cases of a file, print what fails, and return how many passed of how many."""
    passed = total = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        case = json.loads(line)
        total += 1
        reason = check(case)
        if reason is None:
            passed += 1
        else:
            print(f"{case['id']}: {reason}")
    print(f"passed {passed} of {total}")
    return passed, total


def main(arguments: Sequence[str]) -> int:
    """Run the command line."""
    if len(arguments) != 1:
        print("usage: python -m tests.cases.address FILE", file=sys.stderr)
        return 2
    passed, total = run(Path(arguments[0]))
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
