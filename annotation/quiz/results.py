"""How a quiz goes: per worker, and per question, so that a question that is wrong itself is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from annotation.models import QuizAttempt
from annotation.quiz.sheet import Paper

LEAST_ANSWERS, FEW = (
    5,
    0.25,
)  # ours: from so many answers on, a smaller share right says that the question is at fault


@dataclass(slots=True)
class WorkerResult:
    """A worker's attempts.

    Attributes:
        attempts: how many were started.
        best: the most answers right in one, and of how many; None before one is over.
        passed: whether one was passed.
        latest: when the last one was started.
    """

    name: str
    simulated: bool
    attempts: int = 0
    best: tuple[int, int] | None = None
    passed: bool = False
    latest: datetime | None = None


@dataclass(slots=True)
class QuestionResult:
    """What became of one question or known item, by its key."""

    key: str
    answered: int = 0
    right: int = 0

    @property
    def percent(self) -> str:
        """The share right, without decimals; a dash before anybody answered."""
        return f"{100 * self.right / self.answered:.0f} %" if self.answered else "–"

    @property
    def suspect(self) -> bool:
        """Whether nearly everybody misses it."""
        return self.answered >= LEAST_ANSWERS and self.right / self.answered < FEW


def worker_results(attempts: Iterable[QuizAttempt]) -> list[WorkerResult]:
    """One row per worker, the latest first; the attempts bring their workers."""
    rows: dict[int, WorkerResult] = {}
    for attempt in attempts:
        worker = attempt.worker
        row = rows.setdefault(attempt.worker_id, WorkerResult(worker.name, attempt.simulated))
        row.attempts += 1
        row.passed = row.passed or bool(attempt.passed)
        row.latest = attempt.started_at if row.latest is None else max(row.latest, attempt.started_at)
        if attempt.right is not None and (row.best is None or attempt.right > row.best[0]):
            row.best = (attempt.right, len(attempt.items))
    return sorted(rows.values(), key=lambda row: row.latest.timestamp() if row.latest else 0.0, reverse=True)


def question_results(papers: Iterable[Paper]) -> dict[str, QuestionResult]:
    """Key -> what became of it, over all answers, those of attempts under way too."""
    rows: dict[str, QuestionResult] = {}
    for paper in papers:
        for position, item in enumerate(paper.attempt.items, start=1):
            right = paper.is_right(position)
            if right is None:
                continue
            key = str(item.get("question") or item["unit"])
            row = rows.setdefault(key, QuestionResult(key))
            row.answered += 1
            row.right += right
    return rows
