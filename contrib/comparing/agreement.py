"""Extend the command ``agreement`` by the option ``--with``, which compares two sources of judgments."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.commands import progress_bar
from contrib.comparing.sources.comparison import COUNT_AS_NO, LEAVE_OUT, MISSING_RULES, compare_sources
from contrib.comparing.sources.files import SOURCE_FORMATS, TEXT_TABLES, read_source
from contrib.comparing.sources.judgments import SourceJudgments
from contrib.comparing.sources.wording import describe_compared_sources
from evaluation.errors import EvaluationError
from evaluation.management.agreement import Agreement, line_count
from evaluation.presentation.content import Cell, estimate_of, plain_table
from judgments.importers import ColumnMapping
from judgments.importers.options import mapping_of
from judgments.kinds import KINDS

STUDY_PREFIX = "study:"
# Options that are refused without --with.
COMPARISON_OPTIONS = (
    "first_at_least", "second_at_least", "missing", "first_format", "second_format", "first_protocol",
    "second_protocol",
)  # fmt: skip

HELP = f"""\
With --with, two sources of judgments on the same units are compared: kappa, precision, recall and F1 at
thresholds, alpha within each and of both together, correlations of the units' scores. Each source is a
judgments file, a released file or folder (--first-format, --second-format), or study:SLUG, which alone
needs the database. --map and its like are of each source that is a judgments file, so both have the same
columns. The second source is the standard; --missing says whether units that only it has are left out ({LEAVE_OUT},
the default) or count as a no of the first ({COUNT_AS_NO}). Thresholds that are not given are all those that the \
source's
protocol is reported at. contrib/comparing/README.md has the rules.
"""


class SourceComparison:
    """The option ``--with`` of ``agreement``, and the options that belong to it."""

    help = HELP
    example = (
        "manage.py agreement crowd.jsonl --with study:experts --first-at-least 0.66 --second-at-least 3.33"
    )

    def add_arguments(self, parser: CommandParser) -> None:
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

    def handle(self, command: Agreement, options: dict[str, Any]) -> bool:
        """Compare two sources if ``--with`` is given. Return whether it is."""
        if options["second"] is None:
            for name in COMPARISON_OPTIONS:
                # Without --with, --missing has the words for an empty cell, which are not checked here.
                if options[name] is not None and (name != "missing" or options[name] in MISSING_RULES):
                    raise EvaluationError(
                        f"--{name.replace('_', '-')} is about two sources, expected --with SECOND beside it."
                    )
            return False
        if options["missing"] not in (None, *MISSING_RULES):
            raise EvaluationError(
                f"--missing is {options['missing']!r}, expected {' or '.join(MISSING_RULES)} beside --with; "
                "words for an empty cell stand in a --mapping file there."
            )
        for name in ("level", "coefficient", "design"):
            if options[name] is not None:
                raise EvaluationError(f"--{name} is about one judgments file, expected no --with beside it.")
        mapping = mapping_of(options | {"missing": None}, options["path"])  # here, --missing refers to units
        sources = (options["path"], options["first_format"]), (options["second"], options["second_format"])
        # A mapping is refused if neither source is a judgments file.
        if mapping is not None and all(
            str(path).startswith(STUDY_PREFIX) or format not in (None, *TEXT_TABLES)
            for path, format in sources
        ):
            raise EvaluationError("--map and the like are about a judgments file, expected one of two.")
        first_source = _read_source_in_role(options["path"], "first", options, mapping)
        second_source = _read_source_in_role(options["second"], "second", options, mapping)
        result = compare_sources(
            first_source,
            second_source,
            first_at_least=options["first_at_least"],
            second_at_least=options["second_at_least"],
            missing=options["missing"] or LEAVE_OUT,
            resamples=options["resamples"],
            seed=options["seed"],
            naive=options["naive"],
        )
        if options["output"] is not None:
            for line in _report_lines(result):
                command.stderr.write(line)
        command.write_figures(result, options["output"])
        return True


def _read_source_in_role(
    path: Path, role: str, options: dict[str, Any], mapping: ColumnMapping | None
) -> SourceJudgments:
    """Read the source in the role "first" or "second": a study (study:SLUG), or a file with the role's options."""
    format, protocol = options[f"{role}_format"], options[f"{role}_protocol"]
    slug = str(path)
    if slug.startswith(STUDY_PREFIX):
        if format or protocol:
            raise EvaluationError(
                f"{slug} has a protocol of its own, expected no --{role}-format or --{role}-protocol."
            )
        # Imported here, since commands on files do not load models.
        from contrib.comparing.sources.studies import source_of_study
        from judgments.studies.studies import find_study

        return source_of_study(find_study(slug.removeprefix(STUDY_PREFIX)))
    with progress_bar() as progress:
        return read_source(
            path,
            format=format,
            protocol=protocol,
            encoding=options["encoding"],
            mapping=mapping,
            progress=lambda line: progress(min(1.0, line / line_count(path)), f"Reading {path.name}"),
        )


