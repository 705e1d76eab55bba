"""Measure the agreement of a judgments file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from django.core.management.base import CommandParser

from common.amounts import json_float
from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError, did_you_mean
from common.features import of_features
from common.files import indented_json, write_json
from evaluation.data.judgment_sets.files import (
    CONTROL_ITEMS,
    FileJudgments,
    OpenJudgments,
    checked_kind,
    open_kind_of,
    read_judgment_table,
    read_open_judgments,
)
from evaluation.errors import EvaluationError
from evaluation.results.agreement import (
    BOTH_ORDERS,
    COEFFICIENTS,
    agreement_coefficients,
    coefficient_in_both_orders,
    exchange_of,
)
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import toml_values
from judgments.importers.options import add_options, mapping_of
from judgments.importers.textio import read_whole
from judgments.kinds import KINDS, Kind
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE, SECOND
from quorum.statistics.agreement import (
    LEVELS,
    AgreementResult,
    Alpha,
    AlphaOfParts,
    agreement,
    ratings_of_judgments,
)
from quorum.statistics.crossed import BOTH, ITEM, NAIVE, RATER, Clusters
from quorum.statistics.inputs import StatisticsError, encode
from quorum.statistics.resampling import RESAMPLES

BLOCK_BYTES = 1 << 20  # bytes (1 MiB) read at once to count lines
_PROTOCOLS = ", ".join(f"{protocol} {kind.aggregation.level}" for protocol, kind in KINDS.items())
# Names of excluded rows in messages, if they differ from those in ``FileJudgments.excluded_counts``.
EXCLUDED_ROWS = {CONTROL_ITEMS: "check questions"}

HELP = f"""\
Krippendorff's alpha of a judgments file, with a 95 % interval by item and by participant. Items are those of the
column image, or the documents of the column document; where there is neither, units. No database is needed.
PATH is JSON lines, CSV, TSV, a JSON list, an Excel workbook or Parquet with the columns unit, worker and
value; others may be absent. Of exports with open answers (column answer), the parts of the answers are
compared as `aggregate` does; those of a HIT template need the study's file (--design).

What counts: every row with a value, but rows whose "used" is false or whose "control" is true are left
out where these columns exist. Units with fewer than two such rows cannot agree or disagree and drop out
of alpha; "units", "workers" and "judgments" count them all the same.

Without --level, values are compared at the level of the file's protocol, else nominally:
{_PROTOCOLS}.
"""


class AgreementExtension(Protocol):
    """An extension of the command by a feature: further options, and the work that these options request.

    Attributes:
        help: a paragraph of the command's help.
        example: a line of its examples.
    """

    help: ClassVar[str]
    example: ClassVar[str]

    def add_arguments(self, parser: CommandParser) -> None: ...

    def handle(self, command: Agreement, options: dict[str, Any]) -> bool:
        """Do the extension's work if the options request it, and return whether they do."""


