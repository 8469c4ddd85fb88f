"""What is true for every text, however it is cut.

The tenth invariant, conformance, has its own file; so have round trips and truncation.
"""

import tracemalloc
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuzz.fuzz_tooltext import CHOICES, TOOLS, WORDS, merged
from hostcall.tooltext import Decision, Piece, Reasoning, Text, TextFilter, ToolCall
from hostcall.tooltext.filter import MAX_CALLS
from tests.bench.filter import SUBJECTS, chunked
from tests.core.tooltext.renders import RENDERS
from tests.core.tooltext.renders import TOOLS as WRITERS

texts = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=3)), max_size=14).map("".join)
choices = st.one_of(st.just(("auto",)), st.sampled_from(CHOICES))
reasons: st.SearchStrategy[Literal["stop", "length"] | None] = st.sampled_from(["stop", "length", None])


def run(
    pieces: list[str],
    dialects: tuple[str, ...] = ("auto",),
    reason: Literal["stop", "length"] | None = "stop",
    reasoning: bool | None = None,
    trace: list[Decision] | None = None,
) -> list[Piece]:
    """Feed pieces to the end."""
    text_filter = TextFilter(TOOLS, dialects=dialects, starts_in_reasoning=reasoning, trace=trace)
    out = [found for piece in pieces for found in text_filter.feed(piece)]
    return out + text_filter.finish(reason)


@settings(max_examples=120, deadline=None)
@given(text=texts, dialects=choices, reason=reasons, reasoning=st.booleans(), data=st.data())
def test_1_the_pieces_do_not_change_what_comes_out(
    text: str, dialects: tuple[str, ...], reason: Literal["stop", "length"] | None, reasoning: bool, data: st.DataObject
) -> None:
    whole = merged(run([text], dialects, reason, reasoning))
    cut = data.draw(st.integers(0, len(text)))
    assert merged(run([text[:cut], text[cut:]], dialects, reason, reasoning)) == whole
    assert merged(run(list(text), dialects, reason, reasoning)) == whole


@settings(max_examples=120, deadline=None)
@given(text=texts, dialects=choices, reason=reasons, reasoning=st.booleans())
def test_2_what_is_shown_read_dropped_and_hidden_is_the_input(
    text: str, dialects: tuple[str, ...], reason: Literal["stop", "length"] | None, reasoning: bool
) -> None:
    trace: list[Decision] = []
    out = run([text], dialects, reason, reasoning, trace)
    assert "".join(decision.raw for decision in trace) == text
    assert all(one.offset + len(one.raw) == other.offset for one, other in pairwise(trace))
    for kind, word in ((Text, "text"), (Reasoning, "reasoning")):
        shown = "".join(piece.text for piece in out if isinstance(piece, kind))
        assert shown == "".join(decision.raw for decision in trace if decision.kind == word)


@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from([word for word in WORDS if "hink" not in word]), max_size=8).map("".join))
def test_2_with_no_tool_offered_calls_are_text(text: str) -> None:
    text_filter = TextFilter([], dialects=("hermes",), starts_in_reasoning=False)
    out = text_filter.feed(text) + text_filter.finish("stop")
    assert not any(isinstance(piece, ToolCall) for piece in out)
    assert "<tool_call>" not in text or "<tool_call>" in "".join(
        piece.text for piece in out if isinstance(piece, Text | Reasoning)
    )


@pytest.mark.parametrize("name", [name for name, render in RENDERS.items() if render.hint is None])
def test_3_nothing_of_a_block_leaks(name: str) -> None:
    render = RENDERS[name]
    block = render.write([("search", {"text": "x"})])
    text_filter = TextFilter(WRITERS)
    out = [found for char in f"Before {block} after" for found in text_filter.feed(char)] + text_filter.finish("stop")
    shown = "".join(piece.text for piece in out if isinstance(piece, Text))
    if name != "harmony":
        assert shown.split() == ["Before", "after"]
    assert render.end not in shown or len(render.end) < 3
    assert sum(isinstance(piece, ToolCall) for piece in out) == 1


@settings(max_examples=80, deadline=None)
@given(text=texts, dialects=choices, reasoning=st.booleans())
def test_4_nothing_is_taken_back(text: str, dialects: tuple[str, ...], reasoning: bool) -> None:
    """What a prefix gives stands at the beginning of what the whole gives."""
    text_filter = TextFilter(TOOLS, dialects=dialects, starts_in_reasoning=reasoning)
    whole = merged(run([text], dialects, "stop", reasoning))
    seen: list[Piece] = []
    for char in text:
        seen += text_filter.feed(char)
        flat = merged(seen)
        for index, piece in enumerate(flat):
            final = whole[index]
            if isinstance(piece, Text | Reasoning) and index == len(flat) - 1:
                assert isinstance(final, Text | Reasoning)
                assert type(final) is type(piece)
                assert final.text.startswith(piece.text)
            else:
                assert final == piece


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_characters="<[`]~"), max_size=600))
def test_5_plain_text_is_held_only_for_its_white_space(text: str) -> None:
    assume(not "functools".startswith(text.strip()))  # the one opener that is letters, at the start of a reply only
    text_filter = TextFilter(TOOLS)
    shown = sum(len(piece.text) for char in text for piece in text_filter.feed(char) if isinstance(piece, Text))
    assert shown >= len(text.rstrip(" \t\r\n"))
    assert len(text) - shown <= 256


