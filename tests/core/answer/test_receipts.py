"""The chain of receipts."""

import hashlib
import hmac
import json
from typing import Any

import attrs
import pytest

from hostcall.answer.receipts import START, Chain, canonical, verify


def chain(key: bytes | None = None) -> Chain:
    made = Chain(key)
    for number in range(3):
        made.add(
            id=f"c{number}",
            tool="get_time",
            arguments={"city": "Ghent", "n": number},
            asked_by="model",
            started=1.0,
            ended=2.0,
            result="14:03",
            outcome="ran",
        )
    return made


def test_each_receipt_is_bound_to_the_one_before() -> None:
    made = chain()
    assert [receipt.previous for receipt in made.receipts] == [START, made.receipts[0].digest, made.receipts[1].digest]
    assert made.head == made.receipts[-1].digest
    assert verify(made.receipts) is None


def test_an_empty_chain_has_a_head() -> None:
    assert Chain().head == START
    assert verify(()) is None


@pytest.mark.parametrize("field", ["tool", "outcome", "result_digest", "previous", "digest"])
def test_a_changed_receipt_is_found(field: str) -> None:
    receipts = chain().receipts
    changed: dict[str, Any] = {field: "x"}
    receipts[1] = attrs.evolve(receipts[1], **changed)
    assert verify(receipts) == 1


def test_a_dropped_receipt_is_found() -> None:
    receipts = chain().receipts
    del receipts[1]
    assert verify(receipts) == 1


def test_only_who_has_the_key_can_write_a_chain_that_verifies() -> None:
    receipts = chain(b"secret").receipts
    assert verify(receipts, b"secret") is None
    assert verify(receipts) == 0
    assert verify(chain().receipts, b"secret") == 0


def test_receipts_hold_no_content() -> None:
    assert "Ghent" not in str(chain().receipts)
    assert "14:03" not in str(chain().receipts)


def test_canonical_json_does_not_depend_on_order() -> None:
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}'


def test_the_chain_is_what_the_records_of_others_hold() -> None:
    """Receipts are kept and checked later, by other programs too: the digests must never change."""
    made = chain()
    first = made.receipts[0]
    assert START == "0" * 64
    assert first.previous == START
    assert first.arguments_digest == hashlib.sha256(b'{"city":"Ghent","n":0}').hexdigest()
    assert (first.result_bytes, first.result_digest) == (5, hashlib.sha256(b"14:03").hexdigest())
    fields = {
        "arguments_digest": first.arguments_digest,
        "asked_by": "model",
        "ended": 2.0,
        "id": "c0",
        "outcome": "ran",
        "previous": START,
        "result_bytes": 5,
        "result_digest": first.result_digest,
        "started": 1.0,
        "tool": "get_time",
    }
    sealed = json.dumps(fields, separators=(",", ":")).encode()
    assert first.digest == hashlib.sha256(sealed).hexdigest()
    assert chain(b"k").receipts[0].digest == hmac.new(b"k", sealed, "sha256").hexdigest()


def test_half_a_character_and_any_script_can_be_sealed() -> None:
    assert canonical({"b": "é", "a": 1}) == '{"a":1,"b":"é"}'
    made = Chain()
    made.add(
        id="c",
        tool="\ud800",
        arguments={"x": "\ud800"},
        asked_by="host",
        started=0,
        ended=0,
        result="\ud800é",
        outcome="ran",
    )
    assert made.receipts[0].result_bytes == 5
    assert made.receipts[0].arguments_digest == hashlib.sha256(b'{"x":"\xed\xa0\x80"}').hexdigest()
    assert verify(made.receipts) is None


def test_a_receipt_that_is_gone_or_moved_is_found_where_it_is_missed() -> None:
    one, two, three = chain().receipts
    assert verify([one, three]) == 1
    assert verify([two, three]) == 0
    assert verify([one, two, attrs.evolve(three, ended=3.0)]) == 2
    assert verify([one, two]) is None
