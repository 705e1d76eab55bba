"""What is asked."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    """Datasets, studies, units, HITs, and the jobs that make them."""

    name = "judgments"
    verbose_name = "Judgments"

    def ready(self) -> None:
        """Says who does this app's jobs."""
        from judgments import jobs

        jobs.register("import_dataset", "judgments.handlers.import_dataset")
        jobs.register("import_candidates", "judgments.handlers.import_candidates")
        jobs.register("generate_hits", "judgments.handlers.generate")
