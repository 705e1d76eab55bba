"""Access to an installation, and to a study or dataset in it, by HTTP calls.

Calls that are safe to repeat are retried.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from uuid import uuid4

import httpx
import pandas as pd

RETRY_STATUSES = (429, 502, 503, 504)
IDEMPOTENT_METHODS = ("GET", "HEAD", "PUT")
HTTP_ACCEPTED = 202  # HTTP status of a result that is not ready yet; request it again
KEY_HEADER = "Idempotency-Key"
PAGE_SIZE = 1000  # rows of a list that one call fetches


class Problem(Exception):
    """The server refused a call (RFC 9457) or could not be reached.

    ``status`` is the HTTP status, or 0 if the server could not be reached. ``detail`` is a sentence on the problem, and
    ``members`` the whole problem document.
    """

    def __init__(self, status: int, detail: str, members: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status}: {detail}" if status else detail)
        self.status, self.detail, self.members = status, detail, members or {}


class Connection:
    """A connection to an installation, such as https://quorum.example.

    If the server is busy or does not respond, calls that are safe to repeat are retried after 0.5, 1, 2 and more
    seconds, or after the time that the server asks for. If the server must compute a result first, the client waits
    for at most ``patience`` seconds.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        tries: int = 5,
        timeout: float = 60.0,
        patience: float = 600.0,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.tries, self.sleep, self.patience = tries, sleep, patience
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
        self.http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, and return the response. ``options`` are those of ``httpx.Client.request``.

        Raise Problem if the server refuses the call or cannot be reached.
        """
        # With a key, the server does the operation only once, even if the call is repeated.
        has_key = KEY_HEADER in (options.get("headers") or {})
        tries = self.tries if method in IDEMPOTENT_METHODS or has_key else 1
        for attempt in range(1, tries + 1):
            try:
                response = self.http.request(method, path, **options)
            except httpx.TransportError as error:
                if attempt == tries:
                    raise Problem(0, f"{self.http.base_url} could not be reached: {error}") from error
                self.sleep(0.5 * 2 ** (attempt - 1))
                continue
            if response.status_code not in RETRY_STATUSES or attempt == tries:
                break
            self.sleep(_retry_after(response) or 0.5 * 2 ** (attempt - 1))
        if response.is_error or response.is_redirect:
            raise _problem(response)
        return response

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        """Return the JSON object at an address below /api/. Repeat the request while the server computes the object.

        Raise Problem if the server has not computed it within ``patience`` seconds.
        """
        end = time.monotonic() + self.patience
        query = _query_parameters(parameters)
        response = self.request("GET", path, params=query)
        while response.status_code == HTTP_ACCEPTED:
            if time.monotonic() > end:
                raise Problem(HTTP_ACCEPTED, f"{path} was not counted within {self.patience:g} seconds.")
            self.sleep(_retry_after(response) or 5.0)
            response = self.request("GET", path, params=query)
        answer: dict[str, Any] = response.json()
        return answer

    def post(self, path: str, body: Any = None, *, key: str = "") -> dict[str, Any]:
        """Post a body, and return the JSON response. Only a call with an idempotency ``key`` is retried."""
        headers = {KEY_HEADER: key} if key else {}
        answer: dict[str, Any] = self.request("POST", path, json=body, headers=headers).json()
        return answer

    def rows(self, resource: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list. Pages of the list are fetched as needed."""
        page = self.get(f"{resource}/", **{"page_size": PAGE_SIZE, **filters})
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.get(page["next"])

    def save(self, path: str, target: str) -> None:
        """Download to the file ``target`` atomically.

        Resume an interrupted download if the file on the server is unchanged.
        """
        folder = os.path.dirname(os.path.abspath(target))
        handle, part = tempfile.mkstemp(dir=folder, prefix=".quorum-")
        try:
            with os.fdopen(handle, "wb") as file:
                self._fetch_file(path, file)
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise

    def _fetch_file(self, path: str, file: BinaryIO) -> None:
        """Write a file of the server. After an error, resume the download if the file is unchanged."""
        etag, attempt = "", 1
        while True:
            # Do not compress, because ranges refer to the bytes sent.
            headers = {"Accept-Encoding": "identity"}
            if etag:
                headers |= {"Range": f"bytes={file.tell()}-", "If-Range": etag}
            try:
                with self.http.stream("GET", path, headers=headers) as response:
                    if response.is_error:
                        response.read()
                        raise _problem(response)
                    if response.status_code != httpx.codes.PARTIAL_CONTENT:  # the server sends the whole file
                        file.seek(0)
                        file.truncate()
                    etag = response.headers.get("ETag", "")
                    for chunk in response.iter_bytes():
                        file.write(chunk)
                return
            except httpx.TransportError:
                if not etag or attempt == self.tries:  # without an ETag, a changed file could not be noticed
                    raise
            self.sleep(0.5 * 2 ** (attempt - 1))
            attempt += 1


