"""manage.py score: automatic metrics of candidate files against reference files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from evaluation.management.output import as_json, write_whole
from evaluation.metrics import MetricsError
from evaluation.metrics.files import DEFAULT_METRICS, score_files
from evaluation.metrics.registry import METRICS
from evaluation.metrics.text import TOKENIZERS

_METRICS = "\n".join(f"  {metric.name:<13} {metric.what}" for metric in METRICS.values())

HELP = f"""\
Scores captions against references, file against file. No database is needed.

References: COCO captions JSON, {{"<image>": ["caption", ...]}}, or JSON lines {{"image", "caption"}}.
Candidates: COCO results JSON, {{"<image>": "caption"}}, or JSON lines {{"image", "caption", "system"}};
captions that name no system belong to one named after the file.

Metrics:
{_METRICS}

Example:
  manage.py score --candidates results.json --references captions.json --metrics cider-d,bleu-4
"""


class Command(BaseCommand):
    """Reads both files, prints or writes the JSON, and says on the side what a reader should know."""

    help = HELP
    # Figures of files: neither a database nor the rest of the site needs to be in order.
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(
            prog_name, subcommand, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--candidates", type=Path, metavar="PATH", required=True, help="captions to score"
        )
        parser.add_argument(
            "--references", type=Path, metavar="PATH", required=True, help="what people wrote"
        )
        parser.add_argument(
            "--metrics",
            metavar="LIST",
            default=",".join(DEFAULT_METRICS),
            help="names with commas between them (default %(default)s)",
        )
        parser.add_argument(
            "--tokenizer",
            metavar="NAME",
            default="ptb",
            help=f"{', '.join(TOKENIZERS)} (default %(default)s)",
        )
        parser.add_argument("--output", type=Path, metavar="PATH", help="write the JSON here")

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = [name.strip() for name in options["metrics"].split(",") if name.strip()]
        try:
            figures = self._score(options["candidates"], options["references"], metrics, options["tokenizer"])
        except MetricsError as error:
            raise CommandError(str(error)) from error
        for warning in figures["warnings"]:
            self.stderr.write(f"Note: {warning}.")
        if options["output"] is None:
            self.stdout.write(as_json(figures), ending="")
        else:
            write_whole(options["output"], as_json(figures))
            self.stdout.write(f"Written to {options['output']}.")

    def _score(
        self, candidates: Path, references: Path, metrics: list[str], tokenizer: str
    ) -> dict[str, Any]:
        console = Console(stderr=True)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as progress:
            task = progress.add_task("Reading files", total=None)
            return score_files(
                candidates,
                references,
                metrics,
                tokenizer,
                progress=lambda system: progress.update(task, description=f"Scoring {system}"),
            )
