"""What the admin, the API, jobs and commands call."""

from evaluation.services.aggregation import aggregate_study
from evaluation.services.exports import export_judgments
from evaluation.services.meta_evaluation import evaluate_study

__all__ = ["aggregate_study", "evaluate_study", "export_judgments"]
