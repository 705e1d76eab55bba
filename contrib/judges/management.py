"""The commands that ask, import, remove and compare judges."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from common.commands import progress_bar
from common.errors import ObjectNotFound
from contrib.judges.models import Judge
from evaluation.presentation.content import Cell, Estimate, estimate_of, plain_table
from judgments.management.base import FileOperationCommand, OperationCommand, operation_at


class AskJudge(OperationCommand):
    operation = operation_at("contrib.judges.operations.start_judge_run")
    help = (
        "Ask a model at the OpenAI-compatible endpoint of JUDGE_API_URL about every item, in both orders, each once. "
        "A run that stopped is continued by the same command (contrib/judges/README.md)."
    )
    example = "manage.py ask_judge triplets-50 --name small --model small-1 --budget 2 --price-in 0.15 --price-out 0.6"

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.judges.operations import ask_judge_now

        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            answers = ask_judge_now(study=study, progress=progress, **values)
        self.say(answers.describe())


BLANK = " "  # of cells without a value, in which "" would be shown as a dash
AGREEMENT_COLUMNS = [
    ("judge", "text"), ("agreement", "coefficient"), ("alpha with people", "coefficient"),
    ("same in both orders", "percent"), ("units", "count"),
]  # fmt: skip
ESTIMATE_COLUMNS = [
    ("of", "text"), ("people would say", "coefficient"), ("people alone", "coefficient"),  # of a system, or of "all"
    ("units of people", "count"), ("units saved", "count"),
]  # fmt: skip


class CompareJudges(OperationCommand):
    operation = operation_at("contrib.judges.operations.start_judge_comparison")
    help = (
        "Compare each judge of a study with its people: agreement, bias by side, length and family, the alternative "
        "annotator test, and prediction-powered estimates (contrib/judges/README.md)."
    )
    example = "manage.py compare_judges triplets-50 --epsilon 0.1 --output judges.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.judges.results.comparison import compare_judges_with_people, store_comparison
        from contrib.judges.results.findings import describe_test

        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            comparison = compare_judges_with_people(study=study, progress=progress, **values)
        store_comparison(comparison)
        run_facts = {
            "settings": comparison.settings,
            "signature": comparison.signature,
            "judgments": comparison.judgments,
        }
        self.write_output(options, {**run_facts, **comparison.result})
        for judge in comparison.result["judges"]:
            for sentence in describe_test(judge):
                self.say(sentence)
        people = comparison.result["people"].get("agreement")
        rows: list[tuple[Cell, ...]] = []
        if people:
            rows.append(("people among themselves", estimate_of(people), BLANK, BLANK, BLANK))
        rows += [_agreement_row(judge) for judge in comparison.result["judges"]]
        self.say_tables([plain_table("Judges beside people", AGREEMENT_COLUMNS, rows)])
        for judge in comparison.result["judges"]:
            estimates = [_estimate_row(estimate) for estimate in judge["estimates"]]
            self.say_tables([plain_table(f"With {judge['name']}", ESTIMATE_COLUMNS, estimates)])


def _agreement_row(judge: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return a judge's row. Grades and points have no share of agreement, and answers to single texts no orders."""
    agreement = estimate_of(judge["agreement"]) if judge["agreement"] else BLANK
    same_in_both_orders = judge["side"]["consistent"]["value"] if judge["side"] else BLANK
    return judge["name"], agreement, estimate_of(judge["alpha"]), same_in_both_orders, judge["units"]


def _estimate_row(estimate: Mapping[str, Any]) -> tuple[Cell, ...]:
    people_estimate = Estimate(estimate["people"], estimate["people_low"], estimate["people_high"])
    saved_units = BLANK if estimate["saved"] is None else round(estimate["saved"])
    return estimate["of"] or "all", estimate_of(estimate), people_estimate, estimate["labelled"], saved_units


class RemoveJudge(OperationCommand):
    operation = operation_at("contrib.judges.operations.remove_judge")
    help = (
        "Delete a judge and its answers permanently (contrib/judges/README.md). What was computed with it stays, and "
        "says so."
    )
    example = "manage.py remove_judge triplets-50 small"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("judge", help="name of the judge")

    def handle(self, *args: Any, **options: Any) -> None:
        study, _ = self.study_and_values(options)
        judge = Judge.objects.filter(study=study, name=options["judge"]).first()
        if judge is None:
            raise ObjectNotFound(f"Study {study.slug!r} has no judge {options['judge']!r}.")
        self.say(self.operation.run(study, {"judge": str(judge.pk)}, by=None).message)


class ImportJudge(FileOperationCommand):
    operation = operation_at("contrib.judges.operations.import_judge")
    parameter = "answers"
    other_parameters = "contrib.judges.operations.ImportJudgeOptions"
    expected = "CSV or JSON lines"
    help = (
        "Take in a judge's answers: CSV with a header line, or JSON lines, with unit, value, and rater and order if "
        "known (contrib/judges/README.md)."
    )
    example = "manage.py import_judge triplets-50 answers.csv --name small-model --model small-1"
