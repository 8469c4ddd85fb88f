"""The examination of an engine: one short request after the other, each reply listened to.

What is asked next depends on what is known by then: an Ollama is asked what its model can do, and a model that never
sees its tools is asked for a call in the way of the rescue path instead of three more times for one by tools.
"""

from collections import deque
from collections.abc import Mapping

import attrs

from hostcall.commands import CallEngine, Cancel, Command, ShowProgress
from hostcall.data import Capabilities
from hostcall.doctor.asks import CHATS, SAID, TOOLS, Plain, Step, chat, plain_request
from hostcall.doctor.heard import Heard, Listener
from hostcall.engine.capabilities import Row, recognised
from hostcall.engine.faults import EngineFault, read_fault
from hostcall.engine.models import read_models
from hostcall.engine.reply import Wire
from hostcall.engine.settings import Engine
from hostcall.engine.wires import wire_of
from hostcall.errors import LocalProtocolError
from hostcall.events import BodyReceived, Failed, RequestEvent, ResponseEnded, ResponseStarted
from hostcall.limits import Limits

STEP_SECONDS = 120.0
PLAIN_BYTES = 4 * 1024 * 1024
FEW_TOKENS = 8
"""A tool in the prompt is more tokens than this."""


@attrs.define(kw_only=True)
class EngineExam:
    """The machine of one examination. `done` says that it is over, `unusable` why it could not go on."""

    rows: Mapping[str, Row]
    row: Row | None
    """The row that the operator chose; None: the engine is recognised."""
    model: str | None
    limits: Limits
    deadline: float
    plain: dict[Step, Plain] = attrs.Factory(dict)
    heard: dict[Step, Heard] = attrs.Factory(dict)
    done: bool = False
    unusable: str = ""
    _left: deque[Step] = attrs.field(factory=lambda: deque(["models"]))
    _step: Step = "models"
    _status: int = 0
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0
    _listener: Listener | None = None

    def start(self, now: float) -> list[Command]:
        """Ask the first question."""
        return self._next(now)

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take a piece of the answer to the question in hand."""
        match event:
            case ResponseStarted():
                self._status = event.status
                if self._listener is not None:
                    self._listener.head(event.status, event.headers)
                return []
            case BodyReceived():
                return self._bytes(event, now)
            case ResponseEnded():
                return self._answered(None, now)
            case Failed():
                slow = event.kind in ("timeout", "idle")
                return self._answered(EngineFault("idle" if slow else "truncated", event.detail or event.kind), now)
            case _:
                raise LocalProtocolError(f"an engine answers with a response, not with {type(event).__name__}")

    @property
    def known(self) -> Row:
        """The row that the engine is examined as."""
        if self.row is not None:
            return self.row
        models = self.plain.get("models")
        found = (
            recognised(self.rows, read_models(models.body)[1]) if models is not None and models.status == 200 else None
        )
        version = self.plain.get("version")
        if found is None and version is not None and isinstance(version.value, dict) and "version" in version.value:
            found = self.rows["ollama"]
        return found or self.rows["openai"]

    @property
    def capabilities(self) -> Capabilities:
        """What is known before the examination."""
        return self.known.capabilities

    @property
    def wire(self) -> Wire:
        """The wire that is spoken."""
        return wire_of(Engine(wire=self.known.wire, model=self.model, capabilities=self.capabilities), self.limits)

    @property
    def tools_lost(self) -> bool:
        """Whether the tools never reach the model, as far as can be told by now."""
        auto = self.heard.get("auto")
        if auto is None:
            return False
        if auto.fault is not None and auto.fault.kind == "no_tools":
            return True
        without = self.heard["plain"].usage if "plain" in self.heard else None
        if auto.called or auto.usage is None or without is None or not without.prompt_tokens:
            return False
        return abs(auto.usage.prompt_tokens - without.prompt_tokens) <= FEW_TOKENS

    # The questions.

    def _next(self, now: float) -> list[Command]:
        if not self._left or now >= self.deadline:
            self.done = True
            return []
        step = self._step = self._left.popleft()
        self._status, self._size = 0, 0
        self._body.clear()
        self._listener = None
        if step in CHATS:
            wire = self.wire
            request = wire.request(chat(step, self.capabilities.tool_choice))
            self._listener = Listener(() if step in ("plain", "schema", "cite") else TOOLS, wire.decoder(f"e.{step}"))
        else:
            target = "/api/chat" if self.known.wire == "ollama" else "/v1/chat/completions"
            request = plain_request(step, self.model, target)
        return [
            ShowProgress(kind="running", text=f"the engine is asked: {SAID[step]}", round=0),
            CallEngine(
                id=f"e.{step}",
                deadline=min(now + STEP_SECONDS, self.deadline),
                request=request,
                idle=self.limits.engine_idle,
            ),
        ]

    def _bytes(self, event: BodyReceived, now: float) -> list[Command]:
        if self._listener is not None:
            return [Cancel(event.id), *self._answered(None, now)] if self._listener.feed(event.data) else []
        self._size += len(event.data)
        if self._size > PLAIN_BYTES:
            return [Cancel(event.id), *self._answered(None, now)]
        self._body.append(event.data)
        return []

    def _answered(self, fault: EngineFault | None, now: float) -> list[Command]:
        step = self._step
        if self._listener is not None:
            self.heard[step] = self._listener.end(fault)
        else:
            self.plain[step] = Plain(self._status if fault is None else 0, b"".join(self._body))
        if step == "models":
            self.unusable = self._unusable(fault)
            if not self.unusable and self.row is None and self.known.name == "openai":
                self._left.append("version")
            elif not self.unusable:
                self._plan_questions()
        elif step == "version":
            self._plan_questions()
        elif step == "plain":
            self.unusable = self._no_chat(self.heard["plain"])
        elif step == "auto" and self.tools_lost:
            self._left = deque(
                ("rescue", *[left for left in self._left if left in ("schema", "cite", "error", "running")])
            )
        if self.unusable:
            self.done = True
            return []
        return self._next(now)

    def _plan_questions(self) -> None:
        models = read_models(self.plain["models"].body)[0]
        if self.model is None and models:
            self.model = models[0]
        ollama = self.known.wire == "ollama"
        about: tuple[Step, ...] = ("show",) if ollama else ("props", "studio")
        forced: tuple[Step, ...] = () if ollama else ("required", "none")
        last: tuple[Step, ...] = ("error", "running") if ollama else ("error",)
        self._left.extend((*about, "plain", "auto", *forced, "schema", "parallel", "history", "cite", *last))

    def _unusable(self, fault: EngineFault | None) -> str:
        """Return why there is no engine to examine, after the first question."""
        answer = self.plain["models"]
        if fault is not None:
            return f"it does not answer ({fault.message}); start it, or give another address"
        if answer.status in (401, 403):
            return "it wants a key: --engine-key"
        if answer.body.lstrip().startswith(b"<"):
            return "a web page answers, not an engine; check the address"
        if answer.status >= 500:
            return f"it answers {answer.status}: {read_fault(answer.status, answer.body).message}"
        models = read_models(answer.body)[0]
        if self.model is not None and models and not {self.model, f"{self.model}:latest"} & set(models):
            return f"it has no model {self.model!r}; it has: {', '.join(models[:10])}"
        return ""

    def _no_chat(self, heard: Heard) -> str:
        """Return why no question at all is answered."""
        fault = heard.fault
        if fault is None or fault.kind == "overflow":
            return ""
        return f"a plain question was not answered: {fault.message}"
