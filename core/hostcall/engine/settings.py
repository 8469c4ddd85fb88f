"""Which engine an answer talks to, as far as the core needs to know: never its address and never its key."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from hostcall.data import Capabilities


@attrs.frozen(kw_only=True)
class Engine:
    """The engine of an answer.

    Args:
        name: Which of the driver's engines it is; empty for a driver that has one.
        wire: Which interface it speaks: ``openai`` for any host of ``/v1/chat/completions``, ``ollama`` for Ollama's
            native ``/api/chat``.
        model: The model's name, sent as it is; None leaves the field out (llama-server serves one model).
        capabilities: What is known of engine and model; `Result.capabilities` of an earlier answer, or a known row.
            By default what the wire itself says: Ollama's has no ``tool_choice``.
        extra_body: Members that are laid over every request: sampling, seed, `chat_template_kwargs`, … They cannot
            replace what the loop itself decides (messages, tools, the stream).
    """

    name: str = ""
    wire: Literal["openai", "ollama"] = "openai"
    model: str | None = None
    capabilities: Capabilities = attrs.field(
        default=attrs.Factory(
            lambda self: Capabilities(tool_choice=()) if self.wire == "ollama" else Capabilities(), takes_self=True
        )
    )
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
