"""The command `dataset bounds`, which computes the bounds of metrics on a dataset."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.commands import QuorumCommand, progress_bar
from contrib.bounds.parameters import LeaveOneOutRequest
from evaluation.presentation.content import Table, plain_table
from judgments.management.base import add_parameters, as_form_data
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

        parameters = LeaveOneOutRequest.read(as_form_data(LeaveOneOutRequest(), options))
        with progress_bar() as progress:
            bounds = leave_one_out_bounds(
                dataset=dataset, corpus=options["corpus"], progress=progress, **parameters
            )
        self.write_output(options, bounds.as_json())
        self._print_summary(dataset.name, bounds)

    def _print_summary(self, dataset_name: str, bounds: Bounds) -> None:
        from contrib.bounds.tables import rank_tables

        self.say(f"{dataset_name}: {bounds.captions:,} captions of {bounds.images:,} items")
        replacements, metric_names = list(bounds.lower), list(bounds.upper)
        rows = [
            (metric, bound.micro, bound.macro, bound.deviation, bound.median, bound.least, bound.most,
             *(bounds.lower[replacement][metric].micro for replacement in replacements))
            for metric, bound in bounds.upper.items()  # macro is of items' means, the others of captions' scores
        ]  # fmt: skip
        title = "Each caption against the others of its item, and what stood in its place"
        headings = ("micro", "macro", "sd", "median", "min", "max", *replacements)
        tables = [_coefficient_table(title, headings, rows)]
        for level, taus in (("items", bounds.image_taus), ("captions", bounds.caption_taus)):
            # Columns have the numbers of the rows' metrics, because the names would be too wide.
            headings = tuple(str(number) for number in range(1, len(metric_names) + 1))
            rows = [(metric, *row) for metric, row in zip(metric_names, taus.tolist(), strict=True)]
            tables.append(_coefficient_table(f"Kendall's tau-b over {level}", headings, rows))
        self.say_tables([*tables, *rank_tables(bounds.as_json())])
        for warning in bounds.warnings:
            self.say(f"Note: {warning}.")


def _coefficient_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    columns = [("metric", "text"), *((heading, "coefficient") for heading in headings)]
    return plain_table(title, columns, rows)
