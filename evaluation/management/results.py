"""Commands that compute results and import scores."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.amounts import with_noun
from common.commands import progress_bar
from judgments.management.base import OperationCommand, operation_at
from judgments.models import Study


class Aggregate(OperationCommand):
    workers_option = "--workers"  # the number of processes
    operation = operation_at("evaluation.results.operations.start_aggregation")
    help = (
        "Compute and store consensus, agreement and quality of participants of a study (docs/evaluation.md)."
    )
    example = "manage.py aggregate triplets-50 --output consensus.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser, help="write units, pairs, agreement and participants there as JSON")
        parser.add_argument(
            "--from-rows",
            action="store_true",
            help="read all judgments, compare all rows of the stored consensus, and store the columns of analyses anew",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.results.aggregation import run_aggregation, scale_sentence
        from evaluation.results.consensus.tables import consensus_tables, workers_report_table
        from evaluation.results.systems import systems_sentence

        study, values = self.study_and_values(options)
        if options["from_rows"]:
            from evaluation.data.judgment_sets.blocks import delete_blocks

            delete_blocks(study)
        with progress_bar() as progress:
            aggregation = run_aggregation(study=study, **values, progress=progress)
        result = aggregation.as_json(with_units=bool(options["output"]))
        self.write_output(options, result)
        if "clusters" in aggregation.result:  # stored only if naive intervals were requested
            self.say("Intervals of agreement are naive: they take judgments as independent.")
        simulated_note = " (simulated answers)" if study.simulated else ""
        counts = aggregation.result["counts"]
        self.say(f"{study.name}{simulated_note}")
        self.say(
            f"{aggregation.consensus.judged_count:,} of {with_noun(counts['units'], 'item')} judged, "
            f"{counts['unit_ties']:,} tied"
        )
        if study.design.get("chosen"):
            self.say(
                "The items were chosen by their usefulness; these figures hold for the chosen items alone."
            )
        tables = consensus_tables(result)
        if result["workers"]:
            tables.append(workers_report_table(result["workers"]))
        if verdict := aggregation.result["systems_verdict"]:
            self.say(systems_sentence(verdict))
        self.say_tables(tables)
        if sentence := scale_sentence(result):
            self.say(sentence)
        # the pages of studies that were designed here assign sides at random
        self._print_remarks(result, random_sides=study.source == Study.Source.DESIGNED)

    def _print_remarks(self, result: dict[str, Any], *, random_sides: bool) -> None:
        """Print what is undefined, how models differ from the consensus, and how often the left side was chosen."""
        from evaluation.results.agreement_sentences import side_sentence
        from evaluation.results.consensus.tables import COEFFICIENT_NAMES

        agreement = result["agreement"]
        coefficients = {"Alpha": agreement["alpha"]}
        for name, figure in agreement.get("coefficients", {}).items():
            coefficients[COEFFICIENT_NAMES[name]] = figure
        for name, figure in coefficients.items():
            if figure["reason"]:
                of_interval = "" if figure["value"] is None else "'s interval"
                self.say(f"{name}{of_interval} is undefined: {figure['reason']}.")
        if note := agreement["alpha"].get("note"):
            self.say(f"Note: {note}.")
        model = result.get("dawid_skene", {})
        if model and not model["reason"]:
            self.say(
                f"Dawid-Skene differs from the consensus on {model['differ']:,} of {model['compared']:,} items and "
                f"decides {model['breaks_ties']:,} ties; the consensus stays as it is."
            )
        for name, model_result in result.get("models", {}).items():
            self._print_other_model(name, model_result)
        if bias := agreement.get("side_bias"):
            self.say(side_sentence(bias, random_sides=random_sides))
        if not agreement["per_worker"]["available"]:
            self.say(agreement["per_worker"]["reason"])

    def _print_other_model(self, name: str, result: dict[str, Any]) -> None:
        """Print a line about a model that has a consensus of its own ("differ"), or that only rates participants."""
        if result["reason"]:
            self.say(f"{name}: {result['reason']}")
        elif "differ" in result:
            self.say(
                f"{name} differs from the consensus on {result['differ']:,} of {result['compared']:,} items and "
                f"decides {result['breaks_ties']:,} ties."
            )
        else:
            self.say(
                f"{name} takes an answer as right if most others gave it; {result['answers']:,} could be compared."
            )


class Evaluate(OperationCommand):
    workers_option = "--workers"  # the number of processes
    operation = operation_at("evaluation.results.operations.start_evaluation")
    help = (
        "Compare automatic metrics with the consensus of a study. Triplet and pairwise: accuracy by pair kind. "
        "Relevance and graded: Kendall's tau-b, Spearman's rho, and kappa on a grid of thresholds (docs/evaluation.md)."
    )
    example = "manage.py evaluate triplets-50 --metrics cider,bleu-4 --tokenizer v15 --output accuracy.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        self.add_output(parser, help="write figures and signatures there as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.results.metrics.storage import evaluate_study

        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            result = evaluate_study(study=study, **values, progress=progress)
        self.write_output(options, result)
        self._print_summary(study, result)

    def _print_summary(self, study: Study, result: dict[str, Any]) -> None:
        from evaluation.results.consensus.clusters import scope_sentence
        from evaluation.results.metrics import tables
        from evaluation.results.metrics.variant_tables import tables_beside_metrics

        self.say(f"{study.name}{' (simulated answers)' if study.simulated else ''}")
        compares_pairs = tables.compares_pairs(result)
        self.say_tables(
            [tables.accuracy_and_ties_table(result) if compares_pairs else tables.correlation_table(result)]
        )
        self.say()
        if compares_pairs:
            any_metric = next(iter(result["metrics"].values()))  # all metrics have the same counts
            counts = any_metric["accuracy"]["all"]
            undecided_count = counts["no_consensus"]
            verb = "was" if undecided_count == 1 else "were"
            omission = f"{undecided_count:,} without a consensus {verb} left out"
            self.say(f"{with_noun(counts['n'], 'pair')}; {omission}.")
        self.say_tables(tables_beside_metrics(result))
        if "clusters" in result:  # stored only if naive intervals were requested
            self.say("Intervals and tests are naive: they take pairs, or captions, as independent.")
        self.say(result["verdict"]["all"]["sentence"])
        if scope_sentence(result):
            self.say(scope_sentence(result))
        for name, signature in result["signatures"].items():
            self.say(f"{name}: {signature}")
        for note in result["notes"]:
            self.say(f"Note: {note}")
