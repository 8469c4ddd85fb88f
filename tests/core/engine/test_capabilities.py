"""Rows of capabilities: read from TOML, written as TOML, and every mistake named."""

from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.data import Capabilities
from hostcall.engine import capabilities
from hostcall.engine.capabilities import Row, read_rows, recognised, write_row
from hostcall.engine.models import read_models
from hostcall.engine.ollama import OllamaWire
from hostcall.engine.openai import OpenAIWire
from hostcall.engine.settings import Engine
from hostcall.engine.wires import wire_of
from hostcall.errors import SettingsError
from hostcall.limits import Limits

SHIPPED = Path(capabilities.__file__).with_name("rows.toml").read_text(encoding="utf-8")

words = st.text(max_size=20)
rows = st.builds(
    Row,
    name=words,
    title=words,
    source=words,
    wire=st.sampled_from(["openai", "ollama"]),
    owned_by=st.lists(words, max_size=3).map(tuple),
    address=words,
    model=words,
    capabilities=st.builds(
        Capabilities,
        tool_choice=st.lists(st.sampled_from(["none", "auto", "required"]), unique=True).map(tuple),
        schema=st.booleans(),
        answer_round=st.sampled_from(["no_tools", "same_tools"]),
        reasoning_field=words,
        echo_reasoning=st.sampled_from(["never", "tool_rounds", "always"]),
        dialects=st.lists(words, max_size=3).map(tuple),
        rescue=st.booleans(),
        probed=st.booleans(),
        overflow_words=st.lists(words, max_size=3).map(tuple),
    ),
)


@settings(deadline=None)
@given(rows)
def test_what_is_written_is_read_again(row: Row) -> None:
    assert read_rows(write_row(row)) == {row.name: row}


def test_a_lone_surrogate_is_written_as_a_question_mark() -> None:
    assert read_rows(write_row(Row(name="x", model="a\ud800b")))["x"].model == "a?b"


def test_the_rows_that_ship_each_say_where_they_are_known_from() -> None:
    known = read_rows(SHIPPED)
    assert {"openai", "llama-server", "vllm", "lm-studio", "ollama", "strict-host", "stripping-proxy"} <= set(known)
    for row in known.values():
        assert row.title
        assert row.source
    assert known["openai"].capabilities == Capabilities()
    assert known["ollama"].wire == "ollama"
    assert known["stripping-proxy"].capabilities.rescue


def test_the_row_without_anything_known_names_every_member() -> None:
    """It is the one that an operator copies."""
    first = SHIPPED.partition("[openai]\n")[2].partition("\n\n")[0]
    named = [line.partition(" = ")[0] for line in first.splitlines()]
    assert set(named) >= {field.name for field in attrs.fields(Capabilities)}


@pytest.mark.parametrize(
    ("owners", "name"),
    [
        (("llamacpp",), "llama-server"),
        (("vllm",), "vllm"),
        (("organization_owner",), "lm-studio"),
        (("library",), "ollama"),
        (("somebody", "library"), "ollama"),
    ],
)
def test_an_engine_is_recognised_by_who_owns_its_models(owners: tuple[str, ...], name: str) -> None:
    row = recognised(read_rows(SHIPPED), owners)
    assert row is not None
    assert row.name == name


def test_an_owner_that_no_row_names_is_not_recognised() -> None:
    assert recognised(read_rows(SHIPPED), ("openai", "me")) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[x", "here: no TOML"),
        ("x = 1", "x is no table"),
        ("[x]\ntool_choices = []", "unknown member 'tool_choices'"),
        ("[x]\ntool_choice = 'auto'", "x.tool_choice is no list of texts"),
        ("[x]\ntool_choice = ['auto', 'any']", "holds 'any'; it may hold none, auto, required"),
        ("[x]\nschema = 'yes'", "x.schema is no true or false"),
        ("[x]\nreasoning_field = 1", "x.reasoning_field is no text"),
        ("[x]\nwire = 'anthropic'", "x.wire is 'anthropic'; it may be openai or ollama"),
        ("[x]\nwire = []", "x.wire is []"),
        ("[x]\nanswer_round = 'tools'", "no_tools or same_tools"),
    ],
)
def test_a_mistake_in_a_row_is_named(text: str, says: str) -> None:
    with pytest.raises(SettingsError, match="here") as caught:
        read_rows(text, where="here")
    assert says in str(caught.value)


