"""The service run in this process: its signals, its log, and its port."""

import json
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from hostcall.errors import SettingsError
from hostcall_drivers.chat.run import address_of, logging_to, open_listeners, run_service
from hostcall_drivers.chat.settings import Settings, read_settings
from hostcall_drivers.journal import LOGGER, SystemdHandler
from tests.drivers.chat.test_command import asked
from tests.drivers.chat.world import whole_reply
from tests.drivers.servers import ScriptedEngine, Server


def served_until(settings: Settings, number: signal.Signals, meanwhile: Callable[[int], None]) -> int:
    """Run the service, do something with its port, send a signal, and return the exit code."""
    threads: list[threading.Thread] = []

    def announce(address: str) -> None:
        def work() -> None:
            try:
                meanwhile(int(address.rpartition(":")[2]))
            finally:
                os.kill(os.getpid(), number)

        threads.append(threading.Thread(target=work))
        threads[0].start()

    code = trio.run(run_service, settings, announce)
    threads[0].join(10)
    return code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_service_answers_until_a_signal_and_logs_to_the_error_stream(
    number: signal.Signals, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    statuses: list[int] = []

    def meanwhile(port: int) -> None:
        statuses.append(
            asked(port, "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]})[0]
        )

    with Server(ScriptedEngine((whole_reply(),))) as engine:
        settings = read_settings({"engine": (engine.url,), "port": "0"}, dict(os.environ), None)
        assert served_until(settings, number, meanwhile) == code
    assert statuses == [200]
    (line,) = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert (line["event.name"], line["hostcall.status"], line["hostcall.key"]) == ("hostcall.passed", 200, "anyone")


@pytest.mark.parametrize(("log", "kind"), [("none", logging.NullHandler), ("systemd", SystemdHandler)])
def test_the_log_goes_where_the_setting_says_and_all_is_as_before_afterwards(
    log: str, kind: type[logging.Handler]
) -> None:
    names = ("hostcall.chat", LOGGER)
    before = [(logging.getLogger(name).handlers[:], logging.getLogger(name).propagate) for name in names]
    with logging_to(log):
        for name in names:
            assert isinstance(logging.getLogger(name).handlers[-1], kind)
            logging.getLogger(name).info("{}")
    assert [(logging.getLogger(name).handlers, logging.getLogger(name).propagate) for name in names] == before


def test_an_address_that_cannot_be_opened_says_which_setting_is_meant() -> None:
    with pytest.raises(SettingsError, match=r"^host: "):
        trio.run(open_listeners, "no such host", 0)
    with pytest.raises(SettingsError, match=r"^port: "):
        trio.run(open_listeners, "93.184.215.14", 0)


def test_an_address_of_version_six_stands_in_brackets() -> None:
    async def main() -> str:
        (listener,) = await open_listeners("::1", 0)
        async with listener:
            return address_of(listener)

    assert trio.run(main).startswith("http://[::1]:")


def test_authorities_of_the_operators_own_are_read(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("nothing", encoding="utf-8")
    flags = {"engine": ("https://engine.example.org",), "ca": str(tmp_path / "none.pem")}
    with pytest.raises(SettingsError, match=r"none\.pem"):
        trio.run(run_service, read_settings(flags, {}, None), print)
