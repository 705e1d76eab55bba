"""The app of datasets, studies and HITs."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    name = "judgments"
    verbose_name = "Judgments"

    def ready(self) -> None:
        from django.conf import settings

        from judgments.jobs import register, schedule

        schedule("judgments.jobs.sweep_jobs", every=lambda: settings.JOB_SWEEP_SECONDS)
        schedule("judgments.datasets.uploads.discard_leftovers", every=lambda: 3600)
        register("import_dataset", "judgments.handlers.import_dataset")
        register("import_candidates", "judgments.handlers.import_candidates")
        register("import_rankings", "judgments.handlers.import_rankings")
        register("generate_hits", "judgments.handlers.generate")
        register("figures", "judgments.handlers.figures")
