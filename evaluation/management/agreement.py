"""Measure the agreement of a judgments file, or of two sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.amounts import json_float
from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError, did_you_mean
from common.files import indented, write_json
from evaluation.data.judgment_sets.files import (
    SOURCE_FORMATS,
    TEXT_TABLES,
    FileJudgments,
    OpenJudgments,
    checked_kind,
    open_kind_of,
    read_judgment_table,
    read_open_judgments,
    read_source,
)
from evaluation.data.judgment_sets.sources import SourceJudgments
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, estimate_of, plain_table
from evaluation.results.agreement import (
    BOTH_ORDERS,
    COEFFICIENTS,
    agreement_coefficients,
    coefficient_in_both_orders,
    exchange_of,
)
from evaluation.results.comparing.comparison import MISSING, compare_sources
from evaluation.results.comparing.wording import describe_compared_sources
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import toml_values
from judgments.importers import ColumnMapping
from judgments.importers.options import add_options, mapping_of
from judgments.importers.textio import read_whole
from judgments.kinds import KINDS, Kind
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE, SECOND
from quorum.statistics.agreement import LEVELS, Alpha, AlphaOfParts, agreement, ratings_of_judgments
from quorum.statistics.crossed import BOTH, ITEM, NAIVE, RATER, Clusters
from quorum.statistics.inputs import StatisticsError, encode
from quorum.statistics.resampling import RESAMPLES

_PROTOCOLS = ", ".join(f"{protocol} {kind.aggregation.level}" for protocol, kind in KINDS.items())
STUDY_PREFIX = "study:"
# Options of a comparison, which are refused without --with.
COMPARISON_OPTIONS = (
    "first_at_least", "second_at_least", "missing", "first_format", "second_format", "first_protocol",
    "second_protocol",
)  # fmt: skip

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

With --with, two sources of judgments on the same units are compared: kappa, precision, recall and F1 at
thresholds, alpha within each and of both together, correlations of the units' scores. Each source is a
judgments file, a released file or folder (--first-format, --second-format), or study:SLUG, which alone
needs the database. --map and its like are of each source that is a judgments file, so both have the same
columns. The second source is the standard. Thresholds that are not given are all those that
the source's protocol is reported at. docs/statistics.md has the rules.
"""


