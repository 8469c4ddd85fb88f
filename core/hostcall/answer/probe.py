"""The question what a model can do, asked once before the first round where the wire has one."""

import attrs

from hostcall.commands import CallEngine, Cancel, Command
from hostcall.data import HttpRequest
from hostcall.events import BodyReceived, RequestEvent, ResponseEnded, ResponseStarted

PROBE_SECONDS = 10.0
PROBE_BYTES = 4 * 1024 * 1024
"""A model's licence and template stand in the answer."""


@attrs.define
class Probe:
    """The machine of one question. Its `result` is a status (0 when nothing came) and a body."""

    request: HttpRequest
    deadline: float
    result: tuple[int, bytes] | None = None
    _status: int = 0
    _body: list[bytes] = attrs.Factory(list)
    _size: int = 0

    def start(self, now: float) -> list[Command]:
        """Ask."""
        return [CallEngine(id="probe", deadline=self.deadline, request=self.request, idle=PROBE_SECONDS)]

    def receive(self, event: RequestEvent, now: float) -> list[Command]:
        """Take a piece of the answer. Whatever goes wrong, the answer goes on with what was known."""
        match event:
            case ResponseStarted():
                self._status = event.status
            case BodyReceived():
                self._size += len(event.data)
                if self._size > PROBE_BYTES:
                    self.result = (0, b"")
                    return [Cancel(event.id)]
                self._body.append(event.data)
            case ResponseEnded():
                self.result = (self._status, b"".join(self._body))
            case _:
                self.result = (0, b"")
        return []
