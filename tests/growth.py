"""Whether a work grows with its size and no faster, as a ratio of two measurements side by side."""

import time
from collections.abc import Callable

FACTOR = 4
LINEAR = 9.0
"""More than the fourfold work of a machine with other things to do, and less than its square."""
_LEAST_SECONDS = 0.005
"""What takes less is mostly the cost of being called and of the clock."""
_TRIES = 3


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as much CPU `work(size)` takes as `work(size // 4)`.

    Each is measured three times and the least counts: a busy machine only adds.
    """
    small, large = (min(_seconds(work, at) for _ in range(_TRIES)) for at in (size // FACTOR, size))
    return large / max(small, _LEAST_SECONDS)


def _seconds(work: Callable[[int], object], size: int) -> float:
    begun = time.process_time()
    work(size)
    return time.process_time() - begun
