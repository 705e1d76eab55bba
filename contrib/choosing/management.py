"""The command that estimates results for all items from the chosen ones ("weighs back"), and measures savings."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from common.amounts import coefficient, percent
from common.commands import progress_bar
from contrib.choosing.selecting import UNIFORM
from evaluation.presentation.content import estimate_of, plain_table
from judgments.management.base import OperationCommand, operation_at


class EstimateForAllItems(OperationCommand):
    # The options are the parameters of this operation, which has those of both estimates.
    operation = operation_at("contrib.choosing.operations.start_savings_estimate")
    help = (
        "Estimate what the study would say of all its items, from those that select_items chose: accuracies of "
        "metrics, wins or means of systems, correlations, each with the plain figure of the chosen items beside it. "
        "With --savings, of a study that judged many items: what choosing would have saved (docs/choosing.md)."
    )
    example = "manage.py weigh_back my-first --savings --metrics bleu-4,rouge-l,cider-d --output savings.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--savings", action="store_true", help="measure what choosing would have saved")
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.choosing.savings import compute_savings
        from contrib.choosing.weighing import compute_weighted_estimates

        study, values = self.study_and_values(options)
        if not options["savings"] and (options["draws"] is not None or options["seed"] is not None):
            raise CommandError(
                "--draws and --seed are for --savings alone; a study's own draw is in its design."
            )
        draw_options = {name: values.pop(name) for name in ("draws", "seed") if name in values}
        with progress_bar() as progress:
            if options["savings"]:
                result = compute_savings(study=study, **values, **draw_options, progress=progress)
            else:
                result = compute_weighted_estimates(study=study, **values, progress=progress)
        self.write_output(options, result)
        print_result = self._print_savings if options["savings"] else self._print_estimates
        print_result(result)

    def _print_estimates(self, estimates: dict[str, Any]) -> None:
        # "choice" says how "budget" of "population" items were chosen; "per": what an item is, "pairs" or "images"
        choice = estimates["choice"]
        rows = [
            (row["what"], f"{row['name']} {row['kind']}".strip(), estimate_of(row), row["plain"]["value"])
            for row in estimates["rows"]
        ]
        title = f"{choice['budget']:,} of {choice['population']:,} {choice['per']} by {choice['method']}, weighed back"
        columns = [
            ("figure", "text"),
            ("of", "text"),
            ("all items [95 %]", "score"),
            ("chosen alone", "score"),
        ]
        self.say_tables([plain_table(title, columns, rows)])

    def _print_savings(self, savings: dict[str, Any]) -> None:
        # "group": "accuracy", "difference" (of two metrics' accuracies) or "system"; "budget": number of items sampled
        # of all; "error": of estimates from them; "saved": share of a uniform sample with the same error, or None.
        for group in dict.fromkeys(row["group"] for row in savings["rows"]):
            group_rows = [row for row in savings["rows"] if row["group"] == group]
            budgets = sorted({row["budget"] for row in group_rows})
            rows = []
            for method in dict.fromkeys(row["method"] for row in group_rows):
                cells = {row["budget"]: row for row in group_rows if row["method"] == method}
                rows.append((method, *(_format_saving(cells[budget]) for budget in budgets)))
            items = f"{savings['items']:,} {savings['per']}"
            title = f"{group}: error by the number sampled of {items}, and saved against a uniform sample"
            columns = [("method", "text"), *((str(budget), "text") for budget in budgets)]
            self.say_tables([plain_table(title, columns, rows)])


def _format_saving(row: dict[str, Any]) -> str:
    saved_share = "" if row["saved"] is None or row["method"] == UNIFORM else f" {percent(row['saved'])}"
    return f"{coefficient(row['error'], 3)}{saved_share}"
