"""What every wire has in common: a request to build, and bytes of a reply to read."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from hostcall.data import Capabilities, HttpRequest
from hostcall.engine.faults import EngineFault
from hostcall.events import ModelChunk

ToolChoice: TypeAlias = Literal["none", "auto", "required"]


@attrs.frozen(kw_only=True)
class ChatAsk:
    """One chat request, before it is bytes."""

    messages: Sequence[dict[str, Any]]
    """In the OpenAI shape, system first."""
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: ToolChoice | None = None
    max_tokens: int | None = None
    schema: dict[str, Any] | None = None
    """A JSON schema that the reply must fit."""


class ReplyDecoder(Protocol):
    """The reader of one reply. It never raises for what an engine sends: a wrong reply ends in `fault`."""

    fault: EngineFault | None
    """Why the reply is none, or broke off; None after `end` says that it is whole."""
    ended: bool
    """Whether the reply said that it is complete (a finish reason, ``[DONE]``, ``done``)."""
    over: bool
    """Whether nothing that may still come is read: the very last piece was there, or a fault."""
    quirks: list[str]
    """What was wrong and could be read all the same."""
    reasoning_field: str | None
    """Under which name reasoning came."""

    def head(self, status: int, headers: Sequence[tuple[str, str]]) -> None: ...
    def feed(self, data: bytes) -> list[ModelChunk]: ...
    def end(self) -> list[ModelChunk]: ...


class Wire(Protocol):
    """One interface of engines."""

    def probe(self) -> HttpRequest | None:
        """Return the request that asks what the model can do, where that must be asked."""
        ...

    def read_probe(self, status: int, body: bytes, capabilities: Capabilities) -> Capabilities:
        """Return what the answer to `probe` teaches."""
        ...

    def request(self, ask: ChatAsk) -> HttpRequest: ...
    def decoder(self, id: str) -> ReplyDecoder: ...
