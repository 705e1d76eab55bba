"""Simulated workers over real HTTP, for the concurrency tests and benchmarks/serving.py.

Each keeps its connection, answers by a checksum of what it is and sees, so that a mix-up would show in the stored
rows, and remembers what the server acknowledged.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.installations import PATIENCE


def value_seen(worker: str, unit: dict[str, Any]) -> int:
    """1 or 2, from the worker's name and the three sentences of a triplet."""
    seen = "|".join([worker, unit["a"]["text"], unit["b"]["text"], unit["c"]["text"]])
    return 1 + zlib.crc32(seen.encode()) % 2


def first_answers(html: str) -> dict[str, str]:
    """What a hurried person would send: the first answer of every question."""
    fields: dict[str, str] = {}
    for name, value in re.findall(r'<input type="(?:radio|checkbox)" name="([^"]+)" value="([^"]+)"', html):
        fields.setdefault(name, value)
    return {name: value for name, value in fields.items() if not name.startswith("none")}


@dataclass
class Server:
    """Where the server is; a restart may move it. Where it does not answer, people go to the ``other`` one."""

    url: str
    other: Server | None = None


class Line:
    """One kept-alive connection.

    Attributes:
        repeated: whether a call was made again, which may have been carried out before.
    """

    def __init__(self, server: Server, token: str = "", *, patient: bool = False) -> None:
        self.server, self.token, self.patient = server, token, patient
        self.repeated = False
        self._url, self._connection = "", None  # type: tuple[str, http.client.HTTPConnection | None]

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON. Tries again while nobody answers, and during an outage where ``patient``: every call may
        be repeated."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                status, reply = self._call(method, path, body)
                if status != 503 or not self.patient or time.monotonic() > end:
                    return status, reply
            except (OSError, http.client.HTTPException):
                self.close()
                if time.monotonic() > end:
                    raise
                self.server = self.server.other or self.server
            self.repeated = True
            time.sleep(0.1)

    def _call(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self._connection is None or self._url != self.server.url:
            self.close()
            self._url = self.server.url
            self._connection = http.client.HTTPConnection(urlsplit(self._url).netloc, timeout=PATIENCE)
        headers = {"Authorization": f"Token {self.token}"} if self.token else {}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        self._connection.request(method, path, body=data, headers=headers)
        response = self._connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content[:1] in (b"{", b"[") else None

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass
class Person:
    """A worker at work in one study of triplets.

    Attributes:
        acknowledged: ids of assignments whose submission was answered with 200.
        statuses: how often each status came back.
        seconds: how long each request took.
    """

    server: Server
    study: str
    name: str
    twice: bool = False
    patient: bool = False
    acknowledged: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    units: int = 0

    def __post_init__(self) -> None:
        # What is sent twice goes to both servers where there are two.
        servers = self.server, self.server.other or self.server
        self._lines = [Line(one, patient=self.patient) for one in servers]

    def join(self) -> None:
        """Join the study; the token goes on both lines.

        An outage may take the reply of a call that was carried out. The token is lost with it and the name is taken,
        so that a patient person takes another name.
        """
        path = f"/api/studies/{self.study}/join/"
        status, reply = self._timed(0, "POST", path, {"worker": self.name})
        while status == 409 and self._lines[0].repeated:
            self.name += "-again"
            status, reply = self._timed(0, "POST", path, {"worker": self.name})
        assert status == 201, (status, reply)
        for line in self._lines:
            line.token = reply["token"]

    def accept(self) -> tuple[int, Any]:
        """Ask for a HIT."""
        return self._timed(0, "POST", f"/api/studies/{self.study}/assignments/")

    def work(
        self,
        done: Callable[[], object] = lambda: None,
        *,
        most: int | None = None,
        until: float = float("inf"),
    ) -> None:
        """Answer HITs until none is left, ``most`` were answered, or the clock (monotonic) says ``until``; ``done``
        is called after each."""
        status, shown = self.accept()
        while shown is not None and status < 400:
            if (most is not None and len(self.acknowledged) >= most) or time.monotonic() > until:
                return
            shown = self.submit(shown)
            done()

    def submit(self, shown: dict[str, Any]) -> Any:
        """Answer a HIT, where asked twice at the same moment; the next one, or None."""
        body = {
            "answers": [
                {"position": unit["position"], "value": value_seen(self.name, unit)}
                for unit in shown["units"]
            ],
            "next": True,
        }
        path = f"/api/assignments/{shown['id']}/submit/"
        replies: list[tuple[int, Any]] = []
        if self.twice:
            other = threading.Thread(target=lambda: replies.append(self._timed(1, "POST", path, body)))
            other.start()
            replies.append(self._timed(0, "POST", path, body))
            other.join()
        else:
            replies.append(self._timed(0, "POST", path, body))
        assert all(status == 200 for status, _ in replies), replies
        self.acknowledged.append(shown["id"])
        self.units += len(shown["units"])
        # the later of two replies may have found the HIT that the earlier one took
        return next((reply["next"] for _, reply in replies if reply["next"] is not None), None)

    def _timed(self, line: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        start = time.perf_counter()
        status, reply = self._lines[line].call(method, path, body)
        self.seconds.append(time.perf_counter() - start)
        self.statuses[status] += 1
        return status, reply

    def hang_up(self) -> None:
        """Close both lines."""
        for line in self._lines:
            line.close()


def all_at_once(actions: Sequence[Callable[[], None]]) -> None:
    """Run each in a thread of its own, started together; the first failure is raised."""
    start, failures = threading.Barrier(len(actions)), []

    def run(action: Callable[[], None]) -> None:
        start.wait()
        try:
            action()
        except BaseException as failure:  # noqa: BLE001  # shown below, in the thread that can fail the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(action,), daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def audit(study: str = "") -> dict[str, Any]:
    """What the database holds, of one study or of all, against every promise of a study; inside an installation."""
    from annotation.models import Assignment, Judgment
    from judgments.models import HIT, HITUnit

    one = {"study__slug": study} if study else {}
    finished = list(
        Assignment.objects.filter(state="submitted", **one).values_list("id", "hit_id", "worker_id")
    )
    hits = HIT.objects.filter(**one)
    sizes = Counter(HITUnit.objects.filter(hit__in=hits).values_list("hit_id", flat=True))
    rows = Judgment.objects.filter(assignment__hit__in=hits)
    judged = Counter(rows.values_list("assignment_id", flat=True))
    wrong = 0
    for row in rows.select_related(
        "assignment__worker", "unit__reference", "unit__first", "unit__second"
    ).iterator():
        reference, first, second = row.unit.reference, row.unit.first, row.unit.second
        assert reference
        assert first
        assert second
        shown = [first.text, second.text]
        flipped = row.presented == "second-left"
        b, c = reversed(shown) if flipped else shown
        unit = {"a": {"text": reference.text}, "b": {"text": b}, "c": {"text": c}}
        seen = value_seen(row.assignment.worker.name, unit)
        wrong += row.value != (3 - seen if flipped else seen)
    known = {pk for pk, _, _ in finished}
    return {
        "hits": hits.count(),
        "per_hit": sorted(Counter(hit for _, hit, _ in finished).values()),
        "open_slots": sum(hits.values_list("open_slots", flat=True)),
        "held": Assignment.objects.filter(state="accepted", **one).count(),
        "submitted": sorted(str(pk) for pk in known),
        "worker_twice_on_a_hit": len(finished) - len({(hit, worker) for _, hit, worker in finished}),
        "incomplete": sum(judged[pk] != sizes[hit] for pk, hit, _ in finished),
        "judgments": sum(judged.values()),
        "judgments_of_others": sum(count for pk, count in judged.items() if pk not in known),
        "wrong": wrong,
    }


AUDIT = "import json\nfrom tests.crowd import audit\nprint(json.dumps(audit()))"
