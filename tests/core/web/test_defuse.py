"""Defusing: no marker and nothing invisible is left, and a quotation can still be compared."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.tokens import MARKERS
from hostcall.web.defuse import defuse, defuse_counted, undefuse
from tests.growth import LINEAR, growth

BRACKETED = [marker for marker in MARKERS if re.search(r"[<>\[\]|]", marker)]


@pytest.mark.parametrize("marker", BRACKETED)
def test_every_marker_loses_its_power_and_gets_it_back(marker: str) -> None:
    for spelling in (marker, marker.upper(), marker.lower()):
        text = f"before {spelling} after"
        assert spelling not in defuse(text)
        assert undefuse(defuse(text)) == text


@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        ("<|im_start|>", "‹¦im_start¦›"),
        ("<|start_header_id|>", "‹¦start_header_id¦›"),
        ("<|channel>", "‹¦channel›"),
        ("<channel|>", "‹channel¦›"),
        ('<|"|>', '‹¦"¦›'),
        ("<｜tool▁calls▁begin｜>", "‹｜tool▁calls▁begin｜›"),
        ('<｜DSML｜invoke name="x">', '‹｜DSML｜invoke name="x"›'),
        ('<|DSML|invoke name="x">', '‹¦DSML¦invoke name="x"›'),
        ("</|DSML|invoke>", "‹/¦DSML¦invoke›"),
        ("<tool_call>", "‹tool_call›"),
        ("</tool_call>", "‹/tool_call›"),
        ("<Tool_Call >", "‹Tool_Call ›"),
        ("< / tool_call>", "‹ / tool_call›"),
        ("<tool_call id='1'>", "‹tool_call id='1'›"),
        ("<tool_call/>", "‹tool_call/›"),
        ("[TOOL_CALL]", "⟦TOOL_CALL⟧"),
        ("[ /tool_call ]", "⟦ /tool_call ⟧"),
        ("<<SYS>>", "‹‹SYS››"),
        ("[INST]", "⟦INST⟧"),
        ("[SYSTEM  DIRECTIVE]", "⟦SYSTEM  DIRECTIVE⟧"),
        ("<start_of_turn>", "‹start_of_turn›"),
    ],
)
def test_markers_are_shown_in_brackets_that_look_alike(marker: str, shown: str) -> None:
    assert defuse(marker) == shown
    assert undefuse(shown) == marker


@pytest.mark.parametrize(
    "text",
    [
        "a < b > c | d",
        "x |> f <| y",
        "if (a<b && c>d) [1] [note]",
        "<div class='x'> <p> </p>",
        "std::vector<int>",
        "[link] [1, 2] [TOOL]",
        "‹guillemets› and ¦ bars",
        "می‌روم 👩‍💻 1️⃣ ❤️",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert defuse(text) == text
    assert undefuse(text) == text


def test_what_no_person_sees_is_dropped_and_counted() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore")
    text = f"so\u00adft{tags} \u202ereversed\u202c zero\u200bwidth\ufeff\u2060 \U000e0100"
    assert defuse_counted(text) == ("soft reversed zerowidth ", 13)
    assert defuse_counted("plain\ttext\r\n") == ("plain\ttext\n", 0)


def test_an_invisible_character_does_not_save_a_marker() -> None:
    assert defuse("<to\u200bol_c\u00adall>") == "‹tool_call›"
    assert defuse("<tool\u200d_call>") == "‹tool_call›"


def test_joiners_stay_only_where_they_shape_a_character() -> None:
    assert defuse("a\u200cb\u200d\ufe0f 1\ufe0f\u20e3") == "ab 1\ufe0f\u20e3"
    assert defuse("م\u200c\u200d\u200c\u200dن") == "م\u200c\u200dن"


def test_line_ends_and_controls() -> None:
    assert defuse("a\r\nb\rc\u2028d\u2029e\x0cf\x00g\x1b[0m") == "a\nb\nc\nd\ne fg[0m"
    assert defuse("\ud800") == "\ufffd"


MARKS = st.sampled_from(
    [*BRACKETED, "<|im_end|>", "<|a>", "<b|>", "<｜x｜>", "<<SYS>>", "[INST]", "<tool_call x", "</"]
)
PIECES = st.lists(
    MARKS | st.text(alphabet="<>|[]/ ‹›¦⟦⟧=as\n\u200b\u200d\r", max_size=6) | st.text(max_size=6), max_size=12
)


@given(PIECES)
@settings(max_examples=400, deadline=None)
def test_defusing_is_idempotent_and_never_lengthens(pieces: list[str]) -> None:
    text = "".join(pieces)
    once = defuse(text)
    assert defuse(once) == once
    assert len(once) <= len(text)


@given(st.lists(MARKS | st.text(alphabet="ab <>[]/\n", max_size=6), max_size=12))
@settings(max_examples=300, deadline=None)
def test_a_text_without_look_alikes_comes_back(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert undefuse(defuse(text)) == text


@pytest.mark.parametrize(
    "unit", ["<", "<|", "[", "<s ", "<tool_call ", "[a", "\u200d", "é\u200b", "]<]", "<｜", "</", "\r"]
)
def test_the_work_is_linear(unit: str) -> None:
    assert growth(lambda size: undefuse(defuse(unit * (size // len(unit)))), 200_000) < LINEAR
