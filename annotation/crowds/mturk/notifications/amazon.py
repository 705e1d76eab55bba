"""Fetch from Amazon SNS what its notifications need: the certificates of their signatures, and confirmations."""

from __future__ import annotations

from urllib.parse import urlsplit

from common.http.client import CallFailed, Client

TIMEOUT_SECONDS = 10
MAX_RESPONSE_BYTES = 100_000
MAX_CERTIFICATES = 20  # number of certificates in the cache

# certificates (PEM) by address; they are cached, since SNS uses one certificate for months
_certificates: dict[str, bytes] = {}


class NotFetched(Exception):
    """Raised if Amazon's server does not respond as expected. Amazon then sends the notification again."""


def fetch_certificate(address: str) -> bytes:
    """Return the certificate (PEM) at an address that the caller has verified. Raise NotFetched if this fails."""
    if address not in _certificates:
        pem = _fetch_from_amazon(address)
        if len(_certificates) >= MAX_CERTIFICATES:
            _certificates.clear()
        _certificates[address] = pem
    return _certificates[address]


def confirm_subscription(address: str) -> None:
    """Confirm a subscription by fetching its address. Raise NotFetched if that fails."""
    _fetch_from_amazon(address)


def _fetch_from_amazon(address: str) -> bytes:
    try:
        with Client(seconds=TIMEOUT_SECONDS, max_bytes=MAX_RESPONSE_BYTES, limits_whole_time=True) as client:
            answer = client.send("GET", address)
    except CallFailed as problem:
        raise NotFetched(f"{urlsplit(address).hostname} {problem}.") from None
    if not answer.is_success:
        raise NotFetched(f"{urlsplit(address).hostname} answers {answer.status}.")
    return answer.content
