"""Compare metrics with the consensus."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import progress_bar
from common.errors import counted
from evaluation.management.words import coefficient, say_table, with_interval
from evaluation.report.content import estimate_of, format_cell, metric_score
from evaluation.results import operations
from evaluation.results.meta_evaluation import evaluate_study
from evaluation.results.tables_page import reading_tables
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
        figures = result["metrics"]
        if all("accuracy" in figure for figure in figures.values()):
            self._accuracy(figures)
        else:
            self._correlation(figures)
        for table in reading_tables(result):
            rows = [[row["name"], *(_cell(cell) for cell in row["cells"])] for row in table["rows"]]
            say_table(self, table["title"], ["metric", *table["columns"]], rows)
        if "clusters" in result:
            self.say("Intervals and tests are naive: they take pairs, or captions, as independent.")
        self.say(result["verdict"]["all"]["sentence"])
        for name, words in result["signatures"].items():
            self.say(f"{name}: {words}")
        for note in result["notes"]:
            self.say(f"Note: {note}")

    def _accuracy(self, figures: dict[str, Any]) -> None:
        kinds = list(next(iter(figures.values()))["accuracy"])
        rows = []
        for name, figure in figures.items():
            found = figure["accuracy"]
            rows.append(
                [name, *(_percent(found[kind]) for kind in kinds), f"{found['all']['metric_ties']:,}"]
            )
        title = "Accuracy in per cent [95 % interval]; a metric's ties are wrong"
        say_table(self, title, ["metric", *kinds, "ties"], rows)
        self.say()
        one = next(iter(figures.values()))["accuracy"]["all"]
        without = one["no_consensus"]
        left_out = f"{without:,} without a consensus {'was' if without == 1 else 'were'} left out"
        self.say(f"{counted(one['n'], 'pair')}; {left_out}.")

    def _correlation(self, figures: dict[str, Any]) -> None:
        rows = []
        for name, figure in figures.items():
            cells = [cell for cell in figure["kappa"] if cell["value"] is not None]
            best = max(cells, key=lambda cell: cell["value"]) if cells else None
            at = f"{metric_score(best['metric_at_least'])} / {best['people_at_least']:.3g}" if best else "–"
            kappa = coefficient(best["value"]) if best else "–"
            tau, rho = with_interval(figure["kendall_tau_b"]), with_interval(figure["spearman"])
            rows.append([name, tau, rho, kappa, at, f"{figure['kendall_tau_b']['n']:,}"])
        columns = ["metric", "tau-b [95 %]", "rho [95 %]", "best kappa", "metric / people at least", "n"]
        say_table(self, "Agreement with people", columns, rows)
        self.say()


def _cell(cell: dict[str, Any] | None) -> str:
    return f"{cell['value']} [{cell['range']}]" if cell else "–"


def _percent(figure: dict[str, Any]) -> str:
    if figure["value"] is None:
        return "–"
    return format_cell(estimate_of(figure), "share")
