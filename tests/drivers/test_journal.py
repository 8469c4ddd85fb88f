"""The journal: one flat JSON object a line, and systemd's journal over its socket."""

import json
import logging
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import attrs
import pytest

from hostcall.data import FetchRecord
from hostcall_drivers.journal import Journal, SystemdHandler

RECORD = FetchRecord(
    id="r2.c1.p3.h1",
    address="https://example.org/a?q=secret+words",
    host="example.org",
    peer="93.184.215.14",
    status=200,
    wire_bytes=120,
    decoded_bytes=400,
    milliseconds=31,
    total_milliseconds=62,
    hop=1,
    depth=2,
    source="redirect",
    truncated=True,
    tls_version="TLSv1.3",
)
REFUSED = FetchRecord(
    id="c1.p0.h0",
    address="https://router.example.org/",
    host="router.example.org",
    answers=("93.184.215.14", "10.0.0.1"),
    total_milliseconds=3,
    error="not_public",
    cause="inner",
    detail="router.example.org leads to '10.0.0.1'",
    rule=2,
    source="search_result",
)


class Kept(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def logger(request: pytest.FixtureRequest) -> Iterator[logging.Logger]:
    logger = logging.Logger(request.node.name, logging.DEBUG)
    yield logger
    for handler in logger.handlers:
        handler.close()


def _clock() -> datetime:
    return datetime(2026, 3, 4, 13, 6, 7, 123_456, timezone(timedelta(hours=8)))


def _line(logger: logging.Logger, record: FetchRecord, *, log_query: bool = True) -> dict[str, object]:
    kept = Kept()
    logger.addHandler(kept)
    Journal(logger, clock=_clock, log_query=log_query).write(record, answer_id="a1")
    (written,) = kept.records
    line = written.getMessage()
    assert "\n" not in line
    fields = json.loads(line)
    assert isinstance(fields, dict)
    return fields


def test_a_page_that_was_read_is_one_line_with_the_names_of_opentelemetry(logger: logging.Logger) -> None:
    assert _line(logger, RECORD) == {
        "timestamp": "2026-03-04T05:06:07.123Z",
        "event.name": "hostcall.fetch",
        "url.full": "https://example.org/a?q=secret+words",
        "server.address": "example.org",
        "server.port": 443,
        "network.peer.address": "93.184.215.14",
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.response.body.size": 120,
        "hostcall.body.decoded_size": 400,
        "hostcall.duration_ms": 31,
        "hostcall.total_ms": 62,
        "hostcall.hop": 1,
        "hostcall.fetch.id": "r2.c1.p3",
        "hostcall.answer.id": "a1",
        "hostcall.depth": 2,
        "hostcall.fetch.source": "redirect",
        "hostcall.truncated": True,
        "tls.protocol.version": "TLSv1.3",
    }


def test_a_refusal_says_by_which_rule_and_why(logger: logging.Logger) -> None:
    line = _line(logger, REFUSED)
    assert line["error.type"] == "not_public"
    assert line["hostcall.cause"] == "inner"
    assert line["hostcall.rule"] == 2
    assert line["hostcall.detail"] == "router.example.org leads to '10.0.0.1'"
    assert line["hostcall.dns.answers"] == "93.184.215.14 10.0.0.1"
    assert line["network.peer.address"] is None
    assert line["http.response.status_code"] is None
    assert "tls.protocol.version" not in line


def test_a_refusal_by_a_rule_is_a_warning_and_all_else_is_information(logger: logging.Logger) -> None:
    kept = Kept()
    logger.addHandler(kept)
    journal = Journal(logger)
    for record in (RECORD, REFUSED, attrs.evolve(REFUSED, rule=None, error="timed_out")):
        journal.write(record)
    assert [record.levelno for record in kept.records] == [logging.INFO, logging.WARNING, logging.INFO]
    assert json.loads(kept.records[0].getMessage())["timestamp"].endswith("Z")


def test_without_the_query_the_line_keeps_the_path_and_a_length(logger: logging.Logger) -> None:
    assert _line(logger, RECORD, log_query=False)["url.full"] == "https://example.org/a?<14 characters>"
    plain = attrs.evolve(RECORD, address="https://example.org/a")
    assert _line(logging.Logger("x"), plain, log_query=False)["url.full"] == "https://example.org/a"


@pytest.mark.parametrize(
    "text", ["tell me about my illness", "https://example.org:8443/my/illness#x", "data:text/plain,illness"]
)
def test_without_the_query_a_text_that_is_no_address_is_a_length_alone(logger: logging.Logger, text: str) -> None:
    record = FetchRecord(id="c1.p0.h0", address=text, error="address_malformed", rule=2)
    assert _line(logger, record, log_query=False)["url.full"] == f"<{len(text)} characters>"
    assert _line(logging.Logger("x"), record)["url.full"] == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@example.org/a@b", "https://REDACTED:REDACTED@example.org/a@b"),
        ("https://secret@example.org/", "https://REDACTED:REDACTED@example.org/"),
        ("ftp://me:se:cret@example.org", "ftp://REDACTED:REDACTED@example.org"),
        ("https://example.org/@user", "https://example.org/@user"),
        ("https://a@b@example.org/", "https://REDACTED:REDACTED@example.org/"),
        ("https://example.org?a=//b@c", "https://example.org?a=//b@c"),
        ("https://example.org\\@127.0.0.1/", "https://example.org\\@127.0.0.1/"),
    ],
)
def test_a_user_name_and_a_password_are_in_no_line(logger: logging.Logger, text: str, shown: str) -> None:
    record = FetchRecord(id="c1.p0.h0", address=text, error="address_user", rule=2)
    assert _line(logger, record)["url.full"] == shown


