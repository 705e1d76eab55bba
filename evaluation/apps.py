"""What it means."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Consensus, agreement, metrics and exports."""

    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        """Registers the long work of this app."""
        from judgments.jobs import register

        for kind in ("aggregate", "evaluate", "export"):
            register(kind, f"evaluation.handlers.{kind}")
