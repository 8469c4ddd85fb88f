"""An engine that speaks the real wire and answers by quoting what it read. It is not a language model, and says so.

It has llama-server's routes, chunks, errors and fields, so what drives it is the real thing from end to end. What it
says comes from the conversation alone: it asks for a search with the words of the question, opens the result that
shares most of them, and quotes the sentences that do. Where they do not hold the answer it says that they do not.

`respond` is a pure function of the request and the time.
"""

import hashlib
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from hostcall_drivers.demo.quoting import Passage, Question, Quote, answers, best_passage, clipped, passages, quotes
from hostcall_drivers.demo.search import key_words

MODEL = "hostcall-demo-quoter"
FINGERPRINT = "hostcall-demo"
DISCLAIMER = (
    "I am the demo's engine and not a language model: I quote the sentences that share most words with the question."
)
SEARCH, FETCH = "web_search", "fetch_page_content_recursive"
_MAX_PAGES = 2
"""Pages that are opened for one question: the second only when the first does not hold the answer."""
_ASK = re.compile(r"Write the answer now\b.*\bDo not call a tool\b", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*\[SYSTEM DIRECTIVE\].*\Z", re.DOTALL)
_ADDRESS = re.compile(r"https://[^\s<>\"'`]+")
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_JSON_PIECES = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")


@attrs.frozen
class Reply:
    """An HTTP answer; a stream comes in many chunks."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[bytes, ...]


@attrs.frozen
class Call:
    """The engine asks for a tool."""

    name: str
    arguments: dict[str, Any]


@attrs.frozen
class Turn:
    """What the conversation holds since the user's last question."""

    question: str
    asked_to_answer: bool
    searches: int
    results: tuple[Passage, ...]
    pages: tuple[Passage, ...]
    opened: tuple[str, ...]
    """Addresses that were asked for."""


def respond(method: str, target: str, body: bytes, *, created: int) -> Reply:
    """Return the answer to one request to the engine."""
    path = target.partition("?")[0].rstrip("/")
    if method == "GET" and path in ("/v1/models", "/models"):
        return _models(created)
    if method == "GET" and path in ("/health", "/v1/health"):
        return _json(200, {"status": "ok"})
    if method != "POST" or path not in ("/v1/chat/completions", "/chat/completions"):
        return _error(404, "File Not Found", "not_found_error")
    try:
        request = json.loads(body)
    except ValueError as error:
        return _error(400, f"[json.exception.parse_error.101] parse error: {error}")
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        return _error(400, "'messages' is required")
    choice = request.get("tool_choice", "auto")
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        return _error(400, f"Invalid tool_choice: {choice}")
    return _completion(request, created)


def _completion(request: Mapping[str, Any], created: int) -> Reply:
    said = decide(request)
    frame = _Frame(request, created)
    if isinstance(said, Call):
        pieces = _JSON_PIECES.findall(json.dumps(said.arguments, ensure_ascii=False))
    else:
        pieces = _PIECES.findall(said)
    most = request.get("max_tokens")
    cut = isinstance(most, int) and not isinstance(most, bool) and 0 <= most < len(pieces)
    if cut:
        pieces = pieces[:most]
    reason = "length" if cut else "tool_calls" if isinstance(said, Call) else "stop"
    name = said.name if isinstance(said, Call) else ""
    if not request.get("stream"):
        return _json(200, frame.whole(name, pieces, reason))
    body = tuple(frame.stream(name, pieces, reason))
    return Reply(200, (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")), body)


# What to say.


def decide(request: Mapping[str, Any]) -> Call | str:
    """Return the tool to call, or the text to write: an answer, or a JSON text where a schema is asked for."""
    turn = read_turn(request["messages"])
    schema = _schema(request)
    if schema is not None:
        forms = _call_forms(schema)
        if not forms:
            return json.dumps(_instance(schema, _answer(turn)), ensure_ascii=False)
        call = _call(turn, forms, forced=True)
        return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    choice = request.get("tool_choice", "auto")
    offered = _offered(request) if choice != "none" else {}
    if not offered or turn.asked_to_answer:
        return _answer(turn)
    forced = choice == "required" or isinstance(choice, dict)
    if isinstance(choice, dict):
        named = str(choice.get("function", {}).get("name", ""))
        offered = {named: offered[named]} if named in offered else offered
    return _call(turn, offered, forced=True) if forced else _call_if_any(turn, offered) or _answer(turn)


def _call(turn: Turn, offered: Mapping[str, Any], *, forced: bool) -> Call:
    call = _call_if_any(turn, offered)
    if call is not None:
        return call
    if not forced:
        raise AssertionError("a call is made up only where one is forced")
    # There is nothing left that helps, and still a call must be: the search in other words, or whatever is offered.
    words = key_words(turn.question)
    if SEARCH in offered:
        return Call(SEARCH, {"query": max(words, key=len, default="documentation")})
    name, parameters = next(iter(offered.items()))
    made = _instance(parameters, turn.question)
    return Call(name, made if isinstance(made, dict) else {})


def _call_if_any(turn: Turn, offered: Mapping[str, Any]) -> Call | None:
    """Return the next step of the search, or None when what was read is enough or nothing more can be read."""
    named = _ADDRESS.search(turn.question)
    if FETCH in offered and named is not None and not turn.opened:
        return Call(FETCH, {"url": named[0].rstrip(".,;:!?)")})
    if SEARCH in offered and not turn.searches and named is None:
        return Call(SEARCH, {"query": " ".join(key_words(turn.question))})
    question = Question(turn.question, [source.text for source in turn.results])
    if FETCH not in offered or len(turn.opened) >= _MAX_PAGES:
        return None
    if any(answers(question, page) for page in turn.pages):
        return None
    known = {page.address for page in turn.pages}.union(turn.opened)
    promising = best_passage(question, [source for source in turn.results if source.address not in known])
    return None if promising is None else Call(FETCH, {"url": promising.address})


def _answer(turn: Turn) -> str:
    """Return an answer made of quotations, or a plain word that there is none."""
    sources = [*turn.pages, *(one for one in turn.results if all(one.number != page.number for page in turn.pages))]
    if not sources:
        return (
            f"I can only quote pages, and none could be read for this question. {DISCLAIMER}"
            if not turn.searches
            else f"The search found nothing for “{turn.question[:200]}”. {DISCLAIMER}"
        )
    question = Question(turn.question, [source.text for source in sources])
    chosen = quotes(question, turn.pages) or quotes(question, sources)
    if not chosen:
        looked = "\n".join(f"- {source.title} [{source.number}]" for source in sources[:_MAX_PAGES])
        return f"The pages that were found do not hold the answer. The nearest were:\n\n{looked}\n\n{DISCLAIMER}"
    parts: list[str] = []
    for number in dict.fromkeys(quote.number for quote in chosen):
        title = next(source.title for source in sources if source.number == number)
        parts.append(f"**{title}** [{number}]")
        parts.extend(_quoted(quote) for quote in chosen if quote.number == number)
    return "\n\n".join((*parts, DISCLAIMER))


def _quoted(quote: Quote) -> str:
    if quote.code:
        return f"```\n{textwrap.dedent(quote.text)}\n```\n[{quote.number}]"
    return f"“{clipped(quote.text)}” [{quote.number}]"


# Reading the request.


def read_turn(messages: Sequence[Any]) -> Turn:
    """Return what the conversation holds since the user's last question."""
    known = [message for message in messages if isinstance(message, dict)]
    asks = [at for at, message in enumerate(known) if message.get("role") == "user"]
    questions = [at for at in asks if not _ASK.search(_text(known[at]))]
    start = questions[-1] if questions else len(known)
    question = _DIRECTIVE.sub("", _text(known[start])).strip() if questions else ""
    names: dict[str, tuple[str, str]] = {}
    searches = 0
    results: dict[int, Passage] = {}
    pages: dict[int, Passage] = {}
    opened: list[str] = []
    for message in known[start:]:
        if message.get("role") == "assistant":
            for call_id, name, url in _calls(message):
                names[call_id] = (name, url)
                searches += name == SEARCH
                if name == FETCH:
                    opened.append(url)
        elif message.get("role") == "tool":
            name, _ = names.get(str(message.get("tool_call_id")), ("", ""))
            text = _text(message)
            into = pages if name == FETCH or text.startswith("Untrusted text from ") else results
            for source in passages(text):
                into.setdefault(source.number, source)
    asked = bool(asks) and asks[-1] > start and bool(_ASK.search(_text(known[asks[-1]])))
    return Turn(question, asked, searches, tuple(results.values()), tuple(pages.values()), tuple(opened))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            try:
                read = json.loads(arguments) if isinstance(arguments, str) else arguments
            except ValueError:
                read = None
            url = read.get("url", "") if isinstance(read, dict) else ""
            yield str(call.get("id")), str(function.get("name")), str(url)


def _offered(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools by name, each with the schema of its arguments."""
    tools = request.get("tools")
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return {
        str(function["name"]): function.get("parameters") or {}
        for function in functions
        if isinstance(function, dict) and "name" in function
    }


def _schema(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = request.get("response_format")
    if not isinstance(form, dict) or form.get("type") not in ("json_schema", "json_object"):
        return None
    named = form.get("json_schema")
    schema = named.get("schema") if isinstance(named, dict) else form.get("schema")
    return schema if isinstance(schema, dict) else {"type": "object"}


def _call_forms(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the calls that a schema lets through, where it is a schema of calls: name and schema of arguments."""
    found: dict[str, Any] = {}
    for form in schema.get("anyOf") or [schema]:
        properties = form.get("properties", {}) if isinstance(form, dict) else {}
        name = properties.get("name", {})
        if isinstance(name, dict) and "const" in name and "arguments" in properties:
            found[str(name["const"])] = properties["arguments"]
    return found


def _instance(schema: Any, words: str) -> Any:
    """Return the plainest value that fits a schema; texts say what there is to say."""
    if not isinstance(schema, dict):
        return words
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            return _instance(schema[union][0], words)
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "string":
            return words
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            return [_instance(schema.get("items", {}), words) for _ in range(int(schema.get("minItems", 0)))]
    properties = schema.get("properties", {})
    return {name: _instance(properties.get(name, {}), words) for name in schema.get("required", ())}


# The wire.


class _Frame:
    """What every part of one reply has in common."""

    def __init__(self, request: Mapping[str, Any], created: int) -> None:
        canonical = json.dumps(request, sort_keys=True, ensure_ascii=True).encode()
        digest = hashlib.sha256(canonical + str(created).encode()).hexdigest()
        model = request.get("model")
        options = request.get("stream_options")
        self._call_id = digest[32:]
        self._usage = isinstance(options, dict) and bool(options.get("include_usage"))
        self._prompt_tokens = len(canonical) // 4
        self._common = {
            "created": created,
            "id": f"chatcmpl-{digest[:32]}",
            "model": model if isinstance(model, str) and model else MODEL,
            "system_fingerprint": FINGERPRINT,
        }

    def stream(self, name: str, pieces: Sequence[str], reason: str) -> Iterator[bytes]:
        """Yield the events of a streamed reply."""
        yield self._event({"role": "assistant", "content": None})
        if name:
            head = {"index": 0, "id": self._call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            yield self._event({"tool_calls": [head]})
            for piece in pieces:
                yield self._event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        else:
            for piece in pieces:
                yield self._event({"content": piece})
        yield self._event({}, reason, timings=self._timings(len(pieces)))
        if self._usage:
            chunk = {"choices": [], **self._common, "object": "chat.completion.chunk", "usage": self._used(len(pieces))}
            yield _data(chunk)
        yield b"data: [DONE]\n\n"

    def whole(self, name: str, pieces: Iterable[str], reason: str) -> dict[str, Any]:
        """Return a reply in one piece."""
        listed = list(pieces)
        text = "".join(listed)
        message: dict[str, Any] = {"role": "assistant", "content": "" if name else text}
        if name:
            function = {"name": name, "arguments": text}
            message["tool_calls"] = [{"type": "function", "function": function, "id": self._call_id}]
        return {
            "choices": [{"finish_reason": reason, "index": 0, "message": message}],
            **self._common,
            "object": "chat.completion",
            "usage": self._used(len(listed)),
            "timings": self._timings(len(listed)),
        }

    def _event(self, delta: Mapping[str, Any], reason: str | None = None, **further: Any) -> bytes:
        choice = {"finish_reason": reason, "index": 0, "delta": delta}
        return _data({"choices": [choice], **self._common, "object": "chat.completion.chunk", **further})

    def _used(self, tokens: int) -> dict[str, int]:
        prompt = self._prompt_tokens
        return {"completion_tokens": tokens, "prompt_tokens": prompt, "total_tokens": prompt + tokens}

    def _timings(self, tokens: int) -> dict[str, int]:
        return {"cache_n": 0, "prompt_n": self._prompt_tokens, "predicted_n": tokens}


def _data(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _models(created: int) -> Reply:
    model = {"id": MODEL, "object": "model", "created": created, "owned_by": "hostcall"}
    return _json(200, {"object": "list", "data": [model]})


def _json(status: int, value: Mapping[str, Any]) -> Reply:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Reply(status, (("Content-Type", "application/json; charset=utf-8"),), (body,))


def _error(status: int, message: str, kind: str = "invalid_request_error") -> Reply:
    return _json(status, {"error": {"code": status, "message": message, "type": kind}})
