"""What is asked of the engine in each kind of round, and what is learned about it on the way."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from hostcall.answer import prompts
from hostcall.answer.plan import Rung
from hostcall.answer.round import Reader, Round
from hostcall.answer.statements import example, statements_schema
from hostcall.answer.tools import FETCH, SEARCH
from hostcall.answer.transcript import Transcript, reading_schema, schema_of, schema_tail
from hostcall.data import Capabilities, Source
from hostcall.engine.faults import EngineFault
from hostcall.engine.history import text_of
from hostcall.engine.reply import ChatAsk, Wire
from hostcall.engine.settings import Engine
from hostcall.engine.wires import wire_of
from hostcall.limits import Limits
from hostcall.tooltext import TextFilter
from hostcall.web.seen import first_address


@attrs.define(kw_only=True)
class Asker:
    """Makes the rounds of one answer. Its `capabilities` are those given, and what the engine's replies taught."""

    engine: Engine
    capabilities: Capabilities
    offered: list[dict[str, Any]]
    """All tools, in the OpenAI shape."""
    limits: Limits
    transcript: Transcript
    deadline: Callable[[], float]
    sources: int = 0
    """Sources of earlier answers, which may be opened at once."""
    number: int = 0
    """The round in progress, from 1."""
    _requests: int = 0
    """Engine requests made in this round, for the ids."""
    _reader: Reader = attrs.Factory(Reader)
    _repaired: set[str] = attrs.Factory(set)
    _tail: str = ""
    """What stood under the system message of the last request."""

    def begin(self) -> None:
        """Note the directive under the user's last message, where this engine needs one."""
        if self._directs:
            self.transcript.direct(prompts.DIRECTIVE)

    @property
    def reader(self) -> Reader:
        """What the reader has been shown."""
        return self._reader

    @property
    def request_id(self) -> str:
        """The id of the next engine request."""
        return f"r{self.number}.e{self._requests}"

    @property
    def wire(self) -> Wire:
        """The engine's wire, with what is known of the engine by now."""
        return wire_of(attrs.evolve(self.engine, capabilities=self.capabilities), self.limits)

    def next_round(self) -> None:
        """Begin a round."""
        self.number += 1
        self._requests = 0

    # The kinds of rounds.

    def forced(self, rung: Rung) -> Round:
        """Return a round in which a call is forced. On rescue there is no field to force with.

        Forced to a schema, a small model picks the page tool as gladly as the search, and makes up an address that is
        refused: so that tool is in the schema only where there is a page to open yet.
        """
        tokens = self.limits.forced_tokens
        match rung:
            case "required":
                ask = self._ask(tools=self.offered, tool_choice="required", max_tokens=tokens)
            case "schema":
                offered = [tool for tool in self.offered if self._openable or tool["function"]["name"] != FETCH]
                ask = self._ask(system_tail=schema_tail(offered), max_tokens=tokens, schema=dict(schema_of(offered)))
                self.transcript.rewrite(self.request_id, "the call is forced by a JSON schema")
            case _:
                ask = self._ask(max_tokens=tokens)
        return self._round(ask, forced=True)

    def reading(self, addresses: Sequence[str]) -> Round:
        """Return a round in which one of these pages is picked."""
        self.transcript.ask(prompts.READ_ASK.format(tool=FETCH))
        tool = next(tool for tool in self.offered if tool["function"]["name"] == FETCH)
        schema = dict(reading_schema(tool, addresses))
        return self._round(self._ask(max_tokens=self.limits.forced_tokens, schema=schema), forced=True)

    def statements(self, sources: Sequence[Source], question: str) -> Round:
        """Return a round that asks for the answer as statements, each with its source."""
        best = [source for source in sources if source.grade == "read"] or list(sources)
        numbers = [source.number for source in best]
        self.transcript.ask(prompts.statements_ask(best, question, example(numbers[0])))
        return self._round(self._ask(schema=statements_schema(numbers)), statements=True)

    def tools(self) -> Round:
        """Return a round that offers the tools."""
        choice = "auto" if self.offered and "auto" in self.capabilities.tool_choice else None
        return self._round(self._ask(tools=self.offered, tool_choice=choice))

    def answer(self, sources: Sequence[Source] | None) -> Round:
        """Return a round that asks for the answer."""
        self.transcript.ask(prompts.answer_ask(sources), prompts.DIRECTIVE_ANSWER if self._directs else "")
        if self.capabilities.answer_round == "same_tools" and self.offered:
            choice = "none" if "none" in self.capabilities.tool_choice else None
            return self._round(self._ask(tools=self.offered, tool_choice=choice))
        return self._round(self._ask())

    def again(self, round_: Round) -> Round:
        """Return a round that asks the same once more, with the messages as they are by now."""
        ask = round_.ask
        fields = {
            "tools": ask.tools,
            "tool_choice": ask.tool_choice,
            "max_tokens": ask.max_tokens,
            "schema": ask.schema,
        }
        return self._round(
            self._ask(system_tail=self._tail, **fields), forced=round_.forced, statements=round_.statements
        )

    @property
    def _openable(self) -> bool:
        asked = (text_of(m["content"]) for m in self.transcript.messages if m["role"] == "user")
        return self.sources > 0 or any(first_address(text, self.limits) is not None for text in asked)

    @property
    def guided(self) -> bool:
        """Whether the model is led: it can be forced by schema, and no tool of the host's waits for it."""
        known = self.capabilities
        web = {SEARCH, FETCH}
        return known.guided and known.schema and {tool["function"]["name"] for tool in self.offered} == web

    @property
    def ways(self) -> Capabilities:
        """What this answer goes by: a led model is forced by schema, and needs no tools described in the prompt."""
        known = self.capabilities
        return attrs.evolve(known, rescue=False) if known.rescue and self.guided else known

    def _ask(self, *, system_tail: str = "", **fields: Any) -> ChatAsk:
        self._tail = system_tail
        if self.ways.rescue:
            # The tools stand in the prompt, in every round alike: the prompt only grows.
            return ChatAsk(
                messages=self.transcript.to_rescue(self.offered),
                max_tokens=fields.get("max_tokens"),
            )
        return ChatAsk(messages=self.transcript.to_send(system_tail=system_tail), **fields)

    def _round(self, ask: ChatAsk, *, forced: bool = False, statements: bool = False) -> Round:
        return Round(
            id=f"r{self.number}",
            number=self.number,
            ask=ask,
            wire=self.wire,
            limits=self.limits,
            reader=self._reader,
            make_filter=lambda inside: self._filter(inside=inside, forced=forced),
            forced=forced,
            statements=statements,
            first_request=self._requests,
            deadline=self.deadline,
        )

    def _filter(self, *, inside: bool, forced: bool) -> TextFilter:
        dialects = self.capabilities.dialects
        if forced:
            dialects = tuple(dict.fromkeys((*dialects, "bare-json", "fenced-json")))
        if self.ways.rescue:
            dialects = tuple(dict.fromkeys((*dialects, "fenced")))
        return TextFilter(
            self.offered,
            dialects=dialects,
            model=self.engine.model,
            starts_in_reasoning=True if inside else None,
            max_hold=self.limits.held_chars,
        )

    @property
    def _directs(self) -> bool:
        """Whether a directive stands in for `tool_choice`, which this engine must not be sent."""
        return bool(self.offered) and not self.guided and (self.ways.rescue or not self.ways.tool_choice)

    # What replies teach.

    def replied(self, requests: int, reasoning_field: str | None) -> None:
        """Note how many requests a round took, and under which name reasoning came."""
        self._requests += requests
        if reasoning_field is not None:
            self.capabilities = attrs.evolve(self.capabilities, reasoning_field=reasoning_field)

    def probed(self, status: int, body: bytes) -> None:
        """Take the answer to the wire's probe."""
        self.capabilities = self.wire.read_probe(status, body, self.capabilities)

    def repair(self, fault: EngineFault) -> bool:
        """Mend what a fault complains of, once for each kind. True: ask again."""
        if fault.kind == "overflow":
            keep = 0.5
            if fault.prompt_tokens and fault.context_tokens:
                keep = min(0.8 * fault.context_tokens / fault.prompt_tokens, 0.8)
            return self.shorten("the engine's context is full", keep)
        if fault.kind == "no_tools" and self.offered and self._first("rescue"):
            self.capabilities = attrs.evolve(self.capabilities, rescue=True)
            self.transcript.direct(prompts.DIRECTIVE)
            self.transcript.rewrite(
                self.request_id, "the model does not support tools: they are described in the prompt"
            )
            return True
        if fault.kind == "needs_reasoning" and self._first("reasoning"):
            self.capabilities = attrs.evolve(self.capabilities, echo_reasoning="always")
            self.transcript.rewrite(self.request_id, "the engine wants its reasoning back")
            return True
        return False

    def shorten(self, reason: str, keep: float = 0.5) -> bool:
        """Make stubs of the oldest tool results, once an answer. False: there is nothing to shorten."""
        if not self._first("overflow") or not self.transcript.shorten(keep=keep):
            return False
        self.transcript.rewrite(self.request_id, f"{reason}: old tool results were shortened")
        return True

    def refused_rung(self, rung: Rung) -> None:
        """Remember that the engine refuses to be forced this way."""
        if rung == "required":
            choices = tuple(choice for choice in self.capabilities.tool_choice if choice != "required")
            self.capabilities = attrs.evolve(self.capabilities, tool_choice=choices)
        elif rung in ("schema", "read"):
            self.capabilities = attrs.evolve(self.capabilities, schema=False)

    def _first(self, repair: str) -> bool:
        """Return True once for each name: repairs are one-shot."""
        if repair in self._repaired:
            return False
        self._repaired.add(repair)
        return True