def test_what_a_stranger_wrote_is_escaped_and_cut(logger: logging.Logger) -> None:
    record = attrs.evolve(REFUSED, address="x\n\x1b[2J\u202e" + "a" * 5000, detail="é\x00" + "b" * 5000)
    line = _line(logger, record)
    assert isinstance(line["url.full"], str)
    assert line["url.full"].startswith("x\\n\\x1b[2J\\u202eaaa")
    assert len(line["url.full"]) == 2048
    assert isinstance(line["hostcall.detail"], str)
    assert line["hostcall.detail"].startswith("\\xe9\\x00bbb")
    assert len(line["hostcall.detail"]) == 512


def test_lines_go_to_a_named_logger_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hostcall.fetch"):
        Journal().write(RECORD)
    assert [record.name for record in caplog.records] == ["hostcall.fetch"]
    assert datetime.fromisoformat(json.loads(caplog.messages[0])["timestamp"]).tzinfo is not None


class TestSystemd:
    @pytest.fixture
    def journald(self, tmp_path: Path) -> Iterator[tuple[Path, socket.socket]]:
        path = tmp_path / "socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(path))
            receiver.settimeout(5)
            yield path, receiver

    def test_each_field_goes_on_its_own_beside_the_line(
        self, journald: tuple[Path, socket.socket], logger: logging.Logger
    ) -> None:
        path, receiver = journald
        logger.addHandler(SystemdHandler(path, identifier="chat"))
        Journal(logger, clock=_clock).write(REFUSED, answer_id="a1")
        fields = dict(line.split("=", 1) for line in receiver.recv(65_536).decode().splitlines())
        assert json.loads(fields["MESSAGE"])["error.type"] == "not_public"
        assert fields["PRIORITY"] == "4"
        assert fields["SYSLOG_IDENTIFIER"] == "chat"
        assert fields["SERVER_ADDRESS"] == "router.example.org"
        assert fields["HOSTCALL_RULE"] == "2"
        assert fields["HOSTCALL_ANSWER_ID"] == "a1"
        assert "NETWORK_PEER_ADDRESS" not in fields

    def test_a_value_with_a_line_end_cannot_forge_a_field(
        self, journald: tuple[Path, socket.socket], logger: logging.Logger
    ) -> None:
        path, receiver = journald
        logger.addHandler(SystemdHandler(path))
        logger.debug("x\nPRIORITY=0")
        data = receiver.recv(65_536)
        assert data.startswith(b"MESSAGE\n" + (12).to_bytes(8, "little") + b"x\nPRIORITY=0\nPRIORITY=7\n")

    @pytest.mark.parametrize(("level", "priority"), [(10, b"7"), (20, b"6"), (30, b"4"), (40, b"3"), (50, b"3")])
    def test_the_level_becomes_a_priority(
        self, journald: tuple[Path, socket.socket], logger: logging.Logger, level: int, priority: bytes
    ) -> None:
        path, receiver = journald
        logger.addHandler(SystemdHandler(path))
        logger.log(level, "x")
        assert b"PRIORITY=" + priority + b"\n" in receiver.recv(65_536)

    def test_a_journal_that_is_away_costs_the_line_and_nothing_else(
        self, tmp_path: Path, logger: logging.Logger
    ) -> None:
        logger.addHandler(SystemdHandler(tmp_path / "nowhere"))
        Journal(logger).write(RECORD)

    def test_many_lines_leave_no_socket_open(
        self, journald: tuple[Path, socket.socket], logger: logging.Logger
    ) -> None:
        path, receiver = journald
        logger.addHandler(SystemdHandler(path))
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            Journal(logger).write(RECORD)
            receiver.recv(65_536)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_clock_is_read_for_each_line(logger: logging.Logger) -> None:
    times = iter([datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)])
    journal = Journal(logger, clock=lambda: next(times))
    assert journal.fields(RECORD)["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert journal.fields(RECORD)["timestamp"] == "2026-01-02T00:00:00.000Z"
