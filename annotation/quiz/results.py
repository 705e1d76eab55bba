"""Results of a quiz by worker and by question, to find bad questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from annotation.models import QuizAttempt
from annotation.quiz.sheet import Paper

LEAST_ANSWERS, FEW = (
    5,
    0.25,
)  # own choice: from this many answers on, a lower accuracy means that the question is bad


@dataclass(slots=True)
class WorkerResult:
    """A worker's attempts.

    Attributes:
        attempts: how many were started.
        best: (right, asked) of the best finished attempt, or None.
        passed: whether one was passed.
        latest: the start of the last one.
    """

    name: str
    simulated: bool
    attempts: int = 0
    best: tuple[int, int] | None = None
    passed: bool = False
    latest: datetime | None = None


@dataclass(slots=True)
class QuestionResult:
    """The counts of one question or known item, by its key."""

    key: str
    answered: int = 0
    right: int = 0

    @property
    def percent(self) -> str:
        return f"{100 * self.right / self.answered:.0f} %" if self.answered else "–"

    @property
    def suspect(self) -> bool:
        return self.answered >= LEAST_ANSWERS and self.right / self.answered < FEW


def worker_results(attempts: Iterable[QuizAttempt]) -> list[WorkerResult]:
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
    """Count answers by question, including those of running attempts."""
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
