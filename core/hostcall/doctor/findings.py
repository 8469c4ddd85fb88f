"""What the engine's answers mean: a finding for each thing, and the row of capabilities that follows."""

import json
import re
from collections.abc import Mapping
from typing import Any

import attrs

from hostcall.doctor.asks import WORD, Step
from hostcall.doctor.engine import EngineExam
from hostcall.doctor.finding import Finding
from hostcall.doctor.heard import Heard
from hostcall.engine.capabilities import Row

CONTEXT_POOR = 8_192
CONTEXT_GOOD = 16_384
"""A page's report is up to 24,000 characters, which is some 7,000 tokens, and an answer may read twelve pages."""

DISTINCTIVE = ("bare-json", "fenced-json", "fenced")
"""Dialects that ``auto`` does not arm."""

CHANGE_TOOLS: dict[str, str] = {
    "vllm": "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of the model",
    "llama-server": "start llama-server with --jinja and a --chat-template-file that knows tools",
    "lm-studio": "load a model that LM Studio marks with the hammer (trained for tools)",
    "ollama": "pull a model of the class `tools`",
}
NO_TOOLS_CHANGE = "use a model or a template that knows tools, or take the proxy away that removes them"
CHANGE_CONTEXT: dict[str, str] = {
    "vllm": "start vLLM with a larger --max-model-len",
    "llama-server": "start llama-server with a larger -c (and keep -np small: the slots share it)",
    "lm-studio": "load the model with a longer context",
    "ollama": "set OLLAMA_CONTEXT_LENGTH, or num_ctx in a Modelfile",
}


def findings_of(exam: EngineExam) -> tuple[Finding, ...]:
    """Return what an examination found, in the order in which an operator reads it."""
    looks = (
        _tools, _tool_choice, _schema, _text_calls, _parallel, _index, _ids, _history, _citations, _reasoning,
        _usage, _stream, _errors, _keep_alive, _context,
    )  # fmt: skip
    return tuple(finding for look in looks if (finding := look(exam)) is not None)


def row_of(exam: EngineExam) -> Row:
    """Return the row that an examination fills: what is known of such an engine, and in its place what was seen."""
    known = exam.capabilities
    heard = exam.heard
    choices = [choice for choice in known.tool_choice if _works(exam, choice)]
    none = heard.get("none")
    seen = [call.dialect for one in heard.values() for call in one.written if call.dialect in DISTINCTIVE]
    fields = [one.reasoning_field for one in heard.values() if one.reasoning_field is not None]
    wants_reasoning = any(one.fault is not None and one.fault.kind == "needs_reasoning" for one in heard.values())
    schema = _schema_kept(heard["schema"]) if "schema" in heard else known.schema
    honest_none = none is not None and none.fault is None and not none.called and bool(none.text.strip())
    history = heard.get("history")
    lost = exam.tools_lost or _no_template(exam) or (history is not None and history.refused and not wants_reasoning)
    capabilities = attrs.evolve(
        known,
        tool_choice=() if lost else tuple(choices),
        schema=schema,
        guided=schema and (_cites_nothing(exam) or _calls_nothing(exam)),
        answer_round="same_tools" if honest_none and not lost else "no_tools",
        reasoning_field=fields[0] if fields else known.reasoning_field,
        echo_reasoning="always" if wants_reasoning else known.echo_reasoning,
        dialects=tuple(dict.fromkeys((*known.dialects, *seen))),
        rescue=lost,
        probed="show" in exam.plain,
    )
    return Row(
        name=exam.known.name,
        title=exam.known.title,
        source="hostcall doctor",
        wire=exam.known.wire,
        owned_by=exam.known.owned_by,
        model=exam.model or "",
        capabilities=capabilities,
    )


# How each thing is looked at.


def _tools(exam: EngineExam) -> Finding | None:
    auto = exam.heard.get("auto")
    if auto is None:
        return None
    change = CHANGE_TOOLS.get(exam.known.name, NO_TOOLS_CHANGE)
    if exam.tools_lost or _no_template(exam):
        if auto.fault is not None:
            saw = f"the model does not take tools ({auto.fault.message[:120]})"
        elif _no_template(exam):
            saw = "the chat template knows no tools"
        else:
            saw = "the tools do not reach the model: the prompt is no longer with them"
        rescue = exam.heard.get("rescue")
        described = "described in the prompt, they are called" if rescue is not None and rescue.called else ""
        return Finding(topic="tools", verdict="trouble", saw="; ".join(filter(None, (saw, described))), change=change)
    if auto.refused:
        return Finding(topic="tools", verdict="trouble", saw=f"refused: {_why(auto)}", change=change)
    if not auto.called:
        led = "; it is led: a page picked and an answer given by schema" if row_of(exam).capabilities.guided else ""
        saw = f"the model {auto.how} where a tool was needed{led}"
        return Finding(topic="tools", verdict="trouble", saw=saw, change=change)
    return Finding(topic="tools", verdict="ok", saw=f"the model {auto.how} where a tool was needed")


