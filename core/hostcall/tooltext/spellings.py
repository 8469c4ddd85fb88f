"""Spellings that several rows of the table share."""

from typing import Literal

from hostcall.tokens import marker
from hostcall.tooltext.dialect import Opener
from hostcall.tooltext.xml_body import XmlBody

TAG = Opener(marker("<tool_call>"))
TAG_END = (marker("</tool_call>"),)


def tokens(*marks: str) -> tuple[Opener, ...]:
    """Return openers that are special tokens."""
    return tuple(Opener(marker(mark), token=True) for mark in marks)


def invoke_tags(
    prefix: str,
    *,
    wrap: str,
    skipped: tuple[str, ...] = (),
    trim: Literal["nothing", "white"] = "nothing",
    folded: tuple[str, ...] = (),
) -> XmlBody:
    """Return the body of ``<invoke name="N"><parameter name="K">`` under a prefix."""
    return XmlBody(
        heads=(marker(f"<{prefix}invoke name="),),
        params=(marker(f"<{prefix}parameter name="),),
        param_ends=(marker(f"</{prefix}parameter>"),),
        call_ends=(marker(f"</{prefix}invoke>"),),
        wrap_ends=(marker(wrap),),
        skipped=skipped,
        named="attribute",
        trim=trim,
        folded=folded,
    )


def function_tags(wrap: tuple[str, ...], ends: tuple[str, ...]) -> XmlBody:
    """Return the body of ``<function=N><parameter=K>``."""
    return XmlBody(
        heads=(marker("<function="),),
        params=(marker("<parameter="),),
        param_ends=(marker("</parameter>"),),
        call_ends=(marker("</function>"),),
        wraps=wrap,
        wrap_ends=ends,
    )
