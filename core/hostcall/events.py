"""What a driver tells the core. Each event is a past participle: it has happened.

All but `HostCancelled` name the request that they answer by its `id`.
"""

from typing import Literal, TypeAlias

import attrs

from hostcall.data import CallFragment, Headers, Usage

FailureKind: TypeAlias = Literal[
    "not_found",  # the name has no address
    "lookup",  # the lookup itself failed
    "connect",  # refused, unreachable
    "tls",  # certificate or handshake
    "timeout",  # the deadline of the request
    "idle",  # no byte for as long as the request allows
    "reset",  # the connection broke after it stood
    "protocol",  # what came is not HTTP, or over the bounds
    "handler",  # the host's own tool raised
]


@attrs.frozen
class Resolved:
    """A name was looked up. `addresses` are all that were found, both families, as text."""

    id: str
    addresses: tuple[str, ...]


@attrs.frozen
class ResponseStarted:
    """The head of an answer arrived."""

    id: str
    status: int
    headers: Headers = ()
    peer: str | None = None
    """The address of the other end, as the socket says it. None where there is no socket (a unix path)."""
    tls_version: str | None = None


@attrs.frozen
class BodyReceived:
    """A piece of the body arrived, without its transfer framing. Any cut of the same bytes means the same."""

    id: str
    data: bytes


@attrs.frozen
class ResponseEnded:
    """The body ended as its framing says it should."""

    id: str


@attrs.frozen
class Failed:
    """A request could not be carried out. `detail` is for the journal and the operator, never for a stranger."""

    id: str
    kind: FailureKind
    detail: str = ""


@attrs.frozen
class ToolFinished:
    """A tool of the host finished. `is_error` says that the content tells of a failure."""

    id: str
    content: str
    is_error: bool = False


@attrs.frozen
class ApprovalGiven:
    """A person (or a policy) was asked and answered."""

    id: str
    allowed: bool
    reason: str = ""


@attrs.frozen
class Woken:
    """The time that a `Wait` named has come."""

    id: str


@attrs.frozen(kw_only=True)
class ModelChunk:
    """A piece of a model's reply, from a host with an engine client of its own; and what the decoders make of bytes."""

    id: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallFragment, ...] = ()
    finish: str | None = None
    usage: Usage | None = None


@attrs.frozen
class ModelEnded:
    """A model's reply ended, from a host with an engine client of its own."""

    id: str


@attrs.frozen
class HostCancelled:
    """The host wants the answer to stop, whatever it is doing."""

    reason: Literal["cancelled", "deadline"] = "cancelled"


Event: TypeAlias = (
    Resolved
    | ResponseStarted
    | BodyReceived
    | ResponseEnded
    | Failed
    | ToolFinished
    | ApprovalGiven
    | Woken
    | ModelChunk
    | ModelEnded
    | HostCancelled
)
"""Everything that can be told."""

RequestEvent: TypeAlias = (
    Resolved
    | ResponseStarted
    | BodyReceived
    | ResponseEnded
    | Failed
    | ToolFinished
    | ApprovalGiven
    | Woken
    | ModelChunk
    | ModelEnded
)
"""The events that answer a request."""
