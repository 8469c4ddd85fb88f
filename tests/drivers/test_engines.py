"""Several engines on one driver: names, keys, TLS, unix sockets, and what is learned of each."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from hostcall.answer.answer import Answer
from hostcall.commands import ShowProgress
from hostcall.engine.capabilities import Row
from hostcall.errors import SettingsError
from hostcall.limits import Limits
from hostcall.testing import reply_calls, reply_text
from hostcall_drivers import saved
from hostcall_drivers.cli import main
from hostcall_drivers.engines import Engines, key_variable, known_rows, read_keys, split_name
from hostcall_drivers.services import Service, peer_of, service_tls_context
from tests.drivers.driving import KINDS, Kind, carry_out
from tests.drivers.servers import Authority, Connection, ScriptedEngine, Server

Capture = pytest.CaptureFixture[str]
HELLO = [{"role": "user", "content": "Hello."}]
HOME, BIG = "http://127.0.0.1:1", "https://gpu.example.org/llm/v1"


class UnixServer(Server):
    """A server on a unix socket."""

    def __init__(self, handler: Any, path: Path) -> None:
        super().__init__(handler)
        self._listener.close()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()


# What is read.


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("home=http://h:1", "home", "http://h:1"),
        ("http://h:1", "", "http://h:1"),
        ("http://h:1/a=b", "", "http://h:1/a=b"),
        ("unix:/run/x=y.sock", "", "unix:/run/x=y.sock"),
        ("a-1.b_c=unix:/run/x.sock", "a-1.b_c", "unix:/run/x.sock"),
        ("=http://h", "", "=http://h"),
    ],
)
def test_a_name_stands_before_an_address(text: str, name: str, rest: str) -> None:
    assert split_name(text) == (name, rest)


def test_a_model_names_its_engine_before_the_first_slash() -> None:
    engines = Engines.read([f"home={HOME}", f"big={BIG}"])
    picked = {text: (at.name, model) for text in PICKS for at, model in [engines.pick(text)]}
    assert picked == PICKS


PICKS: dict[str | None, tuple[str, str | None]] = {
    None: ("home", None),
    "": ("home", None),
    "big/qwen/qwen3-32b": ("big", "qwen/qwen3-32b"),
    "big/": ("big", None),
    "big": ("home", "big"),
    "qwen/qwen3-8b": ("home", "qwen/qwen3-8b"),
    "/x": ("home", "/x"),
}


@pytest.mark.parametrize(
    ("given", "environment", "keys"),
    [
        (["home=k1", "big=k2"], {}, {"home": "k1", "big": "k2"}),
        (["home=abc=="], {}, {"home": "abc=="}),
        (["abc=="], {}, {"": "abc=="}),
        ([], {"HOSTCALL_ENGINE_KEY_BIG": "k2"}, {"big": "k2"}),
        (["big=k3"], {"HOSTCALL_ENGINE_KEY_BIG": "k2"}, {"big": "k3"}),
        # A key without a name goes to no engine of several: it is one engine's secret.
        ([], {"HOSTCALL_ENGINE_KEY": "k0"}, {}),
    ],
)
def test_each_engine_has_a_key_of_its_own(given: list[str], environment: dict[str, str], keys: dict[str, str]) -> None:
    assert read_keys(given, [f"home={HOME}", f"big={BIG}"], environment) == keys


def test_a_single_engine_takes_the_key_whatever_its_name() -> None:
    assert read_keys([], [f"my-llm={HOME}"], {"HOSTCALL_ENGINE_KEY": "k"}) == {"my-llm": "k"}
    assert read_keys(["a=b"], [HOME], {}) == {"": "a=b"}
    assert key_variable("my-llm") == "HOSTCALL_ENGINE_KEY_MY_LLM"
    engines = Engines.read([f"my-llm={HOME}"], keys={"": "k"})
    assert engines.first.service.key == "k"


@pytest.mark.parametrize(
    ("addresses", "more", "says"),
    [
        ([], {}, "there is no engine"),
        ([HOME, BIG], {}, "two engines have no name; write them as NAME=URL"),
        ([f"a={HOME}", f"a={BIG}"], {}, "two engines have the name 'a'"),
        ([f"a={HOME}", f"b={BIG}"], {"keys": {"": "k"}}, "a key is given and there are several engines"),
        ([f"a={HOME}", f"b={BIG}"], {"keys": {"c": "k"}}, "for 'c', which is no engine; write it as NAME=…, with one"),
        ([HOME], {"rows": {"c": Row(name="x")}}, "a row is given for 'c'"),
        (["a=ftp://x"], {}, "the engine address 'ftp://x' is not one"),
        (["a=unix:run/x.sock"], {}, "write a socket like unix:/run/engine.sock"),
        (["unix:"], {}, "write a socket like unix:/run/engine.sock"),
        ([HOME], {"keys": {"": "a b"}}, "the engine key is empty or holds characters"),
    ],
)
def test_a_wrong_setting_is_named(addresses: list[str], more: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Engines.read(addresses, **more)
    assert says in str(caught.value)


def test_an_engine_that_is_not_there_is_named() -> None:
    engines = Engines.read([f"home={HOME}", f"big={BIG}"])
    with pytest.raises(SettingsError, match="no engine named 'x'; there is 'home', 'big'"):
        engines.named("x")
    answer = Answer(HELLO, web=False, engine=attrs.evolve(engines.settings(), name="x"))
    for kind in KINDS:
        with pytest.raises(SettingsError, match="no engine named 'x'"):
            carry_out(kind, answer, engine=engines)


def test_a_key_beside_engines_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match="their own keys"):
        carry_out("sync", Answer(HELLO, web=False), engine=Engines.read([HOME]), engine_key="k")


@pytest.mark.parametrize("url", ["unix:/run/e.sock", "unix:///run/e.sock", "UNIX:/run/e.sock"])
def test_a_unix_socket_is_read(url: str) -> None:
    service = Service.at(url, name="engine")
    assert (service.socket, service.text) == ("/run/e.sock", "unix:/run/e.sock")


def test_the_other_end_of_a_unix_socket_has_no_address() -> None:
    assert peer_of("") is None
    assert peer_of(("127.0.0.1", 80)) == "127.0.0.1"


# What is sent where.


@pytest.mark.parametrize("kind", KINDS)
def test_two_engines_each_get_their_own_requests_and_keys(kind: Kind) -> None:
    one, two = ScriptedEngine([reply_text("One.")]), ScriptedEngine([reply_text("Two.")])
    with Server(one) as first, Server(two) as second:
        engines = Engines.read([f"one={first.url}", f"two={second.url}"], keys={"one": "k1", "two": "k2"})
        for model, text in (("one/m", "One."), ("two/m/n", "Two."), (None, "One.")):
            carried = carry_out(kind, Answer(HELLO, web=False, engine=engines.settings(model)), engine=engines)
            assert carried.result.text == text
        assert {request.headers["authorization"] for request in first.requests} == {"Bearer k1"}
        assert {request.headers["authorization"] for request in second.requests} == {"Bearer k2"}
    assert [body.get("model") for body in one.bodies] == ["m", None]
    assert [body.get("model") for body in two.bodies] == ["m/n"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_behind_an_authority_of_the_operators(kind: Kind, tmp_path: Path) -> None:
    authority = Authority()
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.ca.cert_pem.bytes())
    answer = Answer(HELLO, web=False)
    with Server(ScriptedEngine([reply_text("Hello.")]), authority.server("127.0.0.1")) as server:
        url = server.url.replace("http:", "https:")
        trusted = carry_out(kind, answer, engine=Engines.read([url], keys={"": "k"}, tls=service_tls_context(path)))
        assert trusted.result.text == "Hello."
        stranger = carry_out(kind, Answer(HELLO, web=False), engine=url)
        assert stranger.result.why_stopped == "engine_failed"
        assert "certificate" in stranger.result.detail


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_on_a_unix_socket(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    engine = ScriptedEngine([reply_text("Hello.")])
    with UnixServer(engine, path) as server:
        assert carry_out(kind, Answer(HELLO, web=False), engine=f"unix:{path}").result.text == "Hello."
        assert server.requests[0].headers["host"] == "localhost"
    gone = carry_out(kind, Answer(HELLO, web=False), engine=f"unix:{tmp_path / 'none.sock'}")
    assert gone.result.why_stopped == "engine_failed"


# What is learned.


def ollama(show: dict[str, Any], reply: bytes) -> Any:
    """Return an Ollama that has one model."""

    def handle(connection: Connection) -> None:
        if connection.target == "/api/show":
            connection.answer(200, json.dumps(show).encode(), ("Content-Type", "application/json"))
        else:
            connection.answer(200, reply, ("Content-Type", "application/x-ndjson"))

    return handle


LINE = b'{"message": {"role": "assistant", "content": "Hi."}, "done": true, "done_reason": "stop"}\n'


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_asked_once_what_it_can_do(kind: Kind, search: str) -> None:
    with Server(ollama({"capabilities": ["completion"], "template": "{{ .Prompt }}"}, LINE)) as server:
        engines = Engines.read([server.url], rows={"": known_rows()["ollama"]})
        for _ in range(2):
            for model in ("a", "b"):
                answer = Answer(HELLO, engine=engines.settings(model))
                carry_out(kind, answer, engine=engines, search=search)
                assert engines.settings(model).capabilities.rescue
        shown = [json.loads(r.body)["model"] for r in server.requests if r.target == "/api/show"]
    assert shown == ["a", "b"]


@pytest.fixture
def search() -> Iterator[str]:
    def nothing(connection: Connection) -> None:
        connection.answer(200, b'{"results": []}', ("Content-Type", "application/json"))

    with Server(nothing) as server:
        yield server.url


def refusing(connection: Connection) -> None:
    """An engine that refuses to be forced by `tool_choice`."""
    if json.loads(connection.body).get("tool_choice") == "required":
        connection.answer(400, b'{"error": {"message": "tool_choice is not supported"}}')
        return
    body = reply_text('{"name": "web_search", "arguments": {"query": "kettle"}}')
    connection.answer(200, body, ("Content-Type", "text/event-stream"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_repair_is_kept_for_the_next_answer_on_this_engine_and_model_alone(kind: Kind, search: str) -> None:
    with Server(refusing) as server:
        engines = Engines.read([f"x={server.url}", f"y={server.url}"])
        carry_out(kind, Answer(HELLO, engine=engines.settings("x/m")), engine=engines, search=search)
        asked = len(server.requests)
        assert "required" not in engines.settings("x/m").capabilities.tool_choice
        assert "required" in engines.settings("y/m").capabilities.tool_choice
        assert "required" in engines.settings("x/n").capabilities.tool_choice
        carry_out(kind, Answer(HELLO, engine=engines.settings("x/m")), engine=engines, search=search)
        choices = [json.loads(request.body).get("tool_choice") for request in server.requests[asked:]]
    assert "required" not in choices


def test_what_is_learned_is_kept_of_so_many_models_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostcall_drivers.engines.MODELS_KEPT", 2)
    engines = Engines.read([HOME])
    for model in ("a", "b", "a", "c"):
        settings = engines.settings(model)
        engines.learn(settings, attrs.evolve(settings.capabilities, rescue=True))
    assert [engines.settings(model).capabilities.rescue for model in "abc"] == [True, False, True]


# Rows that were saved.


def test_a_row_is_saved_and_found_by_engine_and_model(own_rows: Path) -> None:
    row = Row(name="found", address=HOME, model="m", capabilities=known_rows()["vllm"].capabilities)
    path = saved.file_for(own_rows, HOME, "m")
    saved.save(path, row)
    assert path.name.startswith("127.0.0.1_1_m-")
    assert saved.saved_row(own_rows, HOME, "m") == row
    assert saved.saved_row(own_rows, HOME, "n") is None
    assert saved.saved_row(own_rows, BIG, "m") is None
    bare = attrs.evolve(row, model="")
    saved.save(saved.file_for(own_rows, HOME, ""), bare)
    assert saved.saved_row(own_rows, HOME, "n") == bare


def test_rows_are_saved_where_the_environment_says() -> None:
    assert saved.folder({"HOSTCALL_ROWS": "/x"}) == Path("/x")
    assert saved.folder({"XDG_CONFIG_HOME": "/c"}) == Path("/c/hostcall/engines")
    assert saved.folder({}) == Path.home() / ".config" / "hostcall" / "engines"


def test_a_row_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="cannot be written"):
        saved.save(tmp_path / "file" / "row.toml", Row(name="x"))


# The command line.


@attrs.define
class Modelled:
    """An engine with models of an owner's."""

    owner: str
    models: tuple[str, ...] = ("m",)
    bodies: list[dict[str, Any]] = attrs.Factory(list)
    keys: list[str | None] = attrs.Factory(list)

    def __call__(self, connection: Connection) -> None:
        self.keys.append(connection.headers.get("authorization"))
        if connection.target == "/v1/models":
            data = [{"id": model, "owned_by": self.owner} for model in self.models]
            connection.answer(200, json.dumps({"data": data}).encode(), ("Content-Type", "application/json"))
        elif connection.target == "/api/chat":
            self.bodies.append(json.loads(connection.body))
            connection.answer(200, LINE, ("Content-Type", "application/x-ndjson"))
        else:
            self.bodies.append(json.loads(connection.body))
            connection.answer(200, reply_text("Hi."), ("Content-Type", "text/event-stream"))


