"""Declare what the feature “disagreement” adds to the platform: a page, calls, commands and a job about soft labels."""

from django.utils.translation import gettext_lazy as _

from common.features import lazy_function
from config.features import Feature
from judgments.jobs.registry import READING, JobKind


class DisagreementConfig(Feature):
    name = "contrib.disagreement"
    pages = ("contrib.disagreement.views",)
    calls = "contrib.disagreement.calls"
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Results": {
            "disagreement": (
                "soft_labels",
                "soft labels, what predicts them, groups of raters",
                "contrib.disagreement.management.PrintSoftLabels",
            ),
            "predictions import": (
                "import_predictions",
                "a model's own distributions of people's answers",
                "contrib.disagreement.management.ImportPredictions",
            ),
        }
    }
    jobs = {
        "import_predictions": JobKind(
            "contrib.disagreement.handlers.import_prediction_upload",
            READING,
            _("Import of predicted distributions"),
        ),
    }

    def connect_always(self) -> None:
        from annotation.models.privacy import ids_forgotten

        remove = lazy_function("contrib.disagreement.cached_figures.remove_personal_figures")
        ids_forgotten.connect(remove, weak=False)  # nothing else keeps the function
