"""The table of dialects: every format in which a model is known to write calls, one row each.

A row says which mark opens a block, which body reads it, and what becomes of the white space before it. To add a
format, add a row, its markers to `hostcall.tokens`, its model names to `hints`, and its cases.
"""

from hostcall.tokens import marker
from hostcall.tooltext.dialect import NAME, Dialect, Opener
from hostcall.tooltext.family_dialects import FAMILY_DIALECTS
from hostcall.tooltext.fence_body import FenceBody
from hostcall.tooltext.gemma_body import GemmaBody
from hostcall.tooltext.glm_body import GlmBody
from hostcall.tooltext.harmony_body import HarmonyBody
from hostcall.tooltext.json_body import JsonBody
from hostcall.tooltext.lines_body import LinesBody
from hostcall.tooltext.named_body import InlineBody, SectionBody
from hostcall.tooltext.pythonic_body import PythonicBody
from hostcall.tooltext.spellings import TAG, TAG_END, function_tags, invoke_tags, tokens
from hostcall.tooltext.xml_body import XmlBody
from hostcall.tooltext.xtml_body import XtmlBody

_BRACKET = Opener(marker("[tool_call]"), folded=True)
_BRACKET_END = (marker("[/tool_call]"),)
_LEAKED = tuple(map(marker, ("<arguments>", "</arguments>", "<tool_call>", "</tool_call>")))
_BARS = ("｜DSML｜", "｜｜DSML｜｜", "|DSML|", "||DSML||", "‖DSML‖", "｜GCML｜")
_SPELLINGS = ("▁", "_", " ")


def _dsml(before: str, *after: str) -> tuple[str, ...]:
    return tuple(f"{marker(before + bars)}{space}{word}" for bars in _BARS for space in ("", " ") for word in after)


def _deepseek(words: str) -> tuple[str, ...]:
    return tuple(marker(f"<｜{words.replace(' ', gap)}｜>") for gap in _SPELLINGS)


_DSML = XmlBody(
    heads=_dsml("<", "invoke name="),
    params=_dsml("<", "parameter name="),
    param_ends=_dsml("</", "parameter>"),
    call_ends=_dsml("</", "invoke>"),
    wrap_ends=_dsml("</", "function_calls>", "tool_calls>", "calls>"),
    named="attribute",
    trim="nothing",
    unescape=True,
)
_STEP = invoke_tags(
    "steptml:",
    trim="white",
    skipped=(
        marker("<｜tool_call_begin｜>"), "function" + marker("<｜tool_sep｜>"), marker("<｜tool_sep｜>"),
        marker("<｜tool_call_end｜>"),
    ),
    wrap="<｜tool_calls_end｜>",
)  # fmt: skip

