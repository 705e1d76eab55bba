"""Score systems by marked errors."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from evaluation.data.provenance import as_json
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Estimate, format_cell
from evaluation.results.error_spans.scores import compare_systems, segments_of, system_scores
from evaluation.results.error_spans.section import scores_table
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
        self.say_tables([scores_table(scores)])
        if pair is not None:
            difference = Estimate(pair.difference, pair.low, pair.high)
            self.say(
                f"\n{pair.first} less {pair.second}: {format_cell(difference, 'fixed')}, "
                f"p = {format_cell(pair.p, 'p')}, "
                f"over {pair.segments:,} segments" + (f" ({pair.reason})" if pair.reason else "")
            )