class Agreement(QuorumCommand):
    workers_option = "--workers"
    help = HELP
    example = (
        "manage.py agreement judgments.jsonl --level ordinal --output agreement.json\n"
        "  manage.py agreement crowd.jsonl --with study:experts --first-at-least 0.66 --second-at-least 3.33"
    )
    named_errors = (QuorumError, StatisticsError)
    # The command reads only files, so it must work without a database and with a faulty site.
    requires_system_checks = []

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
            "--with",
            dest="second",
            type=Path,
            metavar="SECOND",
            help="compare PATH with this source, the standard",
        )
        for role in ("first", "second"):
            parser.add_argument(
                f"--{role}-format",
                choices=SOURCE_FORMATS,
                help=f"what the {role} source is (default: a judgments file)",
            )
            parser.add_argument(
                f"--{role}-protocol",
                choices=list(KINDS),
                help="of a source that names none, or one of several it holds",
            )
            parser.add_argument(
                f"--{role}-at-least",
                type=float,
                metavar="X",
                help=f"the {role} source says yes from this score on",
            )
        parser.add_argument(
            "--missing",
            metavar="WORDS",
            help=f"words for an empty cell, such as NA,None; with --with, units that only the second source has: "
            f"{' or '.join(MISSING)} of the first (default {MISSING[0]})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["second"] is not None:
            if options["missing"] not in (None, *MISSING):
                raise EvaluationError(
                    f"--missing is {options['missing']!r}, expected {' or '.join(MISSING)} beside --with; "
                    "words for an empty cell stand in a --mapping file there."
                )
            self._compare(options)
            return
        for name in COMPARISON_OPTIONS:
            # --missing has two uses; ignore words for an empty cell here
            if options[name] is not None and (name != "missing" or options[name] in MISSING):
                raise EvaluationError(
                    f"--{name.replace('_', '-')} is about two sources, expected --with SECOND beside it."
                )
        self._measure(options)

    def _measure(self, options: dict[str, Any]) -> None:
        chosen: str | None = options["level"]
        names = _coefficients(options["coefficient"])
        mapped = mapping_of(options, options["path"]) is not None
        kind = None if mapped else open_kind_of(options["path"], encoding=options["encoding"])
        if kind is not None:
            self._measure_open(kind, options)
            return
        if options["design"] is not None:
            raise EvaluationError("--design is about open answers, expected a file that has some.")
        table = self._read(options, chosen)
        level = chosen or table.level
        if level != "nominal" and table.values.dtype == object:
            # The protocol needs numbers, but a text was found: read again for an error with its line.
            table = self._read(options, level)
        drawn = {"resamples": options["resamples"], "seed": options["seed"]}
        ratings = ratings_of_judgments(table.units, table.workers, table.values)
        items: Any = encode(table.items, "items")[1][table.units] if table.items else []
        clusters = _clusters(table, items, naive=options["naive"])
        if isinstance(clusters, Mapping):  # convert once for several coefficients
            clusters = Clusters.of_codes(clusters)
        sides = set(table.values.tolist()) <= {NO_DIFFERENCE, FIRST, SECOND, NEITHER}
        exchange = exchange_of(KINDS.get(table.protocol or "")) if sides else None
        control_items = "control items" in table.left_out
        result = agreement(
            ratings,
            coefficient_in_both_orders(Alpha(level), exchange),
            **drawn,
            clusters=clusters,
            control_items=control_items,
        )
        figures: dict[str, Any] = {
            "alpha": {name: json_float(getattr(result, name)) for name in ("value", "low", "high")},
            "level": level,
            "units": result.units,
            "workers": result.raters,
            "judgments": result.judgments,
            **({"coding": BOTH_ORDERS} if exchange else {}),
        }
        if names:
            kind = KINDS.get(table.protocol or "")
            if kind is not None and (table.says_answers or kind.scale):
                kind = checked_kind(options["path"], table, kind)
            figures["coefficients"] = agreement_coefficients(
                ratings,
                level,
                names=names,
                categories=kind.outcomes if kind is not None else (),
                **drawn,
                clusters=clusters,
                exchange=exchange,
            )
        for sentence in table.similar_labels:
            self.stderr.write(f"Note: {sentence}.")
        self._say_notes(table.left_out, result.reason, result.note, math.isnan(result.value))
        self._tell(figures, options["output"])

    def _measure_open(self, kind: Kind, options: dict[str, Any]) -> None:
        if options["coefficient"]:
            raise EvaluationError(
                f"--coefficient is about answers of a scale, and those of protocol {kind.name} are open; "
                "expected alpha alone."
            )
        path, file = options["path"], options["design"]
        design = None if file is None else make_design(toml_values(read_whole(file), source=str(file)))
        if design is not None and design.protocol != kind.name:
            raise EvaluationError(f"{file} is of protocol {design.protocol}, and {path} of {kind.name}.")
        with progress_bar() as progress:
            table = read_open_judgments(
                path,
                kind,
                design=design,
                encoding=options["encoding"],
                progress=lambda line: progress(line / _line_count(path), "Reading judgments"),
            )
        level = options["level"] or kind.aggregation.level
        result = agreement(
            (table.units, table.parts, table.workers, table.values),
            AlphaOfParts(level),
            resamples=options["resamples"],
            seed=options["seed"],
            clusters=_clusters(table, table.items, naive=options["naive"]),
            control_items="control items" in table.left_out,
        )
        figures = {
            "alpha": {name: json_float(getattr(result, name)) for name in ("value", "low", "high")},
            "level": level,
            "units": result.units,
            "workers": result.raters,
            "judgments": table.judgments if kind.aggregation.no_alpha else result.judgments,
        }
        reason = kind.aggregation.no_alpha or result.reason
        self._say_notes(table.left_out, reason, result.note, math.isnan(result.value))
        self._tell(figures, options["output"])

    def _read(self, options: dict[str, Any], level: str | None) -> FileJudgments:
        path, numeric = options["path"], level not in (None, "nominal")
        with progress_bar() as progress:
            return read_judgment_table(
                path,
                numeric=numeric,
                encoding=options["encoding"],
                mapping=mapping_of(options, path),
                progress=lambda line: progress(line / _line_count(path), "Reading judgments"),
            )

    def _say_notes(self, left_out: Mapping[str, int], reason: str, note: str, undefined: bool) -> None:
        for why, count in left_out.items():
            self.stderr.write(f"Left out: {count:,} ({why}).")
        if reason:
            self.stderr.write(f"{'Alpha' if undefined else 'Its interval'} is undefined: {reason}.")
        if note:
            self.stderr.write(f"Note: {note}.")

    def _tell(self, figures: dict[str, Any], output: Path | None) -> None:
        if output is None:
            self.stdout.write(indented(figures))
        else:
            write_json(output, figures)
            self.stdout.write(f"Written to {output}.")

    def _compare(self, options: dict[str, Any]) -> None:
        for name in ("level", "coefficient", "design"):
            if options[name] is not None:
                raise EvaluationError(f"--{name} is about one judgments file, expected no --with beside it.")
        how = mapping_of(options | {"missing": None}, options["path"])  # here, --missing is about units
        sources = (options["path"], options["first_format"]), (options["second"], options["second_format"])
        if how is not None and all(
            str(path).startswith(STUDY_PREFIX) or format not in (None, *TEXT_TABLES)
            for path, format in sources
        ):
            raise EvaluationError("--map and the like are about a judgments file, expected one of two.")
        first = self._source(options["path"], "first", options, how)
        second = self._source(options["second"], "second", options, how)
        result = compare_sources(
            first,
            second,
            first_at_least=options["first_at_least"],
            second_at_least=options["second_at_least"],
            missing=options["missing"] or MISSING[0],
            resamples=options["resamples"],
            seed=options["seed"],
            naive=options["naive"],
        )
        if options["output"] is not None:
            for line in _report(result):
                self.stderr.write(line)
        self._tell(result, options["output"])

    def _source(
        self, path: Path, role: str, options: dict[str, Any], how: ColumnMapping | None
    ) -> SourceJudgments:
        format, protocol = options[f"{role}_format"], options[f"{role}_protocol"]
        slug = str(path)
        if slug.startswith(STUDY_PREFIX):
            if format or protocol:
                raise EvaluationError(
                    f"{slug} has a protocol of its own, expected no --{role}-format or --{role}-protocol."
                )
            # Import here, as commands on files do not load models.
            from evaluation.results.comparing.studies import source_of_study
            from judgments.studies.studies import find_study

            return source_of_study(find_study(slug.removeprefix(STUDY_PREFIX)))
        with progress_bar() as progress:
            return read_source(
                path,
                format=format,
                protocol=protocol,
                encoding=options["encoding"],
                mapping=how,
                progress=lambda line: progress(min(1.0, line / _line_count(path)), f"Reading {path.name}"),
            )


def _clusters(table: FileJudgments | OpenJudgments, items: Sequence[Any], *, naive: bool) -> Any:
    """Return the clusters of judgments, as in a study's results: by (N,) `items`, or without them by unit."""
    if naive:
        return NAIVE
    if not len(items):
        return ITEM if table.anonymous else BOTH
    return {ITEM: items} if table.anonymous else {ITEM: items, RATER: table.workers}


def _coefficients(chosen: str | None) -> list[str]:
    names = [name.strip() for name in (chosen or "").split(",") if name.strip()]
    for name in names:
        if name not in ("alpha", *COEFFICIENTS):
            raise EvaluationError(
                f"There is no coefficient {name!r}, expected some of alpha, {', '.join(COEFFICIENTS)}."
                f"{did_you_mean(name, ('alpha', *COEFFICIENTS))}"
            )
    return [name for name in names if name in COEFFICIENTS]


def _report(result: dict[str, Any]) -> list[str]:
    first, second, units = result["first"], result["second"], result["units"]
    lines = [f"First: {first['name']} ({first['score']}). Second: {second['name']} ({second['score']})."]
    lines.append(
        f"Units: {units['shared']:,} shared, {units['first_only']:,} of the first alone, "
        f"{units['second_only']:,} of the second alone."
    )
    missing = result["missing"]
    if missing["taken_as_no"]:
        lines.append(f"Taken as no: {missing['taken_as_no']:,} units that only the second has.")
    if missing["left_out"]:
        lines.append(f"Left out of the figures at thresholds: {missing['left_out']:,} units.")
    figures = {"alpha, first": first["alpha"], "alpha, second": second["alpha"]}
    counts = {}
    grid, consensus = result["thresholds"], result["consensus"]
    if len(grid["cells"]) == 1:
        cell = grid["cells"][0]
        figures |= {name: cell[name] for name in ("kappa", "precision", "recall", "f1")}
        counts = dict.fromkeys(("kappa", "precision", "recall", "f1"), cell["n"])
    if consensus["kappa"]:
        figures["kappa of consensus"] = consensus["kappa"]
        counts["kappa of consensus"] = consensus["n"]
    figures |= result["correlation"]
    rows: list[tuple[Cell, ...]] = [
        (name, estimate_of(figure), counts[name] if name in counts else figure["n"])
        for name, figure in figures.items()
    ]
    columns = [("figure", "text"), ("value [95 % interval]", "coefficient"), ("units", "count")]
    lines += plain_table("", columns, rows).lines()
    if len(grid["cells"]) > 1:
        wide = len(grid["second"])
        kappas = [cell["kappa"]["value"] for cell in grid["cells"]]
        rows = [(f"{cut:g}", *kappas[row * wide : (row + 1) * wide]) for row, cut in enumerate(grid["first"])]
        columns = [("", "text"), *((f"{cut:g}", "coefficient") for cut in grid["second"])]
        lines.append("Kappa where the first (rows) and the second (columns) reach their thresholds:")
        lines += plain_table("", columns, rows).lines()
    if pairs := result.get("pairs"):
        columns = [("pair kind", "text"), ("same winner, %", "share"), ("items", "count")]
        columns += [("else the first's is the longer, %", "share"), ("of", "count")]
        rows = [
            (kind, *(cell for name in ("same", "longer") for cell in (estimate_of(of[name]), of[name]["n"])))
            for kind, of in pairs.items()
        ]
        lines += plain_table("Winners by pair kind", columns, rows).lines()
    return [*lines, describe_compared_sources(result)]


@cache
def _line_count(path: Path) -> int:
    """Return an estimate of the number of lines for the progress bar; for a folder, of its largest file."""
    if path.is_dir():
        path = max(
            (file for file in path.iterdir() if file.is_file()),
            key=lambda file: file.stat().st_size,
            default=path,
        )
    if not path.is_file():
        return 1
    with path.open("rb") as stream:
        return max(1, sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b"")))
