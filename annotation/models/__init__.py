"""Who answers: workers, assignments, judgments."""

from annotation.models.assignments import AppendOnly, Assignment, Judgment, ProblemReport
from annotation.models.workers import Invitation, Participation, Worker

__all__ = ["AppendOnly", "Assignment", "Invitation", "Judgment", "Participation", "ProblemReport", "Worker"]
