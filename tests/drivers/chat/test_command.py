"""``hostcall serve`` and ``hostcall demo --serve`` as their users run them: processes, signals and exit codes."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostcall_drivers.cli import main
from tests.drivers.chat.serving import events, text_of, told
from tests.drivers.chat.test_server import until
from tests.drivers.chat.world import Held, whole_reply
from tests.drivers.servers import ScriptedEngine, Server

URL = "http://127.0.0.1:9"


@contextlib.contextmanager
def process(*arguments: str, **environ: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Run a command that serves; gives the process and its port."""
    running = subprocess.Popen(
        [sys.executable, "-m", "hostcall", *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ, **environ}
    )
    assert running.stderr is not None
    try:
        line = running.stderr.readline()
        assert line.startswith("hostcall: serving at http://127.0.0.1:"), line
        yield running, int(line.rpartition(":")[2])
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate(timeout=10)


def asked(port: int, method: str, path: str, body: Any = None, **fields: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, fields)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_the_demo_serves_a_page_and_whole_answers_on_its_own_world() -> None:
    with process("demo", "--serve", "--port", "0") as (running, port):
        status, page = asked(port, "GET", "/")
        assert status == 200
        assert b"<h1>hostcall</h1>" in page
        question = [{"role": "user", "content": "How do I start a thread in Python?"}]
        body = {"messages": question, "stream": True, "thor_web_search": True}
        chunks = events(asked(port, "POST", "/v1/chat/completions", body)[1])
        (end,) = told(chunks, "finished")
        assert end["why_stopped"] == "answered"
        assert {citation["grade"] for citation in end["citations"]} == {"read"}
        assert "[1]" in text_of(chunks)
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_service_after_its_answers(number: signal.Signals, code: int) -> None:
    def slow(connection: Any) -> None:
        began.set()
        goes_on.wait(10)
        whole_reply()(connection)

    began, goes_on = threading.Event(), threading.Event()
    with (
        Server(ScriptedEngine((slow,))) as engine,
        process("serve", "--engine", engine.url, "--port", "0") as (one, port),
    ):
        got: list[tuple[int, bytes]] = []
        body = {"messages": [{"role": "user", "content": "x"}]}
        asking = threading.Thread(target=lambda: got.append(asked(port, "POST", "/v1/chat/completions", body)))
        asking.start()
        assert began.wait(10)
        one.send_signal(number)
        assert until(lambda: not connects(port))
        goes_on.set()
        asking.join(10)
        assert got[0][0] == 200
        assert one.wait(10) == code
        _, log = one.communicate()
        assert '"event.name":"hostcall.passed"' in log
        assert "Traceback" not in log


def connects(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def test_a_second_signal_ends_it_at_once() -> None:
    held = Held()
    with (
        Server(ScriptedEngine((held,))) as engine,
        process("serve", "--engine", engine.url, "--port", "0") as (one, port),
    ):
        body = {"messages": [{"role": "user", "content": "x"}]}
        asking = threading.Thread(target=lambda: suppressed(port, body))
        asking.start()
        assert held.began.wait(10)
        one.send_signal(signal.SIGINT)
        assert until(lambda: not connects(port))
        one.send_signal(signal.SIGINT)
        assert one.wait(10) == 130
        assert held.gone.wait(10)
        asking.join(10)
        assert "Traceback" not in one.communicate()[1]


def suppressed(port: int, body: Any) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        asked(port, "POST", "/v1/chat/completions", body)


def test_the_file_and_the_environment_are_read(tmp_path: Path) -> None:
    key = "k" * 32
    (tmp_path / "hostcall.toml").write_text(f'port = 0\nlog = "none"\n[keys]\nalice = "{key}"\n', encoding="utf-8")
    settings = {"HOSTCALL_CONFIG": str(tmp_path / "hostcall.toml")}
    with (
        Server(ScriptedEngine((whole_reply(),))) as engine,
        process("serve", HOSTCALL_ENGINE=engine.url, **settings) as (_, port),
    ):
        assert asked(port, "GET", "/v1/models")[0] == 401
        assert asked(port, "GET", "/v1/models", Authorization=f"Bearer {key}")[0] == 200


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "engine: at least one is needed"),
        (("--engine", "nothing"), "--engine: the engine address 'nothing' is not one"),
        (("--engine", URL, "--engine", URL), "--engine: two engines have no name"),
        (("--engine", URL, "--row", "nothing"), "there is no row 'nothing'"),
        (("--engine", URL, "--search", "nothing"), "the search address 'nothing' is not one"),
        (("--engine", URL, "--port", "many"), "--port must be a whole number from 0 to 65535, not 'many'"),
        (("--engine", URL, "--host", "0.0.0.0"), "keys: there are none"),
        (("--engine", URL, "--host", "127.0.0.1.9"), "keys: there are none"),
        (("--engine", URL, "--config", "/nothing.toml"), "the file '/nothing.toml' cannot be read"),
        (("--engine", URL, "--answer-seconds", "nan"), "--answer-seconds must be a number of seconds"),
        (("--engine", URL, "--deny-network", "nothing", "--port", "0"), "deny_network: "),
    ],
)
def test_a_setting_that_is_none_is_one_line_and_the_exit_code_2(
    arguments: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("HOSTCALL_") and name != "HOSTCALL_ROWS"]:
        monkeypatch.delenv(name)
    assert main(["serve", *arguments]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_one_line_and_the_exit_code_2(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--engine", URL, "--port", port]) == 2
    error = capfd.readouterr().err
    assert f"port: 127.0.0.1 port {port} cannot be opened: " in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--serve", "What?"), ("--port", "1"), ("--serve", "--record", "x")])
def test_the_demo_says_which_options_go_together(arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *arguments]) == 2
    assert "--serve" in capfd.readouterr().err


def test_every_setting_is_an_option_with_a_help() -> None:
    from hostcall_drivers.chat.command import serve_command
    from hostcall_drivers.chat.settings import SETTINGS

    options = {option.opts[0]: option for option in serve_command.params}
    for setting in SETTINGS:
        assert getattr(options[setting.flag], "help", None)
