"""Services of the admin, API, jobs and commands."""

from evaluation.export.exporting import export_judgments
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metric_scores import evaluate_study

__all__ = ["aggregate_study", "evaluate_study", "export_judgments"]
