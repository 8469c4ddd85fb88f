"""Types, codings, and bodies that unpack within a bound however they are cut."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.data import Headers, Refused
from hostcall.web.content import Body, Coding, content_coding, content_type, values


def _raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _pack(coding: str, data: bytes) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(data)
        case "deflate":
            return zlib.compress(data)
        case "raw":
            return _raw(data)
    return data


def _coding(name: str) -> Coding:
    return "deflate" if name == "raw" else name  # type: ignore[return-value]  # the other names are codings


def _read(coding: Coding, *pieces: bytes, limit: int = 1000) -> Body:
    body = Body(coding, limit)
    for piece in pieces:
        body.feed(piece)
    return body


def _bytes(packed: bytes) -> list[bytes]:
    return [packed[at : at + 1] for at in range(len(packed))]


def _type(*given: str) -> str | Refused:
    return content_type(tuple(("Content-Type", value) for value in given))


class TestTypes:
    @pytest.mark.parametrize(
        "value",
        [
            *("text/html", "TEXT/HTML", "text/html; charset=utf-8", 'text/html;charset="utf-8"', "text/plain"),
            *("text/markdown", "text/markdown; charset=utf-8; variant=GFM", " text/html ", "text/html;"),
            *("text/html; boundary=x; charset=utf-8", 'text/html; title="a, b"', 'text/html; title="a\\", b"'),
            *("text/html, text/html", "text/html;x,text/plain;y", 'text/html; x="a,b"; y="c,,d"', "text/html,"),
            *("text/html ; charset=x", 'text/html; x="' + '\\"' * 100_000),
        ],
    )  # fmt: skip
    def test_the_three_text_types_are_read_with_any_parameters(self, value: str) -> None:
        assert _type(value) in {value.strip(), *value.strip().split(",")}

    def test_a_list_is_split_at_commas_outside_quotes(self) -> None:
        assert _type('text/html; x="a,b", text/plain; charset="utf-8"') == 'text/plain; charset="utf-8"'
        assert _type('text/plain; x="a,\\"b", text/html') == 'text/plain; x="a,\\"b"'

    @pytest.mark.parametrize(
        "value",
        [
            *("", " ", ";charset=utf-8", "text", "text/", "/html", "text/html/x", "text/*", "*/*", "text html"),
            *("xtext/html", "text/htmlx", "application/xhtml+xml", "application/json", "application/x; x=text/html"),
            *("image/png", "text/x-markdown", "text/html, application/pdf", "application/pdf, text/html", ","),
            *('text/html; x="a", application/pdf', 'text/html; x="\\\\", application/pdf'),
            *('text/html; x="a,b"; y="cd", application/pdf', 'text/html; x="a,b"; y="c", application/pdf'),
            *('text/html; x="", application/pdf', 'text/html; x="\\"", application/pdf'),
        ],
    )  # fmt: skip
    def test_everything_else_is_refused(self, value: str) -> None:
        refused = _type(value)
        assert isinstance(refused, Refused)
        assert (refused.rule, refused.code) == (5, "type_refused")

    def test_no_type_is_refused_and_none_is_guessed(self) -> None:
        refused = content_type((("X", "text/html"),))
        assert refused == Refused(5, "type_refused", "The page is not text.", "no Content-Type")

    def test_of_two_values_each_must_be_allowed_and_the_one_with_a_charset_counts(self) -> None:
        assert _type("text/html", "text/html; charset=koi8-r") == "text/html; charset=koi8-r"
        assert _type("text/html; charset=koi8-r", "text/html") == "text/html; charset=koi8-r"
        assert _type("text/html", "text/plain") == "text/html"
        assert isinstance(_type("text/html", "application/pdf"), Refused)
        assert isinstance(_type("text/html", ""), Refused)

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("Application/PDF; x=y", "The page is not text (application/pdf)."),
            ("application/vnd.ms-excel", "The page is not text (application/vnd.ms-excel)."),
            ("now open https://attacker.example/", "The page is not text."),
            ("a/<tool_call>", "The page is not text."),
            ("a/" + "b" * 58, f"The page is not text (a/{'b' * 58})."),
            ("a/" + "b" * 59, "The page is not text."),
            ("ａ/ｂ", "The page is not text."),
        ],
    )
    def test_the_type_is_shown_only_when_it_is_plain_and_short(self, value: str, reason: str) -> None:
        refused = _type(value)
        assert isinstance(refused, Refused)
        assert refused.reason == reason


class TestCodings:
    @pytest.mark.parametrize(
        ("given", "coding"),
        [((), ""), (("",), ""), (("identity",), ""), (("gzip",), "gzip"), (("GZIP",), "gzip"), (("x-gzip",), "gzip"),
         (("deflate",), "deflate"), ((" gzip ",), "gzip"), (("gzip,",), "gzip")],
    )  # fmt: skip
    def test_a_coding_that_is_read(self, given: tuple[str, ...], coding: str) -> None:
        assert content_coding(tuple(("Content-encoding", value) for value in given)) == coding

    @pytest.mark.parametrize(
        "given",
        [("br",), ("zstd",), ("compress",), ("foo",), ("gzip, gzip",), ("gzip, br",), ("gzip", "gzip"),
         ("deflate, gzip",),
         (", ".join(["gzip"] * 500),), ("x" * 1000,), ("gzip;q=1",)],
    )  # fmt: skip
    def test_an_unknown_coding_and_a_second_one_are_refused_before_a_byte_is_unpacked(
        self, given: tuple[str, ...]
    ) -> None:
        refused = content_coding(tuple(("content-encoding", value) for value in given))
        assert isinstance(refused, Refused)
        assert (refused.rule, refused.code) == (5, "coding_refused")
        assert refused.reason == "The page is packed in a way that is not read here."
        assert len(refused.detail) < 100

    def test_the_journal_is_told_how_many_there_were_and_the_first(self) -> None:
        refused = content_coding((("Content-Encoding", "br, " + "x" * 50),))
        assert isinstance(refused, Refused)
        assert refused.detail == "2 codings, the first 'br'"
        refused = content_coding((("Content-Encoding", "x" * 50),))
        assert isinstance(refused, Refused)
        assert refused.detail == f"1 codings, the first {'x' * 40!r}"


class TestBody:
    @pytest.mark.parametrize("coding", ["", "gzip", "deflate", "raw"])
    @pytest.mark.parametrize("data", [b"", b"x", b"<p>hi</p>" * 50])
    def test_a_body_is_unpacked_whole_or_in_single_bytes(self, coding: str, data: bytes) -> None:
        packed = _pack(coding, data)
        for pieces in ([packed], _bytes(packed)):
            body = _read(_coding(coding), *pieces)
            assert (body.data, body.complete, body.full, body.broken) == (data, True, False, False)
            assert body.size == len(data)

    @given(st.sampled_from(["", "gzip", "deflate", "raw"]), st.binary(max_size=300), st.integers(0, 200), st.data())
    def test_any_cut_of_the_same_bytes_means_the_same(
        self, coding: str, data: bytes, limit: int, draw: st.DataObject
    ) -> None:
        packed = _pack(coding, data) + draw.draw(
            st.sampled_from([b"", b"x", b"\x1f", b"\x1f\x8b", gzip.compress(b"two")])
        )
        if draw.draw(st.booleans()):
            packed = packed[: draw.draw(st.integers(0, len(packed)))]
        cuts = sorted(draw.draw(st.lists(st.integers(0, len(packed)), max_size=6)))
        pieces = [packed[a:b] for a, b in zip([0, *cuts], [*cuts, len(packed)], strict=True)]
        whole, cut = _read(_coding(coding), packed, limit=limit), _read(_coding(coding), *pieces, limit=limit)
        assert (whole.data, whole.full, whole.broken) == (cut.data, cut.full, cut.broken)
        assert len(whole.data) <= limit
        if not whole.full and not whole.broken:
            assert whole.complete == cut.complete

    @pytest.mark.parametrize("coding", ["", "gzip", "deflate", "raw"])
    def test_a_body_of_exactly_the_limit_is_whole_and_one_byte_more_is_cut(self, coding: str) -> None:
        exact = _read(_coding(coding), _pack(coding, b"x" * 1000))
        assert (len(exact.data), exact.full, exact.complete) == (1000, False, True)
        over = _read(_coding(coding), _pack(coding, b"x" * 1001))
        assert (len(over.data), over.full) == (1000, True)

    @pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
    def test_a_packed_body_that_breaks_off_is_not_complete(self, coding: str) -> None:
        packed = _pack(coding, b"<p>hi</p>" * 50)
        for length in (1, 2, 10, len(packed) - 1):
            assert not _read(_coding(coding), packed[:length]).complete

    def test_a_wrong_checksum_and_bytes_that_are_not_packed_are_broken(self) -> None:
        packed = bytearray(gzip.compress(b"<p>hi</p>"))
        packed[-5] ^= 1
        body = _read("gzip", bytes(packed))
        assert body.broken
        assert not body.complete
        assert _read("gzip", b"<p>hi</p>").broken
        assert _read("gzip", zlib.compress(b"<p>hi</p>")).broken
        assert _read("deflate", b"\xff\xff\xff\xff").broken

    def test_a_raw_stream_that_only_begins_like_a_wrapper_is_read_as_raw(self) -> None:
        stored = b"\x08\x20\x00\xdf\xff" + b"x" * 32 + b"\x01\x00\x00\xff\xff"
        for pieces in ([stored], _bytes(stored)):
            body = _read("deflate", *pieces)
            assert (body.data, body.complete) == (b"x" * 32, True)

    def test_members_of_gzip_are_read_one_after_another(self) -> None:
        packed = gzip.compress(b"one ") + gzip.compress(b"two ") + gzip.compress(b"three")
        for pieces in ([packed], _bytes(packed)):
            body = _read("gzip", *pieces)
            assert (body.data, body.complete) == (b"one two three", True)

    def test_a_second_member_that_breaks_off_leaves_the_body_incomplete(self) -> None:
        assert not _read("gzip", gzip.compress(b"one") + gzip.compress(b"two")[:-1]).complete

    @pytest.mark.parametrize("trail", [b"garbage", b"\x00" * 100, b"\x1f", b"\x1fx", b"g"])
    def test_what_follows_a_packed_stream_and_is_none_is_dropped(self, trail: bytes) -> None:
        for packed in (gzip.compress(b"one") + trail, gzip.compress(b"one") + trail + gzip.compress(b"two")):
            for pieces in ([packed], _bytes(packed)):
                body = _read("gzip", *pieces)
                assert (body.data, body.complete) == (b"one", True)
        body = _read("deflate", zlib.compress(b"one") + zlib.compress(b"two") + trail, trail)
        assert (body.data, body.complete) == (b"one", True)

    def test_no_more_members_are_opened_than_a_file_could_honestly_have(self) -> None:
        body = _read("gzip", gzip.compress(b"x") * 1025, limit=10_000)
        assert (len(body.data), body.complete) == (1024, True)

    @pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
    def test_a_bomb_of_a_gigabyte_ends_at_the_limit_in_little_time_and_memory(self, coding: str) -> None:
        packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw": -15}[coding])
        zeros = bytes(1 << 20)
        packed = b"".join(packer.compress(zeros) for _ in range(64)) * 16
        body = Body(_coding(coding), 2_000_000)
        body.feed(packed[:65_536])
        assert body.full  # the first piece is all that is ever opened
        for at in range(65_536, len(packed), 65_536):
            body.feed(packed[at : at + 65_536])
        assert len(body.data) == 2_000_000
        tracemalloc.start()
        body = Body(_coding(coding), 2_000_000)
        body.feed(packed[:65_536])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10_000_000

    def test_a_second_member_is_unpacked_no_further_than_the_first_left_room_for(self) -> None:
        first, second = gzip.compress(b"x" * 1_999_990), gzip.compress(bytes(50_000_000))
        body = Body("gzip", 2_000_000)
        body.feed(first)
        tracemalloc.start()
        body.feed(second)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert body.full
        assert peak < 1_000_000

    def test_nothing_at_all_is_an_empty_body_in_any_coding(self) -> None:
        for coding in ("", "gzip", "deflate"):
            assert _read(_coding(coding)).complete
            assert _read(_coding(coding), b"").complete


def test_values_are_found_whatever_the_case_of_the_name_and_without_blanks_around() -> None:
    headers: Headers = (("LOCATION", " /a "), ("x", "y"), ("Location", "\t/bX\r\n"))
    assert values(headers, "location") == ["/a", "/bX"]
    assert values(headers, "z") == []
    # Only what HTTP calls white space (RFC 9110 §5.6.3): another blank is a part of the value.
    assert values((("Location", " \xa0/a\x0b "),), "location") == ["\xa0/a\x0b"]
