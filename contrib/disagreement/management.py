"""Commands about disagreement: the soft labels of a study, and imported distributions of a model."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.amounts import p_in_text
from common.commands import QuorumCommand, progress_bar
from common.incoming import unpacked_name
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Estimate, Table, estimate_of, format_cell, plain_table
from judgments.management.base import FileOperationCommand, operation_at
from judgments.studies.studies import find_study

MAX_SAMPLES = 9_999


class PrintSoftLabels(QuorumCommand):
    help = (
        "Soft labels of a study: the entropy of people's answers, how well metrics and single people predict their "
        "distribution, and groups of raters who differ (docs/disagreement.md)."
    )
    example = "manage.py soft_labels triplets-50 --output disagreement.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument(
            "--bootstraps",
            type=int,
            metavar="N",
            help="samples for the test of groups of raters (default: 99, of large studies 39; 0: no test)",
        )
        parser.add_argument(
            "--predictions",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="a model's predicted distributions, JSON lines as the export soft-labels has them; may be repeated",
        )
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.disagreement.analysis import compute_disagreement

        study, bootstraps = find_study(options["study"]), options["bootstraps"]
        if bootstraps is not None and not 0 <= bootstraps <= MAX_SAMPLES:
            raise EvaluationError(
                f"--bootstraps is {bootstraps}, expected a whole number from 0 to {MAX_SAMPLES}."
            )
        with progress_bar() as progress:
            disagreement = compute_disagreement(
                study=study,
                bootstraps=bootstraps,
                predictions={Path(unpacked_name(path.name)).stem: path for path in options["predictions"]},
                progress=progress,
            )
        self.write_output(options, disagreement)
        self.say(disagreement["in_words"])
        self.say_tables(_make_tables(disagreement))
        groups = disagreement.get("groups", {})
        if groups and groups["reason"]:
            self.say(f"Groups of raters were not tested: {groups['reason']}.")
        if not disagreement["per_worker"]["available"]:
            self.say(disagreement["per_worker"]["reason"])


def _make_tables(disagreement: dict[str, Any]) -> list[Table]:
    """Return tables of predictors, with the lowest possible cross-entropy (floor), and of groups of raters."""
    rows = [
        (
            row["name"],
            estimate_of(row["cross_entropy"]),
            row["above_floor"],
            row["jensen_shannon"]["value"],
            row["n"],
        )
        for row in disagreement["predictors"]
    ]
    rows.append(("floor", Estimate(disagreement["entropy"]["floor"]), 0.0, None, disagreement["units"]))
    columns = [
        ("prediction", "text"), ("cross-entropy [95 % interval]", "coefficient"), ("above floor", "coefficient"),
        ("Jensen-Shannon", "coefficient"), ("units", "count"),
    ]  # fmt: skip
    tables = [plain_table("What predicts the distribution of answers", columns, rows)]
    group_columns = [("group", "text"), ("raters", "count"), ("agreeing pairs within", "percent")]
    groups = disagreement.get("groups", {})
    if groups and not groups["reason"]:
        # the two groups of a mixture model; accuracy is the probability that a member gives the true answer
        rows_of_fitted_groups = [
            (str(number), group["raters"], group["within"], group["accuracy"])
            for number, group in enumerate(groups["groups"], start=1)
        ]
        title = _format_title("Two groups of raters", groups)
        tables.append(plain_table(title, [*group_columns, ("accuracy", "percent")], rows_of_fitted_groups))
    for comparison in disagreement.get("known", ()):  # of raters grouped by something known about them
        group_rows = [(group["name"], group["raters"], group["within"]) for group in comparison["groups"]]
        title = _format_title(f"Raters by {comparison['by']}", comparison)
        tables.append(plain_table(title, group_columns, group_rows))
    return tables


def _format_title(subject: str, groups: dict[str, Any]) -> str:
    p = "no test" if groups["p"] is None else p_in_text(groups["p"])
    return f"{subject} ({p}; agreeing pairs across: {format_cell(groups['between'], 'percent')})"


class ImportPredictions(FileOperationCommand):
    operation = operation_at("contrib.disagreement.predictions.import_predictions")
    parameter = "predictions"
    other_parameters = "contrib.disagreement.predictions.PredictionsNameRequest"
    expected = "JSON lines"
    help = (
        "Take in a model's distributions of people's answers, JSON lines with unit and distribution, to be compared "
        "with people's (docs/disagreement.md)."
    )
    example = "manage.py import_predictions triplets-50 net.jsonl --name soft-net-1"
