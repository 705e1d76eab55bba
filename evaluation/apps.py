"""The app of results."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        from judgments.jobs import register, repeat

        repeat("evaluation.export.exporting.remove_stopped", every=lambda: 3600)
        kinds = ("aggregate", "evaluate", "export", "board", "plan_power", "rehearse", "report")
        of_releases = ("release", "verify_release", "compare_releases")
        for kind in (*kinds, *of_releases, "score_submission", "rank_submissions"):
            register(kind, f"evaluation.handlers.{kind}")
