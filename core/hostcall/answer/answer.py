"""One answer, from the user's question to `Finish`. This file only sequences.

What comes next is chosen by `plan.py`; one engine request is a `Round`, made by the `Asker`; the calls of a round are a
`Calls`. An answer is a function of its list of ``(now, event)``: the same list gives the same commands, always.

::

    start ─► step ─► Round ─► reply ─► Calls ─► step ─► … ─► Finish
                       └──────── no calls ───────┘
"""

import datetime as dt
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import attrs

from hostcall.answer import plan, prompts
from hostcall.answer.asking import Asker
from hostcall.answer.budget import Budget
from hostcall.answer.calls import Calls, host_call, make_calls
from hostcall.answer.clock import Clock
from hostcall.answer.ending import make_result
from hostcall.answer.ledger import Ledger
from hostcall.answer.plan import AnswerRound, End, ForcedRound, HostCall, ReadRound, Standing, Step, ToolRound
from hostcall.answer.probe import PROBE_SECONDS, Probe
from hostcall.answer.receipts import Chain
from hostcall.answer.round import AskedCall, Reply, Round
from hostcall.answer.tools import FETCH, SEARCH, Tool, is_hollow, offered_tools
from hostcall.answer.transcript import Transcript
from hostcall.answer.world import Call, World, seen_by
from hostcall.commands import Cancel, Command, Finish, ShowProgress
from hostcall.data import Result, Source, Usage, WhyStopped
from hostcall.engine.faults import EngineFault
from hostcall.engine.history import call_message, read_conversation
from hostcall.engine.settings import Engine
from hostcall.errors import LocalProtocolError, SettingsError
from hostcall.events import Event, HostCancelled, RequestEvent
from hostcall.limits import Limits
from hostcall.machine import Live, Slots
from hostcall.web.networks import Networks
from hostcall.web.settings import Web


class Phase(enum.Enum):
    """Where an answer stands."""

    IDLE = "not started"
    FORCED = "forced round"
    TOOLS = "tool round"
    ANSWER = "answer round"
    DONE = "finished"


