"""The app of results."""

from typing import Any

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        from annotation.models.people import erasure_committed, ids_forgotten, person_erased
        from judgments.jobs import HEAVY, INTERACTIVE, register, schedule
        from judgments.models.studies import pages_discarded, pages_in_use

        ids_forgotten.connect(_remove_personal_data)
        person_erased.connect(_forget_person)
        erasure_committed.connect(_remove_files)
        pages_in_use.connect(_describe_computed_results)
        pages_discarded.connect(_forget_columns)
        schedule("evaluation.data.export.exporting.remove_stopped_exports", every=lambda: 3600)
        kinds = {
            (INTERACTIVE, "reports"): ("board", "compare_metrics", "weigh_back"),
            (HEAVY, "reports"): (
                *("aggregate", "evaluate", "compare_judges", "leave_one_out", "plan_power", "report"),
                "choice_savings",
            ),
            (INTERACTIVE, "exports"): ("export", "verify_release", "compare_releases"),
            (HEAVY, "exports"): ("release", "publish_release"),
            (INTERACTIVE, "studies"): ("import_predictions", "import_scores", "select_items"),
            (HEAVY, "studies"): ("rehearse", "ask_judge"),
            (HEAVY, "submissions"): ("score_submission",),
            (INTERACTIVE, "submissions"): ("rank_submissions", "submit_captions"),
        }
        for (queue, scope), names in kinds.items():
            for kind in names:
                register(
                    kind,
                    f"evaluation.handlers.{kind}",
                    queue=queue,
                    scope=scope,
                    relied_on=kind in ("score_submission", "rank_submissions"),
                )


def _remove_personal_data(**about: Any) -> None:
    from evaluation.data.export.exporting import remove_personal_files
    from evaluation.results.disagreement.analysis import remove_personal_figures

    remove_personal_files(**about)
    remove_personal_figures(**about)


def _forget_person(**about: Any) -> None:
    from evaluation.data.releases.storage import forget_person

    forget_person(**about)


def _remove_files(**about: Any) -> None:
    from evaluation.data.releases.storage import remove_files

    remove_files(**about)


def _describe_computed_results(**about: Any) -> str:
    from evaluation.data.releases.storage import describe_computed_results

    return describe_computed_results(about["study"])


def _forget_columns(**about: Any) -> None:
    from evaluation.data.releases.storage import forget_columns

    forget_columns(about["study"])
