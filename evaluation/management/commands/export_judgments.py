"""Export a study's judgments."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import progress_bar
from evaluation.data.export import operations
from evaluation.data.export.exporting import export_judgments
from evaluation.data.export.formats import FORMATS
from judgments.management.base import OperationCommand

_LIST = "; ".join(f"{one.name}: {one.what}" for one in FORMATS.values())


class Command(OperationCommand):
    operation = operations.export
    workers_option = "--workers"
    help = (
        "Write a study's judgments to a file, and a manifest beside it, PATH.manifest.json (docs/exports.md). "
        f"Formats: {_LIST}."
    )
    example = "manage.py export_judgments triplets-50 --format jsonl --output triplets-50.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", required=True, type=Path, help="the file to write")
        parser.add_argument(
            "--revisions",
            action="store_true",
            help="jsonl, csv, parquet: answers that were revised as well, each before the one that replaced it",
        )
        parser.add_argument(
            "--resume",
            action="store_true",
            help="go on with what a stopped export left beside PATH, with the judgments as they stood when that began",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            made = export_judgments(
                study=study,
                **values,
                output=options["output"],
                revisions=options["revisions"],
                resume=options["resume"],
                progress=progress,
            )
        counts = ", ".join(
            f"{count:,} {name.replace('_', ' ')}" for name, count in made.manifest["counts"].items()
        )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(f"{made.path}: {counts}. Manifest: {made.manifest_path.name}.{simulated}")
