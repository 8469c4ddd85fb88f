"""Calls and tags inside reasoning, where answers start, and what is given back at the limit."""

import tracemalloc
from typing import Literal

import pytest

from fuzz.fuzz_tooltext import merged
from hostcall.tooltext import Decision, Reasoning, Text, TextFilter, ToolCall
from tests.core.tooltext.renders import TOOLS

REASONING: dict[str, tuple[str, str, str, int, Literal["stop", "length"]]] = {
    # Text in, reasoning, text, calls, how it ends.
    "closer-in-ticks": ("a `</think>` b</think>c", "a `</think>` b", "c", 0, "stop"),
    "opener-again": ("<think>a<think>b</think>c", "ab", "c", 0, "stop"),
    "cut-call": ('a<tool_call>{"name": "search", "argu', "a", "", 0, "length"),
    "cut-draft-then-answer": (
        'a<tool_call>{"name": "search", "a</think>b',
        'a<tool_call>{"name": "search", "a',
        "b",
        0,
        "stop",
    ),
    "unknown-call": ('a<tool_call>{"name": "x"}</tool_call>b', 'a<tool_call>{"name": "x"}</tool_call>b', "", 0, "stop"),
    "real-then-cut": (
        'a<｜DSML｜tool_calls><｜DSML｜invoke name="search"></｜DSML｜invoke><｜DSML｜invoke name="sea',
        "a",
        "",
        1,
        "length",
    ),
    "real-with-white-space": ('a\n<tool_call>{"name": "search"}</tool_call>\n\n</think>\n\n', "a", "", 1, "stop"),
    "draft-then-text-later": (
        'a<tool_call>{"name": "search"}</tool_call> </think>\nb',
        'a<tool_call>{"name": "search"}</tool_call>',
        "b",
        0,
        "stop",
    ),
    "answer-mark-closes": ("a<|open|>response<|sep|>b", "a", "b", 0, "stop"),
}


@pytest.mark.parametrize("name", REASONING)
@pytest.mark.parametrize("cut", ["whole", "characters"])
def test_reasoning(name: str, cut: str) -> None:
    raw, reasoning, text, calls, reason = REASONING[name]
    text_filter = TextFilter(TOOLS, starts_in_reasoning=True)
    out = [found for piece in ([raw] if cut == "whole" else list(raw)) for found in text_filter.feed(piece)]
    out += text_filter.finish(reason)
    assert "".join(piece.text for piece in out if isinstance(piece, Reasoning)).strip() == reasoning
    assert "".join(piece.text for piece in out if isinstance(piece, Text)) == text
    assert sum(isinstance(piece, ToolCall) for piece in out) == calls


@pytest.mark.parametrize("size", [1, 50_000, 10_000_000])
def test_a_long_draft_and_a_long_bare_object_are_given_back_at_the_limit(size: int) -> None:
    long = '{"name": "search", "arguments": {"text": "' + "x" * 70_000
    for start, text, dialect in ((True, "<tool_call>" + long, "auto"), (False, long, "bare-json")):
        text_filter = TextFilter(TOOLS, dialects=(dialect,), starts_in_reasoning=start, max_hold=65_536)
        out = [found for at in range(0, len(text), size) for found in text_filter.feed(text[at : at + size])]
        assert "".join(piece.text for piece in out if isinstance(piece, Text | Reasoning)) == text
        assert text_filter.finish("stop") == []


def test_harmony_starts_in_a_header_when_the_prompt_says_so() -> None:
    text_filter = TextFilter(TOOLS, generation_prompt="<|start|>assistant")
    (call,) = text_filter.feed(' to=functions.search<|channel|>commentary<|message|>{"text": "a"}<|call|><|start|>')
    assert isinstance(call, ToolCall)
    text_filter = TextFilter(TOOLS, generation_prompt="<|start|>assistant<|channel|>analysis<|message|>")
    assert text_filter.feed("hm") == [Reasoning("hm")]


