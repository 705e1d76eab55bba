"""What has to be fetched from Amazon SNS for a notification to count: certificates, and the yes to a subscription.

The addresses were checked before (annotation.mturk.signatures); a redirect would lead past that check, so none is
followed.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

from django.conf import settings

from annotation.mturk.signatures import SNSTopic

SECONDS = 10
MOST_BYTES = 100_000
MOST_CERTIFICATES = 20

_certificates: dict[str, bytes] = {}  # SNS signs for months with the same one


class NotFetched(Exception):
    """Amazon did not answer, or otherwise than expected; the notification may come again."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """None is followed: the reply becomes an error."""


def topic() -> SNSTopic | None:
    """The topic whose notifications are taken; None where there is none."""
    return SNSTopic(arn=settings.MTURK_SNS_TOPIC) if settings.MTURK_SNS_TOPIC else None


def certificate(address: str) -> bytes:
    """The certificate (PEM) at a checked address.

    Raises:
        NotFetched.
    """
    if address not in _certificates:
        found = _fetched(address)
        if len(_certificates) >= MOST_CERTIFICATES:
            _certificates.clear()
        _certificates[address] = found
    return _certificates[address]


def confirm(address: str) -> None:
    """Say yes to a subscription.

    Raises:
        NotFetched.
    """
    _fetched(address)


def _fetched(address: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(address, timeout=SECONDS) as reply:
            body: bytes = reply.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise NotFetched(f"{address} could not be fetched: {problem}") from None
    if len(body) > MOST_BYTES:
        raise NotFetched(f"{address} is longer than {MOST_BYTES:,} bytes.")
    return body
