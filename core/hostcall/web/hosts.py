"""A host as it stands in an address: read strictly, and given its one canonical spelling.

The stance is the same throughout the web room: browsers repair, and two parsers that repair differently are how a
guard and a connection come to mean different hosts. Here only what every parser reads alike is read at all; the rest is
refused. What is read comes out as WHATWG's host parser would have it.

Two surprises that were measured. `idna` refuses ASCII names that exist (``r3---sn-abc.example.org``,
``my_bucket.example.org``), so it sees only labels that are not ASCII. And Python's own ``idna`` codec follows the
standard of 2003, in which ``faß.de`` belongs to somebody else; it is never used, and nothing but ASCII leaves this
module.
"""

import re
import unicodedata

import idna

from hostcall.web.ranges import ip_text, read_ip

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x.*", re.ASCII)
_LONGEST_NAME = 253  # RFC 1035 §3.1 gives 255 octets on the wire, which is 253 characters.
_JOINERS = "\u200c\u200d"
_LONGEST_TEXT = 1024  # Before the mapping, which may shorten. No name comes near, and the checks cost time.

# Letters newer than Unicode 14 (Python 3.11's). The tables of later Pythons know some of them, so a name that holds one
# would be read on one version and refused on another. These are the unassigned runs of Unicode 14 into which a later
# version put something that `idna` would let through.
NEWER_THAN_UNICODE_14 = tuple(
    (int(first, 16), int(last, 16))
    for first, last in re.findall(
        r"(\w+)-(\w+)",
        """
    557-558 58b-58c 5c8-5cf 88f-88f 892-897 b4e-b54 c5b-c5c cd7-cdc cf3-cff ece-ecf 1acf-1aff 1b4d-1b4f 1b7f-1b7f
    1c89-1c8f 208f-208f 209d-209f 20c1-20cf 2427-243f 2b96-2b96 2e5e-2e7f 31e4-31ef a7cb-a7cf a7d2-a7d2 a7d4-a7d4
    a7da-a7f1 ab6c-ab6f fbc3-fbd2 fd90-fd91 fdc8-fdce 105bd-105ff 107bb-107ff 10940-1097f 10d3a-10e5f 10eb2-10eff
    1123f-1127f 11375-113ff 116ca-116ff 11af9-11bff 11daa-11edf 11ef9-11faf 1246f-1246f 12475-1247f 12544-12f8f
    1342f-1342f 13439-143ff 14647-167ff 16b90-16e3f 16e9b-16eff 16ff2-16fff 187f8-187ff 18cd6-18cff 18d09-1afef
    1b123-1b14f 1b153-1b163 1b168-1b16f 1bca4-1ceff 1d127-1d128 1d1eb-1d1ff 1d246-1d2df 1d6a6-1d6a7 1dab0-1deff
    1df1f-1dfff 1e02b-1e0ff 1e300-1e7df 1f1ae-1f1e5 1f6d8-1f6dc 1f774-1f77f 1f7d9-1f7df 1f7f1-1f7ff 1f8b2-1f8ff
    1fa54-1fa5f 1fa75-1fa77 1fa87-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6-1facf 1fada-1fadf 1fae8-1faef 1faf7-1faff
    1fbcb-1fbef 1fbfa-1ffff 2b739-2b73f 2b81e-2b81f 2cea2-2ceaf 2ebe1-2f7ff 3134b-e0000
        """,
    )
)
_NEWER = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in NEWER_THAN_UNICODE_14) + "]")

# Names that lead nowhere public whatever a resolver says. Refused before any lookup, so that they also stay out of DNS.
_SPECIAL = frozenset(
    {
        "localhost",  # RFC 6761 §6.3
        "test",  # RFC 6761 §6.2
        "invalid",  # RFC 6761 §6.4
        "example",  # RFC 6761 §6.5; example.org and its like are ordinary names
        "local",  # RFC 6762 §3
        "onion",  # RFC 7686
        "alt",  # RFC 9476
        "internal",  # reserved by ICANN for private use, 2024-07-29; the metadata names of clouds
    }
)
_HOME = "home.arpa"  # RFC 8375


