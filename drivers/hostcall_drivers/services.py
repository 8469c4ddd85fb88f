"""The operator's services, engine and search: where they are, and how a core's request is sent to them.

Pure: addresses are read and requests are built here, the drivers send them.
"""

import ssl
from pathlib import Path
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
    socket: str | None = None
    """The unix socket that is connected to in the host's place."""
    tls: ssl.SSLContext | None = attrs.field(default=None, repr=False)
    """For https; None: the driver's."""

    @classmethod
    def at(cls, url: str, *, name: str, key: str | None = None, tls: ssl.SSLContext | None = None) -> "Service":
        """Read the address of a service.

        Args:
            url: As the operator wrote it: ``http://127.0.0.1:8080``, with or without ``/v1``; or a unix socket,
                ``unix:/run/engine.sock``.
            name: What the address is of, for the error.
            key: The bearer token.
            tls: For https, in the place of the driver's.

        Raises:
            SettingsError: It is no such address; the message says what one looks like.
        """
        key = _key(name, key)
        if url.strip().lower().startswith("unix:"):
            # ``unix:/path`` and ``unix:///path`` alike.
            path = "/" + url.strip()[5:].lstrip("/")
            if path == "/" or "\0" in path or not url.strip()[5:].startswith("/"):
                raise SettingsError(f"the {name} address {url!r} is not one: write a socket like unix:/run/engine.sock")
            return cls("http", "localhost", 80, "", key, socket=path)
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
        # Engines are given with and without the version in their path; the core's own path begins with it.
        prefix = parts.path.rstrip("/").removesuffix("/v1")
        return cls(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), prefix, key, tls=tls)

    @property
    def text(self) -> str:
        """The address, for messages."""
        if self.socket is not None:
            return f"unix:{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    def target(self, request: HttpRequest) -> bytes:
        """Return the path of a request, with what the service lives under in front."""
        return (self.prefix + request.target).encode()

    def url(self, request: HttpRequest) -> httpcore.URL:
        """Return where a request goes, from its parts: nothing parses an address again."""
        return httpcore.URL(
            scheme=self.scheme.encode(),
            host=self.host.encode(),
            port=self.port,
            target=self.target(request),
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


def _key(name: str, key: str | None) -> str | None:
    if key is None:
        return None
    key = key.strip()
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise SettingsError(f"the {name} key is empty or holds characters that cannot be sent")
    return key


def peer_of(address: object) -> str | None:
    """Return the address of the other end as the socket says it; a unix socket's has none."""
    return str(address[0]) if isinstance(address, tuple) and address else None


def service_tls_context(ca: Path | None = None) -> ssl.SSLContext:
    """Return the TLS settings for the operator's services: the system's authorities, and those of a file.

    Raises:
        SettingsError: The file cannot be read, or holds no certificate.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        try:
            context.load_verify_locations(cafile=ca)
        except ssl.SSLError as error:
            raise SettingsError(f"the authority {str(ca)!r} holds no certificate in PEM form") from error
        except OSError as error:
            raise SettingsError(f"the authority {str(ca)!r} cannot be read: {error.strerror or error}") from error
    return context


@attrs.define
class Reused:
    """Watches, as httpcore's `trace`, whether a request went out on a connection that was kept from an earlier one.

    llama-server says that it keeps a connection and closes it after a stream; a request that meets the close gets no
    answer and is sent again, on a new connection, as every client of HTTP does (RFC 9112 §9.3.1).
    """

    fresh: bool = False
    answered: bool = False

    def note(self, event: str) -> None:
        """Take what httpcore tells."""
        if event.startswith("connection.connect_") and event.endswith(".complete"):
            self.fresh = True
        elif event.endswith("receive_response_headers.complete"):
            self.answered = True

    @property
    def stale(self) -> bool:
        """Whether a request that failed may be sent again: it met a kept connection's end."""
        return not self.fresh and not self.answered


STALE = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)
"""How a kept connection that the other end closed shows itself."""


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