def test_ask_speaks_ollamas_own_interface_with_ollama() -> None:
    engine = Modelled("library", ("qwen3:8b",))
    with Server(engine) as server:
        assert main(["ask", "Hi", "--engine", server.url]) == 0
        assert server.requests[-1].target == "/api/chat"
    assert engine.bodies[0]["model"] == "qwen3:8b"


def test_ask_takes_the_row_that_is_named_and_the_row_that_was_saved(own_rows: Path, tmp_path: Path) -> None:
    engine = Modelled("library", ("qwen3:8b",))
    with Server(engine) as server:
        assert main(["ask", "Hi", "--engine", server.url, "--row", "ollama-v1"]) == 0
        assert server.requests[-1].target == "/v1/chat/completions"
        row = Row(name="mine", address=server.url, model="qwen3:8b")
        saved.save(saved.file_for(own_rows, server.url, "qwen3:8b"), row)
        assert main(["ask", "Hi", "--engine", server.url]) == 0
        assert server.requests[-1].target == "/v1/chat/completions"
        file = tmp_path / "row.toml"
        saved.save(file, attrs.evolve(row, wire="ollama"))
        assert main(["ask", "Hi", "--engine", f"x={server.url}", "--row", f"x={file}"]) == 0
        assert server.requests[-1].target == "/api/chat"


