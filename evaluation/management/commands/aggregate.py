"""Compute consensus, agreement and worker quality."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import progress_bar
from common.errors import counted
from evaluation.data.judgment_sets.blocks import forget_blocks
from evaluation.results import operations
from evaluation.results.aggregation import run_aggregation
from evaluation.results.tables import COEFFICIENT_NAMES, consensus_tables, workers_table
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    workers_option = "--workers"
    operation = operations.aggregate
    help = "Compute and store consensus, agreement and worker quality of a study (docs/evaluation.md)."
    example = "manage.py aggregate triplets-50 --output consensus.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser, help="write units, pairs, agreement and workers there as JSON")
        parser.add_argument(
            "--from-rows",
            action="store_true",
            help="read every judgment, and store the columns anew that analyses read instead",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        if options["from_rows"]:
            forget_blocks(study)
        with progress_bar() as progress:
            aggregation = run_aggregation(study=study, **values, progress=progress)
        result = aggregation.as_json(with_units=bool(options["output"]))
        self.write_output(options, result)
        if "clusters" in aggregation.result:
            self.say("Intervals of agreement are naive: they take judgments as independent.")
        simulated = " (simulated answers)" if study.simulated else ""
        counts = aggregation.result["counts"]
        self.say(f"{study.name}{simulated}")
        self.say(
            f"{aggregation.consensus.judged:,} of {counted(counts['units'], 'unit')} judged, "
            f"{counts['unit_ties']:,} tied"
        )
        if study.design.get("chosen"):
            self.say(
                "The items were chosen by their usefulness; these figures hold for the chosen items alone."
            )

        tables = consensus_tables(result)
        if result["workers"]:
            tables.append(workers_table(result["workers"]))
        self.say_tables(tables)
        self._remarks(result)

    def _remarks(self, result: dict[str, Any]) -> None:
        agreement = result["agreement"]
        undefined = {"Alpha": agreement["alpha"]} | {
            COEFFICIENT_NAMES[name]: figure for name, figure in agreement.get("coefficients", {}).items()
        }
        for name, figure in undefined.items():
            if figure["reason"]:
                self.say(f"{name} is undefined: {figure['reason']}.")
        model = result.get("dawid_skene", {})
        if model and not model["reason"]:
            self.say(
                f"Dawid-Skene differs from the consensus on {model['differ']:,} of {model['compared']:,} units and "
                f"decides {model['breaks_ties']:,} ties; the consensus stays as it is."
            )
        for name, found in result.get("models", {}).items():
            self._other_model(name, found)
        if not agreement["per_worker"]["available"]:
            self.say(agreement["per_worker"]["reason"])

    def _other_model(self, name: str, found: dict[str, Any]) -> None:
        if found["reason"]:
            self.say(f"{name}: {found['reason']}")
        elif "differ" in found:
            self.say(
                f"{name} differs from the consensus on {found['differ']:,} of {found['compared']:,} units and decides "
                f"{found['breaks_ties']:,} ties."
            )
        else:
            self.say(f"{name} rests on {found['answers']:,} answers that are those of most others, or not.")
