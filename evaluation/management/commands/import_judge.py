"""Import a judge's answers."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from evaluation.judges.operations import JudgeFile, import_judge
from judgments.management.base import OperationCommand, add_parameters


class Command(OperationCommand):
    operation = import_judge
    help = (
        "Take in a judge's answers: CSV with a header line, or JSON lines, with unit, value, and rater and order if "
        "known (docs/judges.md)."
    )
    example = "manage.py import_judge triplets-50 answers.csv --name small-model --model small-1"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("file", type=Path, help="the answers")
        add_parameters(parser, JudgeFile())

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            options["answers"] = options["file"].read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise CommandError(f"{options['file']} is no UTF-8 text, expected CSV or JSON lines.") from None
        super().handle(*args, **options)
