"""Post a message to an address that a person entered, unless the address is in the installation's own network."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from common.features import feature_settings
from common.http.addresses import BadAddress, refuse_private_host
from common.http.client import CallFailed, Client

POST_SECONDS = 5.0  # time limit of a whole attempt
MAX_URL_LENGTH = 500  # characters
MAX_WAIT = 999_999.0  # seconds; longer waits that a response asks for are shortened


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a post.

    Attributes:
        status: the HTTP status; None without a response.
        problem: why the message was not delivered; "" if it was.
        retry_after: the seconds that the server asked to wait before another attempt.
    """

    status: int | None
    problem: str = ""
    retry_after: float = 0.0


def checked_url(url: str) -> SplitResult:
    """Return the parts of an address. Raise BadAddress if it is not permitted.

    Permitted are https and, if private addresses are allowed, http to this machine.
    """
    if len(url) > MAX_URL_LENGTH or any(ord(letter) <= 32 or ord(letter) > 126 for letter in url):
        raise BadAddress("it is longer than 500 characters, or holds spaces or letters beyond ASCII")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadAddress("it is no address") from None
    if parts.scheme == "http" and not (_allows_private_addresses() and host in ("127.0.0.1", "localhost")):
        raise BadAddress("expected https://, which keeps the message from being read on its way")
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadAddress("expected https://host/path")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadAddress("it holds a user name, a password or a fragment")
    if not _allows_private_addresses():
        refuse_private_host(host)
    return parts


def post(url: str, *, body: bytes, headers: dict[str, str], seconds: float = POST_SECONDS) -> Receipt:
    """Post a message once. Errors are not raised, but returned in the result."""
    from common.http.direct import DirectTransport

    transport = DirectTransport(seconds=seconds, private=_allows_private_addresses())
    try:
        checked_url(url)
        with Client(seconds=seconds, transport=transport) as client:
            answer = client.send("POST", url, content=body, headers=headers | {"Connection": "close"})
    except BadAddress as problem:
        return Receipt(None, f"Not sent: {problem}.")
    except CallFailed as problem:
        timeout_sentence = f"No answer within {seconds:g} seconds."
        return Receipt(None, timeout_sentence if problem.is_late else f"No connection: {problem.reason}.")
    if answer.is_success:
        return Receipt(answer.status)
    hint = "; redirects are not followed" if 300 <= answer.status < 400 else ""
    return Receipt(
        answer.status, f"The answer was {answer.status}{hint}.", min(answer.wait_seconds, MAX_WAIT)
    )


def _allows_private_addresses() -> bool:
    return bool(feature_settings.WEBHOOK_PRIVATE or settings.DEBUG)
