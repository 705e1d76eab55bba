"""Calls to services that others run."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from django.utils import timezone

if TYPE_CHECKING:
    import httpx

THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class Caller:
    """Whoever calls a service; a with-block closes its connections."""

    _http: httpx.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()


def open_http(url: str, *, seconds: float, headers: Mapping[str, str], **values: Any) -> httpx.Client:
    """Return a client of the service at ``url`` that sends no other credentials than those in ``headers``."""
    import httpx  # 8 MiB, which web servers do without

    return httpx.Client(
        base_url=f"{url.rstrip('/')}/",
        headers={"User-Agent": "Quorum", **headers},
        timeout=httpx.Timeout(seconds, connect=min(10.0, seconds)),
        trust_env=urlsplit(url).hostname not in THIS_MACHINE,  # an emulator here is not behind a proxy
        auth=lambda request: request,  # else a .netrc of the environment could replace the token
        **values,
    )


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return what ``Retry-After`` asks for, in seconds or by a date (RFC 9110, section 10.2.3); 0 without."""
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, until.timestamp() - timezone.now().timestamp())