def _tool_choice(exam: EngineExam) -> Finding | None:
    if exam.known.wire == "ollama":
        return Finding(topic="tool_choice", verdict="ok", saw="not part of this interface; a reply is forced by schema")
    required = exam.heard.get("required")
    if required is None:
        return None
    said = []
    for choice in ("none", "auto", "required"):
        heard = exam.heard.get(choice)
        if heard is not None:
            said.append(f"{choice} {_choice(heard, wanted=choice != 'none')}")
    saw = "; ".join(said)
    if required.called:
        return Finding(topic="tool_choice", verdict="ok", saw=saw)
    schema = exam.heard.get("schema")
    if schema is not None and _schema_kept(schema):
        return Finding(topic="tool_choice", verdict="note", saw=f"{saw}; the first call is forced by schema")
    return Finding(
        topic="tool_choice",
        verdict="trouble",
        saw=f"{saw}; no call can be forced, so the host makes the first search itself",
        change="use an engine that keeps tool_choice or json_schema",
    )


def _choice(heard: Heard, *, wanted: bool) -> str:
    if heard.refused:
        return f"is refused ({_why(heard)})"
    if heard.fault is not None:
        return f"ended in an error ({_why(heard)})"
    if heard.called == wanted:
        return "works"
    return "is ignored (it called)" if heard.called else f"is ignored (it {heard.how})"


def _schema(exam: EngineExam) -> Finding | None:
    heard = exam.heard.get("schema")
    if heard is None:
        return None
    if _schema_kept(heard):
        return Finding(topic="schema", verdict="ok", saw="a reply can be forced to a JSON schema")
    saw = f"a JSON schema is refused: {_why(heard)}" if heard.fault is not None else "a JSON schema is ignored"
    forced = exam.heard.get("required")
    enough = forced is not None and forced.called
    if enough or exam.known.wire != "ollama":
        # Where no call can be forced at all, the line on tool_choice says so.
        return Finding(topic="schema", verdict="note", saw=saw)
    return Finding(
        topic="schema",
        verdict="trouble",
        saw=f"{saw}; no call can be forced, so the host makes the first search itself",
        change="use a version of Ollama that knows `format` with a schema (0.5 or newer)",
    )


def _text_calls(exam: EngineExam) -> Finding | None:
    written = [call for step, one in exam.heard.items() if step != "rescue" for call in one.written]
    if not written:
        return None
    names = ", ".join(dict.fromkeys(call.dialect for call in written))
    return Finding(
        topic="text calls",
        verdict="note",
        saw=f"calls come as text ({names}); they are read from it",
        change=CHANGE_TOOLS.get(exam.known.name, ""),
    )


def _parallel(exam: EngineExam) -> Finding | None:
    heard = exam.heard.get("parallel")
    if heard is None:
        return None
    count = len(heard.calls) + len(heard.written)
    if heard.fault is not None:
        return Finding(topic="parallel", verdict="note", saw=f"two calls at once ended in an error: {_why(heard)}")
    if count >= 2:
        return Finding(topic="parallel", verdict="ok", saw="several calls come in one reply")
    return Finding(
        topic="parallel", verdict="note", saw=f"{count} of two calls came in one reply: research takes more rounds"
    )


def _index(exam: EngineExam) -> Finding | None:
    heard = exam.heard.get("parallel")
    if heard is None or len(heard.calls) < 2 or exam.known.wire == "ollama":
        return None
    indices = [fragment.index for fragment in heard.fragments if fragment.name]
    if None in indices:
        return Finding(topic="index", verdict="note", saw="calls have no index; they are told apart by id and name")
    if len(set(indices)) < len(indices):
        return Finding(
            topic="index", verdict="note", saw="several calls have one index; they are told apart by id and name"
        )
    return Finding(topic="index", verdict="ok", saw="each call has its own index")


