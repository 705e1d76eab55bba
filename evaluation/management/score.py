"""The command that scores candidate files against reference files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.amounts import as_json
from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError
from common.files import NanAsNullEncoder, write_json
from quorum.metrics import MetricsError
from quorum.metrics.files import DEFAULT_METRICS, score_files
from quorum.metrics.registry import METRICS
from quorum.metrics.text.tokenizers import TOKENIZERS

_METRIC_LINES = "\n".join(f"  {metric.name:<13} {metric.what}" for metric in METRICS.values())

HELP = f"""\
Scores captions against references, file against file. No database is needed.

References: COCO captions JSON, {{"<image>": ["caption", ...]}}, or JSON lines {{"image", "caption"}}.
Candidates: COCO results JSON, {{"<image>": "caption"}}, or JSON lines {{"image", "caption", "system"}};
captions that name no system belong to one named after the file.

Metrics:
{_METRIC_LINES}
"""


class Score(QuorumCommand):
    workers_option = "--workers"  # of the base class: the number of processes
    help = HELP
    example = "manage.py score --candidates results.json --references captions.json --metrics cider-d,bleu-4"
    named_errors = (QuorumError, MetricsError)
    # The command reads only files, so it must work without a database and with a faulty site.
    requires_system_checks = []

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
            help="names with commas between them, each perhaps with options, as in cider-d|n:2 (default %(default)s)",
        )
        parser.add_argument(
            "--tokenizer",
            metavar="NAME",
            default="ptb",
            help=f"{', '.join(TOKENIZERS)} (default %(default)s)",
        )
        self.add_output(parser, metavar="PATH", help="write the JSON here")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"]
        with progress_bar() as progress:
            figures = score_files(
                options["candidates"],
                options["references"],
                [name.strip() for name in options["metrics"].split(",") if name.strip()],
                options["tokenizer"],
                progress=lambda system: progress(0.5, f"Scoring {system}"),  # the share is unknown
            )
        figures = as_json(figures)
        for warning in figures["warnings"]:
            self.stderr.write(f"Note: {warning}.")
        if output is None:
            self.stdout.write(json.dumps(figures, indent=2, ensure_ascii=False, cls=NanAsNullEncoder))
        else:
            write_json(output, figures)
            self.stdout.write(f"Written to {output}.")
