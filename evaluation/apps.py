"""Declare what `evaluation` adds: its pages, receivers of signals, regular jobs and kinds of jobs."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from common.features import lazy_function
from judgments.jobs.registry import HEAVY, INTERACTIVE, JobKind, register, schedule

PATH = "evaluation.handlers"  # of the functions that run jobs


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"
    pages = (
        "evaluation.data.export.views",
        "evaluation.reports.views",
        "evaluation.reports.releases.views",
        "evaluation.results.views.page",
        "evaluation.admin.tables",
    )

    jobs = {
        "aggregate": JobKind(f"{PATH}.aggregate", HEAVY, _("Consensus and agreement"), scope="reports"),
        "evaluate": JobKind(
            f"{PATH}.evaluate", HEAVY, _("Comparison of metrics with the consensus"), scope="reports"
        ),
        "report": JobKind(f"{PATH}.report", HEAVY, scope="reports"),
        "export": JobKind(f"{PATH}.export", INTERACTIVE, _("Export"), scope="exports"),
        "verify_release": JobKind(
            f"{PATH}.verify_release", INTERACTIVE, _("Verification of a release"), scope="exports"
        ),
        "release": JobKind(f"{PATH}.release", HEAVY, scope="exports"),
    }

    def ready(self) -> None:
        from annotation.models.privacy import erasure_committed, ids_forgotten, person_erased
        from judgments.models.studies import pages_discarded, reasons_against_discarding

        for signal, path in (
            (ids_forgotten, "evaluation.data.export.downloads.remove_personal_files"),
            (person_erased, "evaluation.data.releases.erasure.forget_person"),
            (erasure_committed, "evaluation.data.releases.erasure.remove_files"),
            (reasons_against_discarding, "evaluation.data.releases.erasure.why_pages_of_work_must_stay"),
            (pages_discarded, "evaluation.data.releases.erasure.delete_columns"),
        ):
            signal.connect(lazy_function(path), weak=False)  # nothing else refers to the function
        schedule("evaluation.data.export.downloads.remove_stopped_exports", every=lambda: 3600)  # seconds
        schedule("evaluation.data.judgment_sets.blocks.extend_recent_blocks", every=lambda: 600, queue=HEAVY)
        register(self.jobs)
