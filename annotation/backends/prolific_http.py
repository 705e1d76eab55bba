"""One call to Prolific's API over HTTP, asked once, and what its answer means."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx

from annotation.backends.prolific_errors import (
    ProlificError,
    ProlificNotConfigured,
    ProlificNotReached,
    ProlificRefused,
    ProlificThrottled,
    ProlificUnknown,
    UnreadableAnswer,
)

Row = TypeVar("Row")
Parameters = Mapping[str, str | int]

PAGE_SIZE = 100
MOST_PAGES = 1_000  # a paging that does not end by itself is a fault, not a very long list
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_LONGEST_DETAIL = 400


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted, read once: it takes longer than a call."""
    return httpx.create_ssl_context()


class ProlificConnection:
    """An address and a token. One may be used for many calls; close it, or use it in a ``with``."""

    def __init__(self, *, url: str, token: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if not token:
            raise ProlificNotConfigured("Nothing was asked of Prolific: the setting PROLIFIC_TOKEN is empty.")
        if parts.scheme != "https" and parts.hostname not in _OWN_HOSTS:
            raise ProlificNotConfigured(
                f"Nothing was asked of Prolific: PROLIFIC_API_URL is {url!r}; expected an https address, "
                "since the token is sent with every call."
            )
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Token {token}", "Accept": "application/json", "User-Agent": "Quorum"},
            timeout=httpx.Timeout(timeout, connect=min(10.0, timeout)),
            verify=_certificates(),
            trust_env=parts.hostname not in _OWN_HOSTS,  # an emulator on this machine is not behind a proxy
            auth=lambda request: request,  # else a .netrc of the environment could replace the token
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the connections go."""
        self._http.close()

    def listed(
        self,
        path: str,
        parameters: Parameters,
        read: Callable[[Mapping[str, Any]], Row],
        *,
        key: Callable[[Row], str],
    ) -> list[Row]:
        """Every row of a paged list once, though pages may shift while they are read."""
        rows = {key(row): row for page in self._pages(path, parameters) for row in map(read, page)}
        return list(rows.values())

    def _pages(self, path: str, parameters: Parameters) -> Iterator[list[Mapping[str, Any]]]:
        """The pages of a list. Some endpoints link the next one, some only count, some do not page at all."""
        asked: dict[str, str | int] = {**parameters, "page": 1, "page_size": PAGE_SIZE}
        before: list[Mapping[str, Any]] = []
        for number in range(2, MOST_PAGES + 2):
            answer = self.answered("GET", path, parameters=asked)
            rows = answer.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise UnreadableAnswer(
                    f"Prolific's list of {path} holds no results; expected a list of objects."
                )
            if rows == before:  # the endpoint knows no pages and said the same again
                return
            yield rows
            before = rows
            links = answer.get("_links")
            if isinstance(links, dict):
                following = (links.get("next") or {}).get("href")
                if not following:
                    return
                # Only the link's parameters are followed: the token goes to no address but the one in the settings.
                asked = {**asked, "page": number, **dict(parse_qsl(urlsplit(str(following)).query))}
            elif len(rows) < PAGE_SIZE:
                return
            else:
                asked = {**asked, "page": number}
        raise UnreadableAnswer(f"Prolific's list of {path} did not end after {MOST_PAGES} pages.")

    def answered(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        parameters: Parameters | None = None,
    ) -> dict[str, Any]:
        """An answer that is a JSON object. One that is cut short counts as lost: the call was carried out or not."""
        answer = self.ask(method, path, body=body, parameters=parameters)
        try:
            read = json.loads(answer.content, parse_float=Decimal)
        except ValueError as error:
            raise ProlificUnknown(f"Prolific's answer to {method} {path} was cut short.") from error
        if not isinstance(read, dict):
            raise UnreadableAnswer(f"Prolific's answer to {method} {path} is no object.")
        return read

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        parameters: Parameters | None = None,
    ) -> httpx.Response:
        """Sends a call once; an answer is a success, anything else a named error."""
        try:
            answer = self._http.request(method, path, json=body, params=parameters)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise ProlificNotReached(
                f"{method} {path} was not sent: no connection to Prolific ({error})."
            ) from error
        except httpx.RequestError as error:
            raise ProlificUnknown(
                f"{method} {path} was sent and no answer came ({type(error).__name__}); "
                "Prolific may have carried it out or not."
            ) from error
        if answer.is_success:
            return answer
        raise _failure(method, path, answer)


def _failure(method: str, path: str, answer: httpx.Response) -> ProlificError:
    """What an answer that is no success means for the call."""
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return ProlificThrottled(
            f"{method} {path} was not carried out: Prolific asks to wait.", retry_after=_seconds(answer)
        )
    if answer.status_code >= 500 or answer.status_code == httpx.codes.REQUEST_TIMEOUT:
        return ProlificUnknown(
            f"{method} {path} was answered with {answer.status_code}; Prolific may have carried it out or not."
        )
    detail, code = _detail(answer)
    return ProlificRefused(
        f"Prolific refused {method} {path} ({answer.status_code}): {detail}",
        answered=answer.status_code,
        error_code=code,
        said=detail,
    )


def _seconds(answer: httpx.Response) -> float | None:
    """``Retry-After`` in seconds; a date, which nobody has seen here, counts as nothing said."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _detail(answer: httpx.Response) -> tuple[str, int]:
    """The API's own sentence. The reference shows it bare and within ``error``, as text, a list, or by fields."""
    try:
        read = json.loads(answer.content)
    except ValueError:
        return (answer.text.strip()[:_LONGEST_DETAIL] or answer.reason_phrase), 0
    error = read.get("error", read) if isinstance(read, dict) else read
    if not isinstance(error, dict):
        return _words(error)[:_LONGEST_DETAIL], 0
    said = error.get("detail") or error.get("message") or error.get("title") or error
    code = error.get("error_code")
    return _words(said)[:_LONGEST_DETAIL], code if isinstance(code, int) else 0


def _words(said: object) -> str:
    if isinstance(said, dict):
        return "; ".join(f"{name}: {_words(what)}" for name, what in said.items())
    if isinstance(said, list):
        return " ".join(_words(one) for one in said)
    return str(said)
