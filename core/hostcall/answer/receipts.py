"""The chain of receipts: one record a call, each bound to the one before it.

An answer says much; a receipt says what the host did. The digests hold no content, so receipts can be kept where the
conversation may not be. With a key the digest is an HMAC, and only who has the key can write a chain that verifies.
"""

import hashlib
import hmac
import json
from typing import Any

import attrs

from hostcall.data import AskedBy, Receipt

START = "0" * 64
"""What stands for the receipt before the first."""


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted members, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(fields: dict[str, Any], key: bytes | None) -> str:
    """Return the digest that binds a receipt's fields, `previous` among them."""
    data = canonical(fields).encode("utf-8", "surrogatepass")
    return hmac.new(key, data, "sha256").hexdigest() if key else hashlib.sha256(data).hexdigest()


@attrs.define
class Chain:
    """The receipts of one answer, in the order the calls were asked."""

    key: bytes | None = None
    receipts: list[Receipt] = attrs.Factory(list)

    @property
    def head(self) -> str:
        """The digest of the last receipt, which stands for all of them."""
        return self.receipts[-1].digest if self.receipts else START

    def add(
        self,
        *,
        id: str,
        tool: str,
        arguments: Any,
        asked_by: AskedBy,
        started: float,
        ended: float,
        result: str,
        outcome: str,
    ) -> None:
        """Write the receipt of a call."""
        fields: dict[str, Any] = {
            "id": id,
            "tool": tool,
            "arguments_digest": digest_text(canonical(arguments)),
            "asked_by": asked_by,
            "started": started,
            "ended": ended,
            "result_bytes": len(result.encode("utf-8", "surrogatepass")),
            "result_digest": digest_text(result),
            "outcome": outcome,
            "previous": self.head,
        }
        self.receipts.append(Receipt(**fields, digest=seal(fields, self.key)))


def verify(receipts: tuple[Receipt, ...] | list[Receipt], key: bytes | None = None) -> int | None:
    """Return the position of the first receipt that does not fit the chain, or None when all do."""
    previous = START
    for position, receipt in enumerate(receipts):
        fields = attrs.asdict(receipt)
        digest = fields.pop("digest")
        if receipt.previous != previous or not hmac.compare_digest(seal(fields, key), digest):
            return position
        previous = digest
    return None
