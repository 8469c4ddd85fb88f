"""Bytes of a page to text, by the order that browsers use.

A byte order mark decides; else the ``charset`` of the content type; else what the page says of itself in its first
1,024 bytes; else UTF-8 when the bytes are UTF-8; else windows-1252. The last step but one is not the standard's (it
guesses by the reader's language there), but it is right for the pages of today.

The labels are those of the WHATWG Encoding Standard, and no others: Python knows codecs (UTF-7, UTF-32, rot13) that
no browser would use for a page, and a page must not read differently here than it does to a person.
"""

import codecs
import re

_LABELS_BY_CODEC: dict[str, str] = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
    "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "x-user-defined": "x-user-defined",
}
CODECS: dict[str, str] = {label: codec for codec, labels in _LABELS_BY_CODEC.items() for label in labels.split()}
"""The standard's labels, each with the Python codec that decodes as the standard says.

Python's own names are narrower than what pages mean by them: gbk pages hold gb18030, shift_jis pages cp932, euc-kr
pages cp949, and latin-1 pages the quotation marks of windows-1252. ``replacement`` and ``x-user-defined`` are no
codecs; `decode` knows them.
"""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le"))
_PRESCAN_BYTES = 1024
_ADDED = re.compile(
    rb"((?:\x8e[\xa1-\xdf]|[^\xa1-\xfe]|[\xa1-\xac\xae-\xf8\xfd\xfe][\xa1-\xfe]?)*+)([\xad\xf9-\xfc][\xa1-\xfe])",
    re.DOTALL,
)
_MOST_ADDED = 20_000
_XML_DECLARATION = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9._:-]{1,40})["']""")
_MARKUP = re.compile(rb"<!--|<meta(?=[\s/])|</?[a-z]|<[!/?]", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)?))?""")
_CHARSET = re.compile(rb"""charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_PARAMETER = re.compile(r""";\s{0,9}charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)


def decode(data: bytes, content_type: str) -> str:
    """Return the text of a page, whatever its bytes are.

    Args:
        data: The body, decompressed, possibly cut at a limit in the middle of a character.
        content_type: The value of the field, with its parameters; may be empty.

    Returns:
        The text without a byte order mark. What cannot be decoded is U+FFFD; nothing is raised.
    """
    start, codec = _found(data, content_type)
    if codec == "replacement":
        # The standard's way with encodings in which markup can hide from a filter: one character for the whole page.
        return "\ufffd" if data else ""
    return _euc_jp(data[start:]) if codec == "euc-jp" else data[start:].decode(codec, "replace")


def to_utf8(data: bytes, content_type: str) -> bytes:
    """Return a page in UTF-8: `decode` for what reads bytes, without a detour where they are UTF-8 already."""
    start, codec = _found(data, content_type)
    if codec == "utf-8":
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return data[start:]
    # Lone surrogates, which some of the old codecs let through, are no UTF-8.
    return decode(data, content_type).encode("utf-8", "replace")


def _found(data: bytes, content_type: str) -> tuple[int, str]:
    """Return where the text begins and its codec."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return len(mark), codec
    return 0, charset_of(content_type) or _declared(data) or _guessed(data)


def charset_of(content_type: str) -> str:
    """Return the codec that a content type names, or an empty text when it names none that is known."""
    found = _PARAMETER.search(content_type[:1000])
    return _codec(found[1]) if found else ""


def _codec(label: str) -> str:
    codec = CODECS.get(label.lower(), "")
    return "latin-1" if codec == "x-user-defined" else codec


def _declared(data: bytes) -> str:
    """Return the codec that the page names in its first 1,024 bytes (HTML §13.2.3.2, "prescan").

    A page that could be read as ASCII so far cannot be UTF-16, so one that says so means UTF-8; and one that says
    x-user-defined means windows-1252. Both are the standard's rules.
    """
    head = data[:_PRESCAN_BYTES]
    codec = ""
    at = 0
    while not codec and (found := _MARKUP.search(head, at)):
        kind = found[0].lower()
        if kind == b"<!--":
            at = head.find(b"-->", found.end() - 2)
        elif kind in {b"<!", b"</", b"<?"}:
            at = head.find(b">", found.end())
        else:
            attributes, at = _attributes(head, found.end())
            codec = _of_meta(attributes) if kind == b"<meta" and at >= 0 else ""
        if at < 0:
            break
    if not codec and (declaration := _XML_DECLARATION.match(head)):
        codec = CODECS.get(declaration[1].decode("ascii").lower(), "")
    if codec.startswith("utf-16"):
        return "utf-8"
    return "cp1252" if codec == "x-user-defined" else codec


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes of the tag in whose middle `at` is, and where it ends: -1 when it goes on to the end."""
    attributes: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, at):
        at = found.end()
        attributes.setdefault(found[1].lower(), (found[2] or found[3] or found[4] or b"").strip(b" \t\r\n\f/"))
    return attributes, head.find(b">", at)


def _of_meta(attributes: dict[bytes, bytes]) -> str:
    """Return the codec that a ``meta`` element names, or an empty text; a description that speaks of one names none."""
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        found = _CHARSET.search(attributes.get(b"content", b""))
        label = found[1] if found else None
    return CODECS.get((label or b"").decode("latin-1").lower(), "")


def _euc_jp(data: bytes) -> str:
    """Decode EUC-JP with what the standard has in it and Python's codec has not: ①, ㈱ and Ⅲ of NEC's row, 髙 of IBM's.

    The codec cp932 has these, at the place that arithmetic gives. It is done for as many as a page for people holds.
    """
    texts: list[str] = []
    at = 0
    while len(texts) < _MOST_ADDED and (found := _ADDED.match(data, at)):
        row, column = divmod((found[2][0] - 0xA1) * 94 + found[2][1] - 0xA1, 188)
        pair = bytes((row + (0x81 if row < 31 else 0xC1), column + (0x40 if column < 63 else 0x41)))
        texts += found[1].decode("euc-jp", "replace"), pair.decode("cp932", "replace")
        at = found.end()
    return "".join(texts) + data[at:].decode("euc-jp", "replace")


def _guessed(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A body that was cut at its limit may end inside a character, which says nothing about the rest.
        cut = error.reason == "unexpected end of data" and error.start >= len(data) - 3
        return "utf-8" if cut else "cp1252"
    return "utf-8"
