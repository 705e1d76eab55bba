"""Commands about results: compute, and import scores."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.amounts import as_json, counted
from common.commands import QuorumCommand, progress_bar
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Estimate, estimate_of, format_cell, plain_table
from judgments.management.base import OperationCommand, add_parameters, as_text, operation_at
from judgments.models import Study
from judgments.studies.studies import design_of, find_dataset, find_study


class Aggregate(OperationCommand):
    workers_option = "--workers"
    operation = operation_at("evaluation.results.operations.aggregate")
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
        from evaluation.results.aggregation import (
            consensus_tables,
            run_aggregation,
            scale_sentence,
            workers_table,
        )
        from evaluation.results.systems import systems_sentence

        study, values = self.study_and_values(options)
        if options["from_rows"]:
            from evaluation.data.judgment_sets.blocks import forget_blocks

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
        if verdict := aggregation.result["systems_verdict"]:
            self.say(systems_sentence(verdict))
        self.say_tables(tables)
        if sentence := scale_sentence(result):
            self.say(sentence)
        self._remarks(result, drawn=study.source == Study.Source.DESIGNED)

    def _remarks(self, result: dict[str, Any], *, drawn: bool) -> None:
        from evaluation.results.aggregation import COEFFICIENT_NAMES
        from evaluation.results.agreement import side_sentence

        agreement = result["agreement"]
        undefined = {"Alpha": agreement["alpha"]} | {
            COEFFICIENT_NAMES[name]: figure for name, figure in agreement.get("coefficients", {}).items()
        }
        for name, figure in undefined.items():
            if figure["reason"]:
                of_interval = "" if figure["value"] is None else "'s interval"
                self.say(f"{name}{of_interval} is undefined: {figure['reason']}.")
        if note := agreement["alpha"].get("note"):
            self.say(f"Note: {note}.")
        model = result.get("dawid_skene", {})
        if model and not model["reason"]:
            self.say(
                f"Dawid-Skene differs from the consensus on {model['differ']:,} of {model['compared']:,} units and "
                f"decides {model['breaks_ties']:,} ties; the consensus stays as it is."
            )
        for name, model_result in result.get("models", {}).items():
            self._other_model(name, model_result)
        if bias := agreement.get("side_bias"):
            self.say(side_sentence(bias, drawn=drawn))
        if not agreement["per_worker"]["available"]:
            self.say(agreement["per_worker"]["reason"])

    def _other_model(self, name: str, result: dict[str, Any]) -> None:
        if result["reason"]:
            self.say(f"{name}: {result['reason']}")
        elif "differ" in result:
            self.say(
                f"{name} differs from the consensus on {result['differ']:,} of {result['compared']:,} units and "
                f"decides {result['breaks_ties']:,} ties."
            )
        else:
            self.say(f"{name} rests on {result['answers']:,} answers that are those of most others, or not.")


class Evaluate(OperationCommand):
    workers_option = "--workers"
    operation = operation_at("evaluation.results.operations.evaluate")
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
        from evaluation.results.meta_evaluation import evaluate_study

        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            result = evaluate_study(study=study, **values, progress=progress)
        self.write_output(options, result)
        self._summary(study, result)

    def _summary(self, study: Study, result: dict[str, Any]) -> None:
        from evaluation.results import metric_figures
        from evaluation.results.consensus import scope_sentence

        self.say(f"{study.name}{' (simulated answers)' if study.simulated else ''}")
        of_pairs = metric_figures.compares_pairs(result)
        self.say_tables(
            [
                metric_figures.accuracy_and_ties_table(result)
                if of_pairs
                else metric_figures.correlation_table(result)
            ]
        )
        self.say()
        if of_pairs:
            counts = next(iter(result["metrics"].values()))["accuracy"]["all"]
            without = counts["no_consensus"]
            left_out = f"{without:,} without a consensus {'was' if without == 1 else 'were'} left out"
            self.say(f"{counted(counts['n'], 'pair')}; {left_out}.")
        self.say_tables(metric_figures.tables_beside_metrics(result))
        if "clusters" in result:
            self.say("Intervals and tests are naive: they take pairs, or captions, as independent.")
        self.say(result["verdict"]["all"]["sentence"])
        if scope_sentence(result):
            self.say(scope_sentence(result))
        for name, signature in result["signatures"].items():
            self.say(f"{name}: {signature}")
        for note in result["notes"]:
            self.say(f"Note: {note}")


class Strengths(QuorumCommand):
    help = (
        "Rank the systems of a study by people's choices: of triplets and pairs by Bradley-Terry strengths with ties "
        "and strength of preference (docs/ties.md), of the best of several by Luce's choice model (docs/best-of-n.md). "
        "With intervals by item and person, rank bands, and the pairs of which one more judgment says most."
    )
    example = "manage.py strengths arena --control length --output strengths.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from evaluation.results.strengths.computing import StrengthsRequest

        parser.add_argument("study")
        add_parameters(parser, StrengthsRequest())
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.results.agreement import is_biased, side_sentence
        from evaluation.results.consensus import scope_sentence
        from evaluation.results.strengths.computing import LUCE, MAJORITIES, StrengthsRequest, strengths_of

        study = find_study(options["study"])
        values = StrengthsRequest.read(as_text(StrengthsRequest(), options))
        strengths = strengths_of(study, **values)
        self.write_output(options, strengths)
        chosen = strengths["model"] == LUCE
        ties = 100 * strengths["ties"]
        title = f"Log-strengths from {strengths['comparisons']:,} comparisons, {ties:.0f} % without a side"
        if chosen:
            title = f"Log-strengths from {strengths['comparisons']:,} choices of the best"
        columns = [
            ("system", "text"),
            ("strength [95 %]", "signed"),
            ("best rank", "count"),
            ("worst rank", "count"),
        ]
        rows: list[tuple[Cell, ...]] = [
            (
                system["system"],
                estimate_of({"value": system["strength"], **system}),
                system["best_rank"],
                system["worst_rank"],
            )
            for system in strengths["systems"]
        ]
        share = "best" if chosen else "won"
        columns += [(f"{share}, % [95 %]", "share"), ("p, Holm", "p")]
        names = {"value": share, "low": f"{share}_low", "high": f"{share}_high"}
        rows = [
            (*row, estimate_of({key: system[name] for key, name in names.items()}), system["p"])
            for row, system in zip(rows, strengths["systems"], strict=True)
        ]
        self.say_tables([plain_table(title, columns, rows)])
        if not chosen:
            self.say(MAJORITIES)
        if strengths["length"]:
            added = format_cell(strengths["length"]["value"], "signed")
            self.say(f"A standard deviation in length adds {added} to the log-odds.")
        if strengths["order_effect"]:
            added = format_cell(estimate_of(strengths["order_effect"]), "signed")
            self.say(f"Standing on the left adds {added} to the log-odds; these are strengths without it.")
        elif is_biased(strengths["side_bias"], drawn=study.source == Study.Source.DESIGNED):
            self.say(
                f"{side_sentence(strengths['side_bias'], drawn=True)} --order-effect gives strengths without this bias."
            )
        for pair in strengths["next"]:
            self.say(
                f"One more judgment says most of {pair['first']} and {pair['second']} ({pair['gain']:.2g} nats)."
            )
        if strengths["weighted"]:
            self.say("Judgments weigh one over the chance that drew what they compare (docs/ties.md).")
        for sentence in (strengths["reason"], strengths["note"], scope_sentence(strengths)):
            if sentence:
                self.say(f"Note: {sentence}")
        self.say(strengths["signature"])


class ErrorSpans(QuorumCommand):
    help = (
        "Print the score of each system of a study of marked errors, as WMT computes it: mean score, MQM's weights, "
        "z-scores, with intervals over documents; and two systems compared (docs/spans.md)."
    )
    example = "manage.py error_spans esa --compare nearest random --output scores.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--compare", nargs=2, metavar="SYSTEM", help="the first less the second")
        parser.add_argument(
            "--domains", action="store_true", help="also rank systems over domains (splits), as WMT24"
        )
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.results.consensus import scope_sentence
        from evaluation.results.error_spans import scores as errors

        study = find_study(options["study"])
        segments = errors.segments_of(study)
        scores = errors.system_scores(segments)
        if not scores:
            raise EvaluationError(f"No text of a system has an answer that counts in study {study.slug!r}.")
        pair = errors.compare_systems(segments, *options["compare"]) if options["compare"] else None
        ranked = errors.rank_systems(segments) if options["domains"] else []
        result: dict[str, Any] = {
            "systems": [as_json(score) for score in scores],
            "comparison": as_json(pair) if pair else None,
            "scope": errors.scope_of_segments(segments),
            "weights": design_of(study).spans.weights_by_category,
            "ranking": [as_json(row) for row in ranked],
        }
        self.write_output(options, result)
        self.say_tables([errors.scores_table(scores), *([errors.ranks_table(ranked)] if ranked else [])])
        if pair is not None:
            difference = Estimate(pair.difference, pair.low, pair.high)
            self.say(
                f"\n{pair.first} less {pair.second}: {format_cell(difference, 'fixed')}, "
                f"p = {format_cell(pair.p, 'p')}, "
                f"over {pair.segments:,} segments" + (f" ({pair.reason})" if pair.reason else "")
            )
        if sentence := scope_sentence(result):
            self.say(sentence)


class ImportScores(QuorumCommand):
    help = (
        "Import scores of metrics that Quorum does not compute, of captions, systems or pairs, from JSON lines, CSV or "
        "a folder of mt-metrics-eval (docs/imported-scores.md)."
    )
    example = "manage.py import_scores comet.csv --dataset photos --metric comet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from evaluation.data.imported_scores.reading import FORMATS
        from evaluation.data.imported_scores.storing import ScoresRequest

        parser.add_argument("path", type=Path, metavar="FILE")
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--format", choices=FORMATS, default="", help="default: what the file is")
        add_parameters(parser, ScoresRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.data.imported_scores.reading import read_scores
        from evaluation.data.imported_scores.storing import (
            ScoresRequest,
            import_scores,
            mapping_of_scores,
        )

        dataset = find_dataset(options["dataset"])
        values = ScoresRequest.read(as_text(ScoresRequest(), options))
        path, metrics = options["path"], values.pop("metric", [])
        mapping = mapping_of_scores(values, path)
        files = read_scores(path, metrics, format=options["format"], mapping=mapping)
        self.say(import_scores(dataset=dataset, files=files, **values).summary())
