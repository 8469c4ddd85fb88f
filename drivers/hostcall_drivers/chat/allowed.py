"""What clients may ask for, and what one connection may cost. Each number is a setting under the same name."""

import attrs


@attrs.frozen(kw_only=True)
class Allowed:
    """What clients may ask for."""

    body_bytes: int = 8_388_608
    body_seconds: float = 30.0
    messages: int = 1_000
    answers: int = 64
    answers_a_key: int = 16
    answers_a_minute: int = 120
    heartbeat_seconds: float = 15.0


@attrs.frozen(kw_only=True)
class Bounds:
    """What one client may cost."""

    connections: int = 1024
    head_bytes: int = 32_768
    head_seconds: float = 10.0
    idle_seconds: float = 30.0
    """How long a connection may be open without asking anything."""
    send_seconds: float = 30.0
    """How long one piece of an answer may take to be accepted."""
