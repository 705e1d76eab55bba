"""Call addresses that users entered. No call reaches the internal network, and each ends within a given time.

The address is checked when the connection is made, so the name cannot lead to another address later. Proxies are not
used, since they would resolve the name themselves.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

import httpcore
import httpx

from common.http.addresses import resolve_host


class DirectTransport(httpx.BaseTransport):
    """An httpx transport for one call at a time. It does not read the body of the response.

    Args:
        seconds: the limit for the whole call, without the time to resolve the host's name.
        private: whether private addresses are allowed.
    """

    def __init__(self, *, seconds: float, private: bool) -> None:
        self._network = _Network(seconds, private=private)
        self._pool = httpcore.ConnectionPool(ssl_context=_certificates(), network_backend=self._network)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        raw_url = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        call = httpcore.Request(request.method, raw_url, headers=request.headers.raw, content=request.read())
        try:
            reply = self._pool.handle_request(call)
            reply.close()
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
            # httpx has exceptions of the same names
            raise getattr(httpx, type(error).__name__)(str(error)) from error
        return httpx.Response(reply.status, headers=reply.headers)

    def close(self) -> None:
        self._pool.close()


class _Network(httpcore.NetworkBackend):
    """Connects to the address that ``resolve_host`` allows. httpcore does all the rest."""

    def __init__(self, seconds: float, *, private: bool) -> None:
        self._seconds = seconds
        self._private = private
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            address = resolve_host(host, port, private=self._private)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error
        deadline = time.monotonic() + self._seconds
        stream = self._plain.connect_tcp(address, port, self._seconds, local_address, socket_options)
        return _Stream(stream, deadline)


class _Stream(httpcore.NetworkStream):
    """A connection that ends at a deadline. A timeout for each read would not end it while single bytes arrive."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def _seconds_left(self) -> float:
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:
            raise httpcore.ReadTimeout
        return seconds_left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._seconds_left())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._seconds_left())
        return _Stream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()
