"""A client of external services, with timeouts, retries, and a limit on the size of responses.

The caller says whether a call can be repeated safely. If not, it is sent only once, unless the service says that it did
not accept the call. Credentials are sent only to the service's own address, and are removed from its responses.
"""

from __future__ import annotations

import json
import logging
import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self

from django.utils import timezone

from common.http.addresses import THIS_MACHINE, host_of

if TYPE_CHECKING:
    import httpx  # imported late, since web servers do not need its 8 MiB

logger = logging.getLogger(__name__)
RETRY_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
IDEMPOTENT_METHODS = ("GET", "HEAD", "PUT", "DELETE")  # RFC 9110, section 9.2.2
MAX_RESPONSE_BYTES = 32 * 2**20  # bytes of the body of a response
CONNECT_SECONDS = 10.0  # longest time to connect
ERROR_NUMBER = re.compile(r"^\[[^]]*\] *")  # "[Errno 111] " in messages of the operating system
Payload = bytes | Callable[[], Iterable[bytes]]


class CallFailed(Exception):
    """A call got no complete response.

    ``str()`` is the end of a sentence about the service, such as "cannot be reached (ConnectError)".

    Attributes:
        was_sent: whether the service may have received the call, and carried it out.
        is_late: whether the call took too long, or its response has too many bytes.
        reason: the message of the operating system, or of the code that detected the failure.
    """

    def __init__(
        self, problem: str, *, was_sent: bool = True, is_late: bool = False, reason: str = ""
    ) -> None:
        super().__init__(problem)
        self.was_sent = was_sent
        self.is_late = is_late
        self.reason = reason


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_temporary(self) -> bool:
        """Whether the call may succeed if it is repeated later."""
        return self.status in RETRY_STATUSES or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def wait_seconds(self) -> float:
        """The seconds after which the service wants to be called again; 0 if it does not say."""
        return seconds_to_wait(self.headers)


@dataclass(frozen=True, slots=True)
class Retries:
    """The settings for repeating a call. The pause doubles after each try. The service can ask for a longer one."""

    tries: int = 1
    pause: float = 0.5  # seconds before the second try
    max_pause: float = 60.0  # longest pause in seconds; a response that asks for a longer pause is returned


class Client:
    """A client of the service at ``url``, or of any addresses. A ``with`` block closes its connections.

    Args:
        url: the address of the service; "" for a client that is called with whole addresses.
        seconds: the longest time until the next bytes arrive.
        credentials: headers for the service's own address.
        secret: the secret in the credentials, which is removed from responses.
        max_bytes: the maximum number of bytes of a response's body.
        limits_whole_time: whether ``seconds`` limits the whole response, too.
        transport: an httpx transport to use instead of the usual connections and proxies.
    """

    def __init__(
        self,
        url: str = "",
        *,
        seconds: float,
        credentials: Mapping[str, str] | None = None,
        secret: str = "",
        max_bytes: int = MAX_RESPONSE_BYTES,
        limits_whole_time: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx

        self._seconds = seconds
        self._limits_whole_time = limits_whole_time
        self._max_bytes = max_bytes
        self._credentials = dict(credentials or {})
        self._secret = secret.encode()
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/" if url else "",
            headers={"User-Agent": "Quorum"},
            timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
            trust_env=host_of(url) not in THIS_MACHINE,  # use no proxy for a service on this machine
            auth=lambda request: request,  # prevents that a .netrc file replaces the token
            verify=_certificates(),
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def send(
        self,
        method: str,
        address: str,
        *,
        body: Any = None,
        content: Payload | None = None,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str | int] | None = None,
        retries: Retries = Retries(),
        repeatable: bool | None = None,
        before_next: Callable[[], None] = lambda: None,
    ) -> HTTPReply:
        """Send a call, and return the response, whatever its status. Raise CallFailed if there is none, or only a part.

        Args:
            address: a path of the service, or a whole address, to which no credentials are sent.
            body: data to send as JSON.
            content: bytes to send, or a function that returns them in chunks at each try. ``headers`` must contain
                Content-Length for such a function.
            repeatable: whether to repeat a call that may have been carried out; by default, whether its method is
                idempotent.
            before_next: a function that is called before each repetition.
        """
        all_headers = dict(headers or {})
        if not address.startswith(("https://", "http://")):
            all_headers = self._credentials | all_headers
        if body is not None:
            content = json.dumps(body, allow_nan=False).encode()
            all_headers = {"Content-Type": "application/json"} | all_headers
        if repeatable is None:
            repeatable = method in IDEMPOTENT_METHODS
        attempt = 1
        while True:
            try:
                reply = self._send_once(method, address, content, all_headers, parameters)
            except CallFailed as error:
                if attempt == retries.tries or (error.was_sent and not repeatable):
                    raise
                reason = str(error)
                wait = 0.0
            else:
                wait = reply.wait_seconds
                was_refused = reply.status == HTTPStatus.TOO_MANY_REQUESTS  # so nothing was carried out
                if not (reply.is_temporary and (repeatable or was_refused)):
                    return reply
                if attempt == retries.tries or wait > retries.max_pause:
                    return reply
                reason = f"answers {reply.status}"
            pause = min(max(retries.pause * 2 ** (attempt - 1), wait), retries.max_pause)
            host = host_of(address) or self._http.base_url.host  # the rest of the address may be secret
            logger.info("%s %s; it is asked again in %.1f seconds.", host, reason, pause)
            time.sleep(pause)
            before_next()
            attempt += 1

    def _send_once(
        self,
        method: str,
        address: str,
        content: Payload | None,
        headers: Mapping[str, str],
        parameters: Mapping[str, str | int] | None,
    ) -> HTTPReply:
        """Send a call once. The parameters are those of ``send``."""
        import httpx

        deadline = time.monotonic() + self._seconds
        payload = iter(content()) if callable(content) else content
        received_bytes = bytearray()
        try:
            with self._http.stream(
                method, address, content=payload, headers=dict(headers), params=parameters
            ) as response:
                for chunk in response.iter_bytes():
                    received_bytes += chunk
                    is_late = self._limits_whole_time and time.monotonic() > deadline
                    if is_late or len(received_bytes) > self._max_bytes:
                        raise CallFailed("sends an answer that does not end", is_late=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL) as error:
            raise _failure(error, "cannot be reached", was_sent=False) from error
        except httpx.HTTPError as error:
            raise _failure(error, "breaks the call off", was_sent=True) from error
        # some services repeat the credentials in their responses
        body = bytes(received_bytes).replace(self._secret, b"***") if self._secret else bytes(received_bytes)
        return HTTPReply(response.status_code, response.headers, body)


def _failure(error: Exception, problem: str, *, was_sent: bool) -> CallFailed:
    """Return the failure of a call in which httpx raised an error."""
    import httpx

    name = type(error).__name__
    is_late = isinstance(error, httpx.TimeoutException)
    reason = ERROR_NUMBER.sub("", str(error)) or name
    return CallFailed(f"{problem} ({name})", was_sent=was_sent, is_late=is_late, reason=reason)


@cache
def _certificates() -> ssl.SSLContext:
    """Return a context with the trusted authorities. It is cached, since loading them takes longer than a call."""
    import httpx

    return httpx.create_ssl_context()


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by the header Retry-After; 0 without it.

    The header has a number of seconds or a date (RFC 9110, section 10.2.3).
    """
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])  # nine digits are more than thirty years
    try:
        retry_at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, retry_at.timestamp() - timezone.now().timestamp())
