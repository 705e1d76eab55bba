"""Declare what the feature “score_imports” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import READING, JobKind


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
    jobs = {
        "import_scores": JobKind(
            "contrib.score_imports.handlers.import_scores", READING, _("Import of scores")
        ),
    }
