"""Rank systems by people's choices."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from evaluation.management.words import say_table
from evaluation.strengths.computing import LUCE, StrengthsRequest, strengths_of
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
        rows = [
            [
                one["system"],
                _number(one["strength"]),
                f"{_number(one['low'])} to {_number(one['high'])}",
                f"{one['best_rank'] or '–'} to {one['worst_rank'] or '–'}",
                *([f"{100 * one['best']:.0f} %"] if chosen else []),
            ]
            for one in found["systems"]
        ]
        title = f"Log-strengths from {found['comparisons']:,} comparisons, {100 * found['ties']:.0f} % without a side"
        if chosen:
            title = f"Log-strengths from {found['comparisons']:,} choices of the best"
        say_table(self, title, ["system", "strength", "95 %", "ranks", *(["best"] if chosen else [])], rows)
        if found["length"]:
            self.say(
                f"A standard deviation in length adds {_number(found['length']['value'])} to the log-odds."
            )
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


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"
