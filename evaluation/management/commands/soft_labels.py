"""Analyse people's disagreement, its predictors, and groups of raters."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from evaluation.disagreement.analysis import compute_disagreement
from evaluation.errors import EvaluationError
from evaluation.management.words import coefficient, percent, say_table, with_interval
from judgments.studies.studies import find_study

MOST_SAMPLES = 9_999


class Command(QuorumCommand):
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
        study, bootstraps = find_study(options["study"]), options["bootstraps"]
        if bootstraps is not None and not 0 <= bootstraps <= MOST_SAMPLES:
            raise EvaluationError(
                f"--bootstraps is {bootstraps}, expected a whole number from 0 to {MOST_SAMPLES}."
            )
        with progress_bar() as progress:
            found = compute_disagreement(
                study=study,
                bootstraps=bootstraps,
                predictions={path.stem: path for path in options["predictions"]},
                progress=progress,
            )
        self.write_output(options, found)
        self.say(found["in_words"])
        rows = [
            [
                row["name"],
                with_interval(row["cross_entropy"]),
                coefficient(row["above_floor"]),
                coefficient(row["jensen_shannon"]["value"]),
                f"{row['n']:,}",
            ]
            for row in found["predictors"]
        ]
        rows.append(
            ["floor", coefficient(found["entropy"]["floor"]), coefficient(0.0), "–", f"{found['units']:,}"]
        )
        say_table(
            self,
            "What predicts the distribution of answers",
            ["prediction", "cross-entropy [95 % interval]", "above floor", "Jensen-Shannon", "units"],
            rows,
        )
        groups = found.get("groups", {})
        if groups and not groups["reason"]:
            say_table(
                self,
                f"Two groups of raters (p = {groups['p']:.3f}; agreeing pairs across: {percent(groups['between'])})",
                ["group", "raters", "accuracy", "agreeing pairs within"],
                [
                    [str(number), f"{one['raters']:,}", percent(one["accuracy"]), percent(one["within"])]
                    for number, one in enumerate(groups["groups"], start=1)
                ],
            )
        elif groups:
            self.say(f"Groups of raters were not tested: {groups['reason']}.")
        for one in found.get("known", ()):
            across = percent(one["between"])
            say_table(
                self,
                f"Raters by {one['by']} (p = {coefficient(one['p'])}; agreeing pairs across: {across})",
                ["group", "raters", "agreeing pairs within"],
                [
                    [group["name"], f"{group['raters']:,}", percent(group["within"])]
                    for group in one["groups"]
                ],
            )
        if not found["per_worker"]["available"]:
            self.say(found["per_worker"]["reason"])
