"""`hostcall doctor` over real loopback HTTP, and the loop on every engine that it was shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from hostcall.answer.answer import Answer
from hostcall.commands import ShowSearch
from hostcall.doctor import Doctor
from hostcall.engine.capabilities import Row, read_rows
from hostcall.limits import Limits
from hostcall_drivers import saved
from hostcall_drivers.cli import main
from hostcall_drivers.engines import Engines, known_rows
from tests.core.doctor.test_engine import QUIRKS
from tests.drivers.driving import KINDS, carry_out
from tests.drivers.driving import Kind as Driver
from tests.drivers.servers import Connection, Server, searxng
from tests.standins import Kind, StandIn

Capture = pytest.CaptureFixture[str]
RESULTS = [{"url": "https://docs.example.org/guide", "title": "Kettles", "content": "It boils.", "engines": ["brave"]}]
QUESTION = [{"role": "user", "content": "At what temperature does the kettle boil?"}]
NAMED = [quirk for quirk in QUIRKS if quirk[0] in ("ollama", "vllm", "lm-studio")]


def served(standin: StandIn) -> Server:
    def handle(connection: Connection) -> None:
        status, kind, body = standin.answer(connection.target, connection.body)
        connection.answer(status, body, ("Content-Type", kind))

    return Server(handle)


def test_twelve_engines_have_a_quirk_each() -> None:
    assert [quirk[0] for quirk in NAMED].count("ollama") == 4
    assert [quirk[0] for quirk in NAMED].count("vllm") == 4
    assert [quirk[0] for quirk in NAMED].count("lm-studio") == 4


@pytest.mark.parametrize(("kind", "quirk", "expected", "says"), NAMED)
def test_the_doctor_names_each_of_twelve_engines_rightly(
    kind: Kind, quirk: str, expected: dict[str, str], says: str, capsys: Capture
) -> None:
    with served(StandIn(kind, frozenset({quirk}))) as server:
        code = main(["doctor", server.url])
    out = capsys.readouterr().out
    odd = {line[8:24].strip(): line[:8].strip() for line in out.splitlines() if line.startswith(("note ", "trouble "))}
    assert odd == expected
    assert says in out
    assert code == (1 if "trouble" in expected.values() else 0)
    assert f"[{json.dumps(kind)}]" in out


@pytest.mark.parametrize("driver", KINDS)
@pytest.mark.parametrize(("kind", "quirk"), [(kind, quirk) for kind, quirk, *_ in QUIRKS])
def test_the_loop_answers_on_each(driver: Driver, kind: Kind, quirk: str) -> None:
    """With the row that ships for the kind, and without any doctor: a search comes first, and then an answer."""
    standin = StandIn(kind, frozenset({quirk}))
    with served(standin) as server, Server(searxng(RESULTS)) as search:
        engines = Engines.read([server.url], rows={"": known_rows()[kind]})
        answer = Answer(QUESTION, engine=engines.settings("m"), limits=Limits(retry_seconds=0.05))
        carried = carry_out(driver, answer, engine=engines, search=search.url)
    assert carried.result.why_stopped == "answered"
    assert carried.result.text
    assert carried.of(ShowSearch)
    if quirk not in ("cites nothing", "strips tools", "no template"):
        assert [citation.number for citation in carried.result.citations] == [1]


@pytest.mark.parametrize(("kind", "quirk"), [(kind, quirk) for kind, quirk, *_ in QUIRKS])
def test_the_loop_needs_no_repair_with_the_row_that_the_doctor_saved(kind: Kind, quirk: str, own_rows: Path) -> None:
    standin = StandIn(kind, frozenset({quirk}))
    with served(standin) as server, Server(searxng(RESULTS)) as search:
        main(["doctor", server.url])
        row = saved.saved_row(own_rows, server.url, "m")
        assert row is not None
        before = len(standin.chats)
        engines = Engines.read([server.url], rows={"": row})
        carried = carry_out("sync", Answer(QUESTION, engine=engines.settings("m")), engine=engines, search=search.url)
        refused = 0
        for body in standin.chats[before:]:
            status, _, _ = StandIn(kind, standin.quirks).answer(
                "/api/chat" if row.wire == "ollama" else "/v1/chat/completions", json.dumps(body).encode()
            )
            refused += status != 200
    assert carried.result.why_stopped == "answered"
    assert carried.of(ShowSearch)
    if quirk != "no tool results":
        assert refused == 0


@pytest.mark.parametrize("driver", KINDS)
def test_either_driver_runs_the_doctor(driver: Driver) -> None:
    doctor = Doctor(known_rows(), search=True)
    with served(StandIn("vllm")) as server, Server(searxng(RESULTS)) as search:
        carried = carry_out(driver, doctor, engine=server.url, search=search.url)
    assert doctor.report is not None
    assert doctor.report.healthy
    assert carried.result.capabilities == doctor.report.row.capabilities  # type: ignore[union-attr]  # it is healthy


# The command line.


def test_the_row_is_saved_where_ask_looks_for_it(own_rows: Path, capsys: Capture) -> None:
    standin = StandIn("openai", frozenset({"required refused"}))
    with served(standin) as server, Server(searxng(RESULTS)) as search:
        assert main(["doctor", server.url, "--search", search.url]) == 0
        out = capsys.readouterr().out
        assert "ok      search JSON" in out
        assert "saved: " in out
        (file,) = own_rows.iterdir()
        (row,) = read_rows(file.read_text(encoding="utf-8")).values()
        assert (row.address, row.model) == (server.url, "m")
        assert row.source.startswith("hostcall doctor, 20")
        before = len(standin.chats)
        assert main(["ask", "Does it boil?", "--engine", server.url, "--search", search.url]) == 0
        assert not [body for body in standin.chats[before:] if body.get("tool_choice") == "required"]


def test_the_row_goes_to_a_file_of_the_operators(tmp_path: Path, own_rows: Path) -> None:
    file = tmp_path / "deep" / "row.toml"
    with served(StandIn("vllm")) as server:
        assert main(["doctor", server.url, "--model", "m", "--save", str(file)]) == 0
        assert not own_rows.exists()
        assert main(["ask", "Hi", "--engine", server.url, "--row", str(file)]) == 0


def engine_of(status: int, body: bytes) -> Any:
    return lambda connection: connection.answer(status, body, ("Content-Type", "application/json"))


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [(401, b"{}", "wants a key"), (200, b"<html>", "a web page answers"), (503, b"{}", "answers 503")],
)
def test_an_engine_that_cannot_be_examined_is_exit_2_and_one_line(
    status: int, body: bytes, says: str, capsys: Capture, own_rows: Path
) -> None:
    with Server(engine_of(status, body)) as server:
        assert main(["doctor", server.url]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert not own_rows.exists()


def test_nothing_there_and_wrong_settings_are_exit_2(capsys: Capture) -> None:
    assert main(["doctor", "http://127.0.0.1:1"]) == 2
    assert "does not answer" in capsys.readouterr().err
    assert main(["doctor", "ftp://x"]) == 2
    assert "is not one" in capsys.readouterr().err
    assert main(["doctor", "http://127.0.0.1:1", "--row", "nothing"]) == 2
    assert "there is no row 'nothing'" in capsys.readouterr().err


def test_a_search_service_that_is_not_there_is_exit_2_and_the_row_is_kept(own_rows: Path, capsys: Capture) -> None:
    with served(StandIn("openai")) as server:
        assert main(["doctor", server.url, "--search", "http://127.0.0.1:1"]) == 2
    assert "the search service: it does not answer" in capsys.readouterr().err
    assert len(list(own_rows.iterdir())) == 1


def test_a_row_is_a_row(own_rows: Path) -> None:
    assert isinstance(known_rows()["openai"], Row)
    assert not own_rows.exists()
