"""Declare what the feature “judgment_imports” adds to the platform."""

from config.features import Feature


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

    def start(self) -> None:
        from judgments.jobs.registry import READING, register

        register(
            "import_judgments",
            "contrib.judgment_imports.handlers.import_judgment_upload",
            queue=READING,
            scope="judgments",  # of the API tokens that may see its result
        )
