"""The app of datasets, studies and HITs."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from judgments.jobs.registry import HEAVY, INTERACTIVE, READING, JobKind, register, schedule

PATH = "judgments.handlers"  # of the functions that run jobs


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

    jobs = {
        "understand_upload": JobKind(f"{PATH}.understand_upload", READING, _("Check of an upload")),
        "import_dataset": JobKind(f"{PATH}.import_dataset_upload", READING, _("Import of a dataset")),
        "import_candidates": JobKind(f"{PATH}.import_candidate_upload", READING, _("Import of candidates")),
        "import_rankings": JobKind(f"{PATH}.import_ranking_upload", READING, _("Import of rankings")),
        "scale_pictures": JobKind(
            f"{PATH}.scale_pictures", HEAVY, _("Scaling of pictures"), is_essential=True
        ),
        "generate_hits": JobKind(f"{PATH}.draw_hits_of_study", INTERACTIVE, _("Generating pages of work")),
        "figures": JobKind(
            f"{PATH}.compute_figures", INTERACTIVE, _("Results for a study's pages"), is_automatic=True
        ),
    }

    def ready(self) -> None:
        from django.conf import settings

        schedule("judgments.tasks.sweep_jobs", every=lambda: settings.JOB_SWEEP_SECONDS)
        schedule("judgments.datasets.uploads.discard_leftovers", every=lambda: 3600)  # every hour
        schedule("judgments.jobs.pool.remove_leftovers", every=lambda: 3600)
        register(self.jobs)
