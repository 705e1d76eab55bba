"""Declare what the feature “judgment_imports” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import READING, JobKind


class JudgmentImportsConfig(Feature):
    name = "contrib.judgment_imports"
    questions = (
        "a column for each annotator",
        "ratings in a spreadsheet",
        "several criteria",
        "no annotator ids",
        "Label Studio",
        "Potato",
        "Appraise",
    )
    pages = ("contrib.judgment_imports.page",)
    calls = "contrib.judgment_imports.calls"
    commands = {
        "Studies": {
            "study import": (
                "import_judgments",
                "judgments collected elsewhere",
                "contrib.judgment_imports.management.ImportJudgments",
            )
        }
    }
    jobs = {
        "import_judgments": JobKind(
            "contrib.judgment_imports.handlers.import_judgment_upload",
            READING,
            _("Import of judgments"),
            scope="judgments",
            creates_study=True,
        ),
    }
