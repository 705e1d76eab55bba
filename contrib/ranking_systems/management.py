"""The command `dataset rank`, which runs the ranking systems on a dataset and writes a TREC run."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from common.commands import QuorumCommand, progress_bar
from common.files import atomic_write
from contrib.ranking_systems.systems import IMAGE_KERNELS, IMAGE_POWERS, JOINED, SYSTEMS
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, plain_table
from judgments.models import Output
from judgments.studies.studies import find_dataset

if TYPE_CHECKING:
    from contrib.ranking_systems.baselines import RankedPool

CUTOFFS = (1, 5, 10)


class RankCaptions(QuorumCommand):
    help = f"""\
Rank the captions of a test pool for its images, or the images for its captions, by the systems of Hodosh, Young,
Hockenmaier 2013 (contrib/ranking_systems/README.md). They learn from the images of the split `train`, choose their
settings on `dev`, and rank one caption of each image of `test`; a dataset without splits is divided at random. The
file is a TREC run, which import_rankings reads.

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
        from contrib.ranking_systems.baselines import rank_pool

        for name in ("caption", "seed"):
            if options[name] < 0:
                raise EvaluationError(f"--{name} is {options[name]}; expected 0 or more.")
        if not 1 <= options["text_diagonal"] < math.inf:
            raise EvaluationError(f"--text-diagonal is {options['text_diagonal']}; expected 1 or more.")
        with progress_bar() as progress:
            ranked_pool = rank_pool(
                dataset,
                task=options["task"],
                systems=_read_system_names(options["systems"]),
                image_kernel=options["image_kernel"],
                image_power=options["image_power"],
                text_diagonal=options["text_diagonal"],
                caption=options["caption"],
                seed=options["seed"],
                progress=progress,
            )
        with atomic_write(options["output"]) as file:
            for line in ranked_pool.run_lines():
                file.write_text(f"{line}\n")
        self._print_summary(ranked_pool)

    def _print_summary(self, ranked_pool: RankedPool) -> None:
        from quorum.statistics.ranking import judge_rankings, median_rank, recall_at_k

        training, development, test = ranked_pool.sizes
        self.say(
            f"{training:,} images for training, {development:,} for choosing settings, {test:,} in the pool."
        )
        rows: list[tuple[Cell, ...]] = []
        for name, rankings in ranked_pool.rankings.items():
            # the original item of each query has the query's index
            lists = judge_rankings(rankings.tolist(), [[position] for position in range(len(rankings))])
            recalls = [recall_at_k(lists, k=k).value for k in CUTOFFS]
            rows.append((name, *recalls, median_rank(lists).value))
        columns = [("system", "text"), *((f"R@{k}", "score") for k in CUTOFFS), ("median rank", "number")]
        self.say_tables([plain_table("Rank of the original item", columns, rows)])


def _read_system_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown_name = next((name for name in names if name not in SYSTEMS), None)
    if unknown_name or not names:
        raise EvaluationError(
            f"--systems names {unknown_name or 'nothing'}; expected some of {', '.join(SYSTEMS)}."
        )
    if JOINED in names and len(names) < 3:
        raise EvaluationError(
            f"--systems names {text}; {JOINED} joins two or more others, expected their names."
        )
    return names
