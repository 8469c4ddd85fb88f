"""One answer with the web on, from a client's request to the last byte it is sent."""

import time
from collections.abc import Callable
from typing import Any

import attrs
import trio

from hostcall.answer.answer import Answer
from hostcall.commands import Finish, Notice, ShowPage, ShowProgress, ShowReasoning, ShowSearch, ShowText
from hostcall.data import Result
from hostcall.errors import ConversationError
from hostcall.limits import Limits
from hostcall.web.settings import Web
from hostcall_drivers.beside import beside
from hostcall_drivers.chat.asked import Asked
from hostcall_drivers.chat.chunks import HEARTBEAT, Chunks, completion, raise_fault
from hostcall_drivers.chat.faults import ApiError
from hostcall_drivers.chat.metrics import Metrics
from hostcall_drivers.chat.models import Model, Models, shown
from hostcall_drivers.chat.replies import Reply
from hostcall_drivers.trio import Run, TrioDriver


@attrs.define(kw_only=True)
class Answering:
    """Carries one answer out for one client.

    The client's end of the connection is watched by the caller, which cancels: leaving the driver's block stops engine
    and tools.
    """

    asked: Asked
    answer_id: str
    model: Model
    models: Models
    driver: TrioDriver
    web: Web
    limits: Limits
    metrics: Metrics
    heartbeat: float
    running: dict[str, Callable[[], None]]
    """How each answer in progress is stopped, for the end of the service."""
    rounds: int = 0
    searches: int = 0
    pages: int = 0
    result: Result | None = None
    _began: float = attrs.Factory(trio.current_time)
    _first: bool = True
    _silent: bool = True
    """Whether nothing was written since the last look."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the log says of the answer."""
        result = self.result
        facts: dict[str, Any] = {
            "hostcall.engine": shown(self.model.engine),
            "hostcall.stream": self.asked.stream,
            "hostcall.rounds": self.rounds,
            "hostcall.searches": self.searches,
            "hostcall.pages": self.pages,
        }
        if result is not None:
            facts["hostcall.why_stopped"] = result.why_stopped
            facts["gen_ai.usage.input_tokens"] = result.usage.prompt_tokens
            facts["gen_ai.usage.output_tokens"] = result.usage.completion_tokens
            if result.detail:
                facts["hostcall.detail"] = result.detail[:500]
        return facts

    async def carry_out(self, reply: Reply) -> None:
        """Answer the client.

        Raises:
            ApiError: There is no answer, and nothing was sent.
        """
        answer = self._answer()
        try:
            async with self.driver.run(answer, answer_id=self.answer_id) as run:
                self.running[self.answer_id] = run.cancel
                await (self._stream if self.asked.stream else self._whole)(run, reply)
        finally:
            self.running.pop(self.answer_id, None)
            self.result = answer.result
            if answer.result is not None:
                self.metrics.ended(self.answer_id, answer.result, trio.current_time() - self._began)

    def _answer(self) -> Answer:
        engine = self.driver.engines.settings(self.model.asked, extra_body=self.asked.extra)
        if self.driver.search is None:
            raise ApiError(400, "this service has no search: thor_web_search cannot be used", param="thor_web_search")
        try:
            return Answer(
                self.asked.messages,
                engine=engine,
                web=self.web,
                research=self.asked.research,
                seen=self.asked.sources,
                limits=self.limits,
            )
        except ConversationError as error:
            raise ApiError(400, str(error), param="messages") from error

    async def _stream(self, run: Run, reply: Reply) -> None:
        name = self.asked.model or self.models.name_of(self.model)
        chunks = Chunks(self.answer_id, name, int(time.time()), self.asked.usage)
        held = chunks.role()
        rest = False

        def at_once(notices: list[Notice]) -> bool:
            """Write pieces of text where they arise: to wake the task below costs as much as all the rest of it."""
            nonlocal rest
            if rest or not reply.started or reply.write_now is None or not all(map(_is_text, notices)):
                return False
            self._count(notices)
            self._silent = False
            rest = not reply.write_now(chunks.tell(notices))
            if rest:
                run.wake()
            return True

        run.at_once = at_once
        try:
            async with beside() as nursery:
                nursery.start_soon(self._beat, run)
                while not run.ended:
                    notices = await run.batch()
                    if rest:
                        await reply.write(b"")
                        rest = False
                        if not notices:
                            continue
                    self._count(notices)
                    self._check(notices, reply)
                    held += chunks.tell(notices) if notices else HEARTBEAT
                    if not reply.started:
                        if notices and all(map(_says_little, notices)):
                            # Nothing to read yet. Should the engine fail now, the client gets a status.
                            continue
                        await reply.start_stream()
                    await reply.write(held)
                    self._silent = False
                    held = b""
        finally:
            run.at_once = None  # else the two would hold each other, and all of the answer with them
        await reply.end()

    async def _beat(self, run: Run) -> None:
        """Have something written when nothing was for a while: proxies and clients give up on silence."""
        while True:
            self._silent = True
            await trio.sleep(self.heartbeat)
            if self._silent:
                run.wake()

    def _check(self, notices: list[Notice], reply: Reply) -> None:
        last = notices[-1] if notices else None
        if isinstance(last, Finish) and not reply.started and not last.result.text:
            raise_fault(last.result)

    async def _whole(self, run: Run, reply: Reply) -> None:
        thought: list[str] = []
        while not run.ended:
            notices = await run.batch()
            self._count(notices)
            thought += [notice.text for notice in notices if isinstance(notice, ShowReasoning)]
        result = run.answer.result if isinstance(run.answer, Answer) else None
        if result is None:
            raise AssertionError("an answer whose notices have ended has a result")
        raise_fault(result)
        name = self.asked.model or self.models.name_of(self.model)
        await reply.json(completion(self.answer_id, name, int(time.time()), result, "".join(thought)))

    def _count(self, notices: list[Notice]) -> None:
        for notice in notices:
            match notice:
                case ShowText():
                    if self._first:
                        self._first = False
                        self.metrics.first.observe(trio.current_time() - self._began)
                case ShowSearch():
                    self.searches += 1
                    self.metrics.searches.labels(notice.health).inc()
                case ShowPage():
                    self.pages += 1
                    self.metrics.pages.inc()
                case ShowProgress(kind="round"):
                    self.rounds += 1
                    self.metrics.rounds.inc()


def _is_text(notice: Notice) -> bool:
    return isinstance(notice, ShowText | ShowReasoning)


def _says_little(notice: Notice) -> bool:
    return isinstance(notice, ShowProgress) and notice.kind in ("round", "waiting")
