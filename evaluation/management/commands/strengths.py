"""Rank systems by people's choices."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from evaluation.presentation.content import Cell, estimate_of, format_cell, plain_table
from evaluation.results.strengths.computing import LUCE, StrengthsRequest, strengths_of
from judgments.management.base import add_parameters, as_text
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Rank the systems of a study by people's choices: of triplets and pairs by Bradley-Terry strengths with ties "
        "and strength of preference (docs/ties.md), of the best of several by Luce's choice model (docs/best-of-n.md). "
        "With intervals by image and person, rank bands, and the pairs of which one more judgment says most."
    )
    example = "manage.py strengths arena --control length --output strengths.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        add_parameters(parser, StrengthsRequest())
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        values = StrengthsRequest.read(as_text(StrengthsRequest(), options))
        found = strengths_of(study, **values)
        self.write_output(options, found)
        chosen = found["model"] == LUCE
        title = f"Log-strengths from {found['comparisons']:,} comparisons, {100 * found['ties']:.0f} % without a side"
        if chosen:
            title = f"Log-strengths from {found['comparisons']:,} choices of the best"
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
            for system in found["systems"]
        ]
        if chosen:
            columns.append(("best", "percent"))
            rows = [(*row, system["best"]) for row, system in zip(rows, found["systems"], strict=True)]
        self.say_tables([plain_table(title, columns, rows)])
        if found["length"]:
            added = format_cell(found["length"]["value"], "signed")
            self.say(f"A standard deviation in length adds {added} to the log-odds.")
        for one in found["next"]:
            self.say(
                f"One more judgment says most of {one['first']} and {one['second']} ({one['gain']:.2g} nats)."
            )
        if found["weighted"]:
            self.say("Judgments weigh one over the chance that drew what they compare (docs/ties.md).")
        for words in (found["reason"], found["note"]):
            if words:
                self.say(f"Note: {words}")
        self.say(found["signature"])
