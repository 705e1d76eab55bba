"""Declare what the feature “score_imports” adds to the platform."""

from config.features import Feature


class ScoreImportsConfig(Feature):
    name = "contrib.score_imports"
    questions = ("compare two metrics", "COMET", "BERTScore", "CLIPScore")
    pages = ("contrib.score_imports.page",)
    calls = "contrib.score_imports.calls"
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Results": {
            "metrics import": (
                "import_scores",
                "scores of metrics that were computed elsewhere",
                "contrib.score_imports.management.ImportScores",
            )
        }
    }

    def start(self) -> None:
        from judgments.jobs.registry import READING, register

        handler = "contrib.score_imports.handlers.import_scores"
        register("import_scores", handler, queue=READING, scope="studies")  # of tokens that may see the job