def read_host(text: str) -> str | None:
    """Return the canonical form of the host `text` of an address, or None when it is none.

    A name comes back in ASCII and lower case without a trailing dot; an IPv4 literal as its dotted quad; an IPv6
    literal, which must stand in brackets, without them and in its shortest form.

    Security:
        Rule 1 and rule 2. Threat: one text that is two hosts. Numbers in any odd spelling, percent escapes, brackets
        around a name, scope ids and characters that a mapping would drop are refused, never repaired.
    """
    if text.startswith("["):
        if not text.endswith("]"):
            return None
        literal = read_ip(text[1:-1])
        return ip_text(literal) if literal is not None and literal.version == 6 else None
    name = text.lower() if text.isascii() else _mapped(text)
    if name is None:
        return None
    name = name.removesuffix(".")
    labels: list[str] = []
    readings: list[str] = []
    for written in name.split("."):
        label = _ascii_label(written)
        if label is None or _LABEL.fullmatch(label) is None:
            return None
        reading = _reading(label)
        if reading is None:
            return None
        labels.append(label)
        readings.append(reading)
    if not _keep_direction(readings):
        return None
    name = ".".join(labels)
    if len(name) > _LONGEST_NAME:
        return None
    if _NUMBER.fullmatch(labels[-1]):
        literal = read_ip(name)
        return None if literal is None else ip_text(literal)
    return name


def is_literal(host: str) -> bool:
    """Say whether a canonical host is an IP address. No name can look like one: its last label is never a number."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def is_special_name(host: str) -> bool:
    """Say whether a canonical name is one that never leads to the public internet.

    A name of a single label is one too: a resolver would complete it from its search list, or look beside itself.

    Security:
        Rule 2, public addresses only. Threat: names that a resolver answers from the inside. The address check would
        catch most of them after the lookup; refused before it, they are not asked for at all.
    """
    labels = host.split(".")
    return len(labels) == 1 or labels[-1] in _SPECIAL or host == _HOME or host.endswith("." + _HOME)


def _mapped(text: str) -> str | None:
    """Return `text` after the mapping of UTS 46 §4, or None when it holds what no host does.

    Full-width letters and digits, other forms of the full stop and capital letters become what they stand for, so that
    every later check sees them plain. Invisible characters, which the mapping would drop, are refused instead.
    """
    if len(text) > _LONGEST_TEXT or _NEWER.search(text) or any(_is_unfit(character) for character in text):
        return None
    return idna.uts46_remap(text, std3_rules=False)


def _is_unfit(character: str) -> bool:
    """Say whether `character` is one that the mapping refuses or drops, a joiner, or no character yet."""
    try:
        mapped = idna.uts46_remap(character, std3_rules=False)
    except idna.IDNAError:
        return True
    return mapped == "" or unicodedata.category(character) in {"Cf", "Cn"}


def _ascii_label(label: str) -> str | None:
    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None


def _reading(label: str) -> str | None:
    """Return what an ASCII label stands for, or None when it claims to be encoded and is not, or not canonically.

    Laxer than `idna.ulabel`, as browsers are: names with symbols in them are registered and sold in this form.
    """
    if not label.startswith("xn--"):
        return label
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
        if decoded.isascii() or "xn--" + decoded.encode("punycode").decode("ascii") != label:
            return None
        if _NEWER.search(decoded) or any(_is_unfit(character) and character not in _JOINERS for character in decoded):
            return None
        if idna.uts46_remap(decoded, std3_rules=False) != decoded or unicodedata.category(decoded[0]).startswith("M"):
            return None
        if not all(idna.valid_contextj(decoded, at) for at, joiner in enumerate(decoded) if joiner in _JOINERS):
            return None
    except (idna.IDNAError, UnicodeError, ValueError):
        return None
    return decoded


def _keep_direction(labels: list[str]) -> bool:
    """Say whether labels that run right to left leave the name readable in one way only (RFC 5893 §2)."""
    if not any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for label in labels for character in label):
        return True
    try:
        return all(idna.check_bidi(label, check_ltr=True) for label in labels)
    except idna.IDNAError:
        return False