DIALECTS: tuple[Dialect, ...] = (
    # <tool_call>: what follows decides.
    Dialect(
        name="qwen-xml",
        group="tag",
        openers=(TAG, Opener(marker("<function="), kept=True)),
        starts=("<function=",),
        body=function_tags(("<tool_call>",), TAG_END),
        orphans=(*TAG_END, "</function>", "</parameter>"),
    ),
    Dialect(
        name="hermes",
        group="tag",
        openers=(TAG,),
        starts=("{", "["),
        body=JsonBody(closers=TAG_END, leaked=_LEAKED[:2]),
        orphans=TAG_END,
    ),
    Dialect(
        name="glm",
        group="tag",
        openers=(TAG,),
        starts=(NAME,),
        body=GlmBody(opener="<tool_call>", closers=TAG_END),
        orphans=TAG_END,
    ),
    Dialect(
        name="minicpm",
        group="tag",
        openers=(TAG, Opener(marker("<function name="), kept=True)),
        starts=("<function name=",),
        body=XmlBody(
            heads=("<function name=",),
            params=(marker("<param name="),),
            param_ends=(marker("</param>"),),
            call_ends=("</function>",),
            wraps=("<tool_call>",),
            wrap_ends=TAG_END,
            named="attribute",
            trim="nothing",
            cdata=True,
        ),
        orphans=(*TAG_END, "</function>"),
    ),
    # [TOOL_CALL], with every body seen under it.
    Dialect(
        name="bracket",
        openers=(_BRACKET,),
        starts=("{", "[", *_LEAKED),
        body=JsonBody(closers=_BRACKET_END, folded=_BRACKET_END, leaked=_LEAKED),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="bracket-invoke",
        group="bracket",
        openers=(_BRACKET,),
        starts=("<invoke",),
        body=invoke_tags("", wrap="[/tool_call]", folded=_BRACKET_END),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="bracket-lines",
        group="bracket",
        openers=(_BRACKET,),
        starts=(NAME,),
        body=LinesBody(closers=_BRACKET_END, folded=_BRACKET_END),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="tool-request",
        openers=(Opener(marker("[TOOL_REQUEST]")),),
        body=JsonBody(closers=(marker("[END_TOOL_REQUEST]"),)),
        orphans=("[END_TOOL_REQUEST]",),
    ),
    # DeepSeek and Step share an opener.
    Dialect(
        name="deepseek",
        openers=tokens(*_deepseek("tool calls begin"))
        + tuple(Opener(mark, token=True, kept=True) for mark in _deepseek("tool call begin")),
        body=SectionBody(
            sections=_deepseek("tool calls begin"),
            begins=_deepseek("tool call begin"),
            separators=_deepseek("tool sep"),
            ends=_deepseek("tool call end"),
            section_ends=_deepseek("tool calls end"),
            style="name",
        ),
        white="keep",
        orphans=_deepseek("tool calls end"),
    ),
    Dialect(
        name="step3",
        openers=tokens("<｜tool_calls_begin｜>"),
        starts=("<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke", "<steptml:invoke"),
        body=_STEP,
        orphans=("<｜tool_calls_end｜>",),
    ),
    Dialect(
        name="dsml",
        openers=tuple(Opener(mark, token=True) for mark in _dsml("<", "function_calls>", "tool_calls>", "calls>")),
        body=_DSML,
        white="blank line",
        orphans=_DSML.wrap_ends,
    ),
    # Kimi.
    Dialect(
        name="kimi-k2",
        openers=(
            *tokens("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            Opener(marker("<|tool_call_begin|>"), token=True, kept=True),
        ),
        body=SectionBody(
            sections=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            begins=("<|tool_call_begin|>",),
            separators=(marker("<|tool_call_argument_begin|>"),),
            ends=(marker("<|tool_call_end|>"),),
            section_ends=tuple(map(marker, ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"))),
            style="id",
        ),
        white="keep",
        orphans=("<|tool_calls_section_end|>", "<|tool_call_section_end|>", "<|tool_call_end|>"),
    ),
    Dialect(name="kimi-k3", openers=tokens("<|open|>tools<|sep|>"), body=XtmlBody(), white="keep"),
    # gpt-oss.
    Dialect(
        name="harmony",
        openers=tuple(
            Opener(marker(mark), token=True, kept=True) for mark in ("<|start|>", "<|channel|>", "<|message|>")
        ),
        body=HarmonyBody(),
        white="keep",
        in_reasoning="text",
    ),
    Dialect(
        name="harmony-stripped",
        group="harmony",
        openers=tuple(Opener(f"{word}to=functions.", "start", kept=True) for word in ("commentary ", "")),
        body=HarmonyBody(stripped=True),
        auto=False,
        in_reasoning="text",
    ),
    # Gemma.
    Dialect(
        name="gemma4",
        openers=tokens("<|tool_call>"),
        body=GemmaBody(closer=marker("<tool_call|>"), delimiter=marker('<|"|>')),
        white="keep",
        orphans=("<tool_call|>",),
    ),
    Dialect(
        name="function-gemma",
        openers=tokens("<start_function_call>"),
        body=GemmaBody(closer=marker("<end_function_call>"), delimiter=marker("<escape>"), typed=True),
        orphans=("<end_function_call>",),
    ),
    # Mistral: one opener, two bodies.
    Dialect(
        name="mistral-v3",
        group="mistral",
        openers=(Opener(marker("[TOOL_CALLS]")),),
        starts=("[", "{"),
        body=JsonBody(sure=True, optional=(marker("[/TOOL_CALLS]"),), drops_opener=True),
        white="keep",
        in_reasoning="text",
        orphans=("[/TOOL_CALLS]",),
    ),
    Dialect(
        name="mistral",
        openers=(Opener(marker("[TOOL_CALLS]")),),
        starts=(NAME,),
        body=InlineBody(
            marks=(marker("[ARGS]"),), id_mark=marker("[CALL_ID]"), optional=("[/TOOL_CALLS]",), drops_opener=True
        ),
        white="keep",
        in_reasoning="text",
        orphans=("[/TOOL_CALLS]",),
    ),
    # Llama.
    Dialect(
        name="llama-json",
        openers=(Opener("{", "start", kept=True),),
        body=JsonBody(known_only=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="python-tag",
        openers=tokens("<|python_tag|>"),
        starts=("{",),
        body=JsonBody(sure=True),
        white="keep",
    ),
    Dialect(
        name="pythonic",
        openers=(Opener("[", "start", kept=True), *tokens("<|python_start|>")),
        body=PythonicBody(optional=(marker("<|python_end|>"),)),
        white="keep",
        auto=False,
        orphans=("<|python_end|>",),
    ),
    Dialect(
        name="olmo",
        openers=(Opener(marker("<function_calls>")),),
        starts=(NAME, "[", "{"),
        body=PythonicBody(closers=(marker("</function_calls>"),), sure=True, bare=True),
        orphans=("</function_calls>",),
    ),
    Dialect(
        name="lfm2",
        openers=tokens("<|tool_call_start|>"),
        body=PythonicBody(closers=(marker("<|tool_call_end|>"),), sure=True),
        in_reasoning="text",
        orphans=("<|tool_call_end|>",),
    ),
    *FAMILY_DIALECTS,
    # Nothing but JSON, or JSON in a fence: only where the caller says so.
    Dialect(
        name="bare-json",
        openers=(Opener("{", "start", kept=True), Opener("[", "start", kept=True)),
        body=JsonBody(known_only=True, whole=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="fenced",
        openers=(Opener("```", "line", kept=True),),
        body=FenceBody(members=(("tool", "input"),)),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="fenced-json",
        openers=(Opener("```", "line", kept=True),),
        body=FenceBody(members=(("name", "arguments"),)),
        auto=False,
        in_reasoning="text",
    ),
)
