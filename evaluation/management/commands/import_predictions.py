"""Import a model's own distributions of people's answers."""

from __future__ import annotations

from evaluation.results.disagreement.operations import PredictionsName, import_predictions
from judgments.management.base import FileOperationCommand


class Command(FileOperationCommand):
    operation = import_predictions
    parameter = "predictions"
    others = PredictionsName
    expected = "JSON lines"
    help = (
        "Take in a model's distributions of people's answers, JSON lines with unit and distribution, to be held "
        "against people's (docs/disagreement.md)."
    )
    example = "manage.py import_predictions triplets-50 net.jsonl --name soft-net-1"
