"""The operator's services, engine and search: where they are, and how a core's request is sent to them.

Pure: addresses are read and requests are built here, the drivers send them.
"""

import ssl
from typing import TypeAlias
from urllib.parse import urlsplit

import attrs
import httpcore

from hostcall.data import Headers, HttpRequest
from hostcall.errors import SettingsError
from hostcall.events import FailureKind

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]


@attrs.frozen
class Service:
    """One service of the operator's: engine or search."""

    scheme: str
    host: str
    port: int
    prefix: str
    """What stands before every path: a service may live under one."""
    key: str | None = attrs.field(default=None, repr=False)
    """Sent as a bearer token. Never part of a core's request, so never in a recording or a log."""

    @classmethod
    def at(cls, url: str, *, name: str, key: str | None = None) -> "Service":
        """Read the address of a service.

        Args:
            url: As the operator wrote it: ``http://127.0.0.1:8080``, with or without ``/v1``.
            name: What the address is of, for the error.
            key: The bearer token.

        Raises:
            SettingsError: It is no http or https address; the message says what one looks like.
        """
        wrong = SettingsError(f"the {name} address {url!r} is not one: write it like http://127.0.0.1:8080")
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError as error:
            raise wrong from error
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
            raise wrong
        # What a request cannot carry is told now: a name outside ASCII is written in its xn-- form.
        labels = parts.hostname.removesuffix(".").split(".")
        plain = (parts.netloc + parts.path).isascii() and (parts.netloc + parts.path).isprintable()
        if not plain or " " in url.strip() or parts.fragment or port == 0:
            raise wrong
        if not all(0 < len(label) <= 63 for label in labels):
            raise wrong
        key = key.strip() if key is not None else None
        if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
            raise SettingsError(f"the {name} key is empty or holds characters that cannot be sent")
        # Engines are given with and without the version in their path; the core's own path begins with it.
        prefix = parts.path.rstrip("/").removesuffix("/v1")
        return cls(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), prefix, key)

    @property
    def text(self) -> str:
        """The address, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    def url(self, request: HttpRequest) -> httpcore.URL:
        """Return where a request goes, from its parts: nothing parses an address again."""
        return httpcore.URL(
            scheme=self.scheme.encode(),
            host=self.host.encode(),
            port=self.port,
            target=(self.prefix + request.target).encode(),
        )

    def headers(self, request: HttpRequest) -> RawHeaders:
        """Return the fields of a request, Host and the key among them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        standard = 443 if self.scheme == "https" else 80
        fields = [(b"Host", (host if self.port == standard else f"{host}:{self.port}").encode())]
        fields += [(name.encode(), value.encode()) for name, value in request.headers]
        if self.key is not None:
            fields.append((b"Authorization", f"Bearer {self.key}".encode()))
        if request.body:
            fields.append((b"Content-Length", str(len(request.body)).encode()))
        return fields


def read_headers(headers: RawHeaders) -> Headers:
    """Return the fields of an answer as text."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def failure_of(error: BaseException) -> tuple[FailureKind, str]:
    """Return how a failed exchange with a service is told to the core: its kind, and a line for the operator."""
    if isinstance(error, httpcore.LocalProtocolError):
        # Its text quotes what could not be sent, which may be the key.
        return "protocol", "the request could not be sent as it is"
    text = _why(error)
    match error:
        case httpcore.ConnectTimeout():
            return "timeout", text or "no connection in time"
        case httpcore.ReadTimeout() | httpcore.WriteTimeout() | httpcore.PoolTimeout():
            return "idle", text or "silent"
        case httpcore.ConnectError():
            return ("tls" if isinstance(_cause(error), ssl.SSLError) else "connect"), text
        case httpcore.RemoteProtocolError():
            return ("reset" if "closed" in text or "incomplete" in text else "protocol"), text
        case httpcore.NetworkError():
            return "reset", text
        case _:
            return "protocol", text


def _cause(error: BaseException) -> BaseException:
    """Return what an error began with: in trio a certificate's fault arrives with an empty text and a cause."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return error


def _why(error: BaseException) -> str:
    return str(error) or str(_cause(error)) or type(error).__name__
