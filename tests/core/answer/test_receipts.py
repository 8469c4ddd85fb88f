"""The chain of receipts."""

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
