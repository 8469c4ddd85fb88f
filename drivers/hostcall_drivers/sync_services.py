"""Requests of the blocking driver to the operator's services: engines and search. The twin of `async_services`."""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import httpcore

from hostcall.data import HttpRequest
from hostcall_drivers.services import STALE, Reused, Service, service_tls_context
from hostcall_drivers.sync_network import SyncNetwork


class SyncServices:
    """The connections to the services, kept from request to request; threads may share them.

    Args:
        tls: TLS for those that bring none of their own; None: the system's authorities.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.network = SyncNetwork()
        self._tls = tls
        self._pools: dict[tuple[str | None, ssl.SSLContext | None], httpcore.ConnectionPool] = {}
        self._making = threading.Lock()

    @contextlib.contextmanager
    def sent(self, service: Service, request: HttpRequest, idle: float | None = None) -> Iterator[httpcore.Response]:
        """Send a request to a service, and give its response until the block is left."""
        response = self._sent(service, request, idle)
        try:
            yield response
        finally:
            response.close()

    def _sent(self, service: Service, request: HttpRequest, idle: float | None) -> httpcore.Response:
        while True:
            reused = Reused()

            def note(event: str, _: dict[str, Any], reused: Reused = reused) -> None:
                reused.note(event)

            timeouts = dict.fromkeys(("connect", "read", "write", "pool"), idle)
            try:
                return self.pool(service).handle_request(
                    httpcore.Request(
                        request.method,
                        service.url(request),
                        headers=service.headers(request),
                        content=request.body or None,
                        extensions={"timeout": timeouts, "trace": note},
                    )
                )
            except STALE:
                if not reused.stale:
                    raise

    def pool(self, service: Service) -> httpcore.ConnectionPool:
        """Return the connections to a service of the operator's, and to others with the same TLS settings."""
        with self._making:
            if service.scheme == "https" and service.tls is None and self._tls is None:
                self._tls = service_tls_context()
            key = (service.socket, service.tls or self._tls)
            if key not in self._pools:
                self._pools[key] = httpcore.ConnectionPool(
                    ssl_context=key[1],
                    uds=service.socket,
                    max_connections=None,
                    max_keepalive_connections=16,
                    keepalive_expiry=30.0,
                    network_backend=self.network,
                )
            return self._pools[key]

    def close(self) -> None:
        """Close the connections that are kept."""
        with self._making:
            while self._pools:
                _, pool = self._pools.popitem()
                pool.close()
