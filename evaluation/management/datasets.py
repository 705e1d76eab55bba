"""Commands about datasets: bounds of metrics, and baseline systems that rank captions."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.commands import QuorumCommand, progress_bar
from common.files import whole_file
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Table, plain_table
from evaluation.results.operations import IMAGE_KERNELS, IMAGE_POWERS, JOINED, SYSTEMS, LeaveOneOutRequest
from judgments.management.base import add_parameters, as_text
from judgments.models import Output
from judgments.studies.studies import find_dataset

if TYPE_CHECKING:
    from evaluation.results.leave_one_out.bounds import Bounds
    from evaluation.results.ranking_systems.ranking import RankedPool


class LeaveOneOut(QuorumCommand):
    help = (
        "Hold each reference caption of a dataset against the others of its item, and unrelated texts against them: "
        "upper and lower bounds of every metric, Kendall's tau-b between metrics, and ranks of an item's captions "
        "(docs/evaluation.md#bounds-of-a-dataset)."
    )
    example = "manage.py leave_one_out pascal-50s --others flickr8k --corpus brown/ --output bounds.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset")
        add_parameters(parser, LeaveOneOutRequest())
        parser.add_argument(
            "--corpus",
            type=Path,
            metavar="PATH",
            help="text with a sentence a line, or a folder of such files, as the Brown corpus of NLTK",
        )
        self.add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        from evaluation.results.leave_one_out.bounds import leave_one_out

        values = LeaveOneOutRequest.read(as_text(LeaveOneOutRequest(), options))
        with progress_bar() as progress:
            bounds = leave_one_out(dataset=dataset, corpus=options["corpus"], progress=progress, **values)
        self.write_output(options, bounds.as_json())
        self._summary(dataset.name, bounds)

    def _summary(self, name: str, bounds: Bounds) -> None:
        from evaluation.results.leave_one_out.bounds import rank_tables

        self.say(f"{name}: {bounds.captions:,} captions of {bounds.images:,} items")
        floors, names = list(bounds.lower), list(bounds.upper)
        rows = [
            (metric, bound.micro, bound.macro, bound.deviation, bound.median, bound.least, bound.most,
             *(bounds.lower[what][metric].micro for what in floors))
            for metric, bound in bounds.upper.items()
        ]  # fmt: skip
        title = "Each caption against the others of its item, and what stood in its place"
        tables = [_coefficients(title, ("micro", "macro", "sd", "median", "min", "max", *floors), rows)]
        for over, taus in (("items", bounds.image_taus), ("captions", bounds.caption_taus)):
            numbers = [str(number) for number in range(1, len(names) + 1)]
            rows = [(metric, *row) for metric, row in zip(names, taus.tolist(), strict=True)]
            tables.append(_coefficients(f"Kendall's tau-b over {over}", numbers, rows))
        self.say_tables([*tables, *rank_tables(bounds.as_json())])
        for warning in bounds.warnings:
            self.say(f"Note: {warning}.")


def _coefficients(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    return plain_table(title, [("metric", "text"), *((head, "coefficient") for head in heads)], rows)


CUTS = (1, 5, 10)


class RankCaptions(QuorumCommand):
    help = f"""\
Rank the captions of a test pool for its images, or the images for its captions, by the systems of Hodosh, Young,
Hockenmaier 2013 (docs/ranking-systems.md). They learn from the images of the split `train`, choose their settings
on `dev`, and rank one caption of each image of `test`; a dataset without splits is divided at random. The file is a
TREC run, which import_rankings reads.

Systems: {", ".join(SYSTEMS)}. {JOINED} joins the rankings of the others.
"""
    example = "manage.py rank_captions photos --task annotation --output photos.run"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset")
        parser.add_argument("--task", required=True, choices=Output.Task.values)
        self.add_output(parser, required=True, help="write the run there")
        parser.add_argument(
            "--systems",
            default=",".join(SYSTEMS),
            metavar="LIST",
            help="names with commas between (default: all)",
        )
        parser.add_argument(
            "--image-kernel",
            default="pyramid",
            choices=list(IMAGE_KERNELS),
            help="compare regions of pictures, or whole ones (default: pyramid)",
        )
        parser.add_argument(
            "--image-power",
            type=int,
            default=2,
            choices=IMAGE_POWERS,
            help="square or cube the similarity of pictures (default: 2)",
        )
        parser.add_argument(
            "--text-diagonal",
            type=float,
            default=1.0,
            metavar="FACTOR",
            help="multiply each training item's similarity of texts with itself, from 1 on; H13: up to 15 (default: 1)",
        )
        parser.add_argument(
            "--caption",
            type=int,
            default=0,
            help="number, from 0, of each image's caption in the pool (default: 0)",
        )
        parser.add_argument("--seed", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        from evaluation.results.ranking_systems.ranking import rank_pool

        for name in ("caption", "seed"):
            if options[name] < 0:
                raise EvaluationError(f"--{name} is {options[name]}; expected 0 or more.")
        if not 1 <= options["text_diagonal"] < math.inf:
            raise EvaluationError(f"--text-diagonal is {options['text_diagonal']}; expected 1 or more.")
        with progress_bar() as progress:
            ranked = rank_pool(
                dataset,
                task=options["task"],
                systems=_systems(options["systems"]),
                image_kernel=options["image_kernel"],
                image_power=options["image_power"],
                text_diagonal=options["text_diagonal"],
                caption=options["caption"],
                seed=options["seed"],
                progress=progress,
            )
        with whole_file(options["output"]) as file:
            for line in ranked.run_lines():
                file.write_text(f"{line}\n")
        self._summary(ranked)

    def _summary(self, ranked: RankedPool) -> None:
        from quorum.statistics.ranking import judge_rankings, median_rank, recall_at_k

        training, development, test = ranked.sizes
        self.say(
            f"{training:,} images for training, {development:,} for choosing settings, {test:,} in the pool."
        )
        rows: list[tuple[Cell, ...]] = []
        for name, rankings in ranked.rankings.items():
            lists = judge_rankings(rankings.tolist(), [[position] for position in range(len(rankings))])
            recalls = [recall_at_k(lists, k=cut).value for cut in CUTS]
            rows.append((name, *recalls, median_rank(lists).value))
        columns = [("system", "text"), *((f"R@{cut}", "score") for cut in CUTS), ("median rank", "number")]
        self.say_tables([plain_table("Rank of the original item", columns, rows)])


def _systems(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in names if name not in SYSTEMS), None)
    if unknown or not names:
        raise EvaluationError(
            f"--systems names {unknown or 'nothing'}; expected some of {', '.join(SYSTEMS)}."
        )
    if JOINED in names and len(names) < 3:
        raise EvaluationError(
            f"--systems names {text}; {JOINED} joins two or more others, expected their names."
        )
    return names
