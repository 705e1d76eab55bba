"""The app of results."""

from typing import Any

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        from annotation.models.privacy import erasure_committed, ids_forgotten, person_erased
        from judgments.jobs import register, schedule
        from judgments.studies.discarding import pages_discarded, pages_in_use

        ids_forgotten.connect(_remove_personal_data)
        person_erased.connect(_forget_person)
        erasure_committed.connect(_remove_files)
        pages_in_use.connect(_describe_computed_results)
        pages_discarded.connect(_forget_columns)
        schedule("evaluation.export.exporting.remove_stopped_exports", every=lambda: 3600)
        kinds = {
            "reports": (
                *("aggregate", "evaluate", "board", "compare_metrics", "compare_judges", "leave_one_out"),
                *("plan_power", "report", "weigh_back", "choice_savings"),
            ),
            "exports": ("export", "release", "verify_release", "compare_releases", "publish_release"),
            "studies": ("rehearse", "ask_judge", "select_items"),
            "submissions": ("score_submission", "rank_submissions"),
        }
        for scope, named in kinds.items():
            for kind in named:
                register(kind, f"evaluation.handlers.{kind}", scope=scope)


def _remove_personal_data(**about: Any) -> None:
    from evaluation.disagreement.analysis import remove_personal_figures
    from evaluation.export.exporting import remove_personal_files

    remove_personal_files(**about)
    remove_personal_figures(**about)


def _forget_person(**about: Any) -> None:
    from evaluation.releases.erasure import forget_person

    forget_person(**about)


def _remove_files(**about: Any) -> None:
    from evaluation.releases.erasure import remove_files

    remove_files(**about)


def _describe_computed_results(**about: Any) -> str:
    from evaluation.releases.erasure import describe_computed_results

    return describe_computed_results(about["study"])


def _forget_columns(**about: Any) -> None:
    from evaluation.releases.erasure import forget_columns

    forget_columns(about["study"])