def _ids(exam: EngineExam) -> Finding | None:
    calls = [call for one in exam.heard.values() for call in one.calls]
    if not calls:
        return None
    if not all(call.id for call in calls):
        return Finding(topic="ids", verdict="note", saw="calls have no id; they are given one")
    several = exam.heard["parallel"].calls if "parallel" in exam.heard else ()
    if len({call.id for call in several}) < len(several):
        return Finding(
            topic="ids", verdict="note", saw="two calls of one reply have the same id; the second is given another"
        )
    return Finding(topic="ids", verdict="ok", saw=f"each call has an id, like {calls[0].id[:40]}")


def _history(exam: EngineExam) -> Finding | None:
    heard = exam.heard.get("history")
    if heard is None:
        return None
    if heard.fault is None:
        return Finding(topic="tool results", verdict="ok", saw="are taken")
    if heard.fault.kind == "needs_reasoning":
        return Finding(topic="tool results", verdict="note", saw="want the reasoning back; it is sent")
    return Finding(
        topic="tool results",
        verdict="trouble",
        saw=f"are refused: {_why(heard)}",
        change="use a template that knows messages of the role tool; until then the tools are described in the prompt",
    )


def _citations(exam: EngineExam) -> Finding | None:
    heard = exam.heard.get("cite")
    if heard is None or heard.fault is not None:
        return None
    if not _cites_nothing(exam):
        return Finding(topic="citations", verdict="ok", saw="sources are cited by their numbers when that is asked")
    schema = exam.heard.get("schema")
    if schema is not None and _schema_kept(schema):
        saw = "the model cites nothing when asked to; it is led: a page picked and an answer given by schema"
        return Finding(topic="citations", verdict="note", saw=saw, change="a larger model needs no leading")
    saw = "the model cites nothing when asked to, and cannot be led by schema"
    return Finding(topic="citations", verdict="trouble", saw=saw, change="use a larger model")


def _cites_nothing(exam: EngineExam) -> bool:
    heard = exam.heard.get("cite")
    return heard is not None and heard.fault is None and re.search(r"\[[12]\]", heard.text) is None


def _calls_nothing(exam: EngineExam) -> bool:
    """Whether the model calls no tool although it is told to, by whatever way it learns of the tools."""
    way = exam.heard.get("rescue" if exam.tools_lost or _no_template(exam) else "auto")
    return way is not None and way.fault is None and not way.called


def _reasoning(exam: EngineExam) -> Finding:
    fields = [one.reasoning_field for one in exam.heard.values() if one.reasoning_field is not None]
    thought = any(one.reasoning for one in exam.heard.values())
    saw = f"comes as {fields[0]}" if fields else "comes as thinking" if thought else "none was seen"
    cut = [one for one in exam.heard.values() if one.reasoning and one.finish == "length" and not one.called]
    forced = exam.heard.get("required")
    if forced is not None and forced in cut:
        return Finding(
            topic="reasoning",
            verdict="note",
            saw=f"{saw}; it used up all of the forced round",
            change="turn thinking off, or down, for this model",
        )
    return Finding(topic="reasoning", verdict="ok", saw=saw)


def _usage(exam: EngineExam) -> Finding | None:
    replies = [one for one in exam.heard.values() if one.fault is None]
    if not replies:
        return None
    if any(one.usage is None for one in replies):
        return Finding(topic="usage", verdict="note", saw="tokens are not counted in every reply")
    return Finding(topic="usage", verdict="ok", saw="tokens are counted")


def _stream(exam: EngineExam) -> Finding:
    quirks = list(dict.fromkeys(quirk for one in exam.heard.values() for quirk in one.quirks))
    broken = [
        step
        for step, one in exam.heard.items()
        if one.fault is not None and one.fault.kind in ("truncated", "malformed", "idle")
    ]
    if broken:
        one = exam.heard[broken[0]]
        return Finding(
            topic="stream",
            verdict="trouble",
            saw=f"a reply broke off: {_why(one)}",
            change="look into the engine's log, and at a proxy before it that buffers or cuts streams",
        )
    if quirks:
        return Finding(topic="stream", verdict="note", saw="; ".join(quirks))
    return Finding(topic="stream", verdict="ok", saw="replies stream, and say that they are whole")


