"""What events and commands carry across the border: frozen values, and nothing that acts.

The classes stand in the order of the work: a request, an address, a source, a call, an answer's end.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

JsonObject: TypeAlias = Mapping[str, Any]
"""A JSON object as `json.loads` gives it. Never changed once it is inside a value of this module."""

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Header fields in the order sent or received; names as written."""

# Requests and addresses.


@attrs.frozen
class HttpRequest:
    """One HTTP request, without where it goes: the command that carries it says that."""

    method: str
    target: str
    """Path and query, as they stand on the request line."""
    headers: Headers = ()
    """All fields that are sent, in order. For a page the driver adds none; for a service it adds Host and the key."""
    body: bytes = b""


@attrs.frozen
class CheckedAddress:
    """An IP address that passed rule 2.

    Security:
        Rule 2 and rule 3. Threat: a second path to the network that forgot the check. Only
        `hostcall.web.address.checked_addresses` makes one, and a driver connects to nothing else.
    """

    ip: str
    """The address in its canonical text form, without brackets or zone."""


@attrs.frozen(kw_only=True)
class Bounds:
    """What a driver may take in from a stranger's server, in answer to one `Connect`."""

    head_bytes: int
    headers: int
    wire_bytes: int
    data_events: int
    chunk_line_bytes: int
    connect_seconds: float
    """The longest that one connection attempt may take."""
    stagger: float = 0.25
    """How long an attempt is given before the next address is tried beside it (RFC 8305 §5)."""


@attrs.frozen
class Refused:
    """A safety rule said no. A value, never raised.

    Args:
        rule: The number of the rule, 1 to 8, or 0 for a limit that is no safety rule.
        code: One of the stable codes that the journal and hosts may switch on.
        reason: What the reader and the model are told. Holds no resolved address and no inner detail.
        detail: What the journal is told beside it.
    """

    rule: int
    code: str
    reason: str
    detail: str = ""


# What was found.

Grade: TypeAlias = Literal["snippet", "read"]
"""How well a source is known: from a search result's snippet, or read as a page."""

AskedBy: TypeAlias = Literal["model", "host"]

Recency: TypeAlias = Literal["", "in range", "out of range", "undated"]
"""How a result's date stands to the range asked for; empty when no range was asked."""

Health: TypeAlias = Literal["healthy", "degraded", "unavailable"]
"""Whether every search engine behind a search answered, some did, or none did."""


@attrs.frozen(kw_only=True)
class Source:
    """One numbered source of an answer."""

    number: int
    address: str
    """The address asked for, canonical."""
    title: str = ""
    grade: Grade = "snippet"
    published: str = ""
    """The date as the search gave it, or empty."""
    final_address: str = ""
    """Where the address led, when that was elsewhere."""


@attrs.frozen(kw_only=True)
class SearchResult:
    """One result of a search, as it was shown to the model and is shown to the reader."""

    number: int
    address: str
    title: str
    snippet: str = ""
    published: str = ""
    recency: Recency = ""


@attrs.frozen(kw_only=True)
class FetchRecord:
    """What the journal is told of one page request or one refusal (rule 8). Never page text.

    Field names follow OpenTelemetry's semantic conventions where one exists; `hostcall_drivers.journal` writes them.
    """

    id: str
    """The id of the hop: ``r2.c1.p3.h0``."""
    address: str
    """`url.full`: the address as sent, or the text as given when it could not be read."""
    host: str = ""
    """`server.address`."""
    peer: str | None = None
    """`network.peer.address`: the address connected to."""
    answers: tuple[str, ...] = ()
    """`hostcall.dns.answers`, when the fetch was refused for one of them."""
    status: int | None = None
    """`http.response.status_code`."""
    wire_bytes: int = 0
    """`http.response.body.size`."""
    decoded_bytes: int = 0
    """`hostcall.body.decoded_size`."""
    milliseconds: int = 0
    """This hop."""
    total_milliseconds: int | None = None
    """All hops, on the last one."""
    error: str | None = None
    """`error.type`: a code of `Refused`, absent on success."""
    cause: str | None = None
    """The inner code, when `error` only says that a redirect led to it."""
    detail: str = ""
    """`hostcall.detail`: the journal's own text."""
    rule: int | None = None
    """The safety rule that refused."""
    hop: int = 0
    depth: int = 0
    """How many links from the page asked for."""
    source: Literal["search_result", "user_message", "page_link", "redirect", "unknown"] = "unknown"
    truncated: bool = False
    tls_version: str | None = None


# Calls.


@attrs.frozen(kw_only=True)
class CallFragment:
    """A piece of a tool call as an engine streams it. What is absent is None."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JsonObject | None = None
    """A piece of JSON text; or a whole object, from engines that send one."""


@attrs.frozen
class Usage:
    """Tokens that an engine counted."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@attrs.frozen(kw_only=True)
