"""Score systems by marked errors."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from evaluation.error_spans.scores import compare_systems, segments_of, system_scores
from evaluation.errors import EvaluationError
from evaluation.management.words import digits, say_table
from evaluation.provenance import as_json
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Print the score of each system of a study of marked errors, as WMT computes it: mean score, MQM's weights, "
        "z-scores, with intervals over documents; and two systems compared (docs/spans.md)."
    )
    example = "manage.py error_spans esa --compare nearest random --output scores.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--compare", nargs=2, metavar="SYSTEM", help="the first less the second")
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        segments = segments_of(study)
        scores = system_scores(segments)
        if not scores:
            raise EvaluationError(f"No text of a system has an answer that counts in study {study.slug!r}.")
        pair = compare_systems(segments, *options["compare"]) if options["compare"] else None
        systems = [as_json(one) for one in scores]
        self.write_output(options, {"systems": systems, "comparison": as_json(pair) if pair else None})
        rows = [
            [
                one.system,
                *(digits(value, 2) for value in (one.score, one.low, one.high, one.mqm, one.z)),
                f"{one.segments:,}",
            ]
            for one in scores
        ]
        say_table(self, "Scores of systems", ["system", "score", "low", "high", "mqm", "z", "segments"], rows)
        if pair is not None:
            self.say(
                f"\n{pair.first} less {pair.second}: {digits(pair.difference, 2)} "
                f"[{digits(pair.low, 2)}, {digits(pair.high, 2)}], p = {digits(pair.p, 4)}, "
                f"over {pair.segments:,} segments" + (f" ({pair.reason})" if pair.reason else "")
            )