def test_a_parked_call_before_any_reasoning_keeps_what_follows_in_order() -> None:
    raw = '<tool_call>{"name": "search"}</tool_call> so'
    for pieces in ([raw], list(raw)):
        text_filter = TextFilter(TOOLS, starts_in_reasoning=True)
        out = [found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish("stop")
        assert "".join(piece.text for piece in out if isinstance(piece, Reasoning)) == raw


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_a_block_that_shows_itself_too_late_is_looked_through_again_however_it_was_cut(size: int) -> None:
    raw = '<tool_call>{"odd": "' + "x" * 520 + '<tool_call>{"name": "search"}</tool_call>'
    text_filter = TextFilter(TOOLS, starts_in_reasoning=True)
    out = [found for at in range(0, len(raw), size) for found in text_filter.feed(raw[at : at + size])]
    out += text_filter.finish("stop")
    assert sum(isinstance(piece, ToolCall) for piece in out) == 1


@pytest.mark.parametrize(
    "behind", ["\nb", "</think>\nb", "</think>\n\n", " </think> \n<tool_call>", "\n</think>", " b"]
)
@pytest.mark.parametrize("lead", ["", "\n", "a\n"])
def test_a_trace_behind_a_parked_call_follows_the_order_of_the_text(lead: str, behind: str) -> None:
    raw = f'<think>{lead}<tool_call>{{"name": "search"}}</tool_call>{behind}'
    for pieces in ([raw], list(raw)):
        decisions: list[Decision] = []
        text_filter = TextFilter(TOOLS, trace=decisions)
        for piece in pieces:
            text_filter.feed(piece)
        text_filter.finish("stop")
        assert "".join(decision.raw for decision in decisions) == raw


@pytest.mark.parametrize("behind", [" ", "</think>" + " " * 256])
def test_white_space_without_end_behind_a_parked_call_is_not_kept_without_end(behind: str) -> None:
    """It makes the call a draft as text would, at the limit of what is held, however it was cut."""
    raw = '<think><tool_call>{"name": "search"}</tool_call>' + behind
    text_filter = TextFilter(TOOLS, max_hold=65_536)
    out = text_filter.feed(raw)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    out += [found for _ in range(66_000) for found in text_filter.feed("\n")]
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held <= 2 * 1024 * 1024
    out += text_filter.finish("stop")
    assert not any(isinstance(piece, ToolCall) for piece in out)
    whole = TextFilter(TOOLS, max_hold=65_536)
    assert merged(out) == merged(whole.feed(raw + "\n" * 66_000) + whole.finish("stop"))


@pytest.mark.parametrize("dialect", ["pythonic", "bare-json"])
def test_a_call_that_may_only_begin_the_reply_is_none_behind_reasoning_however_it_was_cut(dialect: str) -> None:
    call = "[search()]" if dialect == "pythonic" else '{"name": "search", "arguments": {}}'
    ends = []
    for pieces in (["-" + call], ["-", call], list("-" + call)):
        text_filter = TextFilter(TOOLS, dialects=(dialect,), starts_in_reasoning=True)
        ends.append(
            merged([found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish("stop"))
        )
    assert ends[0] == ends[1] == ends[2] == [Reasoning("-" + call)]


@pytest.mark.parametrize("call", ["to=functions.search{}", "[search()]", '{"name": "search", "arguments": {}}'])
def test_a_call_that_may_only_begin_the_reply_is_none_behind_text_that_follows_reasoning(call: str) -> None:
    """Text between them ends the beginning, whatever the pieces in which it comes."""
    raw = 'thought<channel|>"$' + call
    ends = []
    for pieces in ([raw], list(raw), ["thought<channel|>", '"', "$", call]):
        text_filter = TextFilter(TOOLS, dialects=("all",), starts_in_reasoning=True)
        ends.append(
            merged([found for piece in pieces for found in text_filter.feed(piece)] + text_filter.finish("stop"))
        )
    assert ends[0] == ends[1] == ends[2] == [Reasoning("thought"), Text('"$' + call)]
