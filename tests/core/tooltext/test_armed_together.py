"""Dialects that share an opener, or whose opener begins another's, do not hide each other when armed together."""

import itertools

import pytest

from hostcall.answer.tools import fetch_tool, search_tool
from hostcall.limits import Limits
from hostcall.tooltext import TextFilter, ToolCall

TOOLS = [search_tool(research=True, limits=Limits()), fetch_tool()]
FORMS = {
    "bracket": '[TOOL_CALL]{"name": "web_search", "arguments": {"query": "a"}}[/TOOL_CALL]',
    "hermes": '<tool_call>{"name": "web_search", "arguments": {"query": "a"}}</tool_call>',
    "bare-json": '{"name": "web_search", "arguments": {"query": "a"}}',
    "fenced": '```json\n{"tool": "web_search", "input": {"query": "a"}}\n```\n',
    "fenced-json": '```json\n{"name": "web_search", "arguments": {"query": "a"}}\n```\n',
}
EXTRAS = ("bare-json", "fenced", "fenced-json")
ARMED = [("auto", *extra) for size in range(4) for extra in itertools.permutations(EXTRAS, size)]


@pytest.mark.parametrize("armed", ARMED, ids=" ".join)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_whenever_it_is_armed(form: str, armed: tuple[str, ...]) -> None:
    wanted = form not in EXTRAS or form in armed
    for size in (1, 5, 1000):
        text_filter = TextFilter(TOOLS, dialects=armed)
        text = FORMS[form]
        pieces = [piece for at in range(0, len(text), size) for piece in text_filter.feed(text[at : at + size])]
        pieces += text_filter.finish("stop")
        calls = [piece.arguments for piece in pieces if isinstance(piece, ToolCall)]
        assert calls == ([{"query": "a"}] if wanted else [])
