"""Compare metrics with the consensus."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import progress_bar
from common.errors import counted
from evaluation.results import operations
from evaluation.results.meta_evaluation import evaluate_study
from evaluation.results.tables import (
    accuracy_and_ties_table,
    compares_pairs,
    correlation_table,
    readings_tables,
    ties_tables,
)
from judgments.management.base import OperationCommand
from judgments.models import Study


class Command(OperationCommand):
    workers_option = "--workers"
    operation = operations.evaluate
    help = (
        "Hold automatic metrics against the consensus of a study. Triplet and pairwise: accuracy by pair kind. "
        "Relevance and graded: Kendall's tau-b, Spearman's rho, and kappa on a grid of thresholds (docs/evaluation.md)."
    )
    example = (
        "manage.py evaluate pascal-triplets --metrics cider,bleu-4 --tokenizer v15 --output accuracy.json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser, help="write figures and signatures there as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            result = evaluate_study(study=study, **values, progress=progress)
        self.write_output(options, result)
        self._summary(study, result)

    def _summary(self, study: Study, result: dict[str, Any]) -> None:
        self.say(f"{study.name}{' (simulated answers)' if study.simulated else ''}")
        of_pairs = compares_pairs(result)
        self.say_tables([accuracy_and_ties_table(result) if of_pairs else correlation_table(result)])
        self.say()
        if of_pairs:
            counts = next(iter(result["metrics"].values()))["accuracy"]["all"]
            without = counts["no_consensus"]
            left_out = f"{without:,} without a consensus {'was' if without == 1 else 'were'} left out"
            self.say(f"{counted(counts['n'], 'pair')}; {left_out}.")
        self.say_tables(readings_tables(result) + ties_tables(result))
        if "clusters" in result:
            self.say("Intervals and tests are naive: they take pairs, or captions, as independent.")
        self.say(result["verdict"]["all"]["sentence"])
        for name, words in result["signatures"].items():
            self.say(f"{name}: {words}")
        for note in result["notes"]:
            self.say(f"Note: {note}")
