"""The service as an ASGI app: who is let in, what there is to ask, and one log line for each answer.

It keeps nothing between requests but what can be lost: counters, lists of models, what was learned of an engine.
"""

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from hostcall.limits import Limits
from hostcall.web.settings import Web
from hostcall_drivers.beside import beside
from hostcall_drivers.chat.access import Gate, Keys, check_local
from hostcall_drivers.chat.allowed import Allowed
from hostcall_drivers.chat.answering import Answering
from hostcall_drivers.chat.asked import Asked, passed_body, read_asked
from hostcall_drivers.chat.faults import ApiError, phrase
from hostcall_drivers.chat.health import Health
from hostcall_drivers.chat.metrics import CountingJournal, Metrics
from hostcall_drivers.chat.models import Model, Models
from hostcall_drivers.chat.openapi import DESCRIPTION
from hostcall_drivers.chat.page import PAGE
from hostcall_drivers.chat.passing import BrokenOffError, pass_on
from hostcall_drivers.chat.replies import Reply
from hostcall_drivers.chat.server import ClientGoneError, Message, Receive, Scope, Send, log_fault
from hostcall_drivers.trio import TrioDriver

OPEN_TO_ALL = frozenset({"/", "/healthz", "/openapi.json"})
"""Paths that need no key: they tell nothing of anybody."""

_LOG = logging.getLogger("hostcall.chat")


