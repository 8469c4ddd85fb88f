"""Settings from flags, environment and file: the order, and that each fault names its key."""

from pathlib import Path
from typing import Any

import pytest

from hostcall.errors import SettingsError
from hostcall_drivers.chat.settings import SETTINGS, Settings, read_settings

URL = "http://127.0.0.1:8080"
KEY = "k" * 32


def read(
    tmp_path: Path, toml: str = f'engine = "{URL}"', environ: dict[str, str] | None = None, **flags: Any
) -> Settings:
    file = tmp_path / "hostcall.toml"
    file.write_text(toml, encoding="utf-8")
    return read_settings(flags, environ or {}, file)


def test_a_flag_goes_before_a_variable_before_the_file_before_the_default(tmp_path: Path) -> None:
    toml = f'engine = "{URL}"\nport = 1'
    assert read_settings({"engine": (URL,)}, {}, None).port == 8300
    assert read(tmp_path, toml).port == 1
    assert read(tmp_path, toml, {"HOSTCALL_PORT": "2"}).port == 2
    assert read(tmp_path, toml, {"HOSTCALL_PORT": "2"}, port="3").port == 3


def test_the_file_has_a_place_for_everything(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        f"""
        host = "0.0.0.0"
        port = 8080
        search = "http://127.0.0.1:8888"
        log = "systemd"
        answers = 500
        answer_seconds = 30
        heartbeat_seconds = 2.5
        contact = "web@example.org"
        safesearch = 1
        deny_host = ["a.example.org", ".b.example.org"]
        deny_network = ["203.0.113.0/24"]

        [keys]
        alice = "{KEY}"

        [engine.small]
        url = "http://127.0.0.1:8080"

        [engine.big]
        url = "https://engine.example.org/v1"
        key = "secret-of-the-engine"
        row = "vllm"
        """,
    )
    assert [(at.name, at.service.text, at.service.key, at.row.name) for at in settings.engines] == [
        ("small", "http://127.0.0.1:8080", None, "openai"),
        ("big", "https://engine.example.org:443", "secret-of-the-engine", "vllm"),
    ]
    assert settings.rows is None
    assert dict(settings.keys) == {"alice": KEY}
    assert (settings.allowed.answers, settings.allowed.heartbeat_seconds) == (500, 2.5)
    assert settings.limits.answer_seconds == 30
    assert settings.web.deny_hosts == ("a.example.org", ".b.example.org")
    assert settings.web.contact == "web@example.org"
    assert "secret" not in repr(settings)
    assert KEY not in repr(settings)


def test_the_environment_has_a_place_for_everything_too() -> None:
    settings = read_settings(
        {},
        {
            "HOSTCALL_ENGINE": f"small={URL},big=http://127.0.0.1:8081",
            "HOSTCALL_ENGINE_KEY_SMALL": "key-of-small",
            "HOSTCALL_KEYS": f"alice={KEY}, bob={KEY}2",
            "HOSTCALL_HOST": "::",
            "HOSTCALL_DENY_NETWORK": "203.0.113.0/24,198.51.100.0/24",
            "HOME": "/",
        },
        None,
    )
    assert [(at.name, at.service.text, at.service.key) for at in settings.engines] == [
        ("small", URL, "key-of-small"),
        ("big", "http://127.0.0.1:8081", None),
    ]
    assert set(settings.keys) == {"alice", "bob"}
    assert settings.web.deny_networks == ("203.0.113.0/24", "198.51.100.0/24")


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("", "engine"),
        ("engine = 7", "engine"),
        ("engine = {}", "engine"),
        ('[engine.big]\nkey = "x"', "engine.big.url"),
        (f'[engine.big]\nurl = "{URL}"\nkye = "x"', "engine.big"),
        (f'[engine.big]\nurl = "{URL}"\nkey = 7', "engine.big.key"),
        ("[engine]\nbig = 7", "engine.big"),
        (f'[engine.big]\nurl = "{URL}"\nrow = "nothing"', "engine"),
        ('engine = "nothing"', "engine"),
        ('search = "nothing"', "search"),
        ('ca = "/nothing"', "ca"),
        ("keys = 7", "keys"),
        ("[keys]\nalice = 7", "keys"),
        ('[keys]\nalice = "short"', "keys.alice"),
        ("prot = 8080", "prot"),
        ("port = [", "TOML"),
        *((f"{setting.name} = {{}}", setting.name) for setting in SETTINGS),
        *((f"{setting.name} = true", setting.name) for setting in SETTINGS),
        ("port = 99999", "port"),
        ("port = -1", "port"),
        ("port = 1.5", "port"),
        ("answer_seconds = 0", "answer_seconds"),
        ("answer_seconds = nan", "answer_seconds"),
        ("answer_seconds = inf", "answer_seconds"),
        ('log = "file"', "log"),
        ("deny_host = [7]", "deny_host"),
        ('contact = " "', "contact"),
        ('contact = "a\\nb"', "contact"),
        ('deny_host = ["no host"]', "deny_host"),
        ('allow_host = ["https://example.org/"]', "allow_host"),
        ('allow_network = ["10.0.0.0/99"]', "allow_network"),
        ('deny_network = ["example.org"]', "deny_network"),
        ('host = "0.0.0.0"', "keys"),
    ],
)
def test_each_fault_of_the_file_names_its_key(tmp_path: Path, toml: str, named: str) -> None:
    whole = toml if "engine" in toml or toml == "" else f'engine = "{URL}"\n{toml}'
    with pytest.raises(SettingsError, match=named.replace(".", r"\.")):
        read(tmp_path, whole)


