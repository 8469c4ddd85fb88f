"""Every marker that models and chat templates use, once.

The dialects of `hostcall.tooltext` are built from these names, and `hostcall.web.defuse` takes the power out of each of
them in untrusted text, so that what one of the two knows the other cannot forget.
"""

MARKERS: tuple[str, ...] = (
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALL]",
    "[/TOOL_CALL]",
    "<think>",
    "</think>",
)
"""Literal markers, as written by a model."""
