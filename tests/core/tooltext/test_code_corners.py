"""Corners of code, quotes and words around calls."""

import pytest

from tests.core.tooltext.corners import Case, check

CASES: dict[str, Case] = {
    "fence-closed-with-spaces": ("auto", "```\na\n```  \nb `c`", "```\na\n```  \nb `c`", [], set()),
    "tag-between-ticks-in-a-list": ("auto", "`` `<think>` `` x", "`` `<think>` `` x", [], set()),
    "tag-between-lone-ticks": ("auto", "``` ```\n`\n`</think>` a", "``` ```\n`\n`</think>` a", [], set()),
    # Code, spans, quotes.
    "fence-with-a-hinted-call": (
        "hermes",
        '```\n<tool_call>{"name": "search"}</tool_call>\n```\n',
        "```\n\n```\n",
        [("search", {})],
        set(),
    ),
    "fence-with-a-hinted-unknown-call": (
        "hermes",
        '```\n<tool_call>{"name": "x"}</tool_call>\n```\n',
        '```\n<tool_call>{"name": "x"}</tool_call>\n```\n',
        [],
        set(),
    ),
    "span-that-began-like-a-fence": ("auto", "```a``` then `x`", "```a``` then `x`", [], set()),
    "span-of-two-ticks": ("auto", "``a`<tool_call>`` b", "``a`<tool_call>`` b", [], set()),
    "fence-of-tildes": (
        "auto",
        '~~~\n<tool_call>{"name": "search"}</tool_call>\n~~~\n',
        '~~~\n<tool_call>{"name": "search"}</tool_call>\n~~~\n',
        [],
        set(),
    ),
    "info-string-with-ticks": ("auto", "```a`b\nc", "```a`b\nc", [], set()),
    "reasoning-tag-in-a-sentence": (
        "auto",
        "The <think> tag and the </think> tag.",
        "The <think> tag and the </think> tag.",
        [],
        set(),
    ),
    "many-ticks": ("auto", "`" * 100, "`" * 100, [], set()),
    "granite-words": ("granite", "Here is my thought process: a\nHere is my response: b", "b", [], set()),
    "granite-words-in-a-line": (
        "granite",
        "x Here is my thought process: a",
        "x Here is my thought process: a",
        [],
        set(),
    ),
    "special-token-in-a-fence": (
        "auto",
        "```\n<|tool_call>call:search{}<tool_call|>\n```",
        "```\n\n```",
        [("search", {})],
        set(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corner_is_read_as_written_here(name: str) -> None:
    check(CASES[name])
