"""The command line: exit codes, one line for what is wrong, and no traceback."""

import io
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostcall.testing import reply_calls, reply_text
from hostcall_drivers import cli, terminal
from hostcall_drivers.cli import main
from tests.drivers.servers import Connection, ScriptedEngine, Server, never, searxng

Capture = pytest.CaptureFixture[str]

RESULTS = [{"url": "https://docs.example.org/guide", "title": "The \x1b[31mguide", "content": "How it begins."}]


@pytest.fixture
def engine() -> Iterator[Server]:
    replies = [reply_calls(("web_search", {"query": "kettle"})), reply_text("It boils [1].\x1b[2J")]
    with Server(ScriptedEngine(replies)) as server:
        yield server


@pytest.fixture
def search() -> Iterator[Server]:
    with Server(searxng(RESULTS)) as server:
        yield server


def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def one_line(capsys: Capture) -> str:
    error = capsys.readouterr().err
    assert "Traceback" not in error
    lines = [line for line in error.splitlines() if line.startswith("hostcall: ")]
    assert len(lines) == 1
    return lines[0]


def test_ask_answers_with_its_sources(engine: Server, search: Server, capsys: Capture) -> None:
    assert main(["ask", "Does it boil?", "--engine", engine.url, "--search", search.url]) == 0
    out = capsys.readouterr().out
    assert "searched: kettle (1 results)" in out
    assert "It boils [1]." in out
    assert "[1] The guide https://docs.example.org/guide (snippet)" in out.replace("[31m", "")
    assert "note: [1] was not read" in out
    assert "\x1b" not in out


def test_ask_without_a_search_has_no_web(capsys: Capture) -> None:
    engine = ScriptedEngine([reply_text("Hello.")])
    with Server(engine) as server:
        assert main(["ask", "Hi", "--engine", server.url + "/v1", "--system", "Be brief.", "--model", "m"]) == 0
    assert capsys.readouterr().out.strip() == "Hello."
    assert "tools" not in engine.bodies[0]
    assert engine.bodies[0]["model"] == "m"
    assert engine.bodies[0]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_a_recording_replays(engine: Server, search: Server, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run.jsonl"
    arguments = ["ask", "Does it boil?", "--engine", engine.url, "--search", search.url, "--record", str(path)]
    assert main(arguments) == 0
    capsys.readouterr()
    assert main(["replay", str(path)]) == 0
    assert "the same end" in capsys.readouterr().out
    assert main(["replay", str(path), "--commands"]) == 0
    assert "CallSearch" in capsys.readouterr().out
    lines = path.read_text(encoding="utf-8").splitlines()
    changed = json.loads(lines[-1])
    changed["result"]["text"] = "other"
    path.write_text("\n".join([*lines[:-1], json.dumps(changed)]), encoding="utf-8")
    assert main(["replay", str(path)]) == 1
    assert "the replay's text is another" in one_line(capsys)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("", 2, "empty"),
        ("nonsense", 2, "line 1 is not JSON"),
        ('{"hostcall": 9}', 2, "no header"),
    ],
)
def test_a_file_that_is_no_recording_says_why(
    content: str, code: int, says: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="utf-8")
    assert main(["replay", str(path)]) == code
    assert says in one_line(capsys)


def test_a_recording_of_other_requests_does_not_fit(
    engine: Server, search: Server, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "run.jsonl"
    main(["ask", "Does it boil?", "--engine", engine.url, "--search", search.url, "--record", str(path)])
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[-2]]), encoding="utf-8")
    capsys.readouterr()
    assert main(["replay", str(path)]) == 1
    assert "does not fit this version" in one_line(capsys)


def test_the_demo_does_the_main_job_without_a_network(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "demo.jsonl"
    assert main(["demo", "What does heapq.heappop do?", "--record", str(path)]) == 0
    out = capsys.readouterr().out
    assert "searched: " in out
    assert "read: heapq.heappop https://docs.example.org/heapq/heappop" in out
    assert "smallest item" in out
    assert "[1] heapq.heappop https://docs.example.org/heapq/heappop (read)" in out
    assert "not a language model" in out
    assert main(["replay", str(path)]) == 0


def test_a_model_that_cannot_be_served_says_so(tmp_path: Path, capsys: Capture) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"no model")
    assert main(["demo", "x", "--gguf", str(model)]) == 2
    assert "cannot be served" in one_line(capsys)


