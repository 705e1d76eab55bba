"""Compute consensus, agreement and worker quality."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import progress_bar
from common.errors import counted
from evaluation.judgment_sets.blocks import forget_blocks
from evaluation.judgment_sets.loaders import systems_of_pairs
from evaluation.management.words import coefficient, percent, say_table, with_interval
from evaluation.results import operations
from evaluation.results.aggregation import run_aggregation
from evaluation.results.consensus import SYSTEM_COUNTS, system_tallies
from evaluation.results.rankings import CUTS
from judgments.management.base import OperationCommand
from judgments.models import Study

NAMES = {"percent": "percent agreement", "fleiss": "Fleiss' kappa", "gwet": "Gwet's AC"}


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
        self._summary(study, result)

    def _summary(self, study: Study, result: dict[str, Any]) -> None:
        if result["pairs"]:
            rows = [_pair_line(kind, result["pairs"]) for kind in _kinds(result["pairs"])]
            say_table(self, "Candidate pairs", ["kind", "pairs", "first wins", "second wins", "ties"], rows)
            rows = [
                [row["system"], *(f"{row[name]:,}" for name in SYSTEM_COUNTS)]
                for row in system_tallies(result["pairs"], systems_of_pairs(study))
            ]
            if rows:
                say_table(self, "Systems", ["system", *SYSTEM_COUNTS], rows)
        self._systems(result)
        agreement = result["agreement"]
        figures = [(f"alpha ({agreement['alpha']['level']})", agreement["alpha"])]
        if "ordinal" in agreement:
            figures.append(("alpha (ordinal)", agreement["ordinal"]))
        figures += [(f"alpha, {kind}", figure) for kind, figure in agreement.get("by_kind", {}).items()]
        rows = [[name, with_interval(one), f"{one['n']:,}", f"{one['judgments']:,}"] for name, one in figures]
        rows += [
            [NAMES[name], with_interval(one), f"{one['n']:,}", "–"]
            for name, one in agreement.get("coefficients", {}).items()
        ]
        say_table(self, "Agreement", ["figure", "value [95 % interval]", "units", "judgments"], rows)
        for name, one in agreement.get("coefficients", {}).items():
            if one["reason"]:
                self.say(f"{NAMES[name]} is undefined: {one['reason']}.")
        if agreement["alpha"]["reason"]:
            self.say(f"Alpha is undefined: {agreement['alpha']['reason']}.")
        model = result.get("dawid_skene", {})
        if model and not model["reason"]:
            self.say(
                f"Dawid-Skene differs from the consensus on {model['differ']:,} of {model['compared']:,} units and "
                f"decides {model['breaks_ties']:,} ties; the consensus stays as it is."
            )
        for name, found in result.get("models", {}).items():
            self._other_model(name, found)
        self._upper_bounds(result.get("figures", {}).get("leave_one_out", {}))
        if result["workers"]:
            say_table(
                self,
                "Workers",
                ["worker", "judgments", "controls right", "seconds", "left", "used"],
                [_worker_line(row) for row in result["workers"]],
            )
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

    def _systems(self, result: dict[str, Any]) -> None:
        systems = [row for row in result.get("systems", []) if "describes" in row]
        if systems:
            names = [name for name in ("mean", "z", "describes") if name in systems[0]]
            say_table(
                self,
                "Systems",
                ["system", "judged", *(f"{name} [95 % interval]" for name in names)],
                [
                    [row["system"], f"{row['captions']:,}", *(_mean(row[name], name) for name in names)]
                    for row in systems
                ],
            )
        for task, rows in result.get("rankings", {}).items():
            say_table(
                self,
                f"Rankings ({task}): a relevant item among the first k, and R-precision",
                ["system", "queries", *(f"S@{k}" for k in CUTS), "R-precision [95 % interval]"],
                [
                    [
                        row["system"],
                        f"{row['R-precision']['n']:,}",
                        *(percent(row[f"S@{k}"]["value"]) for k in CUTS),
                        with_interval(row["R-precision"]),
                    ]
                    for row in rows
                ],
            )
            originals = [row for row in rows if "original" in row]
            if originals:
                say_table(
                    self,
                    f"Rankings ({task}): the original item among the first k",
                    ["system", "queries", *(f"R@{k}" for k in CUTS), "median rank"],
                    [_original_line(row) for row in originals],
                )

    def _upper_bounds(self, found: dict[str, Any]) -> None:
        if not found.get("metrics"):
            return
        say_table(
            self,
            f"What people reach: each of {found['captions']:,} captions against the others of its image",
            ["metric", "mean over images [95 % interval]", "median", "deviation"],
            [
                [
                    name,
                    with_interval({**one, "value": one["macro"]}),
                    coefficient(one["median"]),
                    coefficient(one["deviation"]),
                ]
                for name, one in found["metrics"].items()
            ],
        )


def _kinds(pairs: list[dict[str, Any]]) -> list[str | None]:
    return sorted({pair["kind"] for pair in pairs}, key=lambda kind: kind or "")


def _pair_line(kind: str | None, pairs: list[dict[str, Any]]) -> list[str]:
    values = [pair["value"] for pair in pairs if pair["kind"] == kind]
    ties = sum(pair["tie"] for pair in pairs if pair["kind"] == kind)
    return [kind or "–", *(f"{count:,}" for count in (len(values), values.count(1), values.count(2), ties))]


def _mean(figure: dict[str, Any], name: str) -> str:
    if name != "mean":
        return with_interval(figure)
    if figure["value"] is None:
        return "–"
    interval = "" if figure["low"] is None else f" [{figure['low']:.2f}, {figure['high']:.2f}]"
    return f"{figure['value']:.2f}{interval}"


def _original_line(row: dict[str, Any]) -> list[str]:
    found = row["original"]
    middle = found["median_rank"]["value"]
    return [
        row["system"],
        f"{found['queries']:,}",
        *(percent(found[f"R@{k}"]["value"]) for k in CUTS),
        "–" if middle is None else f"{middle:g}",
    ]


def _worker_line(row: dict[str, Any]) -> list[str]:
    seen = row["controls_seen"]
    return [
        row["worker"],
        f"{row['judgments']:,}",
        f"{row['controls_right']} of {seen}" if seen else "none seen",
        "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
        percent(row["left_share"]),
        "yes" if row["used"] else "no",
    ]
