"""What comes next: a pure table from where the answer stands and what the last round came to.

::

    forced ladder   required → schema → the host's own call        (counts as one round)
    reading round   a page is picked by schema                     (only where the model is led)
    tool rounds     calls → the next round; text → the end; blank → once more, then an answer round
    answer rounds   text → the end; a call is run and it is asked once more; blank → once more, then the end

Nothing here acts, and nothing else decides. `answer.py` only carries the steps out.
"""

from typing import Literal, TypeAlias

import attrs

from hostcall.data import Capabilities, WhyStopped

Rung: TypeAlias = Literal["required", "schema", "rescue", "host", "read"]
"""A way to force a call. On rescue there is no field to force with, so one plain round stands for it; "read" is the one
rung of the reading round."""

ReplyKind: TypeAlias = Literal["calls", "text", "blank"]
"""What a whole reply came to. A reply that is nothing but a call broken by the length limit is blank."""


@attrs.frozen
class ForcedRound:
    """Ask the engine for a call in this way."""

    rung: Rung


@attrs.frozen
class HostCall:
    """Make the first call in the model's place."""


@attrs.frozen
class ToolRound:
    """Offer the tools. With `again` the last request is made once more, because its reply was blank."""

    again: bool = False


@attrs.frozen
class ReadRound:
    """Have a page picked among the sources found."""


@attrs.frozen
class AnswerRound:
    """Ask for the answer, without tools."""


@attrs.frozen
class End:
    """The answer is over."""

    why: WhyStopped


Step: TypeAlias = ForcedRound | HostCall | ToolRound | ReadRound | AnswerRound | End


@attrs.frozen(kw_only=True)
class Standing:
    """Where an answer stands when the next step is chosen."""

    rounds: int
    """Tool rounds used; the ladder counts as one when it is over."""
    rounds_allowed: int
    answer_rounds: int
    answer_rounds_allowed: int
    rungs: tuple[Rung, ...] = ()
    """What is left of the forced ladder, the current rung first; empty when it is over."""
    guided: bool = False
    """The model is led: it reads one page and then answers."""
    to_read: bool = False
    """There is a page to pick, and none was read yet."""
    spent: bool = False
    """The search budget, or the calls of the answer, are used up."""
    retried: bool = False
    """The current round was asked once more for a blank reply."""
    why: WhyStopped = "answered"
    """What the answer rounds are for: the reason that they began."""


def ladder(capabilities: Capabilities, *, web: bool, left: bool) -> tuple[Rung, ...]:
    """Return the rungs of the forced first round, the host's own call last.

    Args:
        capabilities: What the engine can be forced by.
        web: Whether the web tools are on; without them nothing is forced.
        left: Whether a search or a page is left in the budget.
    """
    if not web or not left:
        return ()
    if capabilities.rescue:
        return ("rescue", "host")
    rungs: list[Rung] = []
    if "required" in capabilities.tool_choice:
        rungs.append("required")
    if capabilities.schema:
        rungs.append("schema")
    return (*rungs, "host")


def first_step(standing: Standing) -> Step:
    """Return the first step of an answer."""
    if standing.rungs:
        return _rung(standing.rungs[0])
    return ToolRound() if standing.rounds_allowed > 0 else AnswerRound()


def after_forced(standing: Standing, reply: ReplyKind) -> Step:
    """Return the step after a reply on the ladder. Anything but a call means the next rung, which stands first."""
    if reply == "calls":
        return after_calls(standing)
    return _rung(standing.rungs[0]) if standing.rungs else AnswerRound()


def after_tools(standing: Standing, reply: ReplyKind) -> Step:
    """Return the step after a reply in a tool round, its calls run."""
    if reply == "calls":
        return after_calls(standing)
    if reply == "text":
        return End("answered")
    return AnswerRound() if standing.retried else ToolRound(again=True)


def after_calls(standing: Standing) -> Step:
    """Return the step after the calls of a round (or of the host) were answered."""
    if standing.spent or standing.rounds >= standing.rounds_allowed:
        return AnswerRound()
    if standing.guided:
        return ReadRound() if standing.to_read else AnswerRound()
    return ToolRound()


def after_answer(standing: Standing, reply: ReplyKind) -> Step:
    """Return the step after a reply in an answer round. `standing.answer_rounds` counts this one."""
    if standing.answer_rounds < standing.answer_rounds_allowed and reply != "text":
        return AnswerRound()
    return End("blank" if reply == "blank" else standing.why)


def _rung(rung: Rung) -> Step:
    return HostCall() if rung == "host" else ForcedRound(rung)