def _report_lines(result: dict[str, Any]) -> list[str]:
    """Return the result of ``compare_sources`` as lines for the terminal."""
    first, second, units = result["first"], result["second"], result["units"]
    lines = [f"First: {first['name']} ({first['score']}). Second: {second['name']} ({second['score']})."]
    lines.append(
        f"Units: {units['shared']:,} shared, {units['first_only']:,} of the first alone, "
        f"{units['second_only']:,} of the second alone."
    )
    missing_rule = result["missing"]
    if missing_rule["taken_as_no"]:
        lines.append(f"Taken as no: {missing_rule['taken_as_no']:,} units that only the second has.")
    if missing_rule["left_out"]:
        lines.append(f"Left out of the figures at thresholds: {missing_rule['left_out']:,} units.")
    estimates = {"alpha, first": first["alpha"], "alpha, second": second["alpha"]}
    counts = {}  # the units of estimates that do not state these themselves
    grid, consensus = result["thresholds"], result["consensus"]
    if len(grid["cells"]) == 1:
        (cell,) = grid["cells"]
        cell_estimates = {name: cell[name] for name in ("kappa", "precision", "recall", "f1")}
        estimates |= cell_estimates
        counts = dict.fromkeys(cell_estimates, cell["n"])
    if consensus["kappa"]:
        estimates["kappa of consensus"] = consensus["kappa"]
        counts["kappa of consensus"] = consensus["n"]
    estimates |= result["correlation"]
    rows: list[tuple[Cell, ...]] = [
        (name, estimate_of(estimate), counts[name] if name in counts else estimate["n"])
        for name, estimate in estimates.items()
    ]
    columns = [("figure", "text"), ("value [95 % interval]", "coefficient"), ("units", "count")]
    lines += plain_table("", columns, rows).lines()
    if len(grid["cells"]) > 1:
        # The cells come row by row: all thresholds of the second source for each threshold of the first one.
        kappas = iter(cell["kappa"]["value"] for cell in grid["cells"])
        rows = [(f"{threshold:g}", *islice(kappas, len(grid["second"]))) for threshold in grid["first"]]
        columns = [("", "text"), *((f"{threshold:g}", "coefficient") for threshold in grid["second"])]
        lines.append("Kappa where the first (rows) and the second (columns) reach their thresholds:")
        lines += plain_table("", columns, rows).lines()
    # Of pairs on whose winner the sources differ, ``longer`` is the share in which the first chose the longer text.
    if pairs := result.get("pairs"):
        columns = [("pair kind", "text"), ("same winner, %", "share"), ("items", "count")]
        columns += [("else the first's is the longer, %", "share"), ("of", "count")]
        rows = [
            (kind, estimate_of(row["same"]), row["same"]["n"], estimate_of(row["longer"]), row["longer"]["n"])
            for kind, row in pairs.items()
        ]
        lines += plain_table("Winners by pair kind", columns, rows).lines()
    return [*lines, describe_compared_sources(result)]
