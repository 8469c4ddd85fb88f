"""``python -m tests.cases.answers FILE``: answers in scripted worlds, seen from outside.

The world of a case is played by `CaseWorld` in virtual time: engine, search, names, pages, tools and approvals. The
checks look at what was sent, shown and returned, and at nothing inside.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from hostcall import testing
from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import (
    AskApproval,
    CallEngine,
    CallSearch,
    Connect,
    Finish,
    Request,
    Resolve,
    RunTool,
    ShowPage,
    ShowProgress,
    ShowReasoning,
    ShowRefusal,
    ShowSearch,
    ShowText,
)
from hostcall.data import Capabilities, Result, Source
from hostcall.engine.settings import Engine
from hostcall.events import (
    ApprovalGiven,
    BodyReceived,
    Failed,
    Resolved,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
)
from hostcall.limits import Limits
from hostcall.testing import ScriptedDriver, Timed
from hostcall.web.settings import Web
from tests.cases.checks import check_count, check_path, check_text
from tests.cases.report import main

TIMES = ("answer_seconds", "approval_seconds", "page_seconds", "engine_idle", "search_seconds")
CHAT_PATHS = ("/v1/chat/completions", "/api/chat")


@attrs.define
class CaseWorld:
    """The scripted world of one case."""

    case: Mapping[str, Any]
    bodies: list[dict[str, Any]] = attrs.Factory(list)
    """The JSON bodies of the chat requests, in order."""
    searches: list[dict[str, str]] = attrs.Factory(list)
    fetched: list[str] = attrs.Factory(list)
    page_headers: list[dict[str, str]] = attrs.Factory(list)
    looked_up: list[str] = attrs.Factory(list)
    tool_runs: list[tuple[str, Any]] = attrs.Factory(list)
    asked: list[str] = attrs.Factory(list)
    overrun: bool = False
    _main: int = 0
    _answers: int = 0
    _searched: int = 0

    def __call__(self, request: Request) -> Iterator[Timed]:
        match request:
            case CallEngine():
                yield from self._engine(request)
            case CallSearch():
                yield from self._search(request)
            case Resolve():
                yield from self._resolve(request)
            case Connect():
                yield from self._page(request)
            case RunTool():
                yield from self._tool(request)
            case AskApproval():
                yield from self._approve(request)

    # The engine.

    def _engine(self, request: CallEngine) -> Iterator[Timed]:
        path = request.request.target
        if path not in CHAT_PATHS:
            yield from self._probe(request, path)
            return
        body = json.loads(request.request.body)
        self.bodies.append(body)
        entry = self._entry(body)
        entry = _numbered(entry, len(self.bodies))
        headers = tuple((name, value) for name, value in entry.get("headers", ()))
        status = entry.get("status", 200)
        if "body" in entry:
            is_object = not isinstance(entry["body"], str)
            content = json.dumps(entry["body"]) if is_object else entry["body"]
            typed = (("Content-Type", "application/json"),) if is_object else ()
            yield 0.0, ResponseStarted(request.id, status, (*typed, *headers))
            yield 0.0, BodyReceived(request.id, content.encode())
            yield 0.0, ResponseEnded(request.id)
            return
        ollama = self.case["wire"] == "ollama"
        kind = "application/x-ndjson" if ollama else "text/event-stream"
        yield 0.0, ResponseStarted(request.id, status, (("Content-Type", kind), *headers))
        wait = 0.0
        for piece in _pieces(entry, ollama=ollama):
            if isinstance(piece, float):
                wait += piece
                continue
            yield wait, BodyReceived(request.id, piece)
            wait = 0.0
        if entry.get("cut"):
            yield wait, Failed(request.id, "reset", "scripted cut")
        else:
            yield wait, ResponseEnded(request.id)

    def _entry(self, body: Mapping[str, Any]) -> dict[str, Any]:
        scripted = self.case["engine"]
        last = body["messages"][-1].get("content") if body.get("messages") else ""
        if "answer_engine" in self.case and "Write the answer now" in str(last):
            scripted, position = self.case["answer_engine"], self._answers
            self._answers += 1
        else:
            position = self._main
            self._main += 1
        if position < len(scripted):
            return dict(scripted[position])
        if not scripted[-1].get("repeat_last"):
            self.overrun = True
        return dict(scripted[-1])

    def _probe(self, request: CallEngine, path: str) -> Iterator[Timed]:
        probes: dict[str, Any] = {
            "/api/show": {"status": 200, "body": {"capabilities": ["completion", "tools"], "template": "{{ .Tools }}"}}
        }
        probes.update(self.case.get("probe", {}))
        answer = probes.get(path, {"status": 404, "body": {"error": "not found"}})
        yield from testing.response(
            request.id, answer.get("status", 200), json.dumps(answer["body"]).encode(), "application/json"
        )

    # The web.

    def _search(self, request: CallSearch) -> Iterator[Timed]:
        fields = testing.fields_of(request)
        self.searches.append(fields)
        entry = self._search_entry(fields["q"])
        if entry.get("fail") == "connect":
            yield 0.0, Failed(request.id, "connect", "scripted")
            return
        headers = tuple((name, value) for name, value in entry.get("headers", (("Content-Type", "application/json"),)))
        body = entry.get("body", "")
        content = body if isinstance(body, str) else json.dumps(body)
        yield float(entry.get("delay", 0)), ResponseStarted(request.id, entry.get("status", 200), headers)
        if content:
            yield 0.0, BodyReceived(request.id, content.encode())
        yield 0.0, ResponseEnded(request.id)

    def _search_entry(self, query: str) -> Mapping[str, Any]:
        scripted = self.case.get("search", [])
        for entry in scripted:
            if entry.get("q") == query:
                return dict(entry)
        rest = [entry for entry in scripted if "q" not in entry]
        if not rest:
            return {"body": {"query": query, "results": [], "unresponsive_engines": []}}
        entry = rest[min(self._searched, len(rest) - 1)]
        self._searched += 1
        return dict(entry)

    def _resolve(self, request: Resolve) -> Iterator[Timed]:
        self.looked_up.append(request.host)
        dns = self.case.get("dns", {"*": ["93.184.215.14"]})
        answer = dns.get(request.host, dns.get("*", ["93.184.215.14"]))
        if isinstance(answer, Mapping):
            missing = answer["error"] == "NXDOMAIN"
            yield 0.0, Failed(request.id, "not_found" if missing else "timeout", "scripted")
        else:
            yield 0.0, Resolved(request.id, tuple(answer))

    def _page(self, request: Connect) -> Iterator[Timed]:
        address = testing.address_of(request)
        self.fetched.append(address)
        self.page_headers.append({name.lower(): value for name, value in request.request.headers})
        page = self.case.get("pages", {}).get(
            address, {"status": 404, "headers": [["Content-Type", "text/html"]], "body": ""}
        )
        headers = tuple((name, value) for name, value in page.get("headers", ()))
        body = page.get("body", "").encode()
        peer = request.addresses[0].ip
        yield float(page.get("delay", 0)), ResponseStarted(request.id, page.get("status", 200), headers, peer)
        if body:
            yield 0.0, BodyReceived(request.id, body)
        yield 0.0, ResponseEnded(request.id)

    # The host.

    def _tool(self, request: RunTool) -> Iterator[Timed]:
        tool = next(tool for tool in self.case["settings"]["tools"] if tool["name"] == request.name)
        runs = sum(name == request.name for name, _ in self.tool_runs)
        self.tool_runs.append((request.name, dict(request.arguments)))
        delay = float(tool.get("delay", 0))
        if "raise" in tool:
            yield delay, Failed(request.id, "handler", tool["raise"])
        elif "error" in tool:
            yield delay, ToolFinished(request.id, tool["error"], is_error=True)
        else:
            result = tool["result"]
            if isinstance(result, list):
                result = result[min(runs, len(result) - 1)]
            yield delay, ToolFinished(request.id, result)

    def _approve(self, request: AskApproval) -> Iterator[Timed]:
        approvals = self.case.get("approvals", [])
        position = len(self.asked)
        self.asked.append(request.name)
        if position >= len(approvals) or approvals[position]["allow"] is None:
            return
        entry = approvals[position]
        yield float(entry.get("delay", 0)), ApprovalGiven(request.id, entry["allow"], entry.get("reason", ""))


def _numbered(value: Any, number: int) -> Any:
    """Put the number of the request for `{n}` in every text of an entry."""
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, list):
        return [_numbered(item, number) for item in value]
    if isinstance(value, dict):
        return {key: _numbered(item, number) for key, item in value.items()}
    return value


def _pieces(entry: Mapping[str, Any], *, ollama: bool) -> Iterator[bytes | float]:
    """Yield the bytes of a scripted stream, a piece at a time, and the seconds between them."""
    pieces = list(_whole_pieces(entry, ollama=ollama))
    size = entry.get("split")
    if not size:
        yield from pieces
        return
    whole = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


def _whole_pieces(entry: Mapping[str, Any], *, ollama: bool) -> Iterator[bytes | float]:
    eol = entry.get("eol", "\n").encode()
    called = False

    def event(value: Any) -> bytes:
        text = json.dumps(value).encode()
        return text + b"\n" if ollama else b"data: " + text + eol + eol

    for chunk in entry["chunks"]:
        if "raw" in chunk:
            yield chunk["raw"].encode()
        elif "hex" in chunk:
            yield bytes.fromhex(chunk["hex"])
        elif "wait" in chunk:
            yield float(chunk["wait"])
        elif "chunk" in chunk:
            yield event(chunk["chunk"])
        else:
            called = called or bool(chunk.get("tool_calls"))
            if ollama:
                message = {"role": "assistant", "content": "", **chunk}
                yield event({"model": "m", "created_at": "2026-11-30T00:00:00Z", "message": message, "done": False})
            else:
                yield event(_chunk([{"index": 0, "delta": chunk, "finish_reason": None}]))
    if entry.get("cut"):
        return
    yield from _closing(entry, event, called=called, ollama=ollama)
    if not ollama and entry.get("done", True):
        yield b"data: [DONE]" + eol + eol


def _closing(entry: Mapping[str, Any], event: Any, *, called: bool, ollama: bool) -> Iterator[bytes]:
    finish = entry.get("finish", "tool_calls" if called and not ollama else "stop")
    usage = entry.get("usage")
    if ollama:
        if finish is not None:
            message = {"role": "assistant", "content": "", **entry.get("finish_delta", {})}
            yield event({"model": "m", "message": message, "done": True, "done_reason": finish, **(usage or {})})
        return
    if finish is not None:
        yield event(_chunk([{"index": 0, "delta": entry.get("finish_delta", {}), "finish_reason": finish}]))
    if usage is not None:
        yield event({**_chunk([]), "usage": usage})


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices}


# The run.


def make_answer(case: Mapping[str, Any], *, scale: float | None = None) -> Answer:
    """Return the answer that a case describes.

    Args:
        case: The case.
        scale: Seconds of a real clock for each second of the case; None: the clock is virtual.
    """
    settings = case["settings"]
    numbers = dict(settings.get("limits", {}))
    if scale is not None:
        usual = attrs.asdict(Limits())
        numbers |= {name: numbers.get(name, usual[name]) * scale for name in TIMES}
        numbers["retry_seconds"] = 0.02
    given = dict(settings.get("capabilities", {}))
    if case["wire"] == "ollama":
        given.setdefault("tool_choice", [])
    members: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    capabilities = Capabilities(**members)
    web: bool | Web = settings["web"]
    if web:
        web = Web(
            provenance=settings.get("provenance", "host"),
            deny_hosts=tuple(settings.get("deny_hosts", ())),
        )
    tools = [
        Tool(
            tool["name"],
            tool["description"],
            tool["parameters"],
            side_effects=tool.get("side_effects", False),
            repeatable=tool.get("repeatable", False),
            timeout=tool.get("timeout", 30.0) * (1.0 if scale is None else scale),
            max_result_chars=tool.get("max_result_chars", 24_000),
        )
        for tool in settings.get("tools", ())
    ]
    seen = [
        Source(
            number=number, address=source["address"], title=source.get("title", ""), grade=source.get("grade", "read")
        )
        for number, source in enumerate(case.get("earlier", ()), 1)
    ]
    return Answer(
        case["conversation"],
        engine=Engine(wire=case["wire"], model="m", capabilities=capabilities),
        web=web,
        research=settings.get("research", True),
        tools=tools,
        seen=seen,
        limits=Limits(**numbers),
    )


@attrs.define
class Watch:
    """Decides when the scripted event of a case happens."""

    after: str
    world: CaseWorld
    _pieces: dict[str, int] = attrs.Factory(dict)

    def __call__(self, driver: ScriptedDriver) -> bool:
        word, _, place = self.after.partition(" ")
        wanted, _, piece = place.partition(".")
        number = int(wanted) if wanted else 1
        match word:
            case "start":
                return True
            case "engine_request":
                return len(self.world.bodies) >= number
            case "engine_chunk":
                ids = [r.id for r in driver.requests if isinstance(r, CallEngine) and r.request.target in CHAT_PATHS]
                if len(ids) < number:
                    return False
                given = sum(isinstance(e, BodyReceived) and e.id == ids[number - 1] for _, e in driver.log)
                return given >= int(piece or 1)
            case "search":
                return len(self.world.searches) >= number
            case "lookup":
                return len(self.world.looked_up) >= number
            case "fetch":
                return len(self.world.fetched) >= number
            case "tool":
                return len(self.world.tool_runs) >= number
            case "approval":
                return len(self.world.asked) >= number
            case _:
                return False


def run_case(case: dict[str, Any]) -> list[str]:
    """Run a case and return what is wrong."""
    world = CaseWorld(case)
    events = case.get("events", [])
    watch = Watch(events[0]["after"], world) if events and events[0]["after"] != "finish" else None
    driver = ScriptedDriver(world, cancel_when=watch)
    try:
        result = driver.run(make_answer(case))
    except Exception as error:  # noqa: BLE001 - a case must be reported, whatever happened
        return [f"{type(error).__name__}: {error}"[:300]]
    return judge(case, world, driver, result)


def judge(case: dict[str, Any], world: CaseWorld, driver: Any, result: Result) -> list[str]:
    """Return what is wrong with how a case went. `driver` has the notices, and the requests that were stopped."""
    failures = ["one more engine request than scripted"] if world.overrun else []
    for key, expected in case["expect"].items():
        failures += CHECKS[key](expected, case, world, driver, result)
    return failures


# The checks: each takes what is expected, the case, the world, the driver and the result.


def shown(driver: ScriptedDriver, kind: type) -> str:
    return "".join(notice.text for notice in driver.notices if isinstance(notice, kind))  # type: ignore[union-attr]


def _text(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_text("text", expected, result.text)


def _shown(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_text("shown", expected, shown(driver, ShowText))


def _reasoning_shown(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_text("reasoning_shown", expected, shown(driver, ShowReasoning))


def _why(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return [] if result.why_stopped in expected else [f"why_stopped is {result.why_stopped}, not one of {expected}"]


def _why_not(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return [f"why_stopped is {result.why_stopped}"] if result.why_stopped in expected else []


def _engine_requests(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_count("engine_requests", expected, len(world.bodies))


def _request_checks(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    failures = []
    for check in expected:
        numbers = range(1, len(world.bodies) + 1) if check["request"] == "all" else [check["request"]]
        for number in numbers:
            if number > len(world.bodies):
                failures.append(f"there is no request {number}")
            else:
                failures += check_path(check, world.bodies, number)
    return failures


def _searches(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    failures = _listed("searches", expected, [fields["q"] for fields in world.searches], "queries")
    if "time_ranges" in expected:
        ranges = [fields.get("time_range") for fields in world.searches]
        if ranges != expected["time_ranges"]:
            failures.append(f"time_ranges are {ranges}, not {expected['time_ranges']}")
    return failures


def _listed(name: str, expected: Mapping[str, Any], actual: list[str], exact: str) -> list[str]:
    failures = []
    if exact in expected and actual != expected[exact]:
        failures.append(f"{name} are {actual}, not {expected[exact]}")
    if "first" in expected:
        first = expected["first"] if isinstance(expected["first"], list) else [expected["first"]]
        if actual[: len(first)] != first:
            failures.append(f"{name} begin with {actual[: len(first)]}, not {first}")
    failures += [f"{name} lack {item}" for item in expected.get("contains", ()) if item not in actual]
    failures += [f"{name} hold {item}" for item in expected.get("not_contains", ()) if item in actual]
    if "count" in expected:
        failures += check_count(name, expected["count"], len(actual))
    return failures


def _health(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    actual = [notice.health for notice in driver.notices if isinstance(notice, ShowSearch)]
    return [] if actual == expected else [f"health is {actual}, not {expected}"]


def _fetched(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return _listed("fetched", expected, world.fetched, "addresses")


def _looked_up_not(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return [f"{name} was looked up" for name in expected if name in world.looked_up]


def _headers_absent(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return [f"a page request had {name}" for name in expected for headers in world.page_headers if name in headers]


def _pages_shown(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    pages = [notice for notice in driver.notices if isinstance(notice, ShowPage)]
    actual = [{"title": page.title, "address": page.address, "number": page.number} for page in pages]
    return _members("pages_shown", expected, actual)


def _members(name: str, expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[str]:
    if len(expected) != len(actual):
        return [f"{name} has {len(actual)} entries, not {len(expected)}: {actual}"]
    return [
        f"{name}[{position}].{key} is {found.get(key)!r}, not {value!r}"
        for position, (wanted, found) in enumerate(zip(expected, actual, strict=True))
        for key, value in wanted.items()
        if found.get(key) != value
    ]


def _refused(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    actual = [notice for notice in driver.notices if isinstance(notice, ShowRefusal)]
    if len(actual) != len(expected):
        return [f"refused {[(n.tool, n.reason) for n in actual]}, expected {len(expected)}"]
    failures = []
    for wanted, found in zip(expected, actual, strict=True):
        if "tool" in wanted and wanted["tool"] != found.tool:
            failures.append(f"refused {found.tool}, not {wanted['tool']}")
        if wanted.get("reason_contains", "") not in found.reason:
            failures.append(f"refused because {found.reason!r}, not {wanted['reason_contains']!r}")
    return failures


def _replies(case: Any, world: CaseWorld, result: Result) -> list[str]:
    before = sum(message["role"] == "tool" for message in case["conversation"])
    replies = [message["content"] for message in result.transcript if message["role"] == "tool"]
    return replies[before:] if before else replies


def _tool_results(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    replies = _replies(case, world, result)
    failures = []
    for test in expected:
        if test["n"] >= len(replies):
            failures.append(f"there is no tool result {test['n']}")
        else:
            failures += check_text(f"tool_results[{test['n']}]", test, replies[test["n"]])
    return failures


def _ledger(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return _members("ledger", expected, [attrs.asdict(source) for source in result.ledger])


def _budget(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    if result.budget is None:
        return ["there is no budget"]
    actual = {"searches": result.budget.searches, "pages": result.budget.pages}
    return [f"budget.{key} is {actual[key]}, not {value}" for key, value in expected.items() if actual[key] != value]


KINDS: dict[type, str] = {
    ShowText: "text",
    ShowReasoning: "reasoning",
    ShowSearch: "search",
    ShowPage: "page",
    ShowRefusal: "refusal",
    ShowProgress: "progress",
    Finish: "finish",
}


def _notices(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    kinds = iter(KINDS.get(type(notice), "other") for notice in driver.notices)
    missing = [kind for kind in expected if not any(kind == found for found in kinds)]
    return [f"notices lack {missing} in order"] if missing else []


def _history_valid(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    rescue = bool(case["settings"].get("capabilities", {}).get("rescue"))
    failures = []
    for number, body in enumerate(world.bodies, 1):
        failures += history_faults(f"request {number}", body["messages"], case["wire"], rescue=rescue)
    failures += history_faults("transcript", list(result.transcript), "openai", rescue=False)
    return failures


def history_faults(where: str, messages: list[Any], wire: str, *, rescue: bool) -> list[str]:
    """Return what is wrong with a conversation."""
    failures = []
    ids: list[str] = []
    open_: list[str] = []
    for position, message in enumerate(messages):
        role = message["role"]
        if role == "system" and position:
            failures.append(f"{where}: a system message at {position}")
        if rescue and (role == "tool" or message.get("tool_calls")):
            failures.append(f"{where}: calls or replies on the rescue path at {position}")
        if role == "tool":
            id_ = message.get("tool_call_id")
            if id_ is None and wire == "ollama" and open_:
                id_ = open_[0]
            if id_ not in open_:
                failures.append(f"{where}: a reply to no open call at {position}")
            else:
                open_.remove(id_)
            continue
        if open_:
            failures.append(f"{where}: the call {open_[0]} has no reply before {position}")
            open_.clear()
        for call in message.get("tool_calls") or ():
            arguments = call["function"]["arguments"]
            wanted = dict if wire == "ollama" else str
            if not isinstance(arguments, wanted):
                failures.append(f"{where}: arguments are {type(arguments).__name__} at {position}")
            elif isinstance(arguments, str) and not isinstance(json.loads(arguments), dict):
                failures.append(f"{where}: arguments are no object at {position}")
            if call["id"] in ids:
                failures.append(f"{where}: the id {call['id']} is used twice")
            ids.append(call["id"])
            open_.append(call["id"])
    if open_:
        failures.append(f"{where}: the call {open_[0]} has no reply")
    return failures


def _prefix_growth(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    pairs = zip(world.bodies, world.bodies[1:], strict=False)
    return [
        f"request {number} is not the growth of the one before"
        for number, (one, two) in enumerate(pairs, 2)
        if two["messages"][: len(one["messages"])] != one["messages"]
    ]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        # Arguments of calls are JSON inside a text: what stands in them counts decoded too.
        if value[:1] in "{[":
            try:
                yield from _strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _never_sent(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    texts = [text for body in world.bodies for text in _strings(body)]
    texts.append(shown(driver, ShowText))
    return [f"{wanted!r} was sent or shown" for wanted in expected if any(wanted in text for text in texts)]


def _tool_runs(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    wanted = [(run["name"], run["arguments"]) for run in expected]
    return [] if world.tool_runs == wanted else [f"tool runs are {world.tool_runs}, not {wanted}"]


def _tool_runs_not(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    ran = [name for name, _ in world.tool_runs]
    names = [run["name"] if isinstance(run, dict) else run for run in expected]
    return [f"{name} ran" for name in names if name in ran]


def _tool_run_count(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_count("tool_run_count", expected, len(world.tool_runs))


def _asked(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return [] if world.asked == expected else [f"asked {world.asked}, not {expected}"]


def _ran(result: Result) -> list[Any]:
    return [receipt for receipt in result.receipts if receipt.outcome in ("ran", "failed")]


def _receipts(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    actual = [receipt.tool for receipt in _ran(result)]
    return [] if actual == expected else [f"receipts are {actual}, not {expected}"]


def _asked_by(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    actual = {
        "receipts": [receipt.asked_by for receipt in _ran(result)],
        "searches": [notice.asked_by for notice in driver.notices if isinstance(notice, ShowSearch)],
        "pages": [notice.asked_by for notice in driver.notices if isinstance(notice, ShowPage)],
    }
    return [f"asked_by.{key} is {actual[key]}, not {value}" for key, value in expected.items() if actual[key] != value]


def _rewrites(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return check_count("rewrites", expected, len(result.rewrites))


def _usage(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    actual = {"prompt": result.usage.prompt_tokens, "completion": result.usage.completion_tokens}
    return [f"usage.{key} is {actual[key]}, not {value}" for key, value in expected.items() if actual[key] != value]


def _citations(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    return _members("citations", expected, [attrs.asdict(citation) for citation in result.citations])


def _quotes(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    if len(expected) != len(result.quotes):
        return [f"quotes are {result.quotes}, expected {len(expected)}"]
    failures = []
    for wanted, quote in zip(expected, result.quotes, strict=True):
        if wanted.get("contains", "") not in quote.text:
            failures.append(f"the quote {quote.text!r} lacks {wanted['contains']!r}")
        if quote.found != wanted["found"]:
            failures.append(f"the quote {quote.text!r} is found={quote.found}")
    return failures


def _aborted(expected: Any, case: Any, world: CaseWorld, driver: ScriptedDriver, result: Result) -> list[str]:
    kinds = {CallEngine: "engine", CallSearch: "search", Resolve: "lookup", Connect: "fetch", RunTool: "tool"}
    actual = {kinds[type(request)] for request in driver.aborted if type(request) in kinds}
    return [f"no open {kind} was told to stop" for kind in expected if kind not in actual]


CHECKS: dict[str, Any] = {
    "text": _text,
    "shown": _shown,
    "reasoning_shown": _reasoning_shown,
    "why_stopped": _why,
    "why_stopped_not": _why_not,
    "engine_requests": _engine_requests,
    "request_checks": _request_checks,
    "searches": _searches,
    "health": _health,
    "fetched": _fetched,
    "looked_up_not": _looked_up_not,
    "page_request_headers_absent": _headers_absent,
    "pages_shown": _pages_shown,
    "refused": _refused,
    "tool_results": _tool_results,
    "ledger": _ledger,
    "budget": _budget,
    "notices": _notices,
    "history_valid": _history_valid,
    "prefix_growth": _prefix_growth,
    "never_sent": _never_sent,
    "tool_runs": _tool_runs,
    "tool_runs_not": _tool_runs_not,
    "tool_run_count": _tool_run_count,
    "asked": _asked,
    "receipts": _receipts,
    "asked_by": _asked_by,
    "rewrites": _rewrites,
    "usage": _usage,
    "citations": _citations,
    "quotes": _quotes,
    "aborted": _aborted,
}


if __name__ == "__main__":
    sys.exit(main(run_case, __doc__ or ""))