def test_ollama_has_no_tool_choice_whatever_a_host_forgets_to_say() -> None:
    assert Engine(wire="ollama").capabilities.tool_choice == ()
    assert Engine().capabilities.tool_choice == ("none", "auto", "required")


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b'{"data": [{"id": "a", "owned_by": "vllm"}, {"id": "b", "owned_by": "vllm"}]}', (("a", "b"), ("vllm",))),
        (b'{"data": [{"id": 1}, {"owned_by": "x"}, "y"]}', ((), ("x",))),
        (b'{"data": {}}', ((), ())),
        (b'{"object": "list", "data": null}', ((), ())),
        (b"[]", ((), ())),
        (b"<html>", ((), ())),
        (b"[" * 100_000, ((), ())),
    ],
)
def test_models_are_read_from_whatever_comes(body: bytes, read: tuple[object, object]) -> None:
    assert read_models(body) == read


def test_a_row_is_written_whole() -> None:
    row = Row(
        name='a "b"',
        title="Zoë\x7f\n",
        source="s",
        wire="ollama",
        owned_by=("x", "y"),
        address="http://127.0.0.1:1",
        model="m",
        capabilities=Capabilities(tool_choice=(), schema=False, guided=True),
    )
    assert write_row(row) == (
        '["a \\"b\\""]\n'
        'title = "Zoë\\u007f\\n"\nsource = "s"\nwire = "ollama"\nowned_by = ["x", "y"]\n'
        'address = "http://127.0.0.1:1"\nmodel = "m"\n'
        "tool_choice = []\nschema = false\n"
        'answer_round = "no_tools"\nreasoning_field = "reasoning_content"\necho_reasoning = "tool_rounds"\n'
        'dialects = ["auto"]\nguided = true\nrescue = false\nprobed = false\noverflow_words = []\n'
    )


def test_each_word_that_a_member_may_be_is_taken() -> None:
    for member, choices in {
        "wire": ("openai", "ollama"),
        "answer_round": ("no_tools", "same_tools"),
        "echo_reasoning": ("never", "tool_rounds", "always"),
    }.items():
        for choice in choices:
            row = read_rows(f"[x]\n{member} = '{choice}'")["x"]
            assert getattr(row if member == "wire" else row.capabilities, member) == choice
        with pytest.raises(SettingsError, match=f"it may be {' or '.join(choices)}$"):
            read_rows(f"[x]\n{member} = 'else'")
    row = read_rows("[x]\ntool_choice = ['none', 'auto', 'required']\noverflow_words = ['any']\nrescue = true")["x"]
    assert row == Row(name="x", capabilities=Capabilities(overflow_words=("any",), rescue=True))


def test_the_message_says_where_and_which_members_there_are() -> None:
    with pytest.raises(SettingsError) as caught:
        read_rows("[x]\na = 1")
    assert str(caught.value) == (
        "the rows: x has an unknown member 'a'; known are title, source, wire, owned_by, address, model, tool_choice, "
        "schema, answer_round, reasoning_field, echo_reasoning, dialects, guided, rescue, probed, overflow_words"
    )
    with pytest.raises(
        SettingsError, match=r"^the rows: x is no table; a row begins with a line like \[llama-server\]$"
    ):
        read_rows("x = 1")
    with pytest.raises(SettingsError, match=r"x\.overflow_words is no list of texts$"):
        read_rows("[x]\noverflow_words = ['a', 1]")
    with pytest.raises(SettingsError, match=r"it may hold none, auto, required$"):
        read_rows("[x]\ntool_choice = ['else']")


def test_what_a_row_is_by_default() -> None:
    row = Row(name="x")
    assert (row.title, row.source, row.wire, row.owned_by, row.address, row.model) == ("", "", "openai", (), "", "")
    assert recognised({"x": row}, ("",)) is None
    assert recognised({"x": row, "y": Row(name="y", owned_by=("o",))}, ("p", "o")) == Row(name="y", owned_by=("o",))


def test_each_wire_has_its_name_and_no_other_is_known() -> None:
    assert isinstance(wire_of(Engine(), Limits()), OpenAIWire)
    assert isinstance(wire_of(Engine(wire="ollama"), Limits()), OllamaWire)
    with pytest.raises(SettingsError, match=r"^the wire 'x' is not known; it may be openai or ollama$"):
        wire_of(Engine(wire="x"), Limits())  # type: ignore[arg-type]  # what a host may still write


def test_an_engine_is_nameless_and_plain_by_default() -> None:
    engine = Engine()
    assert (engine.name, engine.wire, engine.model, engine.extra_body) == ("", "openai", None, {})