def test_5_prose_that_names_an_opener_is_held_for_no_more_than_the_window() -> None:
    text_filter = TextFilter(TOOLS)
    text = 'The <tool_call>{"odd": [1, ' + "2, " * 300
    shown = sum(len(piece.text) for char in text for piece in text_filter.feed(char) if isinstance(piece, Text))
    assert len(text) - shown <= 520


@pytest.mark.parametrize("name", SUBJECTS)
def test_6_the_cost_grows_with_the_text_and_no_faster(name: str) -> None:
    """Characters searched, not seconds: twice the text, twice the characters."""
    searched = []
    for size in (8_000, 16_000, 32_000):
        text_filter = TextFilter(TOOLS, dialects=("all",))
        for chunk in chunked(SUBJECTS[name](size), 3):
            text_filter.feed(chunk)
        text_filter.finish("stop")
        searched.append(text_filter.scanned + 1_000)
    assert searched[1] <= searched[0] * 2.3
    assert searched[2] <= searched[1] * 2.3


@pytest.mark.parametrize(
    ("name", "chunk"),
    [
        ("argument, Qwen XML", 4),
        ("argument, Hermes", 4),
        ("argument, Hermes", 1_200_000),
        ("opener, no closer", 1_200_000),
        ('<tool_call>{"name": [', 1_200_000),
        ("prose", 1_200_000),
        ("markdown of < [ {", 1_200_000),
    ],
)
def test_5_no_more_than_two_mebibytes_are_held(name: str, chunk: int) -> None:
    pieces = chunked(SUBJECTS[name](1_200_000), chunk)
    text_filter = TextFilter(TOOLS)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for piece in pieces:
        text_filter.feed(piece)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held <= 2 * 1024 * 1024


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(), max_size=60), reason=reasons)
def test_7_any_text_at_all_is_taken_and_the_end_comes_once(text: str, reason: Literal["stop", "length"] | None) -> None:
    text_filter = TextFilter(TOOLS, dialects=("all",))
    text_filter.feed(text)
    text_filter.finish(reason)
    assert text_filter.finish(reason) == []
    assert text_filter.feed("more") == []


def test_a_megabyte_of_arguments_is_read_whole_in_one_piece_and_in_single_characters() -> None:
    value = ("0123456789abcde\n" * 65_000)[:1_000_000]
    text = f"<tool_call>\n<function=f>\n<parameter=q>\n{value}\n</parameter>\n</function>\n</tool_call>"
    for pieces in ([text], list(text)):
        (call,) = (piece for piece in run(pieces) if isinstance(piece, ToolCall))
        assert call.arguments == {"q": value}


def test_a_block_over_the_limit_is_hidden_and_remarked_upon() -> None:
    text = 'a<tool_call>{"name": "f", "arguments": {"q": "' + "x" * 70_000 + '"}}</tool_call>b'
    text += '<tool_call>{"name": "f", "arguments": {"q": "y"}}</tool_call>'
    for size in (1, 4, 1_000_000):
        text_filter = TextFilter(TOOLS, max_hold=65_536)
        out = [found for piece in chunked(text, size) for found in text_filter.feed(piece)] + text_filter.finish("stop")
        assert "".join(piece.text for piece in out if isinstance(piece, Text)) == "ab"
        assert [piece.arguments for piece in out if isinstance(piece, ToolCall)] == [{"q": "y"}]
        assert [getattr(piece, "kind", None) for piece in out].count("oversize") == 1


def test_calls_past_the_most_are_hidden() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>' * (MAX_CALLS + 2)
    out = run([text])
    assert sum(isinstance(piece, ToolCall) for piece in out) == MAX_CALLS
    assert [getattr(piece, "kind", None) for piece in out].count("too-many") == 2


def test_an_id_that_stood_before_is_left_out() -> None:
    block = '<tool_call>{"id": "a", "name": "f"}</tool_call>'
    calls = [piece for piece in run([block + block]) if isinstance(piece, ToolCall)]
    assert [(call.index, call.id) for call in calls] == [(0, "a"), (1, None)]


def test_a_key_that_stands_twice_is_told() -> None:
    out = run(['<tool_call>{"name": "f", "arguments": {"q": "1", "q": "2"}}</tool_call>'])
    assert [piece.arguments for piece in out if isinstance(piece, ToolCall)] == [{"q": "2"}]
    assert [getattr(piece, "kind", None) for piece in out if not isinstance(piece, ToolCall)] == ["duplicate-key"]
