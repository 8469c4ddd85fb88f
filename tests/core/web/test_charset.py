"""The charset of a page: the order of its sources, the standard's labels, and bytes that are none."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hostcall.web.charset import CODECS, charset_of, decode, to_utf8

TEXT = "Café – 潮"


@pytest.mark.parametrize(
    ("codec", "mark"), [("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_a_byte_order_mark_wins_over_the_header(codec: str, mark: bytes) -> None:
    assert decode(mark + TEXT.encode(codec), "text/html; charset=koi8-r") == TEXT


def test_the_header_wins_over_the_page() -> None:
    page = '<meta charset="shift_jis">Café'.encode()
    assert decode(page, "text/html; charset=utf-8") == '<meta charset="shift_jis">Café'


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html; charset=windows-1251",
        'text/html;charset="windows-1251"',
        "text/html; boundary=x; CHARSET = 'Windows-1251'",
        "text/html;charset=cp1251;charset=utf-8",
    ],
)
def test_the_header_is_read_as_servers_write_it(content_type: str) -> None:
    assert decode("Привет".encode("cp1251"), content_type) == "Привет"


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<META CHARSET=windows-1251 >",
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        "<!-- <meta charset=utf-8> --><meta charset=windows-1251>",
        "<!--><meta charset=windows-1251>",
        '<meta name="viewport" content="x"><meta charset=windows-1251>',
        '<?xml version="1.0" encoding="windows-1251"?>',
        '<?xml version="1.0" encoding="utf-8"?><meta charset="windows-1251">',
        "<meta charset=unheard-of><meta charset=windows-1251>",
        '<meta name="description" content="text/html; charset=koi8-r"><meta charset=windows-1251>',
        '<meta content="text/html; charset=koi8-r"><meta charset=windows-1251>',
        "<META content='text/html;charset=windows-1251' HTTP-EQUIV=content-type>",
        "<a title='<meta charset=koi8-r>'><meta charset=windows-1251>",
        '<meta content="a>b" name=x charset=windows-1251>',
        "<meta charset=windows-1251 charset=koi8-r>",
        "<meta/charset = 'windows-1251' />",
        "<meta charset=windows-1251/>",
        "<!doctype html><metadata charset=koi8-r><meta charset=' windows-1251 '>",
        "</meta charset=koi8-r><meta charset=windows-1251>",
        '<meta http-equiv=content-type content="charset=koi8-r" charset=windows-1251>',
    ],
)
def test_the_page_says_its_charset_in_its_first_kilobyte(head: str) -> None:
    assert decode((head + "Привет").encode("cp1251"), "text/html").endswith("Привет")


def test_what_stands_later_than_the_first_kilobyte_is_not_looked_at() -> None:
    page = b" " * 1024 + b"<meta charset=windows-1251>" + "é".encode()
    assert decode(page, "").endswith("é")


@pytest.mark.parametrize(
    "head", ["<!-- <meta charset=windows-1251>", "<meta charset=windows-1251", "<meta name=x", "<meta>"]
)
def test_a_head_that_is_cut_or_says_nothing_leaves_it_to_the_bytes(head: str) -> None:
    text = f"{head} é"
    assert decode(text.encode(), "") in (text, text.encode().decode("cp1251"))


def test_a_page_that_says_utf16_in_ascii_means_utf8() -> None:
    page = '<meta charset="utf-16">é'.encode()
    assert decode(page, "").endswith("é")


def test_a_page_that_says_x_user_defined_means_windows_1252() -> None:
    assert decode(b"<meta charset=x-user-defined>\x93", "").endswith("\u201c")
    assert decode(b"a\x93", "text/html; charset=x-user-defined") == "a\x93"


def test_without_a_word_bytes_that_are_utf8_are_utf8_and_others_windows_1252() -> None:
    assert decode("潮".encode(), "text/html") == "潮"
    assert decode(b"\x93quoted\x94", "text/html") == "\u201cquoted\u201d"


@pytest.mark.parametrize("cut", [1, 2])
def test_a_body_cut_inside_a_character_is_still_utf8(cut: int) -> None:
    assert decode("潮潮".encode()[:-cut], "").startswith("潮")


def test_labels_mean_what_pages_mean_by_them() -> None:
    assert decode(b"\x80", "text/html; charset=iso-8859-1") == "€"
    assert decode("①".encode("cp932"), "text/html; charset=shift_jis") == "①"
    assert decode("각".encode("cp949"), "text/html; charset=euc-kr") == "각"
    assert decode("镕".encode("gb18030"), "text/html; charset=gb2312") == "镕"
    assert len(CODECS) == 228


def test_a_japanese_page_has_the_characters_that_makers_added() -> None:
    """They stand in the standard's table of JIS X 0208 and in no codec of Python's but cp932."""
    text = "①㈱Ⅲ№℡、髙橋・山﨑〜ｱ漢字"
    rows = {"①": "ada1", "㈱": "adea", "Ⅲ": "adb7", "№": "ade2", "℡": "ade4", "髙": "fce2", "﨑": "f9f5"}
    page = b"".join(
        bytes.fromhex(rows[character]) if character in rows else character.encode("euc-jp") for character in text
    )
    assert decode(page, "text/html; charset=euc-jp") == text
    assert to_utf8(page, "text/html; charset=x-euc-jp") == text.encode()
    assert decode(b"\xff.\xad\xa1\x8e\xad\xad", "text/html; charset=euc-jp") == "\ufffd.①ｭ\ufffd"


def test_such_characters_are_read_in_such_numbers_as_a_page_for_people_has() -> None:
    text = decode(b"\xad\xa1" * 1_000_000, "text/html; charset=euc-jp")
    assert text.startswith("①" * 10_000)
    assert text.count("①") == 10_000


@pytest.mark.parametrize("label", ["utf-7", "utf-32", "rot13", "hex", "unheard-of", ""])
def test_codecs_that_no_browser_uses_are_not_used(label: str) -> None:
    assert charset_of(f"text/html; charset={label}") == ""
    assert decode(b"+ADw-script+AD4-", f"text/html; charset={label}") == "+ADw-script+AD4-"


def test_encodings_in_which_markup_can_hide_give_one_replacement_character() -> None:
    assert decode(b"~{<script>", "text/html; charset=hz-gb-2312") == "\ufffd"
    assert decode(b"", "text/html; charset=iso-2022-kr") == ""


@given(st.binary(max_size=200), st.sampled_from(sorted(CODECS)))
@example(b"\xff\xfe\x00", "utf-16")
@settings(max_examples=300, deadline=None)
def test_any_bytes_under_any_label_give_a_text(data: bytes, label: str) -> None:
    decode(data, f"text/html; charset={label}").encode("utf-8", "surrogatepass")
    page = f"<meta charset={label}>".encode() + data
    assert to_utf8(page, "text/html") == decode(page, "text/html").encode("utf-8", "replace")