class Agreement(QuorumCommand):
    workers_option = "--workers"  # of the base class: the number of processes
    help = HELP
    example = "manage.py agreement judgments.jsonl --level ordinal --output agreement.json"
    named_errors = (QuorumError, StatisticsError)
    # The command reads only files, so it must work without a database and with a faulty site.
    requires_system_checks = []

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.extensions: list[AgreementExtension] = [make() for make in of_features("agreement_extensions")]
        self.help = "\n".join([HELP, *(extension.help for extension in self.extensions)])
        self.example = "\n  ".join([self.example, *(extension.example for extension in self.extensions)])

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH", help="judgments: a table of any format")
        parser.add_argument("--level", choices=LEVELS, help="how values are compared")
        parser.add_argument(
            "--coefficient",
            metavar="LIST",
            help=f"besides alpha: of {', '.join(COEFFICIENTS)}, with commas between",
        )
        parser.add_argument(
            "--naive",
            action="store_true",
            help="take judgments as independent: bootstrap intervals over units, not by unit and by participant",
        )
        self.add_output(parser, metavar="PATH", help="write the JSON here")
        parser.add_argument(
            "--resamples", type=int, default=RESAMPLES, help="of the bootstrap (default %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default %(default)s)")
        add_options(parser, "map", "values", "people", "where", "header_row")
        parser.add_argument("--encoding", help="of a file that is neither UTF-8 nor has a byte order mark")
        parser.add_argument(
            "--design",
            type=Path,
            metavar="FILE",
            help="the study's file, for its HIT template or its weights of marked errors",
        )
        parser.add_argument(
            "--missing",
            metavar="WORDS",
            help="words for an empty cell, such as NA,None",
        )
        for extension in self.extensions:
            extension.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not any(extension.handle(self, options) for extension in self.extensions):
            self._measure(options)

    def _measure(self, options: dict[str, Any]) -> None:
        names = _read_coefficient_names(options["coefficient"])
        has_mapping = mapping_of(options, options["path"]) is not None  # so it has no open answers
        open_kind = None if has_mapping else open_kind_of(options["path"], encoding=options["encoding"])
        if open_kind is not None:
            self._measure_open_answers(open_kind, options)
        elif options["design"] is not None:
            raise EvaluationError("--design is about open answers, expected a file that has some.")
        else:
            self._measure_values(names, options)

    def _measure_values(self, names: Sequence[str], options: dict[str, Any]) -> None:
        """Measure alpha, and the coefficients with these ``names``, of answers that are values."""
        table = self._read_judgments(options, options["level"])
        level = options["level"] or table.level
        if level != "nominal" and table.values.dtype == object:
            # The protocol needs numbers, but the file has a text: read it again, for an error that names the line.
            table = self._read_judgments(options, level)
        bootstrap_options = {"resamples": options["resamples"], "seed": options["seed"]}
        ratings = ratings_of_judgments(table.units, table.workers, table.values)
        items: Any = encode(table.items, "items")[1][table.units] if table.items else []
        clusters = _clusters(table, items, naive=options["naive"])
        if isinstance(clusters, Mapping):  # convert once for several coefficients
            clusters = Clusters.of_codes(clusters)
        kind = KINDS.get(table.protocol or "")
        # Choices between two texts count in both orders: also as made with the texts exchanged.
        are_sides = set(table.values.tolist()) <= {NO_DIFFERENCE, FIRST, SECOND, NEITHER}
        exchange = exchange_of(kind) if are_sides else None
        result = agreement(
            ratings,
            coefficient_in_both_orders(Alpha(level), exchange),
            **bootstrap_options,
            clusters=clusters,
            control_items=CONTROL_ITEMS in table.excluded_counts,  # without check questions, a note may warn
        )
        figures = _alpha_figures(result, level, result.judgments)
        if exchange:
            figures["coding"] = BOTH_ORDERS
        if names:
            if kind is not None and (table.has_answers_column or kind.scale):  # outcomes depend on the file
                kind = checked_kind(options["path"], table, kind)
            figures["coefficients"] = agreement_coefficients(
                ratings,
                level,
                names=names,
                categories=kind.outcomes if kind is not None else (),
                **bootstrap_options,
                clusters=clusters,
                exchange=exchange,
            )
        for sentence in table.similar_labels:
            self.stderr.write(f"Note: {sentence}.")
        self._write_notes(table.excluded_counts, result, result.reason)
        self.write_figures(figures, options["output"])

    def _measure_open_answers(self, kind: Kind, options: dict[str, Any]) -> None:
        if options["coefficient"]:
            raise EvaluationError(
                f"--coefficient is about answers of a scale, and those of protocol {kind.name} are open; "
                "expected alpha alone."
            )
        path, design_path, design = options["path"], options["design"], None
        if design_path is not None:
            design = make_design(toml_values(read_whole(design_path), source=str(design_path)))
            if design.protocol != kind.name:
                raise EvaluationError(
                    f"{design_path} is of protocol {design.protocol}, and {path} of {kind.name}."
                )
        with progress_bar() as progress:
            table = read_open_judgments(
                path,
                kind,
                design=design,
                encoding=options["encoding"],
                progress=lambda line: progress(line / line_count(path), "Reading judgments"),
            )
        level = options["level"] or kind.aggregation.level
        result = agreement(
            (table.units, table.parts, table.workers, table.values),
            AlphaOfParts(level),
            resamples=options["resamples"],
            seed=options["seed"],
            clusters=_clusters(table, table.items, naive=options["naive"]),  # an item per judgment
            control_items=CONTROL_ITEMS in table.excluded_counts,
        )
        # ``no_alpha`` says why answers of this kind have no alpha. Then no judgments are compared, so count all.
        judgment_count = table.judgments if kind.aggregation.no_alpha else result.judgments
        self._write_notes(table.excluded_counts, result, kind.aggregation.no_alpha or result.reason)
        self.write_figures(_alpha_figures(result, level, judgment_count), options["output"])

    def _read_judgments(self, options: dict[str, Any], level: str | None) -> FileJudgments:
        path, numeric = options["path"], level not in (None, "nominal")
        with progress_bar() as progress:
            return read_judgment_table(
                path,
                numeric=numeric,
                encoding=options["encoding"],
                mapping=mapping_of(options, path),
                progress=lambda line: progress(line / line_count(path), "Reading judgments"),
            )

    def _write_notes(self, excluded_counts: Mapping[str, int], result: AgreementResult, reason: str) -> None:
        """Write the excluded rows, and why alpha or its interval is undefined, to standard error."""
        for why, count in excluded_counts.items():
            self.stderr.write(f"Left out: {count:,} ({EXCLUDED_ROWS.get(why, why)}).")
        if reason:
            subject = "Alpha" if math.isnan(result.value) else "Its interval"
            self.stderr.write(f"{subject} is undefined: {reason}.")
        if result.note:
            self.stderr.write(f"Note: {result.note}.")

    def write_figures(self, figures: dict[str, Any], output: Path | None) -> None:
        if output is None:
            self.stdout.write(indented_json(figures))
        else:
            write_json(output, figures)
            self.stdout.write(f"Written to {output}.")