def test_dead_servers_say_what_to_do(search: Server, capsys: Capture) -> None:
    port = closed_port()
    assert main(["ask", "x", "--engine", f"http://127.0.0.1:{port}"]) == 2
    line = one_line(capsys)
    assert f"the engine at http://127.0.0.1:{port} does not answer" in line
    assert "--engine" in line
    with Server(ScriptedEngine([b""])) as engine:
        assert main(["ask", "x", "--engine", engine.url, "--search", f"http://127.0.0.1:{port}"]) == 2
    assert "the search at" in one_line(capsys)


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b'{"error": {"message": "Invalid API Key"}}', "application/json", "wants a key"),
        (503, b'{"error": {"message": "Loading model"}}', "application/json", "not ready: Loading model"),
        (200, b"<html>hi</html>", "text/html", "is a web page, not an engine"),
        (404, b"<html>hi</html>", "text/html", "is a web page, not an engine"),
        (200, b'{"data": [{"id": "a"}, {"id": "b"}]}', "application/json", "no model 'm'; it has: a, b"),
    ],
)
def test_what_answers_but_is_no_engine_says_so(status: int, body: bytes, kind: str, says: str, capsys: Capture) -> None:
    with Server(lambda connection: connection.answer(status, body, ("Content-Type", kind))) as server:
        assert main(["ask", "x", "--engine", server.url, "--model", "m"]) == 2
    assert says in one_line(capsys)


def test_a_host_without_a_list_of_models_is_asked_all_the_same(capsys: Capture) -> None:
    chat = ScriptedEngine([reply_text("Hello.")])

    def handler(connection: Connection) -> None:
        if connection.target == "/v1/models":
            connection.answer(404, b'{"error": "no such route"}', ("Content-Type", "application/json"))
        else:
            chat(connection)

    with Server(handler) as server:
        assert main(["ask", "x", "--engine", server.url, "--model", "m"]) == 0


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (403, b"<html>403</html>", "enable json under search.formats"),
        (429, b"Too Many Requests", "limiter"),
        (302, b"", "redirects"),
        (200, b"<html></html>", "HTML instead of JSON"),
    ],
)
def test_what_answers_but_gives_no_json_search_says_so(
    engine: Server, status: int, body: bytes, says: str, capsys: Capture
) -> None:
    with Server(lambda connection: connection.answer(status, body, ("Content-Type", "text/html"))) as search:
        assert main(["ask", "x", "--engine", engine.url, "--search", search.url]) == 2
    line = one_line(capsys)
    assert says in line
    assert search.url in line