def test_a_name_that_is_nearly_one_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no setting 'prot'; is it port"):
        read(tmp_path, "prot = 8080")


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting.default not in (None, ())])
def test_each_fault_of_a_flag_or_a_variable_names_it(setting: Any) -> None:
    wrong = " " if setting.name in ("host", "language") else "many"
    with pytest.raises(SettingsError, match=f"^{setting.flag} must be "):
        read_settings({"engine": (URL,), setting.name: wrong}, {}, None)
    with pytest.raises(SettingsError, match=f"^{setting.variable} must be "):
        read_settings({"engine": (URL,)}, {setting.variable: wrong}, None)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("alice", "HOSTCALL_KEYS"),
        (f"={KEY}", "HOSTCALL_KEYS"),
        (f"a={KEY},a={KEY}x", "HOSTCALL_KEYS"),
        ("a=b", "keys.a"),
    ],
)
def test_each_fault_of_the_keys_in_the_environment_names_it(keys: str, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        read_settings({"engine": (URL,)}, {"HOSTCALL_KEYS": keys}, None)


def test_a_row_of_an_engine_ships_or_stands_in_a_file(tmp_path: Path) -> None:
    row = tmp_path / "row.toml"
    row.write_text('[mine]\nwire = "ollama"\n', encoding="utf-8")
    for given in (str(row), f"big={row}"):
        settings = read_settings({"engine": (f"big={URL}",), "row": (given,)}, {}, None)
        assert (settings.engines.first.row.wire, settings.rows) == ("ollama", None)
    several = tmp_path / "several.toml"
    several.write_text("[one]\n[two]\n", encoding="utf-8")
    for wrong in (str(several), "nothing", "small=vllm"):
        with pytest.raises(SettingsError, match="row"):
            read_settings({"engine": (f"big={URL}",), "row": (wrong,)}, {}, None)


def test_two_engines_of_one_name_are_a_fault() -> None:
    with pytest.raises(SettingsError, match="--engine"):
        read_settings({"engine": (f"a={URL}", f"a={URL}")}, {}, None)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.toml"):
        read_settings({}, {}, tmp_path / "nothing.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"bytes\.toml is not UTF-8"):
        read_settings({}, {}, tmp_path / "bytes.toml")


def test_without_a_key_only_a_loopback_address_is_bound() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert read_settings({"engine": (URL,), "host": host}, {}, None).host == host
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with pytest.raises(SettingsError, match=r"^keys"):
            read_settings({"engine": (URL,), "host": host}, {}, None)
        with_key = read_settings({"engine": (URL,), "host": host}, {"HOSTCALL_KEYS": f"alice={KEY}"}, None)
        assert with_key.host == host
