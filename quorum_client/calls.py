"""Calls and answers: what is tried again, what is an error, and pages one after the other."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, BinaryIO, Self

import httpx

TRIED_AGAIN = (429, 502, 503, 504)
SAFE_TO_REPEAT = ("GET", "HEAD", "PUT")
KEY = "Idempotency-Key"
PAGE_SIZE = 1000


class Problem(Exception):
    """What the server refused, as it said it (RFC 9457).

    Attributes:
        status: HTTP status; 0 where the server could not be reached.
        detail: one sentence.
        members: the whole document.
    """

    def __init__(self, status: int, detail: str, members: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status}: {detail}" if status else detail)
        self.status, self.detail, self.members = status, detail, members or {}


class Calls:
    """A connection to one installation.

    Calls that change nothing when repeated are tried again where the server is busy or away: after half a second, one,
    two and so on, or when the server says.

    Args:
        url: where the installation is, such as https://quorum.example.
        token: the key of a token.
        tries: how often a call is tried in all.
        sleep: waits so many seconds; tests hand in their own.
        transport: of httpx, for tests and proxies.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        tries: int = 5,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.tries, self.sleep = tries, sleep
        self.http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/",
            headers={"Authorization": f"Token {token}"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self.http.close()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer to a call.

        Raises:
            Problem: the server refused, or could not be reached.
        """
        once_only = KEY in (
            options.get("headers") or {}
        )  # the server does it once, however often it is asked
        tries = self.tries if method in SAFE_TO_REPEAT or once_only else 1
        for attempt in range(1, tries + 1):
            try:
                response = self.http.request(method, path, **options)
            except httpx.TransportError as error:
                if attempt == tries:
                    raise Problem(0, f"{self.http.base_url} could not be reached: {error}") from error
                self.sleep(0.5 * 2 ** (attempt - 1))
                continue
            if response.status_code not in TRIED_AGAIN or attempt == tries:
                break
            self.sleep(_wanted(response) or 0.5 * 2 ** (attempt - 1))
        if response.is_error or response.is_redirect:
            raise _problem(response)
        return response

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON at an address below /api/."""
        return self.ask("GET", path, params=_said(parameters)).json()

    def post(self, path: str, body: Any = None, *, key: str = "") -> Any:
        """The JSON that a post answers with. It is tried again only under a ``key``, by which the server knows it."""
        options: dict[str, Any] = {} if body is None else {"json": body}
        return self.ask("POST", path, **options, **({"headers": {KEY: key}} if key else {})).json()

    def rows(self, resource: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """The rows of a list one after the other; the next page is fetched once it is wanted."""
        page = self.get(f"{resource}/", **{"page_size": PAGE_SIZE, **filters})
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.get(page["next"])

    def save(self, path: str, target: str) -> None:
        """Write the bytes at an address to a file, which is there whole or not at all.

        A download that breaks off goes on where it was, as long as the server still has the same file.
        """
        folder = os.path.dirname(os.path.abspath(target))
        handle, part = tempfile.mkstemp(dir=folder, prefix=".quorum-")
        try:
            with os.fdopen(handle, "wb") as file:
                self._fetch(path, file)
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise

    def _fetch(self, path: str, file: BinaryIO) -> None:
        etag, attempt = "", 1
        while True:
            headers = {"Accept-Encoding": "identity"}  # a range is of the bytes that are sent
            if etag:
                headers |= {"Range": f"bytes={file.tell()}-", "If-Range": etag}
            try:
                with self.http.stream("GET", path, headers=headers) as response:
                    if response.is_error:
                        response.read()
                        raise _problem(response)
                    if response.status_code != httpx.codes.PARTIAL_CONTENT:  # from the beginning
                        file.seek(0)
                        file.truncate()
                    etag = response.headers.get("ETag", "")
                    for chunk in response.iter_bytes():
                        file.write(chunk)
                return
            except httpx.TransportError:
                if not etag or attempt == self.tries:
                    raise
            self.sleep(0.5 * 2 ** (attempt - 1))
            attempt += 1


def _said(parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Yes-no filters are true and false; without parameters a link keeps its own."""
    if not parameters:
        return None
    return {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items()
    }


def _wanted(response: httpx.Response) -> float:
    told = response.headers.get("Retry-After", "")
    return min(float(told), 60.0) if told.isdecimal() else 0.0


def _problem(response: httpx.Response) -> Problem:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or "detail" not in body:
        return Problem(response.status_code, f"{response.url} answered {response.reason_phrase}.")
    return Problem(response.status_code, str(body["detail"]), body)
