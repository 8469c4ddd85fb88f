"""What known engines can do, a row each, with where that is known from.

The rows are a start: what an answer learns comes back in `Result.capabilities`.
"""

from typing import Literal, TypeAlias

from hostcall.data import Capabilities

EngineName: TypeAlias = Literal["openai", "llama-server"]

ROWS: dict[EngineName, Capabilities] = {
    # Any host of /v1/chat/completions of which nothing is known.
    "openai": Capabilities(),
    # llama.cpp's own server, measured with build b11549: `required` is not a hard constraint there (text may come
    # before the call, without end), a JSON schema is; small models write calls as bare or fenced JSON in every round;
    # an object for `tool_choice` is silently taken as auto.
    "llama-server": Capabilities(dialects=("auto", "bare-json", "fenced-json")),
}


def capabilities_for(name: EngineName) -> Capabilities:
    """Return the row of a known engine."""
    return ROWS[name]