def _alpha_figures(result: AgreementResult, level: str, judgment_count: int) -> dict[str, Any]:
    return {
        "alpha": {name: json_float(getattr(result, name)) for name in ("value", "low", "high")},
        "level": level,
        "units": result.units,
        "workers": result.raters,
        "judgments": judgment_count,
    }


def _clusters(table: FileJudgments | OpenJudgments, items: Sequence[Any], *, naive: bool) -> Any:
    """Return the clusters of judgments, as ``agreement`` takes them: by item and, unless anonymous, by worker.

    ``items`` are the (N,) items of the judgments; if it is empty, units are the items.
    """
    if naive:
        return NAIVE
    if not len(items):
        return ITEM if table.is_anonymous else BOTH
    return {ITEM: items} if table.is_anonymous else {ITEM: items, RATER: table.workers}


def _read_coefficient_names(text: str | None) -> list[str]:
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in ("alpha", *COEFFICIENTS):
            raise EvaluationError(
                f"There is no coefficient {name!r}, expected some of alpha, {', '.join(COEFFICIENTS)}."
                f"{did_you_mean(name, ('alpha', *COEFFICIENTS))}"
            )
    return [name for name in names if name in COEFFICIENTS]


@cache
def line_count(path: Path) -> int:
    """Return the number of lines of a file, or of the largest file of a folder, at least 1, for the progress bar."""
    if path.is_dir():
        files = [file for file in path.iterdir() if file.is_file()]
        path = max(files, key=lambda file: file.stat().st_size, default=path)
    if not path.is_file():
        return 1
    count = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            count += block.count(b"\n")
    return max(1, count)
