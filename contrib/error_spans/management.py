"""The command that prints scores of systems by marked errors."""

from argparse import ArgumentParser
from typing import Any

from common.amounts import as_json, p_in_text, with_noun
from common.commands import QuorumCommand
from contrib.error_spans.results.comparison import compare_systems
from contrib.error_spans.results.ranks import rank_systems
from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import scope_of_segments, segments_of
from contrib.error_spans.results.tables import ranks_table, scores_table
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Estimate, format_cell
from evaluation.results.consensus.clusters import scope_sentence
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


class ErrorSpans(QuorumCommand):
    help = (
        "Print the score of each system of a study of marked errors, as WMT computes it: mean score, MQM's weights, "
        "z-scores, with intervals over documents; and two systems compared (contrib/error_spans/README.md)."
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
        study = find_study(options["study"])
        segments = segments_of(study)
        scores = system_scores(segments)
        if not scores:
            raise EvaluationError(f"No text of a system has an answer that counts in study {study.slug!r}.")
        comparison = compare_systems(segments, *options["compare"]) if options["compare"] else None
        ranked_systems = rank_systems(segments) if options["domains"] else []
        result: dict[str, Any] = {
            "systems": [as_json(score) for score in scores],
            "comparison": as_json(comparison) if comparison else None,
            "scope": scope_of_segments(segments),
            "weights": design_of(study).spans.weights_by_category,
            "ranking": [as_json(row) for row in ranked_systems],
        }
        self.write_output(options, result)
        self.say_tables([scores_table(scores), *([ranks_table(ranked_systems)] if ranked_systems else [])])
        if comparison is not None:
            difference = Estimate(comparison.difference, comparison.low, comparison.high)
            self.say(
                f"\n{comparison.first} less {comparison.second}: {format_cell(difference, 'fixed')}, "
                f"{'not tested' if comparison.p is None else p_in_text(comparison.p)}, "
                f"over {with_noun(comparison.segments, 'segment')}"
                + (f" ({comparison.reason})" if comparison.reason else "")
            )
        if sentence := scope_sentence(result):
            self.say(sentence)
