"""What is asked."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    """Datasets, studies, units, HITs, and the jobs that make them."""

    name = "judgments"
    verbose_name = "Judgments"

    def ready(self) -> None:
        """Registers the long work of this app."""
        from judgments.jobs import register

        for kind in ("import_dataset", "import_candidates", "import_judgments"):
            register(kind, f"judgments.handlers.{kind}")
        register("generate_hits", "judgments.handlers.generate")
