"""Compare judges with people."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from common.commands import progress_bar
from evaluation.judges import operations
from evaluation.judges.findings import compare_judges, sentences_of, store_comparison
from evaluation.management.words import percent, say_table, with_interval
from judgments.management.base import OperationCommand


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
        rows = [["people among themselves", with_interval(people), "", "", ""]] if people else []
        rows += [_row(judge) for judge in found.result["judges"]]
        columns = ["judge", "agreement", "alpha with people", "same in both orders", "units"]
        say_table(self, "Judges beside people", columns, rows)
        for judge in found.result["judges"]:
            columns = ["of", "people would say", "people alone", "units of people", "units saved"]
            say_table(self, f"With {judge['name']}", columns, [_estimate(one) for one in judge["estimates"]])


def _row(judge: Mapping[str, Any]) -> list[str]:
    side = judge["side"]
    consistent = percent(side["consistent"]["value"]) if side else ""
    agreement = with_interval(judge["agreement"]) if judge["agreement"] else ""
    return [judge["name"], agreement, with_interval(judge["alpha"]), consistent, f"{judge['units']:,}"]


def _estimate(one: Mapping[str, Any]) -> list[str]:
    alone = {"value": one["people"], "low": one["people_low"], "high": one["people_high"]}
    saved = "" if one["saved"] is None else f"{one['saved']:,.0f}"
    return [one["of"] or "all", with_interval(one), with_interval(alone), f"{one['labelled']:,}", saved]
