"""Import a judge's answers."""

from __future__ import annotations

from evaluation.results.judges.operations import JudgeFile, import_judge
from judgments.management.base import FileOperationCommand


class Command(FileOperationCommand):
    operation = import_judge
    parameter = "answers"
    others = JudgeFile
    expected = "CSV or JSON lines"
    help = (
        "Take in a judge's answers: CSV with a header line, or JSON lines, with unit, value, and rater and order if "
        "known (docs/judges.md)."
    )
    example = "manage.py import_judge triplets-50 answers.csv --name small-model --model small-1"