class Answer:
    """The machine of one answer.

    Args:
        conversation: The messages so far in the OpenAI shape; the user's last one is the question.
        engine: Which interface the engine speaks, and what is known of it.
        web: Whether the two web tools are offered; a `Web` sets what they may do.
        research: Whether the model is asked to plan, and may widen its searches.
        tools: Tools of the host.
        seen: The ledger of an earlier answer in the same conversation: its hosts count as seen, its numbers stand.
        limits: The bounds.
        receipt_key: Makes the chain of receipts an HMAC under this key.

    Raises:
        ConversationError: The conversation is none.
        SettingsError: Two tools have one name.
    """

    def __init__(
        self,
        conversation: Sequence[Mapping[str, Any]],
        *,
        engine: Engine = Engine(),
        web: bool | Web = True,
        research: bool = True,
        tools: Sequence[Tool] = (),
        seen: Iterable[Source] | None = None,
        limits: Limits = Limits(),
        receipt_key: bytes | None = None,
    ) -> None:
        self._conversation = read_conversation(conversation)
        self._engine = engine
        self._web: Web | None = web if isinstance(web, Web) else (Web() if web else None)
        self._research = research
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise SettingsError("two tools have the same name")
        if limits.parallel < 1:
            raise SettingsError(f"limits.parallel is at least 1, not {limits.parallel}")
        self._limits = limits
        self._earlier = tuple(seen or ())
        self._chain = Chain(receipt_key)
        self._phase = Phase.IDLE
        self._live: Live[Round | Probe | Call] = Live()
        self._probe: Probe | None = None
        self._round: Round | None = None
        self._calls: Calls | None = None
        self._taken = 0
        """How many calls of the round's reply are in `_calls` already, because they came whole while it went on."""
        self._reply: Reply | None = None
        """The reply whose calls are running; None when the host calls by itself."""
        self._rounds = 0
        self._answer_rounds = 0
        self._rungs: tuple[plan.Rung, ...] = ()
        self._retried = False
        self._why: WhyStopped = "answered"
        self._text = ""
        """The text of the last answering round."""
        self._cut = False
        """Whether that text was cut by a length limit."""
        self._fault = ""
        self._thought = ""
        self._usage = Usage()
        self._quirks: dict[str, None] = {}
        self._clock = Clock(limits.answer_seconds)
        self.answer_id = ""
        self.result: Result | None = None

    @property
    def finished(self) -> bool:
        """Whether `Finish` was given. A driver feeds nothing after it."""
        return self._phase is Phase.DONE

    @property
    def engine(self) -> Engine:
        """The engine that is asked: its name says to the driver which one."""
        return self._engine

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The host's tools, which a driver needs handlers for."""
        return tuple(self._tools)

    @property
    def web_on(self) -> bool:
        """Whether the web tools are offered, which a driver needs a search service for."""
        return self._web is not None

    @property
    def live(self) -> tuple[str, ...]:
        """The ids of all open requests."""
        return self._live.ids

    # What a driver calls.

    def start(
        self, now: float, *, answer_id: str, today: dt.date, capacity: int, deny_networks: Sequence[str] = ()
    ) -> list[Command]:
        """Return the first commands.

        Args:
            now: The driver's monotonic clock, in seconds; only differences matter.
            answer_id: Names the answer in journal, log and metrics.
            today: The date that the model is told and that results are dated against.
            capacity: Requests that the driver can have open at once beside the engine's.
            deny_networks: Networks in CIDR form that are refused beside the table: the machine's own addresses and
                their neighbours.

        Raises:
            LocalProtocolError: The answer was started before.
            SettingsError: A network is none, or the capacity is below 1.
        """
        if self._phase is not Phase.IDLE:
            raise LocalProtocolError("the answer was started before")
        now = float(now)
        if capacity < 1:
            raise SettingsError(f"a driver's capacity is at least 1, not {capacity}")
        web = self._web or Web()
        networks = Networks.of(web, deny_networks)
        self.answer_id = answer_id
        self._clock.start(now)
        if self._engine.capabilities.guided:
            # A model that must be led loses its way in a report of six pages.
            self._limits = attrs.evolve(self._limits, hops=0)
        self._overlap = self._limits.overlap and capacity > 1
        self._world = World(
            limits=self._limits,
            web=self._web,
            research=self._research,
            tools=self._tools,
            ledger=Ledger.of(self._limits, self._earlier),
            budget=Budget(self._limits),
            seen=seen_by(self._conversation, self._earlier, web, self._limits),
            networks=networks,
            slots=Slots(min(self._limits.parallel, capacity), self._limits.requests_a_host),
            today=today,
            chain=self._chain,
            deadline=self._clock.deadline,
        )
        system = prompts.system_line(today, research=self._research) if self._web is not None else None
        self._transcript = Transcript.begin(self._conversation, system)
        self._question = self._transcript.last_question
        self._asker = Asker(
            engine=self._engine,
            capabilities=self._engine.capabilities,
            offered=offered_tools(self._tools.values(), web=self.web_on, research=self._research, limits=self._limits),
            limits=self._limits,
            transcript=self._transcript,
            deadline=self._clock.deadline,
            sources=len(self._earlier),
        )
        self._phase = Phase.TOOLS
        probe = self._asker.wire.probe() if self._asker.offered else None
        if probe is not None:
            self._probe = Probe(probe, deadline=min(now + PROBE_SECONDS, self._clock.deadline()))
            return self._live.track(self._probe.start(now), self._probe)
        return self._first(now)

    def receive(self, event: Event, now: float) -> list[Command]:
        """Take one event and return what to do next.

        Raises:
            LocalProtocolError: The event does not fit: an id that was never issued, an event after `Finish`. What an
                engine, a page, a resolver or a tool did wrong is never raised.
        """
        if self._phase is Phase.IDLE:
            raise LocalProtocolError(f"{type(event).__name__} before start")
        if isinstance(event, HostCancelled):
            return [] if self.finished else self._stop(event.reason, now)
        if self.finished:
            raise LocalProtocolError(f"{type(event).__name__} after Finish")
        owner = self._live.owner(event)
        if owner is None:
            return []
        if now >= self._clock.deadline():
            return self._stop("deadline", now)
        return self._receive(owner, event, now)

    def _receive(self, owner: Round | Probe | Call, event: RequestEvent, now: float) -> list[Command]:
        if isinstance(owner, Round):
            commands = self._live.track(owner.receive(event, now), owner)
            if owner.result is not None:
                commands += self._replied(owner, owner.result, now)
            elif self._overlap and len(owner.asked) > self._taken:
                commands += self._start_early(owner, now)
            return commands
        if isinstance(owner, Probe):
            commands = self._live.track(owner.receive(event, now), owner)
            if owner.result is None:
                return commands
            self._asker.probed(*owner.result)
            return [*commands, *self._live.cancel(owner), *self._first(now)]
        calls = self._calls
        if calls is None:
            raise AssertionError("a call is live only while its round's calls are")
        commands = self._live.track(calls.receive(owner, event, now), owner)
        self._clock.ask(now, asking=calls.asking)
        return commands + self._advance(calls, calls.advance(now), now)

    # Steps.

    def _first(self, now: float) -> list[Command]:
        """Choose the first step, once it is known what the engine can do."""
        budget = self._world.budget
        left = budget.searches_left > 0 or budget.pages_left > 0
        self._asker.begin()
        self._rungs = plan.ladder(self._asker.ways, web=self.web_on, left=left)
        return self._begin(plan.first_step(self._standing()), now)

    def _begin(self, step: Step, now: float) -> list[Command]:
        match step:
            case ForcedRound():
                if self._phase is not Phase.FORCED:
                    self._phase = Phase.FORCED
                    self._asker.next_round()
                return self._start(self._asker.forced(step.rung), now)
            case HostCall():
                return self._host_call(now)
            case ToolRound():
                self._phase = Phase.TOOLS
                self._retried = step.again
                if not step.again:
                    self._rounds += 1
                    self._asker.next_round()
                return self._start(self._asker.tools(), now)
            case ReadRound():
                self._phase, self._rungs = Phase.FORCED, ("read",)
                self._asker.next_round()
                return self._start(self._asker.reading(self._world.ledger.unread), now)
            case AnswerRound():
                return self._answer_round(now)
            case End():
                return self._finish(step.why)
        assert_never(step)

    def _start(self, round_: Round, now: float) -> list[Command]:
        if self._transcript.size > self._limits.history_chars:
            keep = 0.9 * self._limits.history_chars / self._transcript.size
            shortened = self._asker.shorten("the conversation is too long", keep)
            if not shortened or self._transcript.size > self._limits.history_chars:
                return self._finish("overflow", f"the conversation is over {self._limits.history_chars} characters")
            round_ = self._asker.again(round_)
        self._round, self._taken = round_, 0
        progress = ShowProgress(kind="round", text=self._phase.value, round=round_.number)
        return [progress, *self._live.track(round_.start(now), round_)]

    def _host_call(self, now: float) -> list[Command]:
        """Make the first call in the model's place: the first address of the user's last message, or its words."""
        if self._phase is not Phase.FORCED:
            self._phase = Phase.FORCED
            self._asker.next_round()
        self._quirks["the engine could not be made to call a tool; the host made the first call"] = None
        self._reply = None
        asked = host_call(self._question, self._world)
        calls = Calls(self._world, self._asker.number)
        made = make_calls([asked], number=calls.number, taken=self._transcript.ids, asked_by="host")
        return self._run(calls, made, now)

    def _answer_round(self, now: float) -> list[Command]:
        if self._phase is not Phase.ANSWER:
            self._phase = Phase.ANSWER
            if self._standing().spent:
                self._why = "budget_spent"
            elif self._reply is not None and self._reply.calls and not self._asker.guided:
                self._why = "rounds_used"
        self._answer_rounds += 1
        self._asker.next_round()
        sources = self._world.ledger.sources
        if self._asker.guided and sources:
            return self._start(self._asker.statements(sources, self._question), now)
        return self._start(self._asker.answer(self._world.ledger.sources if self.web_on else None), now)

    # Replies and calls.

    def _replied(self, round_: Round, reply: Reply, now: float) -> list[Command]:
        self._round = None
        self._reply = reply
        self._asker.replied(reply.requests, reply.reasoning_field)
        self._usage += reply.usage
        self._quirks.update(dict.fromkeys(reply.quirks))
        if reply.thought.strip():
            self._thought = reply.thought
        if reply.fault is not None:
            return self._faulted(round_, reply, reply.fault, now)
        calls = self._calls or self._calls_of(round_)
        rest = self._made(calls, reply.calls[self._taken :])
        calling = bool(calls.calls or rest)
        if reply.text.strip() and (self._phase is Phase.ANSWER or (self._phase is Phase.TOOLS and not calling)):
            self._text = reply.text
            self._cut = reply.cut
        if calling:
            return self._run(calls, rest, now)
        return self._next("text" if reply.text.strip() else "blank", now)

    def _start_early(self, round_: Round, now: float) -> list[Command]:
        """Start calls that are whole although the model still writes."""
        calls = self._calls or self._calls_of(round_)
        fresh = self._made(calls, round_.asked[self._taken :])
        self._taken = len(round_.asked)
        if not fresh:
            return []
        self._calls = calls
        calls.add(fresh, now)
        return self._advance(calls, calls.advance(now), now)

    def _calls_of(self, round_: Round) -> Calls:
        last = self._phase is Phase.ANSWER and self._answer_rounds >= self._limits.answer_rounds
        return Calls(self._world, round_.number, run=not last)

    def _made(self, calls: Calls, asked: Sequence[AskedCall]) -> list[Call]:
        """Return the calls that count: a call cut short is dropped on the ladder, and when it was told of twice."""
        if self._phase is Phase.FORCED or self._world.past.cuts >= self._limits.cut_calls:
            asked = [call for call in asked if call.problem != "cut"]
        if self._phase is Phase.FORCED:
            asked = [call for call in asked if call.name not in (SEARCH, FETCH) or not is_hollow(call.arguments)]
        return make_calls(asked, number=calls.number, taken=self._ids(calls), first=len(calls.calls))

    def _ids(self, calls: Calls) -> set[str]:
        """Return the ids that are taken: the conversation's, and those of a round that is not part of it yet."""
        return self._transcript.ids | {call.id for call in calls.calls}

    def _run(self, calls: Calls, rest: Sequence[Call], now: float) -> list[Command]:
        """Run the calls of a whole reply to their end."""
        self._calls = calls
        calls.add(rest, now)
        calls.close()
        return self._advance(calls, calls.advance(now), now)

    def _advance(self, calls: Calls, commands: list[Command], now: float) -> list[Command]:
        """Learn who owns each new request, and go on when every call is settled."""
        owners = {call.key: call for call in calls.calls}
        for command in commands:
            id_ = getattr(command, "id", None)
            if isinstance(id_, str):
                # An id begins with its call's key: r2.c1 of r2.c1.p3.h0.
                self._live.track([command], owners[".".join(id_.split(".", 2)[:2])])
        self._clock.ask(now, asking=calls.asking)
        if not calls.done:
            return commands
        self._calls = None
        self._transcript.add(self._messages(calls))
        return commands + self._next("calls", now)

    def _messages(self, calls: Calls) -> list[dict[str, Any]]:
        reply = self._reply
        return calls.messages(reply.text, reply.reasoning) if reply is not None else calls.messages("", "")

    def _next(self, kind: plan.ReplyKind, now: float) -> list[Command]:
        if self._phase is Phase.FORCED:
            rungs = self._rungs
            if kind == "calls":
                self._rungs, self._rounds = (), self._rounds + 1
            else:
                self._quirks[f"a call forced by {rungs[0]} did not come"] = None
                self._rungs = rungs[1:]
                if rungs[0] == "required" and "schema" in self._rungs:
                    # It is some hundred tokens of prose each time: the next answer begins with the schema.
                    self._asker.refused_rung("required")
            return self._begin(plan.after_forced(self._standing(), kind), now)
        if self._phase is Phase.TOOLS:
            return self._begin(plan.after_tools(self._standing(), kind), now)
        if kind == "calls" and self._answer_rounds >= self._limits.answer_rounds:
            # The calls were answered as not run: what counts is whether text stood beside them.
            kind = "text" if self._reply is not None and self._reply.text.strip() else "blank"
        return self._begin(plan.after_answer(self._standing(), kind), now)

    def _faulted(self, round_: Round, reply: Reply, fault: EngineFault, now: float) -> list[Command]:
        if not reply.text.strip() and not reply.calls and self._asker.repair(fault):
            return self._start(self._asker.again(round_), now)
        if fault.kind == "rejected" and self._phase is Phase.FORCED and self._calls is None:
            self._asker.refused_rung(self._rungs[0])
            return self._next("blank", now)
        self._fault = fault.kind
        if reply.text.strip():
            self._text = reply.text
        commands: list[Command] = []
        if reply.calls:
            calls = self._calls or self._calls_of(round_)
            left = reply.calls[self._taken :]
            calls.calls += make_calls(left, number=round_.number, taken=self._ids(calls), first=len(calls.calls))
            commands = self._end_calls(calls, prompts.NOT_RUN_BROKEN, now)
            # The text stands in the last message, as the answer's.
            self._transcript.add(calls.messages("", reply.reasoning))
        why: WhyStopped = "engine_failed"
        if fault.kind in ("truncated", "overflow"):
            why = "truncated" if fault.kind == "truncated" else "overflow"
        return [*commands, *self._finish(why, fault.message)]

    # The end.

    def _stop(self, why: WhyStopped, now: float) -> list[Command]:
        """End the answer where it stands: cancel all that is open, answer every open call, finish."""
        calls, reply = self._calls, None
        if self._round is not None:
            reply = self._round.stop(None)
            self._usage += reply.usage
            if reply.text.strip() and (self._phase is not Phase.FORCED or calls is not None):
                self._text = reply.text
        commands: list[Command] = self._live.cancel()
        if calls is not None:
            reason = prompts.NOT_RUN_CANCELLED if why == "cancelled" else prompts.NOT_RUN_ENDED
            commands += self._end_calls(calls, reason, now)
            # The text of a reply that went on stands in the last message, as the answer's.
            self._transcript.add(self._messages(calls) if reply is None else calls.messages("", reply.reasoning))
        return [*commands, *self._finish(why)]

    def _end_calls(self, calls: Calls, reason: str, now: float) -> list[Command]:
        """Answer every call where it stands. Their requests are cancelled; journal lines and notices remain."""
        self._calls = None
        cancelled: list[Command] = self._live.cancel()
        return cancelled + [command for command in calls.cancel(now, reason) if not isinstance(command, Cancel)]

    def _finish(self, why: WhyStopped, detail: str = "") -> list[Command]:
        commands: list[Command] = self._live.cancel()
        from_reasoning = False
        if why == "blank":
            thought = self._thought.strip()
            from_reasoning = bool(thought)
            self._text = thought or prompts.no_answer(self._world.ledger.sources)
            commands += self._asker.reader.show(self._text, self._asker.number + 1)
        if self._text:
            self._transcript.add([call_message(self._text, ())])
        self._round = None
        self.result = make_result(
            self._world,
            self._transcript,
            text=self._text,
            why_stopped=why,
            detail=detail,
            fault=self._fault,
            cut=self._cut,
            from_reasoning=from_reasoning,
            usage=self._usage,
            quirks=tuple(self._quirks),
            capabilities=self._asker.capabilities,
        )
        self._phase = Phase.DONE
        return [*commands, Finish(self.result)]

    # Small parts.

    def _standing(self) -> Standing:
        world = self._world
        return Standing(
            rounds=self._rounds,
            rounds_allowed=self._limits.rounds,
            answer_rounds=self._answer_rounds,
            answer_rounds_allowed=self._limits.answer_rounds,
            rungs=self._rungs,
            guided=self._asker.guided,
            to_read=bool(self._world.ledger.unread) and self._world.budget.pages_left > 0,
            spent=(self.web_on and world.budget.spent) or world.past.count >= self._limits.calls_an_answer,
            retried=self._retried,
            why=self._why,
        )
