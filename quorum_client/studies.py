"""An installation, and a study in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

from quorum_client.calls import Calls, Problem

ACCEPTED = 202  # not ready yet: ask again


class JobFailed(Exception):
    """A job failed or was cancelled; ``str()`` says why."""


class Quorum(Calls):
    """An installation of Quorum.

    >>> Quorum("http://127.0.0.1:8000", token="quorum_...").studies()
    """

    def studies(self, **filters: Any) -> pd.DataFrame:
        """Return the studies that you may see."""
        return _frame(self.rows("studies", **filters))

    def study(self, slug: str) -> StudyHandle:
        """Return a study, without checking that it exists."""
        return StudyHandle(self, slug)

    def dataset(self, name: str) -> DatasetHandle:
        """Return a dataset, without checking that it exists."""
        return DatasetHandle(self, name)

    def frame(self, resource: str, **filters: Any) -> pd.DataFrame:
        """Return any list of the interface, such as ``items`` or ``exclusions``."""
        return _frame(self.rows(resource, **filters))

    def create_study(self, toml: str | Path) -> StudyHandle:
        """Create a draft from the text or the path of a study file."""
        text = toml.read_text(encoding="utf-8") if isinstance(toml, Path) else toml
        made = self.ask(
            "POST", "studies/", content=text.encode(), headers={"Content-Type": "application/toml"}
        )
        return StudyHandle(self, made.json()["slug"])

    def plan(
        self,
        assumptions: dict[str, Any] | None = None,
        *,
        study: str = "",
        pilot: str = "",
        apart: tuple[str, str] | None = None,
    ) -> dict[str, Any]:
        """Simulate how many pairs, references and votes a difference takes, and wait for the result.

        Args:
            assumptions: those that differ from the default (docs/planning.md).
            study: slug of a study that gives prices and HITs, and stores the plan.
            pilot: slug of a study that gives the people.
            apart: two systems, or metrics, of the pilot, whose difference is to be found.

        Returns:
            ``assumptions``; ``designs``, a frame with a row for each design (pairs, references, votes, power with
                its interval, cost_cents); ``best``, the cheapest that surely reaches the power, or None.
        """
        body: dict[str, Any] = {"assumptions": assumptions or {}}
        body |= {name: value for name, value in (("study", study), ("pilot", pilot)) if value}
        if apart is not None:
            body["first"], body["second"] = apart
        asked = self.post("plans/", body)
        self.wait(asked | {"kind": "plan_power"})
        found = self.get(f"plans/{asked['id']}/")
        return {
            "assumptions": found["assumptions"],
            "designs": pd.DataFrame(found["result"]["tried"]),
            "best": found["result"]["best"],
        }

    def wait(self, job: dict[str, Any], *, seconds: float = 600.0) -> dict[str, Any]:
        """Wait for a job and return it.

        Raises:
            JobFailed: with the job's message.
            TimeoutError: it is not done after ``seconds``.
        """
        end, pause = time.monotonic() + seconds, 0.1
        while True:
            found = self.get(f"jobs/{job['id']}/")
            if found["state"] == "done":
                return found
            if found["state"] in ("failed", "cancelled"):
                raise JobFailed(found["error"] or f"Job {job['id']} was cancelled.")
            if time.monotonic() > end:
                raise TimeoutError(f"Job {job['id']} ({job['kind']}) is not done after {seconds:g} seconds.")
            self.sleep(pause)
            pause = min(pause * 1.5, 5.0)


class _Handle:
    """Something at an address. Every operation of the interface is a method."""

    def __init__(self, quorum: Quorum, address: str) -> None:
        self.quorum, self.address = quorum, address

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if name.startswith("_"):  # asked for by Python itself, as when an object is copied
            raise AttributeError(name)
        return partial(self.do, name.replace("_", "-"))

    def info(self) -> dict[str, Any]:
        return self.quorum.get(self.address)

    def do(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Do an operation. Return the answer (mostly the row), or the finished job if a job does it."""
        answer = self.quorum.ask("POST", f"{self.address}{operation}/", json=parameters)
        found: dict[str, Any] = answer.json()
        return self.quorum.wait(found) if answer.status_code == ACCEPTED else found


class DatasetHandle(_Handle):
    """A dataset, and who may read it.

    ``dataset.share(sharing="installation")`` posts to ``datasets/<name>/share/``.
    """

    def __init__(self, quorum: Quorum, name: str) -> None:
        super().__init__(quorum, f"datasets/{name}/")
        self.name = name

    def __repr__(self) -> str:
        return f"<dataset {self.name}>"


