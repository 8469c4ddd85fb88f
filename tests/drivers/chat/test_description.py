"""The description of the interface holds: whatever it allows, and what it does not, is answered as it says."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from hostcall.testing import reply_text
from hostcall_drivers.chat.allowed import Allowed
from tests.drivers.chat.serving import served
from tests.drivers.chat.world import whole_reply
from tests.drivers.servers import Connection, Server, searxng, send_stream

# What of a passed request is right is for the engine to say, and this one takes everything.
THE_ENGINES = [positive_data_acceptance, negative_data_rejection]


def engine(connection: Connection) -> None:
    """Answer in one piece or as a stream, as asked; and list one model."""
    if connection.target == "/v1/models":
        connection.answer(200, b'{"data": [{"id": "m"}]}', ("Content-Type", "application/json"))
    elif json.loads(connection.body).get("stream"):
        send_stream(connection, reply_text("Yes."))
    else:
        whole_reply("Yes.")(connection)


@pytest.fixture(scope="module")
def described() -> Iterator[Any]:
    allowed = Allowed(answers_a_minute=1_000_000, body_seconds=1.0)
    with (
        Server(engine) as one,
        Server(searxng([])) as search,
        served(one.url, search.url, allowed=allowed) as service,
    ):
        yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: str(mode.value))
def test_the_service_answers_as_its_description_says(described: Any, mode: schemathesis.GenerationMode) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) == 5
    if mode is schemathesis.GenerationMode.NEGATIVE:
        # Nothing can be wrong with a request that has no body.
        operations = [operation for operation in operations if operation.method == "post"]
    for operation in operations:

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def answered(case: Any) -> None:
            response = case.call_and_validate(timeout=20, excluded_checks=THE_ENGINES)
            assert "Traceback" not in response.text

        answered()