def _query_parameters(parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return parameters with booleans as "true" and "false".

    Return None if there are no parameters, so that httpx keeps the query of an address that has one.
    """
    if not parameters:
        return None
    return {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items()
    }


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds after which the server asks for another try, at most a minute; 0 if it does not say."""
    seconds = response.headers.get("Retry-After", "")
    return min(float(seconds), 60.0) if seconds.isdecimal() else 0.0


def _problem(response: httpx.Response) -> Problem:
    """Return the error that a response reports, from its problem document if it has one."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or "detail" not in body:
        return Problem(response.status_code, f"{response.url} answered {response.reason_phrase}.")
    return Problem(response.status_code, str(body["detail"]), body)


class JobFailed(Exception):
    """A job failed or was cancelled. ``str()`` of the exception says why."""


class Quorum(Connection):
    """An installation of Quorum.

    >>> Quorum("http://127.0.0.1:8000", token="quorum_...").frame("studies")
    """

    def study(self, slug: str) -> Handle:
        """Return a study, without checking that it exists."""
        return Handle(self, f"studies/{slug}/", {"study": slug})

    def dataset(self, name: str) -> Handle:
        """Return a dataset, without checking that it exists."""
        return Handle(self, f"datasets/{name}/", {"dataset": name})

    def frame(self, resource: str, **filters: Any) -> pd.DataFrame:
        """Return a list of the HTTP interface, such as ``studies`` or ``exclusions``, as a DataFrame.

        Columns whose names end in ``_at`` become times.
        """
        frame = pd.DataFrame(list(self.rows(resource, **filters)))
        for name in frame.columns:
            if name.endswith("_at"):
                frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def create_study(self, toml: str | Path) -> Handle:
        """Create a draft of a study from a study file, given as text or path."""
        text = toml.read_text(encoding="utf-8") if isinstance(toml, Path) else toml
        study = self.request(
            "POST", "studies/", content=text.encode(), headers={"Content-Type": "application/toml"}
        )
        return self.study(study.json()["slug"])

    def wait(self, job: dict[str, Any], *, seconds: float = 600.0) -> dict[str, Any]:
        """Wait for a job to end, and return it.

        Raise JobFailed if it failed or was cancelled, and TimeoutError if it has not ended after ``seconds``.
        """
        end, pause = time.monotonic() + seconds, 0.1
        while True:
            state = self.get(f"jobs/{job['id']}/")
            if state["state"] == "done":
                return state
            if state["state"] in ("failed", "cancelled"):
                raise JobFailed(state["error"] or f"Job {job['id']} was cancelled.")
            if time.monotonic() > end:
                raise TimeoutError(
                    f"Job {job['id']} ({state['kind']}) is not done after {seconds:g} seconds."
                )
            self.sleep(pause)
            pause = min(pause * 1.5, 5.0)

    def preview(self, path: str, **parameters: Any) -> MoneyStep:
        """Return a preview of a call that moves money. Its method ``confirm`` makes the call."""
        return MoneyStep(self, path, parameters, self.get(path, **parameters))


class Handle:
    """A study or a dataset. Each of its operations in the HTTP interface is a method.

    For example, ``study.pause(why="a caption is broken")`` posts to ``studies/<slug>/pause/`` (``do``).

    Attributes:
        address: the address below /api/, such as "studies/faces/".
        filters: the query parameters that select the rows of the study or dataset in lists.
    """

    def __init__(self, quorum: Quorum, address: str, filters: dict[str, str]) -> None:
        self.quorum, self.address, self.filters = quorum, address, filters

    def __repr__(self) -> str:
        return f"<{self.address}>"

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if name.startswith("_"):  # looked up by Python itself, for example to copy the object
            raise AttributeError(name)
        return partial(self.do, name.replace("_", "-"))

    def do(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Do an operation.

        Return the response (usually the row), or the finished job if the operation runs as a job.
        """
        answer = self.quorum.request("POST", f"{self.address}{operation}/", json=parameters)
        job: dict[str, Any] = answer.json()
        return self.quorum.wait(job) if answer.status_code == HTTP_ACCEPTED else job

    def get(self, subaddress: str = "", **parameters: Any) -> dict[str, Any]:
        """Return the study or dataset, or the object at an address below it, such as ``agreement``."""
        address = f"{self.address}{subaddress}/" if subaddress else self.address
        return self.quorum.get(address, **parameters)

    def frame(self, resource: str, **filters: Any) -> pd.DataFrame:
        """Return a list of the rows that belong to the study or dataset, such as ``judgments``, as a DataFrame."""
        return self.quorum.frame(resource, **self.filters, **filters)

    def export(self, format: str, path: str | Path) -> Path:
        """Make an export of the study, and download it to ``path``."""
        job = self.quorum.post("exports/", {**self.filters, "format": format})
        self.quorum.wait(job)
        self.quorum.save(f"exports/{job['id']}/download/", str(path))
        return Path(path)

    def preview(self, operation: str, **parameters: Any) -> MoneyStep:
        """Return a preview of an operation that moves money, such as ``bonus``.

        Its method ``confirm`` does the operation.
        """
        return self.quorum.preview(f"{self.address}{operation}/", **parameters)


@dataclass
class MoneyStep:
    """A previewed operation that moves money.

    Attributes:
        path: the address of the operation.
        parameters: the parameters of the operation.
        preview: the server's preview: ``total_cents`` with fees, ``left_cents`` of the budget, details of the
            operation, and ``confirm``, a word that tells the server which preview the person saw.
        key: the idempotency key, with which the server does the operation only once.
    """

    quorum: Quorum
    path: str
    parameters: dict[str, Any]
    preview: dict[str, Any]
    key: str = field(default_factory=lambda: uuid4().hex)

    def confirm(self, why: str = "") -> dict[str, Any]:
        """Do the operation. A repeated call changes nothing and returns the same response.

        Args:
            why: for a bonus, the message to workers; otherwise the reason for the log.

        Raises:
            Problem: with status 409 if the preview is outdated or exceeds the budget; nothing was done.
        """
        body = {**self.parameters, "confirm": self.preview["confirm"], "why": why}
        return self.quorum.post(self.path, body, key=self.key)
