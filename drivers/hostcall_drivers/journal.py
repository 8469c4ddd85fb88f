"""The journal: one line for each page request and each refusal (rule 8).

A line is a flat JSON object. Names are OpenTelemetry's where it has one, so that a collector needs no mapping. It goes
through `logging`, to the logger ``hostcall.fetch``; where that ends is the host's affair. `SystemdHandler` is one end:
it sends each field on its own to systemd's journal, so that ``journalctl SERVER_ADDRESS=example.org`` works.
"""

import json
import logging
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from hostcall.data import FetchRecord

Fields: TypeAlias = Mapping[str, str | int | bool | None]

LOGGER = "hostcall.fetch"
SYSTEMD_SOCKET = Path("/run/systemd/journal/socket")
_MAX_ADDRESS_CHARS = 2048
_MAX_DETAIL_CHARS = 512
_USER = re.compile(r"\A([^/?#]*//)[^/?#\\]*@")
"""A user name and a password, which only an address that was refused can hold: a log is no place for them."""
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Journal:
    """Writes the lines.

    Args:
        logger: Where they go.
        clock: The wall clock.
        log_query: Whether the query of an address is written, which may hold the user's words. Without it the line
            keeps the path and the query's length, and the length alone of a text that could not be read as an address.

    Security:
        Rule 8, a record of every fetch. Threat: a fetch that nobody can account for afterwards. A line holds no page
        text, title, header or cookie, and what a stranger wrote cannot break out of it.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        *,
        clock: Callable[[], datetime] = _utc_now,
        log_query: bool = True,
    ) -> None:
        self._logger = logger or logging.getLogger(LOGGER)
        self._clock = clock
        self._log_query = log_query

    def write(self, record: FetchRecord, *, answer_id: str = "") -> None:
        """Write one line. A refusal is a warning, everything else is information."""
        level = logging.INFO if record.rule is None else logging.WARNING
        logger = self._logger
        if not logger.isEnabledFor(level):
            return
        fields = self.fields(record, answer_id=answer_id)
        # Not `log`, which would look through the stack for who calls: a line has one place where it is written.
        arguments = (_encode(fields),)
        extra = {"hostcall_fields": fields}
        logger.handle(logger.makeRecord(logger.name, level, __file__, 0, "%s", arguments, None, "write", extra))

    def fields(self, record: FetchRecord, *, answer_id: str = "") -> dict[str, str | int | bool | None]:
        """Return the line as flat names and JSON values; what there is nothing to say of is left out."""
        fields: dict[str, str | int | bool | None] = {
            "timestamp": self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "event.name": "hostcall.fetch",
            "url.full": self._address(record),
            "server.address": record.host,
            "server.port": 443,
            "network.peer.address": record.peer,
            "http.request.method": "GET",
            "http.response.status_code": record.status,
            "http.response.body.size": record.wire_bytes,
            "hostcall.body.decoded_size": record.decoded_bytes,
            "hostcall.duration_ms": record.milliseconds,
            "hostcall.hop": record.hop,
            "hostcall.fetch.id": record.id.rpartition(".")[0],
            "hostcall.answer.id": answer_id,
            "hostcall.depth": record.depth,
            "hostcall.fetch.source": record.source,
            "hostcall.truncated": record.truncated,
        }
        answers = " ".join(_plain(answer) for answer in record.answers) if record.answers else None
        optional = (
            ("hostcall.total_ms", record.total_milliseconds),
            ("hostcall.dns.answers", answers),
            ("error.type", record.error),
            ("hostcall.cause", record.cause),
            ("hostcall.rule", record.rule),
            ("hostcall.detail", _plain(record.detail)[:_MAX_DETAIL_CHARS] or None),
            ("tls.protocol.version", record.tls_version),
        )
        fields.update({name: value for name, value in optional if value is not None})
        return fields

    def _address(self, record: FetchRecord) -> str:
        address = _USER.sub(r"\1REDACTED:REDACTED@", record.address)
        if not self._log_query and not record.host:
            address = f"<{len(record.address)} characters>"
        elif not self._log_query:
            before, mark, query = address.partition("?")
            address = f"{before}?<{len(query)} characters>" if mark else before
        return _plain(address)[:_MAX_ADDRESS_CHARS]


class SystemdHandler(logging.Handler):
    """Sends records to systemd's journal as datagrams of its native protocol.

    A journal that is away or full costs the line and never the answer.

    Args:
        path: The socket of the journal.
        identifier: What the lines are filed under (``journalctl -t``).
    """

    def __init__(self, path: str | Path = SYSTEMD_SOCKET, *, identifier: str = "hostcall") -> None:
        super().__init__()
        self._path = str(path)
        self._identifier = identifier

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as sender:
                sender.sendto(self._datagram(record), self._path)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Let the line go: an error in the journal is not an error of the answer."""

    def _datagram(self, record: logging.LogRecord) -> bytes:
        fields: dict[str, Any] = {
            "MESSAGE": record.getMessage(),
            "PRIORITY": _priority(record.levelno),
            "SYSLOG_IDENTIFIER": self._identifier,
            "LOGGER": record.name,
        }
        for name, value in getattr(record, "hostcall_fields", {}).items():
            if value is not None:
                fields[name.upper().replace(".", "_")] = value
        return b"".join(_field(name, str(value)) for name, value in fields.items())


def _priority(level: int) -> int:
    """Return the syslog priority of a logging level."""
    return 3 if level >= logging.ERROR else 4 if level >= logging.WARNING else 6 if level >= logging.INFO else 7


def _field(name: str, value: str) -> bytes:
    """Write one field. A value with a line end goes with its length in front, so that it cannot forge a field."""
    data = value.encode("utf-8", "backslashreplace")
    if b"\n" not in data:
        return name.encode("ascii") + b"=" + data + b"\n"
    return name.encode("ascii") + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"


def _plain(text: str) -> str:
    """Escape whatever is not visible ASCII, so that a line shows what stood there and runs nothing in a terminal."""
    return text.encode("unicode_escape").decode("ascii") if not (text.isascii() and text.isprintable()) else text
