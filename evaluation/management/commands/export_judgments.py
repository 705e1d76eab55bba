"""``manage.py export_judgments``: a study's judgments as a file."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.export.formats import FORMATS, TASKS
from evaluation.management.terminal import progress_bar
from evaluation.services import export_judgments
from judgments.errors import QuorumError
from judgments.services.studies import find_study

_LIST = "\n".join(f"  {one.name:12} {one.what}" for one in FORMATS.values())


class Command(BaseCommand):
    """Thin: parses and calls ``export_judgments``."""

    help = (
        "Write a study's judgments to a file, and a manifest beside it (PATH.manifest.json).\n\n"
        f"Formats:\n{_LIST}\n\n"
        "Example: manage.py export_judgments triplets-50 --format jsonl --output triplets-50.jsonl"
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Keep the line breaks of the help text."""
        return super().create_parser(
            prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, format, output, and the task of qrels."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("--format", required=True, help=f"one of {', '.join(FORMATS)}")
        parser.add_argument("--output", required=True, type=Path, help="the file to write")
        parser.add_argument(
            "--task", default=TASKS[0],
            help="qrels: annotation (default; an image asks for captions) or search (a caption asks for images)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Export and say what was written."""
        try:
            study = find_study(options["study"])
            with progress_bar() as progress:
                made = export_judgments(
                    study=study,
                    format=options["format"],
                    output=options["output"],
                    task=options["task"],
                    progress=progress,
                )
        except QuorumError as error:
            raise CommandError(str(error)) from None
        counts = ", ".join(
            f"{count:,} {name.replace('_', ' ')}" for name, count in made.manifest["counts"].items()
        )
        simulated = " The answers are simulated." if study.simulated else ""
        self.stdout.write(f"{made.path}: {counts}. Manifest: {made.manifest_path.name}.{simulated}")