class Receipt:
    """The record of one call, chained to the one before it.

    The chain is over the canonical JSON of all other fields and `previous`; with a key it is an HMAC.
    """

    id: str
    """The call's id in the history."""
    tool: str
    arguments_digest: str
    """SHA-256 of the canonical JSON of the arguments, hex."""
    asked_by: AskedBy
    started: float
    """On the driver's clock, as `now` was given."""
    ended: float
    result_bytes: int
    result_digest: str
    outcome: str
    """``ran``, ``failed``, ``repeated``, ``refused``, ``over budget``, ``unknown``, ``fault``, ``cancelled``,
    ``stopped`` (it was running when the answer ended), …"""
    previous: str
    digest: str


# The engine.


@attrs.frozen(kw_only=True)
class Capabilities:
    """What an engine and model are known to do. Data, so that no quirk is an `if` in the loop.

    `hostcall.engine.capabilities` has the rows of known engines with their sources.
    """

    tool_choice: tuple[str, ...] = ("none", "auto", "required")
    """Values of `tool_choice` that work. Empty: the field is left out."""
    schema: bool = True
    """Whether a reply can be forced to a JSON schema."""
    answer_round: Literal["no_tools", "same_tools"] = "no_tools"
    """How an answer round tells the engine that no call is wanted."""
    reasoning_field: str = "reasoning_content"
    echo_reasoning: Literal["never", "tool_rounds", "always"] = "tool_rounds"
    dialects: tuple[str, ...] = ("auto",)
    """Dialects of calls written as text to arm in every round."""
    guided: bool = False
    """Whether the model is led by the hand, because it calls and cites badly by itself: after the search it picks a
    page by JSON schema, and its answer is one as well, with a source for each statement."""
    rescue: bool = False
    """Whether tools are described in the prompt and read from the text."""
    probed: bool = False
    """Whether the engine has been asked what the model can do (Ollama's `/api/show`)."""
    overflow_words: tuple[str, ...] = ()
    """Words of an error that mean a full context, beside the known ones."""


@attrs.frozen(kw_only=True)
class Rewrite:
    """One place where a request was not the growth of the one before, and why."""

    request: str
    """The id of the engine request."""
    reason: str


# The end.

WhyStopped: TypeAlias = Literal[
    "answered",
    "rounds_used",
    "budget_spent",
    "blank",
    "truncated",
    "engine_failed",
    "overflow",
    "cancelled",
    "deadline",
]


@attrs.frozen(kw_only=True)
class Citation:
    """One ``[n]`` of the answer's text, in the order of first use."""

    number: int
    grade: Literal["read", "snippet", "unknown"]


@attrs.frozen(kw_only=True)
class Quote:
    """One quoted span of six words or more, and whether a page that was read holds it."""

    text: str
    found: bool | None
    """None: no page was read, so it could not be looked for."""
    number: int | None = None
    """The source that holds it."""


@attrs.frozen(kw_only=True)
class Spent:
    """What an answer used of its research budget."""

    searches: int
    searches_allowed: int
    pages: int
    pages_allowed: int


@attrs.frozen(kw_only=True)
class Result:
    """How an answer ended: everything a host may want to show, keep or check."""

    text: str
    """The text of the last answering round."""
    why_stopped: WhyStopped
    detail: str = ""
    """One line for the operator when the end was not an answer."""
    fault: str = ""
    """What kind of fault the engine had, when it was the engine: ``rejected``, ``unavailable``, ``busy``, …"""
    cut: bool = False
    """Whether the engine ended the text at a length limit: its context, or a `max_tokens` that was asked for."""
    from_reasoning: bool = False
    """True: `text` is reasoning that the model never turned into an answer."""
    ledger: tuple[Source, ...] = ()
    citations: tuple[Citation, ...] = ()
    quotes: tuple[Quote, ...] = ()
    marks: tuple[str, ...] = ()
    """Mechanical warnings: no tool ran; a number that is unknown or unread; a quotation not found."""
    budget: Spent | None = None
    """None when the answer had no web."""
    usage: Usage = Usage()
    receipts: tuple[Receipt, ...] = ()
    receipts_head: str = ""
    rewrites: tuple[Rewrite, ...] = ()
    quirks: tuple[str, ...] = ()
    """What the engine did that it should not have, each once, in the order seen."""
    capabilities: Capabilities = Capabilities()
    """As learned: hand it to the next answer on this engine and model."""
    transcript: tuple[JsonObject, ...] = ()
    """The messages of the whole conversation, this answer's included, in the OpenAI shape."""
