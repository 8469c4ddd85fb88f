"""Real programs, started for the suite and stopped after it."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.servers import Connection, Server
from tests.real import install

LAUNCHER = Path(__file__).parents[2] / "drivers" / "hostcall_drivers" / "demo" / "llama.py"

SETTINGS = """
use_default_settings:
  engines:
    keep_only: []
general:
  instance_name: hostcall tests
search:
  formats: [{formats}]
server:
  secret_key: "{secret}"
  bind_address: "127.0.0.1"
  port: {port}
  limiter: false
plugins: {{}}
outgoing:
  request_timeout: 2.0
engines:
  - name: local
    engine: json_engine
    shortcut: lo
    enable_http: true
    search_url: {url}/find?q={{query}}
    results_query: results
    url_query: url
    title_query: title
    content_query: content
    categories: general
  - name: dead
    engine: json_engine
    shortcut: de
    enable_http: true
    search_url: http://127.0.0.1:{dead}/find?q={{query}}
    results_query: results
    url_query: url
    title_query: title
    content_query: content
    categories: general
"""

FOUND = [
    {"url": "https://docs.example.org/guide", "title": "The guide", "content": "How the <b>kettle</b> begins."},
    {"url": "https://docs.example.org/other", "title": "Another page", "content": "Of no use."},
]


@contextlib.contextmanager
def process(*command: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a program, and stop it at the end."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **(env or {})}
    ) as running:
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def answers(url: str, seconds: float = 30.0) -> None:
    """Wait until something answers at a loopback address."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def searxng(tmp_path: Path, formats: str) -> Iterator[str]:
    """Run a SearXNG with one engine that works and one that does not."""

    def find(connection: Connection) -> None:
        found = FOUND if "nothing" not in connection.target else []
        connection.answer(200, json.dumps({"results": found}).encode(), ("Content-Type", "application/json"))

    port = free_port()
    with Server(find) as local:
        settings = tmp_path / "settings.yml"
        settings.write_text(
            SETTINGS.format(formats=formats, secret=secrets.token_hex(16), port=port, url=local.url, dead=free_port()),
            encoding="utf-8",
        )
        python = install.CACHE / "searxng" / "bin" / "python"
        env = {"SEARXNG_SETTINGS_PATH": str(settings)}
        with process(str(python), "-m", "searx.webapp", env=env):
            answers(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def real_search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a SearXNG that gives JSON."""
    with searxng(tmp_path_factory.mktemp("searxng"), "html, json") as url:
        yield url


@pytest.fixture(scope="session")
def html_search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a SearXNG as it comes, without JSON."""
    with searxng(tmp_path_factory.mktemp("searxng-html"), "html") as url:
        yield url


@pytest.fixture(scope="session")
def real_engine() -> Iterator[tuple[str, str]]:
    """Address and key of a llama.cpp server with the 0.5B model."""
    key = secrets.token_hex(16)
    python = install.CACHE / "engine" / "bin" / "python"
    env = {"HOSTCALL_LLAMA_KEY": key}
    with process(str(python), str(LAUNCHER), str(install.SMALL.path), env=env) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        answers(f"{url}/health", 60.0)
        yield url, key
