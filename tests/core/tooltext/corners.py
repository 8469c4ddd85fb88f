"""How the tables of corners are run: each text whole and in single characters."""

from typing import Any, TypeAlias

from hostcall.tooltext import Remark, Text, TextFilter, ToolCall
from tests.core.tooltext.renders import TOOLS

Case: TypeAlias = tuple[str, str, str, list[tuple[str, dict[str, Any]]], set[str]]
"""Dialects, text in, text shown, calls, kinds of remarks that must be told."""


def check(case: Case) -> None:
    """Run one case."""
    dialect, raw, text, calls, kinds = case
    for pieces in ([raw], list(raw)):
        text_filter = TextFilter(TOOLS, dialects=(dialect,))
        out = [found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish("stop")
        assert "".join(piece.text for piece in out if isinstance(piece, Text)) == text
        assert [(piece.name, piece.arguments) for piece in out if isinstance(piece, ToolCall)] == calls
        assert kinds <= {piece.kind for piece in out if isinstance(piece, Remark)}
