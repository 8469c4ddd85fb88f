"""The filter that reads tool calls which models write into their answer text.

A host feeds it what the engine streams, in pieces of any size, and gets back text to show, reasoning, and complete
calls. Some forty formats are rows of one table (`dialects`), read by ten small scanners (the files named ``*_body``).
"""

from hostcall.tooltext.filter import TextFilter
from hostcall.tooltext.outside import Decision
from hostcall.tooltext.pieces import Piece, Reasoning, Remark, Text, ToolCall

__all__ = ["Decision", "Piece", "Reasoning", "Remark", "Text", "TextFilter", "ToolCall"]
