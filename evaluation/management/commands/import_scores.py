"""Import scores of metrics."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand
from evaluation.data.imported_scores.operations import ScoresRequest
from evaluation.data.imported_scores.reading import FORMATS, read_scores
from evaluation.data.imported_scores.storing import import_scores
from judgments.management.base import add_parameters, as_text
from judgments.studies.studies import find_dataset


class Command(QuorumCommand):
    help = (
        "Import scores of metrics that Quorum does not compute, of captions, systems or pairs, from JSON lines, CSV or "
        "a folder of mt-metrics-eval (docs/imported-scores.md)."
    )
    example = "manage.py import_scores comet.csv --dataset photos --metric comet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE")
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--format", choices=FORMATS, default="", help="default: as the name says")
        add_parameters(parser, ScoresRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        values = ScoresRequest.read(as_text(ScoresRequest(), options))
        files = read_scores(options["path"], values.pop("metric", []), format=options["format"])
        self.say(import_scores(dataset=dataset, files=files, **values).words())
