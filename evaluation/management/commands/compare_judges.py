"""Compare judges with people."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from common.commands import progress_bar
from evaluation.presentation.content import Cell, Estimate, estimate_of, plain_table
from evaluation.results.judges import operations
from evaluation.results.judges.findings import compare_judges, sentences_of, store_comparison
from judgments.management.base import OperationCommand

BLANK = " "
COLUMNS = [
    ("judge", "text"), ("agreement", "coefficient"), ("alpha with people", "coefficient"),
    ("same in both orders", "percent"), ("units", "count"),
]  # fmt: skip
ESTIMATE_COLUMNS = [
    ("of", "text"), ("people would say", "coefficient"), ("people alone", "coefficient"),
    ("units of people", "count"), ("units saved", "count"),
]  # fmt: skip


class Command(OperationCommand):
    operation = operations.compare_judges
    help = (
        "Hold each judge of a study against its people: agreement, bias by side, length and family, the alternative "
        "annotator test, and prediction-powered estimates (docs/judges.md)."
    )
    example = "manage.py compare_judges triplets-50 --epsilon 0.1 --output judges.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            found = compare_judges(study=study, progress=progress, **values)
        store_comparison(found)
        about = {"settings": found.settings, "signature": found.signature, "judgments": found.judgments}
        self.write_output(options, {**about, **found.result})
        for judge in found.result["judges"]:
            for sentence in sentences_of(judge):
                self.say(sentence)
        people = found.result["people"].get("agreement")
        rows: list[tuple[Cell, ...]] = []
        if people:
            rows.append(("people among themselves", estimate_of(people), BLANK, BLANK, BLANK))
        rows += [_row(judge) for judge in found.result["judges"]]
        self.say_tables([plain_table("Judges beside people", COLUMNS, rows)])
        for judge in found.result["judges"]:
            estimates = [_estimate(estimate) for estimate in judge["estimates"]]
            self.say_tables([plain_table(f"With {judge['name']}", ESTIMATE_COLUMNS, estimates)])


def _row(judge: Mapping[str, Any]) -> tuple[Cell, ...]:
    agreement = estimate_of(judge["agreement"]) if judge["agreement"] else BLANK
    consistent = judge["side"]["consistent"]["value"] if judge["side"] else BLANK
    return judge["name"], agreement, estimate_of(judge["alpha"]), consistent, judge["units"]


def _estimate(estimate: Mapping[str, Any]) -> tuple[Cell, ...]:
    alone = Estimate(estimate["people"], estimate["people_low"], estimate["people_high"])
    saved = BLANK if estimate["saved"] is None else round(estimate["saved"])
    return estimate["of"] or "all", estimate_of(estimate), alone, estimate["labelled"], saved