class Chat:
    """The app.

    Args:
        driver: What carries answers out; it has the engines and, for answers with the web on, a search service.
        keys: Who may ask; empty for anyone on this machine.
        allowed: How much.
        web: The settings of the web tools.
        limits: The bounds of each answer.
        metrics: What is counted.
        rows: Where `hostcall doctor` saves what it found of engines; without it the driver's rows stand.
    """

    def __init__(
        self,
        driver: TrioDriver,
        *,
        keys: Mapping[str, str] | None = None,
        allowed: Allowed = Allowed(),
        web: Web = Web(),
        limits: Limits = Limits(),
        metrics: Metrics | None = None,
        rows: Path | None = None,
    ) -> None:
        self.driver = driver
        self.models = Models(driver, rows=rows)
        self.keys = Keys(keys or {})
        self.allowed = allowed
        self.web = web
        self.limits = limits
        self.metrics = metrics or Metrics()
        self.gate = Gate(
            answers=allowed.answers,
            answers_a_key=allowed.answers_a_key,
            answers_a_minute=allowed.answers_a_minute,
        )
        self.health = Health(driver, self.models)
        self.running: dict[str, Callable[[], None]] = {}
        driver.journal = CountingJournal(driver.journal, self.metrics)
        self._routes = Starlette(
            routes=[
                Route("/v1/chat/completions", _Completions(self), methods=["POST"]),
                Route("/v1/models", self._all_models),
                Route("/v1/models/{name:path}", self._one_model),
                Route("/healthz", self._healthz),
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._openapi),
                Route("/", self._page),
            ],
            exception_handlers={ApiError: self._told, HTTPException: self._told_http, Exception: self._told_fault},
        )
        self._routes.router.redirect_slashes = False

    def last_call(self) -> None:
        """End every answer that runs, each with a last word to its client."""
        for stop in list(self.running.values()):
            stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            try:
                scope["hostcall.name"] = self._let_in(scope)
                # Past the layers between: they have nothing to do for a token, and each costs its microsecond.
                scope["hostcall.send"] = send
            except ApiError as error:
                await self.tell(Reply(send, secrets.token_hex(8)), error)
                return
        await self._routes(scope, receive, send)

    def _let_in(self, scope: Scope) -> str:
        """Return the name of who asks. It stands before the routes, so that none can lack it."""
        fields = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.keys and scope["path"] != "/healthz":
            check_local(fields.get(b"host"), fields.get(b"origin"))
        if scope["path"] in OPEN_TO_ALL:
            return ""
        return self.keys.name_of(fields.get(b"authorization"))

    async def tell(self, reply: Reply, error: ApiError) -> None:
        """Send an error, and count it."""
        self.metrics.errors.labels(str(error.status)).inc()
        await reply.error(error)

    def log(self, event: str, answer_id: str, **fields: Any) -> None:
        """Write one line. It holds no text of any conversation and no key."""
        line = {
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "event.name": event,
            "hostcall.answer.id": answer_id,
            **fields,
        }
        _LOG.info("%s", json.dumps(line, separators=(",", ":")))

    # What there is beside answers.

    async def _all_models(self, _request: Request) -> Response:
        return JSONResponse({"object": "list", "data": await self.models.all()})

    async def _one_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        for row in await self.models.all():
            if row["id"] == name:
                return JSONResponse(row)
        raise ApiError(404, f"there is no model {name[:200]!r}", param="model", code="model_not_found")

    async def _healthz(self, _request: Request) -> Response:
        status, found = await self.health.look()
        return JSONResponse(found, status_code=status)

    async def _metrics(self, request: Request) -> Response:
        text, content_type = self.metrics.text(request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    async def _openapi(self, _request: Request) -> Response:
        return JSONResponse(DESCRIPTION)

    async def _page(self, _request: Request) -> Response:
        return HTMLResponse(PAGE)

    # What went wrong.

    async def _told(self, _request: Request, error: Exception) -> Response:
        if not isinstance(error, ApiError):
            raise AssertionError("registered for ApiError alone")
        self.metrics.errors.labels(str(error.status)).inc()
        return Response(error.body, error.status, error.headers, "application/json")

    async def _told_http(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise AssertionError("registered for HTTPException alone")
        what = f"{request.method} {request.url.path[:200]}: {phrase(error.status_code).lower()}"
        response = await self._told(request, ApiError(error.status_code, what))
        response.headers.update(error.headers or {})
        return response

    async def _told_fault(self, request: Request, _error: Exception) -> Response:
        return await self._told(request, ApiError(500, "the service has a fault; its log says more"))


@attrs.frozen(eq=False)
class _Completions:
    """``POST /v1/chat/completions``."""

    chat: Chat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = Reply(scope.get("hostcall.send", send), secrets.token_hex(8), scope.get("hostcall.write_now"))
        try:
            data = await self._body(scope, receive)
            asked = read_asked(data, max_messages=self.chat.allowed.messages)
            with self.chat.gate.entered(scope["hostcall.name"], trio.current_time()):
                async with beside() as nursery:
                    nursery.start_soon(_watch, receive, nursery.cancel_scope)
                    await self._answer(scope["hostcall.name"], asked, data, reply)
        except ApiError as error:
            await self.chat.tell(reply, error)
        except ClientGoneError:
            # There is nobody to tell. The server closes what was not ended.
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours is a line in the log, and a status where one can be
            log_fault(error)
            if not reply.started:
                await self.chat.tell(reply, ApiError(500, "the service has a fault; its log says more"))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        fields = dict(scope["headers"])
        most = self.chat.allowed.body_bytes
        too_large = ApiError(413, f"the body is larger than {most} bytes")
        if int(fields.get(b"content-length", b"0")) > most:
            raise too_large
        body = bytearray()
        with trio.move_on_after(self.chat.allowed.body_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError("the client left while it sent its request")
                body += message.get("body", b"")
                if len(body) > most:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
        raise ApiError(408, f"the body did not come within {self.chat.allowed.body_seconds:g} seconds")

    async def _answer(self, name: str, asked: Asked, data: bytes, reply: Reply) -> None:
        chat = self.chat
        began = trio.current_time()
        chat.metrics.by_key.labels(name).inc()
        answering: Answering | None = None
        failed: dict[str, Any] = {}
        with chat.metrics.in_flight.track_inprogress():
            try:
                model = await chat.models.find(asked.model)
                if asked.web:
                    answering = Answering(
                        asked=asked,
                        answer_id=reply.answer_id,
                        model=model,
                        models=chat.models,
                        driver=chat.driver,
                        web=chat.web,
                        limits=chat.limits,
                        metrics=chat.metrics,
                        heartbeat=chat.allowed.heartbeat_seconds,
                        running=chat.running,
                    )
                    await answering.carry_out(reply)
                else:
                    await self._pass(model, passed_body(asked, data, model=model.name if asked.model else None), reply)
            except ApiError as error:
                failed = {"error.type": error.code or str(error.status), "hostcall.status": error.status}
                raise
            finally:
                facts: dict[str, Any] = {"hostcall.status": reply.status or None}
                if answering is not None:
                    facts.update(answering.facts)
                facts.update(failed)
                chat.log(
                    "hostcall.answer" if asked.web else "hostcall.passed",
                    reply.answer_id,
                    **{"hostcall.key": name, "hostcall.seconds": round(trio.current_time() - began, 3), **facts},
                )

    async def _pass(self, model: Model, body: bytes, reply: Reply) -> None:
        chat = self.chat
        with trio.CancelScope() as scope:
            chat.running[reply.answer_id] = scope.cancel
            try:
                await pass_on(chat.driver, model.engine, body, reply, seconds=chat.limits.answer_seconds)
            except BrokenOffError as error:
                raise ClientGoneError("the engine broke off, and so does the answer") from error
            finally:
                chat.running.pop(reply.answer_id, None)
                chat.metrics.passed.labels(str(reply.status or "none")).inc()
        if scope.cancelled_caught and not reply.started:
            raise ApiError(503, "the service is shutting down", retry_after=5)


async def _watch(receive: Receive, scope: trio.CancelScope) -> None:
    """Cancel a scope as soon as the client is gone."""
    message: Message = {}
    while message.get("type") != "http.disconnect":
        message = await receive()
    scope.cancel()