def _errors(exam: EngineExam) -> Finding | None:
    answer = exam.plain.get("error")
    if answer is None:
        return None
    if answer.status == 0:
        return Finding(topic="errors", verdict="note", saw="a request that is none was not answered")
    if answer.status < 400:
        return Finding(topic="errors", verdict="note", saw=f"a request that is none was answered with {answer.status}")
    shape = _shape(answer.body)
    if not shape:
        return Finding(
            topic="errors", verdict="note", saw=f"an error is {answer.status} without JSON; its first line is shown"
        )
    return Finding(topic="errors", verdict="ok", saw=f"an error is {answer.status} with {shape}")


def _keep_alive(exam: EngineExam) -> Finding | None:
    if exam.known.wire == "ollama":
        return None
    comments = sum(one.comments for one in exam.heard.values())
    saw = (
        f"{comments} comment lines in the streams" if comments else "no comment lines were seen in these short streams"
    )
    return Finding(topic="keep-alive", verdict="ok", saw=saw)


def _context(exam: EngineExam) -> Finding:
    size = context_of(exam)
    if size is None:
        return Finding(topic="context", verdict="ok", saw="the engine does not say how long it is")
    change = CHANGE_CONTEXT.get(exam.known.name, "give the model a longer context")
    if size < CONTEXT_POOR:
        saw = f"{size} tokens: a page or two fill it, and older results are shortened"
        return Finding(topic="context", verdict="trouble", saw=saw, change=change)
    if size < CONTEXT_GOOD:
        return Finding(topic="context", verdict="note", saw=f"{size} tokens: enough for a few pages", change=change)
    return Finding(topic="context", verdict="ok", saw=f"{size} tokens")


# What they rest on.


def context_of(exam: EngineExam) -> int | None:
    """Return the tokens of context that the engine says it has for one conversation."""
    models = exam.plain.get("models")
    listed = models.value.get("data") if models is not None and isinstance(models.value, dict) else None
    ways: list[Any] = [_at(_value(exam, "props"), "default_generation_settings", "n_ctx")]
    for members, key in ((listed, "max_model_len"), (_at(_value(exam, "studio"), "data"), "loaded_context_length")):
        ways += [_at(entry, key) for entry in _entries(members, "id", exam.model)]
    running = _at(_value(exam, "running"), "models")
    ways += [_at(entry, "context_length") for entry in _entries(running, "name", exam.model)]
    parameters = _at(_value(exam, "show"), "parameters")
    if isinstance(parameters, str):
        found = re.search(r"^num_ctx\s+(\d{1,9})\s*$", parameters, re.MULTILINE)
        ways.append(int(found[1]) if found else None)
    return next((way for way in ways if type(way) is int and way > 0), None)


def _entries(value: Any, key: str, model: str | None) -> list[Any]:
    if not isinstance(value, list):
        return []
    return [entry for entry in value if model is None or _at(entry, key) in (model, f"{model}:latest")]


def _value(exam: EngineExam, step: Step) -> Any:
    answer = exam.plain.get(step)
    return answer.value if answer is not None else None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _no_template(exam: EngineExam) -> bool:
    """Whether the engine says itself that its template drops tools."""
    caps = _at(_value(exam, "props"), "chat_template_caps")
    if isinstance(caps, dict) and (caps.get("supports_tools") is False or caps.get("supports_tool_calls") is False):
        auto = exam.heard.get("auto")
        return auto is None or not auto.called
    show = _value(exam, "show")
    named, template = _at(show, "capabilities"), _at(show, "template")
    if not isinstance(show, Mapping) or (named is None and template is None):
        return False
    return not ((isinstance(named, list) and "tools" in named) or (isinstance(template, str) and ".Tools" in template))


def _works(exam: EngineExam, choice: str) -> bool:
    heard = exam.heard.get(choice)  # type: ignore[call-overload]  # the values of tool_choice are steps
    if heard is None:
        return True
    if choice == "required":
        return bool(heard.called)
    if choice == "none":
        return heard.fault is None and not heard.called
    return not heard.refused


def _schema_kept(heard: Heard) -> bool:
    if heard.fault is not None:
        return False
    try:
        value = json.loads(heard.text)
    except (ValueError, RecursionError):
        return False
    return bool(value == {"word": WORD})


def _shape(body: bytes) -> str:
    try:
        value = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    error = value.get("error")
    if isinstance(error, dict):
        return "an error object (" + ", ".join(sorted(map(str, error))[:6]) + ")"
    return "an error text" if isinstance(error, str) else "the members " + ", ".join(sorted(map(str, value))[:6])


def _why(heard: Heard) -> str:
    return heard.fault.message[:160] if heard.fault is not None else "no reason given"
