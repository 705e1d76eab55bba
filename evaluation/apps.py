"""Declare what `evaluation` adds: its pages, receivers of signals, regular jobs and kinds of jobs."""

from django.apps import AppConfig

from common.features import lazy_function


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

    def ready(self) -> None:
        from annotation.models.privacy import erasure_committed, ids_forgotten, person_erased
        from judgments.jobs.registry import HEAVY, INTERACTIVE, register, schedule
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
        # Kinds of jobs, by their queue and by the scope of tokens that may see them.
        job_kinds = {
            (HEAVY, "reports"): ("aggregate", "evaluate", "report"),
            (INTERACTIVE, "exports"): ("export", "verify_release"),
            (HEAVY, "exports"): ("release",),
        }
        for (queue, scope), kinds in job_kinds.items():
            for kind in kinds:
                register(kind, f"evaluation.handlers.{kind}", queue=queue, scope=scope)
