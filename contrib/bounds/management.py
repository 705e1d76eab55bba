"""The command that computes the bounds of metrics on a dataset."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.commands import QuorumCommand, progress_bar
from contrib.bounds.parameters import LeaveOneOutRequest
from evaluation.presentation.content import Table, plain_table
from judgments.management.base import add_parameters, as_text
from judgments.studies.studies import find_dataset

if TYPE_CHECKING:
    from contrib.bounds.bounds import Bounds


class LeaveOneOut(QuorumCommand):
    help = (
        "Compare each reference caption of a dataset with the others of its item, and unrelated texts with them: "
        "upper and lower bounds of every metric, Kendall's tau-b between metrics, and ranks of an item's captions "
        "(contrib/bounds/README.md)."
    )
    example = "manage.py leave_one_out photos --others more-photos --corpus brown/ --output bounds.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset")
        add_parameters(parser, LeaveOneOutRequest())
        parser.add_argument(
            "--corpus",
            type=Path,
            metavar="PATH",
            help="text with a sentence a line, or a folder of such files, as the Brown corpus of NLTK",
        )
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        from contrib.bounds.bounds import leave_one_out_bounds

        values = LeaveOneOutRequest.read(as_text(LeaveOneOutRequest(), options))
        with progress_bar() as progress:
            bounds = leave_one_out_bounds(
                dataset=dataset, corpus=options["corpus"], progress=progress, **values
            )
        self.write_output(options, bounds.as_json())
        self._print_summary(dataset.name, bounds)

    def _print_summary(self, name: str, bounds: Bounds) -> None:
        from contrib.bounds.bounds import rank_tables

        self.say(f"{name}: {bounds.captions:,} captions of {bounds.images:,} items")
        replacements, names = list(bounds.lower), list(bounds.upper)
        rows = [
            (metric, bound.micro, bound.macro, bound.deviation, bound.median, bound.least, bound.most,
             *(bounds.lower[what][metric].micro for what in replacements))
            for metric, bound in bounds.upper.items()
        ]  # fmt: skip
        title = "Each caption against the others of its item, and what stood in its place"
        heads = ("micro", "macro", "sd", "median", "min", "max", *replacements)
        tables = [_coefficient_table(title, heads, rows)]
        for level, taus in (("items", bounds.image_taus), ("captions", bounds.caption_taus)):
            numbers = [str(number) for number in range(1, len(names) + 1)]
            rows = [(metric, *row) for metric, row in zip(names, taus.tolist(), strict=True)]
            tables.append(_coefficient_table(f"Kendall's tau-b over {level}", numbers, rows))
        self.say_tables([*tables, *rank_tables(bounds.as_json())])
        for warning in bounds.warnings:
            self.say(f"Note: {warning}.")


def _coefficient_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    return plain_table(title, [("metric", "text"), *((head, "coefficient") for head in heads)], rows)
