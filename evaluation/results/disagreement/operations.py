"""Predicted distributions of answers, for pages, commands and HTTP calls."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.models import Prediction
from evaluation.results.disagreement import predictions as files
from evaluation.results.disagreement.analysis import check_soft_labels
from judgments.models import Study
from judgments.study_operations import Outcome, operation, row_of

LONGEST_FILE = 20_000_000


class PredictionsName(Parameters):
    name = serializers.CharField(
        max_length=80,
        label="Name of the model",
        help_text="What it is called in tables, such as soft-net-1.",
    )


class ImportPredictionsRequest(PredictionsName):
    """A model's own distributions of people's answers."""

    predictions = serializers.CharField(
        trim_whitespace=False,
        max_length=LONGEST_FILE,
        style={"base_template": "textarea.html"},
        label="Distributions",
        help_text="JSON lines with unit and distribution, as the export soft-labels has them.",
    )


@operation("import-predictions", "Import predicted distributions", parameters=ImportPredictionsRequest)
def import_predictions(*, study: Study, by: User | None, name: str, predictions: str) -> Outcome:
    """Store a model's distributions, to be held against people's. The same again changes nothing."""
    check_soft_labels(study)
    return Outcome(files.import_predictions(study=study, name=name, predictions=predictions, by=by))


@operation("remove-predictions", "Remove predicted distributions", row="prediction")
def remove_predictions(*, study: Study, by: User | None, prediction: str) -> Outcome:
    """Remove a model's distributions."""
    row = row_of(Prediction.objects.filter(study=study), prediction)
    return Outcome(files.remove_predictions(prediction=row, by=by))