def test_ask_picks_one_of_several_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Modelled("me"), Modelled("me", ("n",))
    monkeypatch.setenv("HOSTCALL_ENGINE_KEY_TWO", "k2")
    with Server(one) as first, Server(two) as second:
        arguments = ["ask", "Hi", "--engine", f"one={first.url}", "--engine", f"two={second.url}"]
        assert main([*arguments, "--model", "two/n"]) == 0
        assert two.bodies[0]["model"] == "n"
        assert set(two.keys) == {"Bearer k2"}
        assert main([*arguments, "--engine-key", "one=k1"]) == 0
        assert set(one.keys) == {"Bearer k1"}


def test_ask_trusts_the_authority_it_is_given(tmp_path: Path) -> None:
    authority = Authority()
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.ca.cert_pem.bytes())
    with Server(Modelled("me"), authority.server("127.0.0.1")) as server:
        url = server.url.replace("http:", "https:")
        assert main(["ask", "Hi", "--engine", url, "--ca", str(path)]) == 0
        assert main(["ask", "Hi", "--engine", url]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", HOME, "--engine", BIG], "two engines have no name"),
        (["--engine", HOME, "--row", "llama"], "there is no row 'llama' and no such file; the rows are openai"),
        (["--engine", HOME, "--ca", "/nowhere/ca.pem"], "'/nowhere/ca.pem' cannot be read: No such file"),
        (["--engine", HOME, "--ca", __file__], "holds no certificate in PEM form"),
        (["--engine", HOME, "--row", __file__], "no TOML"),
        (
            ["--engine", f"a={HOME}", "--engine", f"b={BIG}", "--engine-key", "k"],
            "a key is given and there are several",
        ),
        (["--engine", "unix:/nowhere.sock"], "the engine at unix:/nowhere.sock does not answer"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(["ask", "Hi", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1


def test_ollama_with_several_models_asks_which(capsys: Capture) -> None:
    with Server(Modelled("library", ("a", "b"))) as server:
        assert main(["ask", "Hi", "--engine", server.url]) == 2
        assert "Ollama needs --model: it has: a, b" in capsys.readouterr().err
    with Server(Modelled("library", ("a:latest", "b"))) as server:
        assert main(["ask", "Hi", "--engine", server.url, "--model", "a"]) == 0


def test_a_file_with_two_rows_says_so(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "rows.toml"
    file.write_text("[a]\n[b]\n", encoding="utf-8")
    assert main(["ask", "Hi", "--engine", HOME, "--row", str(file)]) == 2
    assert "holds 2 rows; it must hold one" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_connection_that_was_closed_costs_no_retry(kind: Kind, search: str) -> None:
    """llama-server says that it keeps a connection, and closes it after a stream: the next request meets the close."""
    seen: list[int] = []

    def handle(connection: Connection) -> None:
        # The first request of each connection is answered, the second one never.
        if id(connection.sock) in seen:
            connection.sock.close()
            raise OSError("closed")
        seen.append(id(connection.sock))
        replies = (reply_calls(("web_search", {"query": "kettle"})), reply_text("Done."))
        body = replies[len(seen) > 1]
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.send(head.encode() + body)

    with Server(handle) as server:
        carried = carry_out(kind, Answer(HELLO), engine=server.url, search=search)
    assert carried.result.text == "Done."
    assert not [notice for notice in carried.of(ShowProgress) if notice.kind == "waiting"]
    assert len(server.requests) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_connection_that_is_closed_is_a_failure(kind: Kind) -> None:
    def handle(connection: Connection) -> None:
        connection.sock.close()
        raise OSError("closed")

    with Server(handle) as server:
        answer = Answer(HELLO, web=False, limits=Limits(retry_seconds=0.05))
        assert carry_out(kind, answer, engine=server.url).result.why_stopped == "engine_failed"
        assert len(server.requests) == 2
