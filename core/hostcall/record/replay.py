"""A recording, played through a new answer. A bug report is a file, and a regression test is that file."""

from collections.abc import Iterator

from hostcall.commands import Command, Finish
from hostcall.record.recording import Recording


def replay(recording: Recording) -> Iterator[Command]:
    """Yield every command that the recorded events lead to.

    Raises:
        LocalProtocolError: The events do not fit this version's requests: ids are part of the contract between the two.
    """
    answer = recording.recipe.answer()
    started = recording.started
    yield from answer.start(
        started.now,
        answer_id=started.answer_id,
        today=started.today,
        capacity=started.capacity,
        deny_networks=started.deny_networks,
    )
    for now, event in recording.events:
        if answer.finished:
            return
        yield from answer.receive(event, now)


def difference(recording: Recording, commands: list[Command]) -> str | None:
    """Return how a replay's end differs from the recorded one, or None."""
    last = commands[-1] if commands else None
    if recording.finish is None:
        return "the recording has no end: it was cut off, and there is nothing to compare with"
    if not isinstance(last, Finish):
        return "the replay does not come to its end"
    if last == recording.finish:
        return None
    for name in ("why_stopped", "text", "ledger", "receipts", "transcript"):
        if getattr(last.result, name) != getattr(recording.finish.result, name):
            return f"the replay's {name} is another"
    return "the replay's result is another"
