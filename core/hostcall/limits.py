"""Every number of the design, once.

A machine reads its numbers here, a driver reads them from the commands it gets, and a host changes them by handing
its own `Limits` to `Answer`. Each field says what it bounds; the comment above a group says which rule it comes from.
"""

import attrs


@attrs.frozen(kw_only=True)
class Limits:
    """The bounds of one answer. Times are seconds, sizes are bytes unless the name says characters."""

    # The loop.
    rounds: int = 8
    """Rounds in which tools are offered; the forced ladder counts as one."""
    answer_rounds: int = 2
    """Rounds without tools that follow when the tool rounds brought no answer."""
    calls_a_round: int = 8
    calls_an_answer: int = 64
    forced_tokens: int = 512
    """`max_tokens` of a forced round: an engine that ignores the force would else write to the end of its context."""
    cut_calls: int = 2
    """How often the model is told that a call was cut short by its own length limit."""
    overlap: bool = True
    """Whether a call that changes nothing may start while the model still writes. Where one request is open at a time,
    it cannot."""
    parallel: int = 8
    """Requests that may be live at once beside the engine's."""
    answer_seconds: float = 600.0
    approval_seconds: float = 300.0

    # The research budget.
    searches: int = 16
    pages: int = 12
    sub_questions: int = 3
    results_a_search: int = 6

    # The crawl, and rule 5.
    hops: int = 2
    pages_a_crawl: int = 6
    links_a_page: int = 24
    requests_a_host: int = 2
    """Pages of one site, one leading ``www.`` aside, that are asked for at once, by all calls together."""
    page_chars: int = 12_000
    report_chars: int = 24_000
    page_seconds: float = 10.0
    lookup_seconds: float = 3.0
    connect_seconds: float = 3.0
    redirects: int = 3
    page_bytes: int = 2_000_000
    """Decoded bytes of a page that are read; the rest is cut."""
    page_wire_bytes: int = 3_000_000
    head_bytes: int = 65_536
    headers: int = 256
    data_events: int = 65_536
    """Body events of a page: one-byte chunks cost 12 µs each, so 2 MB of them would be 23 s of CPU."""
    chunk_line_bytes: int = 65_536
    """A chunk-size line or a trailer part; h11 would let a 60 kB extension pass with each byte of body."""
    address_chars: int = 8_192
    answers_a_name: int = 64
    """Addresses that one name may have; more is refused."""
    addresses_tried: int = 6

    # The operator's services.
    engine_idle: float = 120.0
    engine_bytes: int = 8 * 1024 * 1024
    event_bytes: int = 1024 * 1024
    """One event of a stream (an SSE event, an NDJSON line)."""
    search_bytes: int = 2_000_000
    search_seconds: float = 20.0
    retry_seconds: float = 1.0
    """The wait before a failed engine request is asked once more, when the engine names none."""
    retry_after_seconds: float = 10.0
    """The longest `Retry-After` that is waited for."""

    # What the model reads and writes.
    arguments_bytes: int = 256 * 1024
    held_chars: int = 1024 * 1024
    tool_result_chars: int = 24_000
    history_chars: int = 400_000
