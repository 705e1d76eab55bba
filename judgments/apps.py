"""What is asked."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    """Datasets, studies, units, HITs, and the jobs that make them."""

    name = "judgments"
    verbose_name = "Judgments"

    def ready(self) -> None:
        """Registers the long work of this app."""
        from judgments.jobs import register

        register("import_dataset", "judgments.handlers.import_dataset")
        register("import_candidates", "judgments.handlers.import_candidates")
        register("import_rankings", "judgments.handlers.import_rankings")
        register("generate_hits", "judgments.handlers.generate")
        register("figures", "judgments.handlers.figures")
