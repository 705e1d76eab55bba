"""A client of an archive, with retries, and with errors by what is known about the outcome of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from common.features import feature_settings
from common.http.addresses import THIS_MACHINE, host_of, keeps_secrets
from common.http.client import CallFailed, Client, HTTPReply, Payload, Retries
from common.incoming.json_documents import load_json
from contrib.archives.errors import PublishingError

TIMEOUT_SECONDS = 60.0  # seconds to wait for the next byte
MAX_TRIES = 5
MAX_DETAIL_LENGTH = 300  # characters of the archive's own message that an error quotes


class UnclearOutcome(Exception):
    """Raised if a call may have been carried out, and must not be repeated."""


class NotAtArchive(Exception):
    """Raised if the archive does not have the requested object (404, 410)."""


class ArchiveConflict(Exception):
    """Raised if the object exists at the archive already, or was changed meanwhile (409, 412)."""


class Site(Client):
    """A client of an archive. The token stays in this object, and is sent only to the archive's own host."""

    def __init__(
        self, *, url: str, token: str, setting: str, headers: Mapping[str, str] | None = None
    ) -> None:
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
        if not keeps_secrets(url):
            raise PublishingError(
                f"The address is {parts.scheme}://{parts.netloc}; expected an https address, since the token is sent "
                "with every call."
            )
        credentials = {"Authorization": f"Bearer {token}"}
        super().__init__(url, seconds=TIMEOUT_SECONDS, credentials=credentials, secret=token)
        self.url, self.host = url.rstrip("/"), parts.netloc
        self._headers = dict(headers or {})
        self._is_on_this_machine = parts.hostname in THIS_MACHINE

    def call(
        self,
        method: str,
        path: str,
        *,
        what: str,
        body: Any = None,
        content: Payload | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
        before_next: Callable[[], None] = lambda: None,
    ) -> Any:
        """Call the archive's own API. Return the JSON of its response, or {} if it is empty.

        Args:
            what: the purpose, for error messages, such as "to create the record".
            body: a value to send as JSON.
            content: the bytes to send instead of ``body``, or a function that yields them, for each attempt.
            repeatable: whether to repeat the call if it may have been carried out.
            before_next: a function that is called before each repetition, for instance to store its time.

        Raises:
            NotAtArchive: the status was 404 or 410.
            ArchiveConflict: the status was 409 or 412.
            UnclearOutcome: the call may have been carried out, and is not repeated.
            PublishingError: the call was refused, or there is no response.
        """
        headers = self._headers | dict(headers or {})
        options = {"body": body, "content": content, "before_next": before_next}
        reply = self._request(method, path, what, repeatable=repeatable, headers=headers, **options)
        try:
            return load_json(reply.content) if reply.content else {}
        except ValueError:
            raise PublishingError(
                f"{self.host} does not answer with JSON when it is asked {what}; is its address right?"
            ) from None

    def put(
        self, address: str, *, what: str, content: Payload, headers: Mapping[str, str], method: str = "PUT"
    ) -> Mapping[str, str]:
        """Send bytes, without the token, to an address that the archive gave. Return the headers of the response."""
        if not keeps_secrets(address) or (host_of(address) in THIS_MACHINE and not self._is_on_this_machine):
            raise PublishingError(
                f"{self.host} names an upload address that is not https, or on this machine; nothing was sent to it."
            )
        return self._request(method, address, what, repeatable=True, content=content, headers=headers).headers

    def is_own_address(self, address: str) -> bool:
        return address.startswith(f"{self.url}/")

    def _request(self, method: str, address: str, what: str, *, repeatable: bool, **call: Any) -> HTTPReply:
        """Send a request, with repetitions, and return a successful response. Errors are those of `call`."""
        retries = Retries(MAX_TRIES, feature_settings.PUBLISHING_BACKOFF_SECONDS)
        try:
            reply = self.send(method, address, retries=retries, repeatable=repeatable, **call)
        except CallFailed as error:
            if error.was_sent and not repeatable:
                raise UnclearOutcome from None
            raise self._try_later_error(str(error)) from None
        status = reply.status
        if reply.is_temporary:
            # A call that was refused for too many requests was surely not carried out; after other errors it may be.
            if not repeatable and status != HTTPStatus.TOO_MANY_REQUESTS:
                raise UnclearOutcome
            if reply.wait_seconds > retries.max_pause:
                raise PublishingError(
                    f"{self.host} asks to wait {ceil(reply.wait_seconds / 60)} minutes ({status}). Send it again then: "
                    "it goes on where it stopped."
                )
            raise self._try_later_error(f"answers {status}")
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            raise NotAtArchive
        if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
            raise ArchiveConflict
        if not reply.is_success:
            raise PublishingError(f"{self.host} refuses {what} ({status}): {detail_of(reply.content)}")
        return reply

    def _try_later_error(self, why: str) -> PublishingError:
        return PublishingError(
            f"{self.host} {why}, {MAX_TRIES} times over. Send it again later: it goes on where it stopped."
        )


def detail_of(content: bytes) -> str:
    """Return the archive's own explanation of an error, from the body of its response, shortened."""
    try:
        body = load_json(content)
        detail = str(body.get("message") or body.get("error") or "")
        detail = " ".join([detail, *problems_of(body)])
    except (ValueError, AttributeError):
        detail = content.decode(errors="replace")
    return " ".join(detail.replace("\0", "").split())[:MAX_DETAIL_LENGTH] or "it does not say why"


def problems_of(body: Mapping[str, Any]) -> list[str]:
    """Return the problems that InvenioRDM lists in a draft or an error, each as ``field: message``."""
    errors = body.get("errors")
    return [
        f"{error.get('field', '')}: {' '.join(map(str, error.get('messages') or [error.get('message', '')]))}"
        for error in (errors if isinstance(errors, list) else [])
        if isinstance(error, dict)
    ]
