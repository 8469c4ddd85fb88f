"""What is counted, for Prometheus. No label has a value that a client chooses, a key's name aside: the operator's."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from hostcall.data import FetchRecord, Result
from hostcall_drivers.journal import Journal

SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
FIRST = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of one service. Each service has its own, so that two in one process do not mix."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.answers = Counter("hostcall_answers", "Answers that ended, by why.", ["why"], registry=registry)
        self.passed = Counter(
            "hostcall_passed", "Requests passed to an engine, by status.", ["status"], registry=registry
        )
        self.errors = Counter(
            "hostcall_errors", "Requests refused with an error, by status.", ["status"], registry=registry
        )
        self.rounds = Counter("hostcall_rounds", "Rounds of all answers.", registry=registry)
        self.searches = Counter("hostcall_searches", "Searches, by how they went.", ["health"], registry=registry)
        self.pages = Counter("hostcall_pages", "Pages read.", registry=registry)
        self.refusals = Counter("hostcall_refusals", "Page requests refused, by rule.", ["rule"], registry=registry)
        self.tokens = Counter("hostcall_tokens", "Tokens that engines counted.", ["kind"], registry=registry)
        self.by_key = Counter(
            "hostcall_key_answers", "Answers begun, by the name of the key.", ["key"], registry=registry
        )
        self.in_flight = Gauge("hostcall_in_flight", "Answers and passed requests running.", registry=registry)
        self.seconds = Histogram(
            "hostcall_answer_seconds", "How long answers took.", buckets=SECONDS, registry=registry
        )
        self.first = Histogram(
            "hostcall_first_text_seconds", "How long the first text took.", buckets=FIRST, registry=registry
        )

    def ended(self, answer_id: str, result: Result, seconds: float) -> None:
        """Count an answer. The id goes along as an exemplar: a label would make a series of every answer."""
        self.answers.labels(result.why_stopped).inc()
        self.tokens.labels("prompt").inc(result.usage.prompt_tokens)
        self.tokens.labels("completion").inc(result.usage.completion_tokens)
        self.seconds.observe(seconds, {"answer_id": answer_id})

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return all counters as text, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class CountingJournal(Journal):
    """The journal, with a count of what was refused.

    Security:
        Rule 8, a record of every fetch. Threat: a refusal that is counted and not written. The line comes first.
    """

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        super().__init__()
        self._journal = journal
        self._metrics = metrics

    def write(self, record: FetchRecord, *, answer_id: str = "") -> None:
        """Write one line, and count it when it tells of a refusal."""
        self._journal.write(record, answer_id=answer_id)
        if record.rule is not None:
            self._metrics.refusals.labels(str(record.rule)).inc()
