"""What the doctor says: one line for each thing it looked at."""

from typing import Literal, TypeAlias

import attrs

Verdict: TypeAlias = Literal["ok", "note", "trouble"]
"""``note``: the loop knows a way around it. ``trouble``: answers are worse for it."""


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    verdict: Verdict
    saw: str
    change: str = ""
    """What the operator can do about it; empty where nothing need be done."""
