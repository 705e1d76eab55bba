"""What the admin, the API, jobs and commands call."""

from evaluation.results.aggregation import aggregate_study
from evaluation.results.metric_scores import evaluate_study
from evaluation.services.exports import export_judgments

__all__ = ["aggregate_study", "evaluate_study", "export_judgments"]
