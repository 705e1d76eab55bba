"""An installation, and a study or dataset in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

from quorum_client.calls import ACCEPTED, Calls


class JobFailed(Exception):
    """A job failed or was cancelled; ``str()`` says why."""


class Quorum(Calls):
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
        """Return a list of the interface, such as ``studies`` or ``exclusions``; convert ``..._at`` to times."""
        frame = pd.DataFrame(list(self.rows(resource, **filters)))
        for name in frame.columns:
            if name.endswith("_at"):
                frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def create_study(self, toml: str | Path) -> Handle:
        """Create a draft from the text or the path of a study file."""
        text = toml.read_text(encoding="utf-8") if isinstance(toml, Path) else toml
        made = self.ask(
            "POST", "studies/", content=text.encode(), headers={"Content-Type": "application/toml"}
        )
        return self.study(made.json()["slug"])

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
                raise TimeoutError(
                    f"Job {job['id']} ({found['kind']}) is not done after {seconds:g} seconds."
                )
            self.sleep(pause)
            pause = min(pause * 1.5, 5.0)

    def preview(self, path: str, **asked: Any) -> MoneyStep:
        """Preview a call that moves money; ``confirm`` makes it."""
        return MoneyStep(self, path, asked, self.get(path, **asked))


class Handle:
    """A study or a dataset. Every operation of the interface is a method.

    ``study.pause(why="a caption is broken")`` posts to ``studies/<slug>/pause/`` (``do``).
    """

    def __init__(self, quorum: Quorum, address: str, own: dict[str, str]) -> None:
        self.quorum, self.address, self.own = quorum, address, own

    def __repr__(self) -> str:
        return f"<{self.address}>"

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if name.startswith("_"):  # asked for by Python itself, as when an object is copied
            raise AttributeError(name)
        return partial(self.do, name.replace("_", "-"))

    def do(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Do an operation. Return the answer (mostly the row), or the finished job if a job does it."""
        answer = self.quorum.ask("POST", f"{self.address}{operation}/", json=parameters)
        found: dict[str, Any] = answer.json()
        return self.quorum.wait(found) if answer.status_code == ACCEPTED else found

    def get(self, what: str = "", **parameters: Any) -> dict[str, Any]:
        """Return the row itself, or what is below it, such as ``agreement``."""
        return self.quorum.get(f"{self.address}{what}/" if what else self.address, **parameters)

    def frame(self, resource: str, **filters: Any) -> pd.DataFrame:
        """Return its rows of a list, such as ``judgments``."""
        return self.quorum.frame(resource, **self.own, **filters)

    def export(self, format: str, path: str | Path) -> Path:
        """Make an export of the study and download it."""
        job = self.quorum.post("exports/", {**self.own, "format": format})
        self.quorum.wait(job)
        self.quorum.save(f"exports/{job['id']}/download/", str(path))
        return Path(path)

    def preview(self, operation: str, **asked: Any) -> MoneyStep:
        """Preview an operation that moves money, such as ``bonus``; ``confirm`` does it."""
        return self.quorum.preview(f"{self.address}{operation}/", **asked)


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
