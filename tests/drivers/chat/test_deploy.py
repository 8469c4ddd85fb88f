"""The recipes of the docs hold: the file is read, the commands exist, and every setting stands in the reference."""

import configparser
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from hostcall_drivers.chat.command import serve_command
from hostcall_drivers.chat.settings import SETTINGS, read_settings

DOCS = Path(__file__).parents[3] / "docs"
DEPLOY = DOCS / "howto" / "deploy"


def test_the_file_of_the_recipe_is_read_whole() -> None:
    settings = read_settings({}, {}, DEPLOY / "hostcall.toml")
    assert [at.name for at in settings.engines] == ["home", "big"]
    assert set(settings.keys) == {"alice", "phone"}
    assert (settings.port, settings.log, settings.web.contact) == (8300, "systemd", "web@example.org")


def test_the_unit_runs_a_command_that_there_is_and_gives_it_time_to_end() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    unit.read(DEPLOY / "hostcall.service", encoding="utf-8")
    _, command, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert command == "serve"
    assert parsed(arguments)["config"] == Path("/etc/hostcall/hostcall.toml")
    grace = read_settings({}, {}, DEPLOY / "hostcall.toml").grace_seconds
    assert int(unit["Service"]["TimeoutStopSec"]) > grace + 2


def test_the_container_runs_a_command_that_there_is_with_settings_that_there_are() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    entry = json.loads(next(line for line in text.splitlines() if line.startswith("ENTRYPOINT")).partition(" ")[2])
    assert entry[1:] == ["serve"]
    environ = dict(pair.split("=", 1) for pair in re.findall(r"(HOSTCALL_\w+=\S+)", text.split("ENV ")[1]))
    key = {"HOSTCALL_KEYS": f"alice={'k' * 32}", "HOSTCALL_ENGINE": "http://engine:8080"}
    settings = read_settings({}, {**environ, **key}, None)
    assert (settings.host, settings.port) == ("0.0.0.0", 8300)
    assert f"EXPOSE {settings.port}" in text
    json.loads(text.split("CMD ")[1].splitlines()[0])


@pytest.mark.parametrize(
    ("name", "unbuffered"), [("nginx.conf", "proxy_buffering off"), ("Caddyfile", "flush_interval -1")]
)
def test_a_proxy_holds_nothing_back_and_keeps_the_metrics_inside(name: str, unbuffered: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert unbuffered in text
    assert "/metrics" in text
    assert "127.0.0.1:8300" in text
    assert "610s" in text


def test_the_fence_has_all_of_the_address_table_of_the_core() -> None:
    import ipaddress

    from hostcall.web.ranges import is_public, read_ip

    text = (DEPLOY / "egress.nft").read_text(encoding="utf-8")
    fenced = [ipaddress.ip_network(word) for word in re.findall(r"[0-9a-f:.]+/\d+", text)]
    assert len(fenced) > 20
    for network in fenced:
        address = read_ip(str(network[0]))
        assert address is not None
        assert not is_public(address), network


def test_every_setting_stands_in_the_reference_with_its_default() -> None:
    text = (DOCS / "reference" / "chat-service.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        default = "" if setting.default in (None, ()) else f"`{setting.default}`"
        assert f"| `{setting.name}` | {default} | {setting.help} |" in text


def parsed(arguments: list[str]) -> dict[str, object]:
    context = click.Context(serve_command)
    serve_command.parse_args(context, arguments)
    return context.params
