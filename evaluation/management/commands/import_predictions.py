"""``manage.py import_predictions``: a model's own distributions of people's answers."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from evaluation.disagreement.operations import PredictionsName, import_predictions
from judgments.management.base import OperationCommand, add_parameters


class Command(OperationCommand):
    operation = import_predictions
    help = (
        "Take in a model's distributions of people's answers, JSON lines with unit and distribution, to be held "
        "against people's (docs/disagreement.md)."
    )
    example = "manage.py import_predictions triplets-50 net.jsonl --name soft-net-1"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("file", type=Path, help="the distributions")
        add_parameters(parser, PredictionsName())

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            options["predictions"] = options["file"].read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise CommandError(f"{options['file']} is no UTF-8 text, expected JSON lines.") from None
        super().handle(*args, **options)
