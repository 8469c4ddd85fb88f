"""What a client is told when something is wrong, in the shape that OpenAI's clients read."""

import json
from http import HTTPStatus
from typing import Any

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "server_error",
}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", 413: "request_too_large"}


class ApiError(Exception):
    """A request cannot be answered. The message is for the client: what is wrong and what to do."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code if code is not None else _CODES.get(status)
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The fields that go with it. Retry-After is whole seconds, and at least one."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, -int(-self.retry_after // 1)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return headers

    @property
    def member(self) -> dict[str, Any]:
        """The value of the `error` member."""
        kind = _TYPES.get(self.status, "invalid_request_error")
        return {"message": self.message, "type": kind, "param": self.param, "code": self.code}

    @property
    def body(self) -> bytes:
        """The whole body."""
        return json.dumps({"error": self.member}).encode()


def error_body(status: int, message: str) -> bytes:
    """Return the body for a status that the server itself answers with."""
    return ApiError(status, message).body


def phrase(status: int) -> str:
    """Return the standard words for a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown"
