"""``manage.py export_judgments``: a study's judgments as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from evaluation.export.exporting import export_judgments
from evaluation.export.formats import FORMATS, TASKS
from judgments.management.base import QuorumCommand, progress_bar
from judgments.studies.studies import find_study

_LIST = "; ".join(f"{one.name}: {one.what}" for one in FORMATS.values())


class Command(QuorumCommand):
    """Thin: parses and calls ``export_judgments``."""

    help = (
        "Write a study's judgments to a file, and a manifest beside it, PATH.manifest.json (docs/exports.md). "
        f"Formats: {_LIST}."
    )
    example = "manage.py export_judgments triplets-50 --format jsonl --output triplets-50.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, format, output, the task of qrels, and whether revised answers are wanted."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("--format", required=True, help=f"one of {', '.join(FORMATS)}")
        parser.add_argument("--output", required=True, type=Path, help="the file to write")
        parser.add_argument(
            "--task", default=TASKS[0],
            help="qrels: annotation (default; an image asks for captions) or search (a caption asks for images)",
        )  # fmt: skip
        parser.add_argument(
            "--revisions", action="store_true",
            help="jsonl, csv, parquet: answers that were revised as well, each before the one that replaced it",
        )  # fmt: skip
        parser.add_argument(
            "--resume", action="store_true",
            help="go on with what a stopped export left beside PATH, with the judgments as they stood when that began",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Export and say what was written."""
        study = find_study(options["study"])
        with progress_bar() as progress:
            made = export_judgments(
                study=study,
                format=options["format"],
                output=options["output"],
                task=options["task"],
                revisions=options["revisions"],
                resume=options["resume"],
                progress=progress,
            )
        counts = ", ".join(
            f"{count:,} {name.replace('_', ' ')}" for name, count in made.manifest["counts"].items()
        )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(f"{made.path}: {counts}. Manifest: {made.manifest_path.name}.{simulated}")
