"""Call archives over HTTP: repeat where safe, and word refusals."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.incoming import load_json
from common.incoming.services import THIS_MACHINE, Caller, open_http, seconds_to_wait
from evaluation.errors import PublishingError

SECONDS = 60.0  # without a byte
MOST_TRIES = 5
LONGEST_WAIT = 60.0
LARGEST_REPLY = 32 << 20  # bytes
LONGEST_DETAIL = 300
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)


class UnclearOutcome(Exception):
    """An unrepeatable call may have been carried out."""


class NotAtArchive(Exception):
    """The archive has no such thing (404, 410)."""


class ArchiveConflict(Exception):
    """It exists at the archive already, or changed meanwhile (409, 412)."""


class Site(Caller):
    """An archive. The token stays in this object, and goes only to the archive's own host."""

    def __init__(self, *, url: str, token: str, setting: str) -> None:
        parts = urlsplit(url)
        if not token:
            raise PublishingError(
                f"Nothing can be sent to {parts.netloc}: the setting {setting} is empty, expected an access token."
            )
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise PublishingError(
                f"Nothing can be sent to {parts.netloc}: the setting {setting} holds a blank, a line's end or another "
                "character that no token has."
            )
        if not _is_safe(url):
            raise PublishingError(
                f"The address is {parts.scheme}://{parts.netloc}; expected an https address, since the token is sent "
                "with every call."
            )
        self.url, self._token = url.rstrip("/"), token
        self.host = parts.netloc
        self._is_here = parts.hostname in THIS_MACHINE
        self._http = open_http(url, seconds=SECONDS, headers={})  # what is sent elsewhere gets no token

    def call(
        self,
        method: str,
        path: str,
        *,
        what: str,
        body: Any = None,
        content: Callable[[], Iterable[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = True,
        before_next: Callable[[], None] = lambda: None,
    ) -> Any:
        """Call the archive's own API; return its JSON, or {}.

        Args:
            what: the purpose, for refusals: "to create the record".
            content: opens the body's bytes, anew for each try.
            again: whether to repeat a call that may have been carried out.
            before_next: called before each repetition.

        Raises:
            Absent, Taken: 404 and 409.
            Unclear: it may have been carried out, and is not repeated.
            PublishingError: it was refused, or there is no answer.
        """
        sent = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        if body is not None:
            data = json.dumps(body).encode()
            content = partial(tuple, [data])
            sent = {"Content-Type": "application/json", "Content-Length": str(len(data)), **sent}
        address = f"{self.url}/{path}"
        _, written = self._repeated(
            method, address, what, content, sent, again=again, before_next=before_next
        )
        try:
            return json.loads(written) if written else {}
        except ValueError:
            raise PublishingError(
                f"{self.host} does not answer with JSON when it is asked {what}; is its address right?"
            ) from None

    def put(
        self,
        address: str,
        *,
        what: str,
        content: Callable[[], Iterable[bytes]],
        headers: Mapping[str, str],
        method: str = "PUT",
    ) -> Mapping[str, str]:
        """Send bytes to an address from the archive, without the token; return the response headers."""
        if not _is_safe(address) or (_host_of(address) in THIS_MACHINE and not self._is_here):
            raise PublishingError(
                f"{self.host} names an upload address that is not https, or on this machine; nothing was sent to it."
            )
        reply, _ = self._repeated(method, address, what, content, headers, again=True)
        return reply

    def is_own(self, address: str) -> bool:
        return address.startswith(f"{self.url}/")

    def _repeated(
        self,
        method: str,
        address: str,
        what: str,
        content: Callable[[], Iterable[bytes]] | None,
        headers: Mapping[str, str],
        *,
        again: bool,
        before_next: Callable[[], None] = lambda: None,
    ) -> tuple[Mapping[str, str], bytes]:
        why, wait = "", 0.0
        for number in range(MOST_TRIES):
            if number:
                backoff = settings.PUBLISHING_BACKOFF_SECONDS * 2 ** (number - 1)
                time.sleep(min(max(backoff, wait), LONGEST_WAIT))
                before_next()
            status, reply, written, why = self._once(method, address, content, headers)
            wait = seconds_to_wait(reply)
            refused_unread = status == HTTPStatus.TOO_MANY_REQUESTS or (
                status == 0 and why.startswith("cannot")
            )
            if status == 0 or status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                if not again and not refused_unread:
                    raise UnclearOutcome
                if wait > LONGEST_WAIT:
                    raise PublishingError(
                        f"{self.host} asks to wait {ceil(wait / 60)} minutes ({status}). Send it again then: it goes "
                        "on where it stopped."
                    )
                continue
            if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                raise NotAtArchive
            if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
                raise ArchiveConflict
            if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
                raise PublishingError(f"{self.host} refuses {what} ({status}): {_detail(written)}")
            return reply, written
        raise PublishingError(
            f"{self.host} {why}, {MOST_TRIES} times over. Send it again later: it goes on where it stopped."
        )

    def _once(
        self,
        method: str,
        address: str,
        content: Callable[[], Iterable[bytes]] | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Mapping[str, str], bytes, str]:
        """Return status, headers, body, and the problem; the status is 0 without a complete response."""
        import httpx

        body = iter(content()) if content is not None else None
        try:
            with self._http.stream(method, address, content=body, headers=dict(headers)) as response:
                written = bytearray()
                for part in response.iter_bytes():
                    written += part
                    if len(written) > LARGEST_REPLY:
                        return 0, {}, b"", "sends an answer that does not end"
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return 0, {}, b"", f"cannot be reached ({type(error).__name__})"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return 0, {}, b"", f"breaks the call off ({type(error).__name__})"
        # some repeat what they were sent
        answer = bytes(written).replace(self._token.encode(), b"***")
        return response.status_code, response.headers, answer, f"answers {response.status_code}"


def _detail(written: bytes) -> str:
    try:
        body = load_json(written)
        detail = str(body.get("message") or body.get("error") or "")
        detail = " ".join([detail, *problems_of(body)])
    except (ValueError, AttributeError):
        detail = written.decode(errors="replace")
    return " ".join(detail.replace("\0", "").split())[:LONGEST_DETAIL] or "it does not say why"


def problems_of(body: Mapping[str, Any]) -> list[str]:
    """Return InvenioRDM's problems in a draft or error as ``field: message``."""
    listed = body.get("errors")
    return [
        f"{error.get('field', '')}: {' '.join(map(str, error.get('messages') or [error.get('message', '')]))}"
        for error in (listed if isinstance(listed, list) else [])
        if isinstance(error, dict)
    ]


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # such as https://[
        return None


def _is_safe(address: str) -> bool:
    host = _host_of(address)
    return host is not None and (
        address.startswith("https://") or (address.startswith("http://") and host in THIS_MACHINE)
    )
