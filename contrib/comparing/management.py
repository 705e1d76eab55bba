"""The commands that compare two metrics with people, and two releases with each other."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.commands import QuorumCommand, progress_bar
from evaluation.models import DEFAULT_TOKENIZER
from evaluation.presentation.content import Estimate, plain_table
from judgments.studies.studies import find_dataset, find_study

MEASURE_LABELS = {
    "kendall_tau_b": "Kendall's tau-b", "spearman": "Spearman's rho", "pearson": "Pearson's r", "accuracy": "accuracy",
}  # fmt: skip
MAX_SHOWN_CHANGES = 20


class CompareMetrics(QuorumCommand):
    help = (
        "Compare two metrics, computed or imported, by the consensus of a study, or by people's scores that were "
        "imported: difference with its interval, tests, and agreement over systems "
        "(contrib/comparing/README.md)."
    )
    example = "manage.py compare_metrics comet cider-d --study photos-grades --output difference.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("first")
        parser.add_argument("second")
        parser.add_argument("--study", help="whose consensus is the standard")
        parser.add_argument("--dataset", help="with --people: the dataset of the scores")
        parser.add_argument("--people", help="name under which people's scores were imported")
        parser.add_argument("--tokenizer", default=DEFAULT_TOKENIZER)
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.comparing.metrics import compare_metrics
        from contrib.comparing.people_scores import compare_with_scores

        if bool(options["study"]) == bool(options["dataset"] and options["people"]):
            raise CommandError("Expected --study, or --dataset with --people.")
        metrics = {"first": options["first"], "second": options["second"]}
        with progress_bar() as progress:
            if options["study"]:
                study = find_study(options["study"])
                result = compare_metrics(
                    study=study, tokenizer=options["tokenizer"], progress=progress, **metrics
                )
            else:
                dataset = find_dataset(options["dataset"])
                result = compare_with_scores(
                    dataset=dataset, people=options["people"], tokenizer=options["tokenizer"], **metrics
                )
        self.write_output(options, result)
        self._print_summary(result)

    def _print_summary(self, result: dict[str, Any]) -> None:
        from contrib.comparing.wording import describe_comparison

        first, second = result["metrics"]
        value_format = "percent" if result["what"] == "pairs" else "coefficient"
        rows = [
            (
                row.get("kind") or MEASURE_LABELS[row["measure"]],  # only rows of pairs have a kind
                row["first"],
                row["second"],
                Estimate(row["difference"], row["low"], row["high"]),
                row["p"],
                row["n"],
            )
            for row in result["rows"]
        ]
        if rows:
            columns = [
                ("", "text"),
                (first, value_format),
                (second, value_format),
                ("difference [95 %]", value_format),
                *(("p", "p"), ("n", "count")),
            ]
            self.say_tables([plain_table("Agreement with people", columns, rows)])
        if result.get("systems"):
            self._print_systems(result)
        self.say(describe_comparison(result))
        for name, signature in result["signatures"].items():
            self.say(f"{name}: {signature}")
        for note in result.get("notes", ()):
            self.say(f"Note: {note}")

    def _print_systems(self, result: dict[str, Any]) -> None:
        systems = result["systems"]  # "own": the figures of each metric
        columns = [("", "text"), ("soft pairwise", "score"), ("pairwise", "score"), ("Pearson", "score")]
        # Only a comparison with imported scores of people has accuracies with calibrated ties.
        columns += [("tie-calibrated, by item", "score")] if "calibrated" in systems else []
        rows = []
        for position, (name, metric) in enumerate(zip(result["metrics"], systems["own"], strict=True)):
            soft_accuracy = metric["soft_pairwise_accuracy"]
            row = [name, soft_accuracy["value"], soft_accuracy["pairwise"], metric["pearson"]["value"]]
            if "calibrated" in systems:
                row.append(systems["calibrated"][position]["value"])
            rows.append(tuple(row))
        self.say_tables([plain_table(f"Over {systems['number']} systems", columns, rows)])
        self.say()


class CompareReleases(QuorumCommand):
    help = (
        "Say what changed from one release of a study to another: judgments added, removed, no longer used; consensus\n"
        "that flipped; agreement, metrics and registered hypotheses before and after (docs/releases.md). No database."
    )
    example = "manage.py compare_releases triplets-50-1.0.zip triplets-50-1.1.zip"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", type=Path, help="a release bundle")
        parser.add_argument("after", type=Path, help="a later one")
        self.add_output(parser, help="JSON file for the comparison")

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.comparing.releases import compare_bundles
        from evaluation.presentation.content import format_cell

        comparison = compare_bundles(options["before"], options["after"])
        self.write_output(options, comparison)
        judgments, consensus_changes = comparison["judgments"], comparison["consensus"]
        self.say(f"From {comparison['versions'][0]} to {comparison['versions'][1]}:")
        self.say(
            f"  judgments {judgments['before']:,} to {judgments['after']:,}: {judgments['added']:,} added, "
            f"{judgments['removed']:,} removed, {judgments['no_longer_used']:,} no longer used"
        )
        self.say(f"  consensus of {len(consensus_changes):,} items and pairs is different")
        for row in consensus_changes[:MAX_SHOWN_CHANGES]:
            self.say(f"    {row['unit'] or row['pair']}: {row['before']} to {row['after']}")
        for name, (value_before, value_after) in {
            "alpha": comparison["alpha"],
            **comparison["metrics"],
        }.items():
            self.say(
                f"  {name} {format_cell(value_before, 'coefficient')} to {format_cell(value_after, 'coefficient')}"
            )
        for first, second in comparison["swapped"]:
            self.say(f"  {first} and {second} changed places")
        if not comparison["plan"]:  # whether both releases have the same plan
            self.say("  the registered plan is another")
        for row in comparison["hypotheses"]:
            self.say(f"  {row['text']} {row['before']} to {row['after']}: {row['words']}")
        for adverb, change in (("more", "added"), ("no longer", "removed")):
            for deviation in comparison["deviations"][change]:
                self.say(f"  {adverb} done otherwise than registered: {deviation}")
