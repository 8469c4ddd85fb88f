"""When an answer must have ended: a deadline that stands still while a person is asked."""

import attrs


@attrs.define
class Clock:
    """The answer's own clock. `seconds` is how long it may take, approvals aside."""

    seconds: float
    _end: float = 0.0
    _asking_since: float | None = None

    def start(self, now: float) -> None:
        """Begin to count."""
        self._end = now + self.seconds

    def deadline(self) -> float:
        """Return when the answer ends: never, while the clock stands still."""
        return self._end if self._asking_since is None else float("inf")

    def ask(self, now: float, *, asking: bool) -> None:
        """Say whether an approval is awaited."""
        if asking and self._asking_since is None:
            self._asking_since = now
        elif not asking and self._asking_since is not None:
            self._end += now - self._asking_since
            self._asking_since = None
