"""Corners of the bodies that are JSON or lines: cuts, junk, limits, and what is mended."""

import pytest

from tests.core.tooltext.corners import Case, check

DEEP = "[" * 140

CASES: dict[str, Case] = {
    # JSON.
    "json-cut-after-backslash": ("hermes", '<tool_call>{"name": "search\\', "", [], {"incomplete"}),
    "json-too-deep": (
        "hermes",
        '<tool_call>{"name": "search", "arguments": ' + DEEP + "}</tool_call>a",
        "a",
        [],
        {"malformed"},
    ),
    "json-too-deep-cut": ("hermes", '<tool_call>{"name": "search", "arguments": ' + DEEP, "", [], {"incomplete"}),
    "json-too-deep-bare": ("bare-json", '{"name": ' + DEEP, '{"name": ' + DEEP, [], set()),
    "json-odd-first-key": (
        "hermes",
        '<tool_call>{"thought": "t", "name": "search", "arguments": {}}</tool_call>',
        "",
        [("search", {})],
        set(),
    ),
    "json-no-key-at-all": ("hermes", "<tool_call>{}</tool_call>", "<tool_call>{}</tool_call>", [], set()),
    "json-number-key": ("hermes", "<tool_call>{1: 2}</tool_call>", "<tool_call>{1: 2}</tool_call>", [], set()),
    "json-several-in-a-row": (
        "hermes",
        '<tool_call>{"name": "search"}{"name": "get_time"}</tool_call>',
        "",
        [("search", {}), ("get_time", {})],
        set(),
    ),
    "json-closer-left-out": (
        "hermes",
        '<tool_call>{"name": "search"}\n<tool_call>{"name": "get_time"}</tool_call>',
        "",
        [("search", {}), ("get_time", {})],
        set(),
    ),
    "json-array-cut": ("hermes", '<tool_call>[{"name": "search"}, ', "", [], {"incomplete"}),
    "json-array-junk": ("nemotron", '<TOOLCALL>[{"name": "search"} x]</TOOLCALL>', "x]", [("search", {})], set()),
    "json-array-empty": ("command-a", "a<|START_ACTION|>[]<|END_ACTION|>b", "ab", [], set()),
    "json-array-of-text": ("hermes", "<tool_call>[1]</tool_call>", "<tool_call>[1]</tool_call>", [], set()),
    "json-doubled-opener": (
        "hermes",
        '<tool_call><tool_call>{"name": "search"}</tool_call>',
        "",
        [("search", {})],
        set(),
    ),
    "json-trebled-opener": (
        "hermes",
        "<tool_call><tool_call><tool_call>x",
        "<tool_call><tool_call><tool_call>x",
        [],
        set(),
    ),
    "json-cut-in-the-first-key": ("hermes", '<tool_call>{"na', "", [], {"incomplete"}),
    "bare-cut-in-a-later-object": (
        "bare-json",
        '{"name": "search", "arguments": {}}\n{"name": "get',
        "",
        [("search", {})],
        {"incomplete"},
    ),
    "bare-text-behind": (
        "bare-json",
        '{"name": "search", "arguments": {}} is it',
        '{"name": "search", "arguments": {}} is it',
        [],
        set(),
    ),
    "bare-without-arguments": ("bare-json", '{"name": "search"}', '{"name": "search"}', [], set()),
    "llama-separated": (
        "llama-json",
        '{"name": "search", "parameters": {}}; {"name": "get_time", "parameters": {}}',
        "",
        [("search", {}), ("get_time", {})],
        set(),
    ),
    # Lines.
    "lines": (
        "bracket",
        "[TOOL_CALL]search\ntext: a b\ncount: 3\n[/TOOL_CALL]",
        "",
        [("search", {"text": "a b", "count": 3})],
        {"repaired"},
    ),
    "lines-none": ("bracket", "[TOOL_CALL]search[/tool_call]", "", [("search", {})], set()),
    "lines-not-lines": ("bracket", "[TOOL_CALL]search\nwords words\n[/TOOL_CALL]", "", [], {"malformed"}),
    "lines-cut": ("bracket", "[TOOL_CALL]search\ntext: a", "", [], {"incomplete"}),
    "lines-prose": ("bracket", "[TOOL_CALL] is how search begins", "[TOOL_CALL] is how search begins", [], set()),
    # Fences.
    "fence-broken-json": (
        "fenced",
        '```json\n{"tool": "search", "input": }\n```',
        '```json\n{"tool": "search", "input": }\n```',
        [],
        set(),
    ),
    "fence-other-language": ("fenced", '```py\n{"tool": "search"}\n```', '```py\n{"tool": "search"}\n```', [], set()),
    "fence-text-behind-json": (
        "fenced",
        '```\n{"tool": "search", "input": {}} x\n```',
        '```\n{"tool": "search", "input": {}} x\n```',
        [],
        set(),
    ),
    "fence-text-on-the-closing-line": (
        "fenced",
        '```\n{"tool": "search", "input": {}}\n``` x',
        '```\n{"tool": "search", "input": {}}\n``` x',
        [],
        set(),
    ),
    "action-without-a-fence": ("command-r", "Action: none", "Action: none", [], set()),
    "tool-code": ("gemma3", "```tool_code\nsearch(text='a')\n```", "", [("search", {"text": "a"})], set()),
    "tool-code-of-no-call": ("gemma3", "```tool_code\nx = 1\n```\n", "```tool_code\nx = 1\n```\n", [], set()),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corner_is_read_as_written_here(name: str) -> None:
    check(CASES[name])
