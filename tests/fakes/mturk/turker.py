"""Workers for scripts: they use the site over HTTP, so they work from any process."""

import http.client
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.fakes.mturk.web import COOKIE


class Refused(Exception):
    """The site said no; `status` is that of its answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Taken:
    """A HIT as a worker has it open: the address in its frame carries the service's four parameters."""

    hit_id: str
    assignment_id: str
    url: str
    height: int


class Turker:
    """One worker, for one thread: `Turker(emulator.endpoint_url, "AWORKER").accept(hit_id)`."""

    def __init__(self, base_url: str, worker_id: str) -> None:
        parts = urlsplit(base_url)
        self.worker_id = worker_id
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)

    def hits(self) -> list[str]:
        """Ids of the HITs to choose from."""
        return list(self._ask("GET", "/worker/hits")["hits"])

    def held(self) -> list[str]:
        """Ids of the assignments accepted and not finished."""
        return list(self._ask("GET", "/worker/hits")["held"])

    def preview(self, hit_id: str) -> Taken:
        """Looks at a HIT without accepting it."""
        return Taken(**self._ask("GET", f"/worker/hits/{hit_id}"))

    def accept(self, hit_id: str) -> Taken:
        """Takes a HIT; taking one that is held already gives the same again."""
        return Taken(**self._ask("POST", f"/worker/hits/{hit_id}/accept"))

    def submit(self, assignment_id: str, fields: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """Posts the form of a HIT."""
        pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        self._ask("POST", "/mturk/externalSubmit", [("assignmentId", assignment_id), *pairs])

    def return_(self, assignment_id: str) -> None:
        """Gives a HIT back."""
        self._ask("POST", f"/worker/assignments/{assignment_id}/return")

    def work(self, hit_id: str, fields: Mapping[str, str]) -> str:
        """Accepts and submits; answers the assignment's id."""
        taken = self.accept(hit_id)
        self.submit(taken.assignment_id, fields)
        return taken.assignment_id

    def request_qualification(self, type_id: str) -> tuple[str, str]:
        """Asks for a qualification: the id of the request, and Granted, Pending, or Started when there is a test."""
        told = self._ask("POST", f"/worker/qualifications/{type_id}")
        return told["request_id"], told["state"]

    def take_test(self, request_id: str, answers: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
        """Hands a test in; answers Granted or Pending."""
        pairs = list(answers.items()) if isinstance(answers, Mapping) else list(answers)
        return str(self._ask("POST", f"/worker/tests/{request_id}", pairs)["state"])

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def _ask(self, method: str, path: str, fields: list[tuple[str, str]] | None = None) -> dict[str, Any]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"{COOKIE}={self.worker_id}",
        }
        self._connection.request(method, path, urlencode(fields or []), headers)
        answer = self._connection.getresponse()
        told: dict[str, Any] = json.loads(answer.read())
        if answer.status >= 400:
            raise Refused(told["error"], answer.status)
        return told
