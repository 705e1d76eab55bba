"""The command that imports scores."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand
from judgments.management.base import add_parameters, as_form_data
from judgments.studies.studies import find_dataset


class ImportScores(QuorumCommand):
    help = (
        "Import scores of metrics that Quorum does not compute, of captions, systems or pairs, from JSON lines, CSV or "
        "a folder of mt-metrics-eval (contrib/score_imports/README.md)."
    )
    example = "manage.py import_scores comet.csv --dataset photos --metric comet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from contrib.score_imports.parameters import ImportScoresRequest
        from contrib.score_imports.reading import FORMATS

        parser.add_argument("path", type=Path, metavar="FILE")
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--format", choices=FORMATS, default="", help="default: what the file is")
        add_parameters(parser, ImportScoresRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.score_imports.parameters import ImportScoresRequest, pop_mapping
        from contrib.score_imports.reading import read_scores
        from contrib.score_imports.storing import store_metric_scores

        dataset = find_dataset(options["dataset"])
        values = ImportScoresRequest.read(as_form_data(ImportScoresRequest(), options))
        path, metrics = options["path"], values.pop("metric", [])
        mapping = pop_mapping(values, path)
        files = read_scores(path, metrics, format=options["format"], mapping=mapping)
        self.say(store_metric_scores(dataset=dataset, files=files, **values).summary())
