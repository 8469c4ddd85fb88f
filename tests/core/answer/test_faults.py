"""A sample of the faults that ``python -m tests.bench.faults`` makes at every place, and the cancels in full."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.faults import bodies, cut, kill, recordings, scenarios

SCENARIOS = scenarios()
RECORDINGS = recordings()


@settings(max_examples=150, deadline=None)
@given(case=st.sampled_from(SCENARIOS), data=st.data())
def test_an_engine_a_search_or_a_site_that_is_gone_after_any_byte_leaves_a_sound_end(
    case: dict[str, Any], data: st.DataObject
) -> None:
    sizes = [(number, size) for number, size in enumerate(bodies(case)) if size]
    if sizes:
        number, size = data.draw(st.sampled_from(sizes))
        kill(case, number, data.draw(st.integers(0, size - 1)))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: str(path.stem))
def test_a_recorded_reply_that_is_cut_or_breaks_off_anywhere(path: Any) -> None:
    size = len(path.read_bytes())
    for byte in sorted({1, size - 1, *range(7, size, max(size // 12, 1))}):
        cut(path, byte)
