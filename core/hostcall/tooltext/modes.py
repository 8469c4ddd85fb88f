"""Which marks matter where: in prose, in a code span, in a code fence, in reasoning.

A mode is built once for each set of dialects and kept, so that a filter costs no more than its first chunk.
"""

from functools import lru_cache
from typing import Literal, TypeAlias

import attrs

from hostcall.tooltext.dialect import Dialect, Opener
from hostcall.tooltext.hints import Choice
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.reasoning import ANSWERS, APRIEL, DROPPED, DROPPED_FOR, EXACT_THINK, GRANITE, PAIRS, Thinking

Place: TypeAlias = Literal["prose", "span", "fence line", "fence", "reasoning"]

Entry: TypeAlias = tuple[Opener, Dialect]


@attrs.frozen(eq=False)
class Modes:
    """The marks of one set of dialects."""

    prose: Lexicon
    span: Lexicon
    fence_line: Lexicon
    fence: Lexicon
    reasoning: Lexicon
    calls: dict[str, tuple[Entry, ...]]
    """Which dialects a mark may open, in the order in which they are asked."""
    opens: dict[str, Thinking]
    closes: dict[str, Thinking]


def thinking(choice: Choice) -> tuple[Thinking, ...]:
    """Return the pairs of reasoning tags that are armed. They are on whatever dialects are chosen."""
    pairs = [EXACT_THINK if choice.exact_reasoning and pair.opener == "<think>" else pair for pair in PAIRS]
    if "granite" in choice.families:
        pairs.append(GRANITE)
    if "apriel" in choice.families:
        pairs.append(APRIEL)
    return tuple(pairs)


@lru_cache(maxsize=256)
def modes(choice: Choice, group: str | None, *, armed: bool, started: bool) -> Modes:
    """Build the marks for a choice of dialects.

    Args:
        group: After the first call, the group of its dialect: the others are disarmed, which keeps accidents away.
        armed: False when no tool is offered: nothing is a call then.
        started: True when something was shown: what counts only at the start of the answer is disarmed. Some of these
            openers begin with a letter, and would make every chunk worth a look.
    """
    rows = [row for row in choice.rows if armed and (group is None or (row.group or row.name) == group)]
    calls: dict[str, list[Entry]] = {}
    for row in rows:
        for opener in row.openers:
            if started and opener.where == "start":
                continue
            calls.setdefault(opener.mark, []).append((opener, row))
    folded = [mark for mark, entries in calls.items() if entries[0][0].folded]
    pairs = thinking(choice)
    drops = dict.fromkeys(DROPPED, "drop")
    for family, marks in DROPPED_FOR.items():
        if any(name.startswith(family) for name in choice.families):
            drops |= dict.fromkeys(marks, "drop")
    orphans = {mark: "drop" for row in rows for mark in row.orphans} if group is not None else {}
    folded += [mark for mark in orphans if mark.startswith("[/tool_call")]
    every = dict.fromkeys(calls, "call")
    tokens = {mark: "call" for mark, entries in calls.items() if entries[0][0].token}
    in_code = tokens | {
        mark: "call" for mark, entries in calls.items() if any(row.name in choice.hinted for _, row in entries)
    }
    in_code = {mark: kind for mark, kind in in_code.items() if not mark.startswith("`")}
    ticks = {"`": "tick", "~~~": "tilde"}
    parked = {mark: "call" for mark, entries in calls.items() if any(row.in_reasoning == "park" for _, row in entries)}
    opens = {pair.opener: "open" for pair in pairs}
    closes = {pair.closer: "close" for pair in pairs}
    plain = {mark: kind for mark, kind in every.items() if not mark.startswith("`")}
    fenced = {mark: kind for mark, kind in every.items() if mark.startswith("```") and mark != "```"}
    return Modes(
        prose=lexicon(closes | opens | drops | orphans | ticks | plain | fenced, folded=folded, also_loud="\n\r\t"),
        span=lexicon({"`": "tick", "\n": "line"} | {m: k for m, k in tokens.items() if m[0] != "`"}, also_loud="\r\t"),
        fence_line=lexicon({"`": "tick", "\n": "line"}),
        fence=lexicon(ticks | in_code, folded=[mark for mark in folded if mark in in_code], also_loud="\n\r\t"),
        reasoning=lexicon(
            closes | opens | parked | dict.fromkeys(ANSWERS, "answer"),
            folded=[mark for mark in folded if mark in parked],
            also_loud="\n\r\t`",
        ),
        calls={mark: tuple(entries) for mark, entries in calls.items()},
        opens={pair.opener: pair for pair in pairs},
        closes={pair.closer: pair for pair in pairs},
    )