class StudyHandle(_Handle):
    """A study: its rows as frames, and its operations.

    ``study.pause(why="a caption is broken")`` posts to ``studies/<slug>/pause/`` (``do``).
    """

    def __init__(self, quorum: Quorum, slug: str) -> None:
        super().__init__(quorum, f"studies/{slug}/")
        self.slug = slug

    def __repr__(self) -> str:
        return f"<study {self.slug}>"

    def units(self, **filters: Any) -> pd.DataFrame:
        """Return units and control items."""
        return self._frame("units", filters)

    def judgments(self, **filters: Any) -> pd.DataFrame:
        """Return answers in the unit's order."""
        return self._frame("judgments", filters)

    def consensus(self, **filters: Any) -> pd.DataFrame:
        """Return the consensus as last aggregated."""
        return self._frame("consensus", filters)

    def workers(self, **filters: Any) -> pd.DataFrame:
        return self._frame("workers", filters)

    def agreement(self) -> dict[str, Any]:
        """Return the last agreement and workers' quality; compute them if there are none."""
        return self._computed("agreement", "aggregate")

    def evaluation(self) -> dict[str, Any]:
        """Return the last evaluation of metrics; compute it if there is none."""
        return self._computed("evaluation", "evaluate")

    def checklist(self) -> pd.DataFrame:
        """Return the checklist, a row for each point, first what prevents opening."""
        return pd.DataFrame(self.quorum.get(f"{self.address}checklist/")["points"])

    def aggregate(self) -> dict[str, Any]:
        """Compute consensus and agreement now."""
        self.do("aggregate")
        return self._computed("agreement", "aggregate")

    def evaluate(
        self, metrics: Iterable[str] | None = None, tokenizer: str | None = None, **readings: Any
    ) -> dict[str, Any]:
        """Evaluate metrics against the consensus now; ``readings`` are further ones, such as ``tau_c=True``."""
        body: dict[str, Any] = readings if metrics is None else {"metrics": list(metrics), **readings}
        if tokenizer is not None:
            body["tokenizer"] = tokenizer
        self.do("evaluate", **body)
        return self._computed("evaluation", "evaluate")

    def compare(self, other: str, *, missing: str = "leave-out", seconds: float = 600.0) -> dict[str, Any]:
        """Return the agreement of this study with another of its dataset, which is the standard.

        ``missing`` says how to treat units that only the other has: "leave-out", or "no", a no of this study.
        """
        asked = {"with": other, "missing": missing}
        return self._counted("comparison", f"The comparison with {other!r}", seconds, asked)

    def soft_labels(self, *, seconds: float = 600.0) -> dict[str, Any]:
        """Return how far people disagree, what predicts their answers, and groups of raters (docs/disagreement.md)."""
        return self._counted("soft-labels", "Disagreement", seconds, {})

    def _counted(self, name: str, what: str, seconds: float, asked: dict[str, Any]) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while True:
            response = self.quorum.ask("GET", f"{self.address}{name}/", params=asked)
            if response.status_code != ACCEPTED:
                found: dict[str, Any] = response.json()
                return found
            if time.monotonic() >= until:
                raise Problem(0, f"{what} was not counted within {seconds:g} seconds.")
            self.quorum.sleep(float(response.headers.get("Retry-After", 5)))

    def board(self) -> dict[str, Any]:
        """Return the dashboard: current counters, and the last ``snapshot`` or None."""
        return self.quorum.get(f"{self.address}board/")

    def strengths(self, *, model: str = "adjacent", control: str = "none") -> dict[str, Any]:
        """Return the systems' strengths by people's choices; ``systems`` is a frame with intervals and rank bands."""
        found = self.quorum.get(f"{self.address}strengths/", model=model, control=control)
        return found | {"systems": pd.DataFrame(found["systems"])}

    def disagreements(self, metric: str | None = None, *, kind: str = "") -> pd.DataFrame:
        """Return pairs, or captions, on which a metric and people disagree, the clearest first.

        ``scores_<metric>`` holds each metric's scores of the row's one or two captions.
        """
        asked = {name: value for name, value in (("metric", metric), ("kind", kind)) if value}
        rows = self.quorum.rows(f"{self.address}disagreements", **asked)
        return _frame(
            {name: value for name, value in row.items() if name != "scores"}
            | {f"scores_{name}": value for name, value in row["scores"].items()}
            for row in rows
        )

    def look_closer(self, key: str) -> dict[str, Any]:
        """Return all about a pair or judged caption; ``votes`` is a frame."""
        found = self.quorum.get(f"{self.address}disagreements/{key}/")
        return found | {"votes": pd.DataFrame(found["votes"])}

    def next_batch(self, chosen: Iterable[str], why: str = "") -> StudyHandle:
        """Create a draft that asks again about these pairs, or units."""
        made = self.quorum.post(f"{self.address}next-batch/", {"chosen": list(chosen), "why": why})
        return StudyHandle(self.quorum, made["slug"])

    def rehearse(self, **crowd: Any) -> dict[str, Any]:
        """Let simulated workers answer a copy; return the copy with ``crowd`` and ``result``."""
        job = self.quorum.post("rehearsals/", {"study": self.slug, **crowd})
        self.quorum.wait(job)
        return self.quorum.get(f"rehearsals/{job['args']['study']}/")

    def report_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the report, intervals in separate columns; make a report if there is none."""
        made = self._newest_report()
        if made is None:
            self.do("report")
            made = self._newest_report()
        assert made is not None, "the job that makes it is done"
        sections = self.quorum.get(f"reports/{made['id']}/")["result"]["sections"]
        return {
            table["name"]: pd.DataFrame(table["rows"], columns=table["columns"])
            for section in sections
            for table in section["tables"]
        }

    def _newest_report(self) -> dict[str, Any] | None:
        rows = self.quorum.rows(
            "reports", study=self.slug, what="report", ordering="-created_at", page_size=1
        )
        return next(rows, None)

    def export(self, format: str, path: str | Path) -> Path:
        """Make an export and download it."""
        job = self.quorum.post("exports/", {"study": self.slug, "format": format})
        self.quorum.wait(job)
        self.quorum.save(f"exports/{job['id']}/download/", str(path))
        return Path(path)

    def bonus(self, worker: str, cents: int) -> MoneyStep:
        """Preview a bonus for a worker's approved work; ``confirm`` pays it."""
        return self._money(f"{self.address}bonus/", {"worker": worker, "cents": cents})

    def top_ups(self, worker: str = "") -> MoneyStep:
        """Preview lifting approved work, all or a worker's, to the study's floor; ``confirm`` pays it."""
        return self._money(f"{self.address}top-up/", {"worker": worker} if worker else {})

    def budget(self, cents: int) -> MoneyStep:
        """Preview another budget; ``confirm`` sets it."""
        return self._money(f"{self.address}budget/", {"cents": cents})

    def retry(self, call: int) -> MoneyStep:
        """Preview trying a failed outbox message again; ``confirm`` does it."""
        return self._money(f"crowd-calls/{call}/retry/", {})

    def was_done(self, call: int, done: bool) -> MoneyStep:
        """Preview resolving an indeterminate outbox message; ``confirm`` does it."""
        return self._money(f"crowd-calls/{call}/{'was-done' if done else 'was-not-done'}/", {})

    def _money(self, path: str, asked: dict[str, Any]) -> MoneyStep:
        return MoneyStep(self.quorum, path, asked, self.quorum.get(path, **asked))

    def _computed(self, what: str, step: str) -> dict[str, Any]:
        try:
            return self.quorum.get(f"{self.address}{what}/")
        except Problem as problem:
            if problem.status != 404:
                raise
        self.do(step)
        return self.quorum.get(f"{self.address}{what}/")

    def _frame(self, resource: str, filters: dict[str, Any]) -> pd.DataFrame:
        return _frame(self.quorum.rows(resource, study=self.slug, **filters))


@dataclass
class MoneyStep:
    """A previewed operation that moves money.

    Attributes:
        told: the preview: ``total_cents`` with fees, ``left_cents`` of the budget, and what it is about.
        key: the idempotency key, so that it is done once however often it is sent.
    """

    quorum: Quorum
    path: str
    asked: dict[str, Any]
    told: dict[str, Any]
    key: str = field(default_factory=lambda: uuid4().hex)

    def confirm(self, why: str = "") -> dict[str, Any]:
        """Do it once: a repeated call changes nothing and answers the same.

        Args:
            why: the message to workers with a bonus; else for the log.

        Raises:
            Problem: 409, the preview is out of date or beyond the budget; nothing was done.
        """
        body = {**self.asked, "confirm": self.told["confirm"], "why": why}
        return self.quorum.post(self.path, body, key=self.key)


def _frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Convert ``..._at`` to times."""
    frame = pd.DataFrame(list(rows))
    for name in frame.columns:
        if name.endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame
