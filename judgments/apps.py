"""The app of datasets, studies and HITs."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    name = "judgments"
    verbose_name = "Judgments"
    # The modules of admin pages, which are loaded with the addresses, and not for commands.
    pages = (
        "judgments.access.views",
        "judgments.admin.accounts",
        "judgments.admin.jobs",
        "judgments.admin.rows",
        "judgments.datasets.views.page",
        "judgments.design.editing.views.design",
        "judgments.design.editing.views.presets",
        "judgments.design.editing.views.reuse",
        "judgments.studies.hits_page",
        "judgments.studies.plan_page",
        "judgments.studies.page",
    )

    def ready(self) -> None:
        from django.conf import settings

        from judgments.jobs.registry import HEAVY, INTERACTIVE, READING, register, schedule

        schedule("judgments.tasks.sweep_jobs", every=lambda: settings.JOB_SWEEP_SECONDS)
        schedule("judgments.datasets.uploads.discard_leftovers", every=lambda: 3600)  # every hour
        schedule("judgments.jobs.pool.remove_leftovers", every=lambda: 3600)
        register("understand_upload", "judgments.handlers.understand_upload", queue=READING)
        register("import_dataset", "judgments.handlers.import_dataset_upload", queue=READING)
        register("import_candidates", "judgments.handlers.import_candidate_upload", queue=READING)
        register("import_rankings", "judgments.handlers.import_ranking_upload", queue=READING)
        # An essential job, on which others rely, cannot be cancelled.
        register("scale_pictures", "judgments.handlers.scale_pictures", queue=HEAVY, is_essential=True)
        register("generate_hits", "judgments.handlers.draw_hits_of_study", queue=INTERACTIVE)
        register("figures", "judgments.handlers.compute_figures", queue=INTERACTIVE)
