"""Against a real SearXNG on the loopback."""

import pytest

from hostcall.answer.answer import Answer
from hostcall.commands import ShowSearch
from hostcall.testing import reply_calls, reply_text
from hostcall_drivers.cli import main
from tests.drivers.driving import KINDS, Kind, carry_out
from tests.drivers.servers import ScriptedEngine, Server

pytestmark = pytest.mark.searxng

QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]


def searched(kind: Kind, search: str, **arguments: str) -> tuple[list[ShowSearch], str]:
    engine = ScriptedEngine([reply_calls(("web_search", arguments)), reply_text("Done [1].")])
    with Server(engine) as server:
        carried = carry_out(kind, Answer(QUESTION), engine=server.url, search=search)
    return carried.of(ShowSearch), engine.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_found_numbered_and_cleaned_and_the_dead_engine_named(kind: Kind, real_search: str) -> None:
    (notice,), text = searched(kind, real_search, query=f"kettle {kind}")
    assert notice.health == "degraded"
    assert [(result.number, result.title) for result in notice.results] == [(1, "The guide"), (2, "Another page")]
    assert notice.results[0].snippet == "How the kettle begins."
    assert "did not answer: dead" in text
    assert text.endswith("Searches used 1 of 16; pages read 0 of 12")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_found_with_a_dead_engine_is_no_empty_result(kind: Kind, real_search: str) -> None:
    (notice,), text = searched(kind, real_search, query=f"nothing {kind}")
    assert (notice.health, notice.results) == ("unavailable", ())
    assert "No results." not in text


def test_a_range_that_no_engine_knows_is_tried_again_without(real_search: str) -> None:
    """json_engine has no time range, so SearXNG drops it and finds nothing; the results come without the range."""
    (notice,), text = searched("sync", real_search, query="kettle news", time_range="week")
    assert [result.recency for result in notice.results] == ["undated", "undated"]
    assert "without a range" in text


def test_json_not_enabled_says_what_to_do(html_search: str, capsys: pytest.CaptureFixture[str]) -> None:
    (notice,), text = searched("sync", html_search, query="kettle")
    assert notice.health == "unavailable"
    assert "enable json under search.formats" in text
    with Server(ScriptedEngine([b""])) as server:
        code = main(["ask", "x", "--engine", server.url, "--search", html_search])
    assert code == 2
    assert "enable json under search.formats" in capsys.readouterr().err
