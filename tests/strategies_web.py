"""What the tests of the web room draw from."""

from hypothesis import strategies as st

_PIECES = (
    *"ex.ample-_0x179:/?#@[]%\\ {}|^`<>\"'=&",
    *("https://", "http://", "xn--", "..", "./", "%2e", "%2E", "//", "example.org", "127.0.0.1", "[::1]", "::ffff:"),
    *("é", "ü", "ß", "ς", "א", "ا", "例え", "한", "क", "İ", "K", "☃", "🙂", "①", "．", "。", "１", "：", "＠", "／"),
    *("\u200d", "\u200c", "\u00ad", "\u200b", "\u202e", "\x00", "\t", "\x7f", "\ud800", "443", "80", ".org"),
)

pieces = st.lists(st.sampled_from(_PIECES), max_size=9).map("".join)
"""Texts made of what matters to a parser of addresses."""

addresses = st.one_of(
    st.builds("https://{}".format, pieces),
    st.builds("https://example.org/{}".format, pieces),
    st.builds("https://{}.example.org/{}".format, pieces, pieces),
    pieces,
    st.text(max_size=40),
)
"""Texts that are addresses, nearly are, or are nothing of the kind."""

names = st.from_regex(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,10}[a-z0-9_])?\.){1,3}(?:org|net|com)", fullmatch=True)
"""Ordinary names in canonical form; now and then one with a label that claims to be encoded."""

v4_numbers = st.integers(0, 2**32 - 1)
v6_numbers = st.one_of(
    st.integers(0, 2**128 - 1),
    st.integers(0x2000 << 112, (0x4000 << 112) - 1),
    st.builds(lambda high, low: high << 112 | low, st.sampled_from([0x2001, 0x2002, 0x2600, 0xFE80, 0xFC00, 0]),
              st.integers(0, 2**32)),
)  # fmt: skip
