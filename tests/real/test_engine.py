"""Against a real llama.cpp server with a real, small model on the loopback."""

from pathlib import Path

import pytest
import trio

from hostcall.answer.answer import Answer
from hostcall.answer.tools import Tool
from hostcall.commands import ShowPage, ShowSearch, ShowText
from hostcall.engine.settings import Engine
from hostcall.limits import Limits
from hostcall_drivers.cli import main
from hostcall_drivers.engines import Engines, known_rows, load_rows
from tests.bench import answers
from tests.drivers.driving import KINDS, Kind, carry_out
from tests.drivers.servers import PUBLIC_V4, Authority, Server, page, searxng, site

pytestmark = pytest.mark.engine

RESULTS = [{"url": "https://docs.example.org/guide", "title": "The kettle guide", "content": "How a kettle boils."}]
HTML = "<title>The kettle guide</title><p>On that hill the kettle boils at ninety-four degrees.</p>"
ENGINE = Engine(
    capabilities=known_rows()["llama-server"].capabilities, extra_body={"temperature": 0, "max_tokens": 160}
)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_streams_without_tools(kind: Kind, real_engine: tuple[str, str]) -> None:
    url, key = real_engine
    answer = Answer([{"role": "user", "content": "Say the word hello."}], web=False, engine=ENGINE)
    carried = carry_out(kind, answer, engine=url, engine_key=key)
    assert carried.result.why_stopped == "answered"
    assert "hello" in carried.result.text.lower()
    assert len(carried.of(ShowText)) > 1
    assert carried.result.usage.completion_tokens > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_always_comes_before_the_answer(kind: Kind, real_engine: tuple[str, str]) -> None:
    """Whatever the model makes of the force, an answer with the web on rests on a search."""
    url, key = real_engine
    authority = Authority()
    answer = Answer(
        [{"role": "user", "content": "At what temperature does the kettle boil on that hill? Search the web."}],
        engine=ENGINE,
        limits=Limits(rounds=3, answer_seconds=240.0),
    )
    with Server(searxng(RESULTS)) as search, site(authority, page(HTML)) as docs:
        carried = carry_out(
            kind,
            answer,
            engine=url,
            search=search.url,
            engine_key=key,
            ports={(PUBLIC_V4, 443): ("127.0.0.1", docs.port)},
            names={"docs.example.org": [PUBLIC_V4]},
            page_tls=authority.client(),
        )
    result = carried.result
    assert result.why_stopped in ("answered", "rounds_used", "budget_spent", "blank")
    assert carried.of(ShowSearch) or carried.of(ShowPage)
    assert any(receipt.outcome == "ran" for receipt in result.receipts)
    assert "tool_call" not in "".join(notice.text for notice in carried.of(ShowText))


def test_a_tool_of_the_host_is_called(real_engine: tuple[str, str]) -> None:
    url, key = real_engine
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    clock = Tool("get_time", "Get the current time for a city", schema, side_effects=False)
    ran: list[object] = []

    def handler(arguments: object) -> str:
        ran.append(arguments)
        return "14:03"

    answer = Answer(
        [{"role": "user", "content": "What time is it in Toronto? Use the tool get_time."}],
        web=False,
        tools=[clock],
        engine=ENGINE,
        limits=Limits(rounds=3),
    )
    carried = carry_out("sync", answer, engine=url, engine_key=key, handlers={"get_time": handler})
    assert ran == [{"city": "Toronto"}]
    assert [receipt.tool for receipt in carried.result.receipts if receipt.outcome == "ran"] == ["get_time"]


def test_the_doctor_examines_a_real_engine(
    real_engine: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is small and the context short, so there is something to say; a schema is kept whatever the model."""
    url, key = real_engine
    file = tmp_path / "row.toml"
    assert main(["doctor", url, "--key", key, "--save", str(file)]) in (0, 1)
    out = capsys.readouterr().out
    assert "ok      schema" in out
    assert "note    context         8192 tokens" in out
    assert "a reply broke off" not in out
    (row,) = load_rows(file).values()
    assert (row.name, row.capabilities.schema, row.capabilities.rescue) == ("llama-server", True, False)
    assert "bare-json" in row.capabilities.dialects


def test_no_first_call_is_lost(real_engine: tuple[str, str]) -> None:
    """`python -m tests.bench.answers --model small` asks all thirty, and with the larger models."""
    url, key = real_engine
    engines = Engines.read([url], keys={"": key}, rows={"": known_rows()["llama-server"]})
    questions = answers.read(answers.QUESTIONS)[:3]
    judged = trio.run(lambda: answers.ask(questions, engines=engines, extra_body=answers.EXTRA, guided=True))
    assert {asked.rung for asked in judged.values()} <= {"required", "schema", "host"}
    assert all(asked.result.receipts[0].outcome == "ran" for asked in judged.values())
    assert not any(c.grade == "unknown" for asked in judged.values() for c in asked.result.citations)


def test_the_command_line_answers_and_names_what_is_wrong(
    real_engine: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    url, key = real_engine
    assert main(["ask", "Say the word hello.", "--engine", url, "--key", key]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["ask", "x", "--engine", url]) == 2
    assert "wants a key" in capsys.readouterr().err
    assert main(["ask", "x", "--engine", url, "--key", key, "--model", "no-such-model"]) == 2
    assert "no model 'no-such-model'" in capsys.readouterr().err
