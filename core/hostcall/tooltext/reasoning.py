"""The tags around reasoning, and marks around answers that are dropped where they stand."""

from typing import Literal

import attrs

from hostcall.tokens import marker


@attrs.frozen(kw_only=True)
class Thinking:
    """One pair of tags around reasoning."""

    opener: str
    closer: str
    trim: Literal["white", "newline", "nothing"] = "white"
    """What is dropped inside, next to the tags."""
    after: Literal["white", "nothing"] = "white"
    """What is dropped behind the closer."""
    hinted: bool = False
    """Words rather than tags: armed only for the dialects that name them."""


def _pair(opener: str, closer: str, trim: Literal["white", "newline", "nothing"] = "white") -> Thinking:
    after: Literal["white", "nothing"] = "white" if trim == "white" else "nothing"
    return Thinking(opener=marker(opener), closer=marker(closer), trim=trim, after=after)


THINK = _pair("<think>", "</think>")
EXACT_THINK = _pair("<think>", "</think>", "nothing")

PAIRS: tuple[Thinking, ...] = (
    THINK,
    _pair("[THINK]", "[/THINK]", "nothing"),
    _pair("<seed:think>", "</seed:think>"),
    _pair("<mm:think>", "</mm:think>"),
    _pair("<longcat_think>", "</longcat_think>"),
    _pair("<|channel>thought", "<channel|>", "newline"),
    _pair("<|START_THINKING|>", "<|END_THINKING|>"),
    _pair("<|inner_prefix|>", "<|inner_suffix|>"),
    _pair("<|open|>think<|sep|>", "<|close|>think<|sep|>", "nothing"),
    _pair("<ifm|think>", "</ifm|think>"),
    _pair("<ifm|think_fast>", "</ifm|think_fast>"),
    _pair("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
)

GRANITE = Thinking(opener="Here is my thought process:", closer="Here is my response:", hinted=True)
APRIEL = Thinking(opener="Here are my reasoning steps:", closer=marker("[BEGIN FINAL RESPONSE]"), hinted=True)

DROPPED: tuple[str, ...] = tuple(
    map(
        marker,
        (
            "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|open|>response<|sep|>",
            "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>",
        ),
    )
)  # fmt: skip
"""Marks around the answer itself, of families that have them. They are special tokens and say nothing."""

ANSWERS: tuple[str, ...] = ("<|open|>response<|sep|>", "<|START_RESPONSE|>", "<|START_TEXT|>")
"""Those of them that begin the answer, and so end reasoning whose closer was left out."""

DROPPED_FOR: dict[str, tuple[str, ...]] = {
    "ernie": ("<response>", "</response>"),
    "hunyuan": ("<answer>", "</answer>"),
    "apriel": ("[END FINAL RESPONSE]",),
}
"""Marks that are words elsewhere, and so are dropped only for the family that is named."""
