"""Corners of the notations of Gemma, Python, harmony, K3 and M3."""

import pytest

from tests.core.tooltext.corners import Case, check

DEEP = "[" * 140
MARK = "]<]minimax[>["
XTML = '<|open|>tools<|sep|><|open|>call tool="search" index="1"<|sep|>'
ARGUMENT = '<|open|>argument key="count" type="number"<|sep|>'

CASES: dict[str, Case] = {
    # Gemma.
    "gemma-prose": ("gemma4", "<|tool_call> is a token", "<|tool_call> is a token", [], set()),
    "gemma-late": (
        "gemma4",
        "<|tool_call>" + " " * 600 + "call:search{}",
        "<|tool_call>" + " " * 600 + "call:search{}",
        [],
        set(),
    ),
    "gemma-no-braces-cut": ("gemma4", "<|tool_call>call:search no", "", [], {"incomplete"}),
    "gemma-early-closer": ("gemma4", "<|tool_call>call:search{count:1<tool_call|>a", "a", [], {"malformed"}),
    "gemma-junk-behind": ("gemma4", "<|tool_call>call:search{} x<tool_call|>", "", [("search", {})], set()),
    "gemma-junk-between": (
        "gemma4",
        '<|tool_call>call:search{text:<|"|>a<|"|>}}<tool_call|>',
        "",
        [("search", {"text": "a"})],
        set(),
    ),
    "gemma-two-values": ("gemma4", "<|tool_call>call:search{extra:{} {}}<tool_call|>", "", [], {"malformed"}),
    "gemma-two-items": ("gemma4", "<|tool_call>call:search{items:[{} {}]}<tool_call|>", "", [], {"malformed"}),
    "gemma-no-colon": ("gemma4", "<|tool_call>call:search{text}<tool_call|>", "", [], {"malformed"}),
    "gemma-no-value": ("gemma4", "<|tool_call>call:search{text:}<tool_call|>", "", [], {"malformed"}),
    "gemma-quoted-key": (
        "gemma4",
        '<|tool_call>call:search{<|"|>text<|"|>:<|"|>a<|"|>}<tool_call|>',
        "",
        [("search", {"text": "a"})],
        set(),
    ),
    "gemma-words": (
        "gemma4",
        "<|tool_call>call:search{text:two words,flag:True,maybe:None,}<tool_call|>",
        "",
        [("search", {"text": "two words", "flag": True, "maybe": None})],
        set(),
    ),
    "gemma-commas": (
        "gemma4",
        "<|tool_call>call:search{items:[1,,2]}<tool_call|>",
        "",
        [("search", {"items": [1, 2]})],
        set(),
    ),
    "gemma-quotes": (
        "gemma4",
        "<|tool_call>call:search{text:'it\\q',items:[\"a\"]}<tool_call|>",
        "",
        [("search", {"text": "it\\q", "items": ["a"]})],
        set(),
    ),
    "gemma-open-quote": (
        "gemma4",
        "<|tool_call>call:search{text:'it}<tool_call|>",
        "",
        [("search", {"text": "'it"})],
        set(),
    ),
    "gemma-mixed-brackets": ("gemma4", "<|tool_call>call:search{items:[1}<tool_call|>", "", [], {"malformed"}),
    "gemma-too-deep": (
        "gemma4",
        f"<|tool_call>call:search{{items:{DEEP}{']' * 140}}}<tool_call|>",
        "",
        [],
        {"malformed"},
    ),
    "gemma-maps-too-deep": (
        "gemma4",
        f"<|tool_call>call:search{{extra:{'{a:' * 140}1{'}' * 140}}}<tool_call|>",
        "",
        [],
        {"malformed"},
    ),
    "function-gemma": (
        "function-gemma",
        "<start_function_call>call:search{count:<escape>3<escape>,flag:true,text:<escape>3<escape>}<end_function_call>",
        "",
        [("search", {"count": 3, "flag": True, "text": "3"})],
        set(),
    ),
    # Python.
    "python-empty": ("lfm2", "<|tool_call_start|>", "", [], {"incomplete"}),
    "python-json": ("lfm2", '<|tool_call_start|>{"name": "search"}<|tool_call_end|>', "", [("search", {})], set()),
    "python-prose": ("lfm2", "<|tool_call_start|> words here", "<|tool_call_start|> words here", [], set()),
    "python-too-deep": (
        "lfm2",
        f"<|tool_call_start|>[search(items={DEEP}{']' * 140})]<|tool_call_end|>a",
        "a",
        [],
        {"malformed"},
    ),
    "python-backslash-cut": ("lfm2", "<|tool_call_start|>[search(text='a\\", "", [], {"incomplete"}),
    "python-escape": (
        "lfm2",
        r"<|tool_call_start|>[search(text='a\'b')]<|tool_call_end|>",
        "",
        [("search", {"text": "a'b"})],
        set(),
    ),
    "python-closer-cut": ("lfm2", "<|tool_call_start|>[search()]<|tool_c", "", [("search", {})], set()),
    "python-unknown": ("pythonic", "[find(x=1)]", "[find(x=1)]", [], set()),
    "python-second-unknown": ("pythonic", "[search(), find()]", "[search(), find()]", [], set()),
    "python-list": ("pythonic", "[1, 2]", "[1, 2]", [], set()),
    # Harmony.
    "harmony-no-json": (
        "harmony",
        (
            "<|start|>assistant to=functions.search<|channel|>commentary<|message|>words<|end|><|start|>assi"
            "stant<|channel|>final<|message|>x"
        ),
        "x",
        [],
        {"malformed"},
    ),
    "harmony-no-json-cut": ("harmony", "<|start|>assistant to=functions.search<|message|>words", "", [], set()),
    "harmony-too-deep": (
        "harmony",
        '<|start|>assistant to=functions.search<|message|>{"a": ' + DEEP + "]" * 140 + "}",
        "",
        [],
        {"malformed"},
    ),
    "harmony-stripped-prose": (
        "gpt-oss",
        "commentary to=functions.search is {x}",
        "commentary to=functions.search is {x}",
        [],
        set(),
    ),
    "harmony-markers-in-prose": (
        "harmony",
        "<|channel|>final<|message|>a <|message|> b <|end|> c",
        "a <|message|> b <|end|> c",
        [],
        set(),
    ),
    "harmony-other-tool": (
        "harmony",
        "<|start|>assistant to=browser.open<|message|>x<|call|><|start|>assistant<|channel|>final<|message|>y",
        "y",
        [],
        set(),
    ),
    # K3 and M3.
    "k3-head-cut": ("kimi-k3", XTML[:-8], "", [], {"incomplete"}),
    "k3-end-left-out": ("kimi-k3", f"{XTML}<|close|>tools<|sep|>", "", [], {"malformed"}),
    "k3-next-call": (
        "kimi-k3",
        f"{XTML}{XTML[20:]}<|close|>call<|sep|><|close|>tools<|sep|>",
        "",
        [("search", {})],
        {"malformed"},
    ),
    "k3-stray-end": (
        "kimi-k3",
        f"{XTML}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "",
        [("search", {})],
        set(),
    ),
    "k3-argument-cut": ("kimi-k3", f"{XTML}<|open|>argument key=", "", [], {"incomplete"}),
    "k3-value-cut": ("kimi-k3", f"{XTML}{ARGUMENT}3", "", [], {"incomplete"}),
    "k3-not-json": (
        "kimi-k3",
        f"{XTML}{ARGUMENT}x y<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "",
        [("search", {"count": "x y"})],
        set(),
    ),
    "k3-no-name": (
        "kimi-k3",
        f"{XTML.replace('search', '')}<|close|>call<|sep|><|close|>tools<|sep|>",
        "",
        [],
        {"malformed"},
    ),
    "m3-cut-in-a-tag": ("minimax-m3", f"{MARK}<tool_call>{MARK}<invo", "", [], {"incomplete"}),
    "m3-endless-tag": ("minimax-m3", f"{MARK}<tool_call>{MARK}<{'x' * 600}{MARK}</tool_call>", "", [], set()),
    "m3-invoke-left-open": (
        "minimax-m3",
        f'{MARK}<tool_call>{MARK}<invoke name="search">{MARK}</tool_call>',
        "",
        [("search", {})],
        set(),
    ),
    "m3-element-left-open": (
        "minimax-m3",
        f'{MARK}<tool_call>{MARK}<invoke name="search">{MARK}<text>a{MARK}</invoke>{MARK}</tool_call>',
        "",
        [],
        {"malformed"},
    ),
    "m3-objects": (
        "minimax-m3",
        (
            f'{MARK}<tool_call>{MARK}<invoke name="search">{MARK}<extra>{MARK}<deep>3{MARK}</deep>{MARK}</ext'
            f"ra>{MARK}<items>{MARK}</items>{MARK}<odd>{MARK}<a>1{MARK}</a>{MARK}</odd>{MARK}</invoke>{MARK}</tool_call>"
        ),
        "",
        [("search", {"extra": {"deep": 3}, "items": [], "odd": {"a": "1"}})],
        set(),
    ),
    "m3-too-deep": (
        "minimax-m3",
        f'{MARK}<tool_call>{MARK}<invoke name="search">' + f"{MARK}<a>" * 140 + f"{MARK}</invoke>{MARK}</tool_call>",
        "",
        [],
        {"malformed"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corner_is_read_as_written_here(name: str) -> None:
    check(CASES[name])
