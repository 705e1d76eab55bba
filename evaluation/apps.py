"""What it means."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Consensus, agreement, metrics and exports."""

    name = "evaluation"
    verbose_name = "Evaluation"
