"""manage.py agreement PATH: Krippendorff's alpha of a judgments file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.judgment_files import JudgmentTable, read_judgment_table
from evaluation.provenance import plain
from evaluation.statistics.agreement import LEVELS, alpha_of_judgments
from evaluation.statistics.errors import StatisticsError
from evaluation.statistics.resampling import RESAMPLES
from judgments.errors import QuorumError
from judgments.files import check_place, write_json
from judgments.kinds import KINDS
from judgments.management.base import QuorumCommand, progress_bar

_PROTOCOLS = ", ".join(f"{protocol} {kind.level}" for protocol, kind in KINDS.items())

HELP = f"""\
Krippendorff's alpha of a judgments file, with a 95 % bootstrap interval over units. No database is
needed. PATH is JSON lines or CSV with the columns unit, worker and value; others may be absent.

What counts: every row with a value, but rows whose "used" is false or whose "control" is true are left
out where these columns exist. Units with fewer than two such rows cannot agree or disagree and drop out
of alpha; "units", "workers" and "judgments" count them all the same.

Without --level, values are compared at the level of the file's protocol, else nominally:
{_PROTOCOLS}.
"""


class Command(QuorumCommand):
    """Reads the file, prints or writes the JSON, and says on the side what it left out."""

    help = HELP
    example = "manage.py agreement judgments.jsonl --level ordinal --output agreement.json"
    named_errors = (QuorumError, StatisticsError)
    # Figures of a file: neither a database nor the rest of the site needs to be in order.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH", help="judgments: JSON lines or CSV")
        parser.add_argument("--level", choices=LEVELS, help="how values are compared")
        parser.add_argument("--output", type=Path, metavar="PATH", help="write the JSON here")
        parser.add_argument(
            "--resamples", type=int, default=RESAMPLES, help="of the bootstrap (default %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default %(default)s)")
        parser.add_argument("--encoding", help="of a file that is neither UTF-8 nor has a byte order mark")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen: str | None = options["level"]
        output: Path | None = options["output"]
        if output is not None:
            check_place(output)
        table = self._read(options["path"], chosen, options["encoding"])
        level = chosen or table.level
        if level != "nominal" and table.values.dtype == object:
            # The protocol asked for numbers and a text was found: reading again names its line.
            table = self._read(options["path"], level, options["encoding"])
        result = alpha_of_judgments(
            table.units,
            table.workers,
            table.values,
            level,
            resamples=options["resamples"],
            seed=options["seed"],
        )
        figures = {
            "alpha": {name: plain(getattr(result, name)) for name in ("value", "low", "high")},
            "level": level,
            "units": result.units,
            "workers": result.raters,
            "judgments": result.judgments,
        }
        if output is not None:
            write_json(output, figures)
        self._say_aside(table, result.reason, result.note)
        if output is None:
            self.stdout.write(json.dumps(figures, indent=1))
        else:
            self.stdout.write(f"Written to {output}.")

    def _read(self, path: Path, level: str | None, encoding: str | None) -> JudgmentTable:
        numeric = level not in (None, "nominal")
        with progress_bar() as progress:
            return read_judgment_table(
                path,
                numeric=numeric,
                encoding=encoding,
                progress=lambda line: progress(line / _line_count(path), "Reading judgments"),
            )

    def _say_aside(self, table: JudgmentTable, reason: str, note: str) -> None:
        left_out = (
            (table.unused, "not used"),
            (table.controls, "control items"),
            (table.unanswered, "without a value"),
        )
        for count, why in left_out:
            if count:
                self.stderr.write(f"Left out: {count:,} ({why}).")
        if reason:
            self.stderr.write(f"Alpha is undefined: {reason}.")
        if note:
            self.stderr.write(f"Note: {note}.")


@cache
def _line_count(path: Path) -> int:
    """The file's lines, roughly: enough to say how far a reader has come."""
    with path.open("rb") as stream:
        return max(1, sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b"")))
