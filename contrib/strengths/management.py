"""The command `strengths`, which ranks the systems of a study by people's choices."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.amounts import coefficient, percent
from common.commands import QuorumCommand
from evaluation.presentation.content import Cell, estimate_of, format_cell, plain_table
from judgments.management.base import add_parameters, as_form_data
from judgments.models import Study
from judgments.studies.studies import find_study

MAJORITY_NOTE = (
    "Strengths and ranks are of single judgments. Pairs won, and p against the best system, are of what most say of "
    "each pair, as in the verdict; the two can differ."
)


class Strengths(QuorumCommand):
    help = (
        "Rank the systems of a study by people's choices: of triplets and pairs by Bradley-Terry strengths with ties "
        "and strength of preference, of the best of several by Luce's choice model. With intervals by item and person, "
        "rank bands, and the most informative pairs to judge next (contrib/strengths/README.md)."
    )
    example = "manage.py strengths arena --control length --output strengths.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from contrib.strengths.parameters import StrengthsRequest

        parser.add_argument("study")
        add_parameters(parser, StrengthsRequest())
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.strengths.choices import LUCE
        from contrib.strengths.pairs import is_biased
        from contrib.strengths.parameters import StrengthsRequest
        from contrib.strengths.strengths import strengths_of
        from evaluation.results.agreement_sentences import side_sentence
        from evaluation.results.consensus.clusters import scope_sentence

        study = find_study(options["study"])
        settings = StrengthsRequest.read(as_form_data(StrengthsRequest(), options))
        strengths = strengths_of(study, **settings)
        self.write_output(options, strengths)
        self._print_table(strengths, is_luce=strengths["model"] == LUCE)
        if strengths["length"]:
            effect = format_cell(strengths["length"]["value"], "signed")
            self.say(f"A standard deviation in length adds {effect} to the log-odds.")
        if strengths["order_effect"]:
            effect = format_cell(estimate_of(strengths["order_effect"]), "signed")
            self.say(f"Standing on the left adds {effect} to the log-odds; these are strengths without it.")
        elif is_biased(strengths["side_bias"], random_sides=study.source == Study.Source.DESIGNED):
            # Here sides are random, since no other study is called biased.
            bias_sentence = side_sentence(strengths["side_bias"], random_sides=True)
            self.say(f"{bias_sentence} --order-effect gives strengths without this bias.")
        for pair in strengths["next"]:
            gain = coefficient(pair["gain"], 3)
            self.say(f"Most informative next pair: {pair['first']} and {pair['second']} (gain {gain}).")
        if strengths["weighted"]:
            self.say(
                "Judgments weigh one over the chance that drew what they compare (contrib/strengths/README.md)."
            )
        for sentence in (strengths["reason"], strengths["note"], scope_sentence(strengths)):
            if sentence:
                self.say(f"Note: {sentence}")
        self.say(strengths["signature"])

    def _print_table(self, strengths: dict[str, Any], *, is_luce: bool) -> None:
        ties = percent(strengths["ties"])
        title = f"Log-strengths from {strengths['comparisons']:,} comparisons, {ties} without a side"
        if is_luce:
            title = f"Log-strengths from {strengths['comparisons']:,} choices of the best"
        share = "best" if is_luce else "won"
        share_keys = {"value": share, "low": f"{share}_low", "high": f"{share}_high"}
        columns = [
            ("system", "text"),
            ("strength [95 %]", "signed"),
            ("best rank", "count"),
            ("worst rank", "count"),
            (f"{share}, % [95 %]", "share"),
            ("p, Holm", "p"),
        ]
        rows: list[tuple[Cell, ...]] = [
            (
                system["system"],
                estimate_of({"value": system["strength"], **system}),
                system["best_rank"],
                system["worst_rank"],
                estimate_of({name: system[key] for name, key in share_keys.items()}),
                system["p"],
            )
            for system in strengths["systems"]
        ]
        self.say_tables([plain_table(title, columns, rows)])
        if not is_luce:
            self.say(MAJORITY_NOTE)
