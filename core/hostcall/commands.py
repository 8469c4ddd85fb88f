"""What the core asks of a driver. Each command is an imperative.

A command with an `id` is a *request* and is answered by events with that id, until one of its `ends` comes. A command
without one is a *notice*: the driver passes it on to the host. `Cancel` is neither: it names a request to stop.
"""

from typing import ClassVar, Literal, TypeAlias, TypeGuard, get_args

import attrs

from hostcall.data import (
    AskedBy,
    Bounds,
    CheckedAddress,
    FetchRecord,
    Health,
    HttpRequest,
    JsonObject,
    Result,
    SearchResult,
)
from hostcall.events import (
    ApprovalGiven,
    Failed,
    ModelEnded,
    Resolved,
    ResponseEnded,
    ToolFinished,
    Woken,
)

# Requests.


@attrs.frozen(kw_only=True)
class CallEngine:
    """Send `request` to the engine. Answered by the events of a response, each as it comes."""

    ends: ClassVar[tuple[type, ...]] = (ResponseEnded, ModelEnded, Failed)
    id: str
    deadline: float
    request: HttpRequest
    idle: float
    """The longest wait for the next byte, in seconds; then ``Failed(kind="idle")``."""


@attrs.frozen(kw_only=True)
class CallSearch:
    """Send `request` to the search service. Answered by the events of a response."""

    ends: ClassVar[tuple[type, ...]] = (ResponseEnded, Failed)
    id: str
    deadline: float
    request: HttpRequest


@attrs.frozen(kw_only=True)
class Resolve:
    """Look up all addresses of a name, both families, once."""

    ends: ClassVar[tuple[type, ...]] = (Resolved, Failed)
    id: str
    deadline: float
    host: str
    """Canonical ASCII, never a literal address."""


@attrs.frozen(kw_only=True)
class Connect:
    """Connect to one of `addresses` and nothing else, shake hands for `server_name`, send `request`.

    Security:
        Rule 3, one lookup, one connection. Threat: a name that answers differently the second time. The driver looks
        nothing up here. Rule 7: the request's headers are all that is sent.
    """

    ends: ClassVar[tuple[type, ...]] = (ResponseEnded, Failed)
    id: str
    deadline: float
    addresses: tuple[CheckedAddress, ...]
    port: int
    server_name: str
    """The name that the certificate must hold; for a literal the address without brackets. Never None: a TLS library
    given None takes a certificate for any name."""
    request: HttpRequest
    bounds: Bounds


@attrs.frozen(kw_only=True)
class RunTool:
    """Run a tool of the host. The arguments have passed the tool's schema and, where needed, an approval."""

    ends: ClassVar[tuple[type, ...]] = (ToolFinished, Failed)
    id: str
    deadline: float
    name: str
    arguments: JsonObject
    call_id: str
    """The call's id in the history: stable over a replay, so a handler can use it to do its work once."""


@attrs.frozen(kw_only=True)
class AskApproval:
    """Ask whether a tool with side effects may run with these arguments. Silence until the deadline is a refusal."""

    ends: ClassVar[tuple[type, ...]] = (ApprovalGiven, Failed)
    id: str
    deadline: float
    name: str
    arguments: JsonObject
    reason: str


@attrs.frozen(kw_only=True)
class Wait:
    """Say `Woken` when the clock shows `until`."""

    ends: ClassVar[tuple[type, ...]] = (Woken, Failed)
    id: str
    until: float

    @property
    def deadline(self) -> float:
        """The same as `until`, so that a driver can treat all requests alike."""
        return self.until


@attrs.frozen
class Cancel:
    """Stop the request with this id. Nothing need come back."""

    id: str


# Notices.


@attrs.frozen
class ShowText:
    """Text of the answer, as it is written. `round` counts from 1."""

    text: str
    round: int


@attrs.frozen
class ShowReasoning:
    """Reasoning of the model, as it is written."""

    text: str
    round: int


@attrs.frozen(kw_only=True)
class ShowSearch:
    """A search was answered. Comes in the order asked."""

    query: str
    time_range: str | None
    results: tuple[SearchResult, ...]
    health: Health
    asked_by: AskedBy


@attrs.frozen(kw_only=True)
class ShowPage:
    """A page was read. Comes in the order asked."""

    number: int
    title: str
    address: str
    asked_by: AskedBy


@attrs.frozen
class ShowRefusal:
    """A call was refused. `reason` is fit for a reader."""

    tool: str
    reason: str


@attrs.frozen(kw_only=True)
class ShowProgress:
    """Something moved; for a reader who waits. The order is that of arrival."""

    kind: Literal["round", "searching", "opening", "running", "asking", "waiting", "failed", "quirk"]
    text: str
    round: int


@attrs.frozen
class LogFetch:
    """One line for the journal (rule 8)."""

    record: FetchRecord


@attrs.frozen
class Finish:
    """The answer ended. The last command of every answer; nothing is live after it."""

    result: Result


Request: TypeAlias = CallEngine | CallSearch | Resolve | Connect | RunTool | AskApproval | Wait
Notice: TypeAlias = ShowText | ShowReasoning | ShowSearch | ShowPage | ShowRefusal | ShowProgress | LogFetch | Finish
Command: TypeAlias = Request | Cancel | Notice
"""Everything that can be asked."""

_REQUEST_TYPES: frozenset[type] = frozenset(get_args(Request))


def is_request(command: Command) -> TypeGuard[Request]:
    """Say whether a command is answered by events. Asked of every notice of a stream, so by a look into a set."""
    return type(command) in _REQUEST_TYPES