def test_a_silent_engine_is_not_waited_for(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostcall_drivers.checks.SECONDS", 0.3)
    with Server(never) as server:
        assert main(["ask", "x", "--engine", server.url]) == 2
    assert "did not answer within" in one_line(capsys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", "x"], "Missing option '--engine'"),
        (["ask", "x", "--engine", "nonsense"], "write it like http://127.0.0.1:8080"),
        (["ask", "  ", "--engine", "http://127.0.0.1:1"], "the question is empty"),
        (["ask", "x", "--engine", "http://127.0.0.1:1", "--seconds", "0"], "--seconds"),
        (["ask", "x", "--engine", "http://127.0.0.1:1", "--record", "/no/such/folder/x"], "cannot be written"),
        (["fetch", "https://x.example.org/", "--allow-network", "10.0.0.0/99"], "allow_networks"),
        (["fetch", "https://x.example.org/", "--seen", "no host"], "is no host name"),
        (["replay", "/no/such/file"], "does not exist"),
        (["nonsense"], "No such command"),
        (["demo", " "], "the question is empty"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_wrong(arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://127.0.0.1/", "That address is not on the public internet."),
        ("https://localhost/", "not read: "),
        ("ftp://docs.example.org/", "Only https addresses can be opened."),
        ("nonsense", "That is not an address that can be opened."),
    ],
)
def test_fetch_refuses_with_one_line(url: str, says: str, capsys: Capture) -> None:
    assert main(["fetch", url]) == 1
    assert says in one_line(capsys)


def test_fetch_with_seen_opens_nothing_else(capsys: Capture) -> None:
    assert main(["fetch", "https://evil.example.org/?q=secret", "--seen", "docs.example.org"]) == 1
    assert "not in this answer's search results" in one_line(capsys)


def filtered(monkeypatch: pytest.MonkeyPatch, text: str, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    return main(["filter", *arguments])


CALL = '<tool_call>\n{"name": "web_search", "arguments": {"query": "rust"}}\n</tool_call>'


def test_filter_shows_what_reader_and_loop_get(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert filtered(monkeypatch, f"<think>Hm.</think>Let me see. {CALL}") == 0
    out = capsys.readouterr().out
    assert "reasoning  'Hm.'" in out
    assert "text       'Let me see." in out
    assert 'call       web_search {"query": "rust"}' in out
    assert "tool_call" not in out


def test_filter_as_json(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert filtered(monkeypatch, CALL, "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    piece = json.loads(line)
    assert (piece["is"], piece["name"], piece["arguments"]) == ("toolcall", "web_search", {"query": "rust"})


def test_filter_with_tools_of_ones_own(monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    function = {"name": "ping", "description": "Ping.", "parameters": {"type": "object", "properties": {}}}
    tools.write_text(json.dumps([{"type": "function", "function": function}]), encoding="utf-8")
    assert filtered(monkeypatch, '<tool_call>{"name": "ping", "arguments": {}}</tool_call>', "--tools", str(tools)) == 0
    assert "call       ping {}" in capsys.readouterr().out
    for wrong in ("{", "[1]", "{}x", '[{"function": {"name": 3}}]'):
        tools.write_text(wrong, encoding="utf-8")
        assert filtered(monkeypatch, "x", "--tools", str(tools)) == 2
        assert "is no JSON list of tools" in capsys.readouterr().err


def test_filter_tells_of_a_call_that_was_cut_and_traces(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert filtered(monkeypatch, CALL[:-20], "--cut", "--trace") == 0
    out = capsys.readouterr().out
    assert "remark     incomplete" in out
    assert "trace" in out
    assert filtered(monkeypatch, "x", "--dialect", "no-such-dialect") == 2
    assert "no-such-dialect" in capsys.readouterr().err


def test_an_interrupt_is_exit_130(capsys: Capture) -> None:
    async def interrupted() -> int:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as left:
        cli.exit_with(interrupted)
    assert left.value.code == 130
    assert "interrupted" in one_line(capsys)


def test_an_interrupt_inside_a_group_is_exit_130(capsys: Capture) -> None:
    async def interrupted() -> int:
        raise BaseExceptionGroup("x", [BaseExceptionGroup("y", [KeyboardInterrupt()])])

    with pytest.raises(SystemExit) as left:
        cli.exit_with(interrupted)
    assert left.value.code == 130


def test_a_mistake_of_ours_is_not_hidden() -> None:
    async def broken() -> int:
        raise BaseExceptionGroup("x", [ValueError("ours")])

    with pytest.raises(BaseExceptionGroup):
        cli.exit_with(broken)


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    assert terminal.clean("a\x1b[2Jb\x07\u202ec\td\n") == "abc\td\n"
    assert terminal.clean("\x1b]0;title\x07a\x1b[1;31mred\x1b") == "ared"
    assert terminal.clean("lone \ud800") == "lone \ufffd"


def test_python_m_hostcall_is_the_same_command() -> None:
    run = subprocess.run([sys.executable, "-m", "hostcall", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("hostcall, version ")


def test_without_the_extra_the_command_says_which_one(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from hostcall.__main__ import main as start

    modules: dict[str, Any] = {"hostcall_drivers.cli": None}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert start() == 2
    assert "pip install 'hostcall[cli]'" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", "0", "x"])
def test_seconds_are_a_number_of_them(seconds: str, capsys: Capture) -> None:
    assert main(["ask", "x", "--engine", "http://127.0.0.1:9", "--seconds", seconds]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    ["http://a..b/", "http://bücher.invalid:80", f"http://{'a' * 64}.org", "http://127.0.0.1:0", "http://a b"],
)
def test_an_engine_address_that_no_request_can_carry(url: str, capsys: Capture) -> None:
    assert main(["ask", "x", "--engine", url]) == 2
    assert "write it like" in one_line(capsys)


def test_a_full_disk_is_one_line(engine: Server, capsys: Capture) -> None:
    assert main(["ask", "x", "--engine", engine.url, "--record", "/dev/full"]) == 2
    assert "/dev/full' cannot be written" in one_line(capsys)


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Hello.", encoding="utf-8")
    with text.open("rb") as source, Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "hostcall", "filter"]
        done = subprocess.run(command, stdin=source, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["hostcall: the output cannot be written: No space left on device"]


def test_what_is_nested_without_end_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    deep = tmp_path / "deep"
    deep.write_text("[" * 100_000, encoding="utf-8")
    assert main(["replay", str(deep)]) == 2
    assert "line 1 is not JSON" in one_line(capsys)
    assert main(["filter", "--tools", str(deep)]) == 2
    assert "no JSON list" in capsys.readouterr().err


def test_a_journal_that_is_full_is_told_of_once_and_the_answer_goes_on(capsys: Capture) -> None:
    assert main(["--journal", "/dev/full", "fetch", "https://127.0.0.1/"]) == 1
    said = capsys.readouterr().err
    assert said.count("the journal /dev/full cannot be written: No space left on device") == 1
    assert "Traceback" not in said


def test_the_journal_is_a_file_that_grows(tmp_path: Path, capsys: Capture) -> None:
    journal = tmp_path / "journal"
    for _ in range(2):
        assert main(["--journal", str(journal), "fetch", "https://127.0.0.1/"]) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert [line["event.name"] for line in lines] == ["hostcall.fetch"] * 2
    assert main(["--journal", str(tmp_path), "fetch", "https://127.0.0.1/"]) == 2
