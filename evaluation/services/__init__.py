"""What the admin, the API, jobs and commands call."""

from evaluation.services.aggregation import aggregate_study
from evaluation.services.exports import export_judgments

__all__ = ["aggregate_study", "export_judgments"]
