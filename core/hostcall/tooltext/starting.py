"""Where an answer starts, told from what the chat template put before it."""

import attrs

from hostcall.tooltext.hints import Choice
from hostcall.tooltext.modes import Modes
from hostcall.tooltext.reasoning import Thinking


@attrs.frozen
class Start:
    """Where the first character of an answer stands."""

    in_reasoning: bool = False
    thinking: Thinking | None = None
    """The pair of tags that is open; None with `in_reasoning`: it is not known which."""
    header: bool = False
    """The first characters are a header of harmony."""


def starting_point(prompt: str | None, modes: Modes, in_reasoning: bool | None, choice: Choice) -> Start:
    """Return where the answer starts. What the caller says outright counts more than the prompt."""
    text = (prompt or "").rstrip()
    last: Thinking | None = None
    at = -1
    for pair in modes.opens.values():
        place = text.rfind(pair.opener)
        if place > at and place > text.rfind(pair.closer):
            last, at = pair, place
    if in_reasoning is None:
        in_reasoning = last is not None or text.endswith("<|channel|>analysis<|message|>")
    header = "<|start|>" in modes.calls and text.endswith("<|start|>assistant") and not in_reasoning
    if not in_reasoning:
        return Start(header=header)
    if last is None and len(choice.rows) < 4:
        # A single family was chosen, and its tags are not in the prompt: the plain ones are the likely ones.
        last = modes.opens.get("<think>")
    return Start(in_reasoning=True, thinking=last or modes.opens.get("<think>"))
