"""Import systems' ranked lists."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError
from judgments.datasets.importing import import_rankings
from judgments.management.base import say_import
from judgments.models import Output


class Command(QuorumCommand):
    help = """\
Import systems' ranked lists: a TREC run, one item a line (docs/formats.md#rankings).

  qid Q0 docid rank score system

--task annotation: qid is an image, docid the id of a caption; --task search: the other way round.
The caption ids are those of the dataset (Flickr8k: 1305564994_00513f9a5b.jpg#2).
"""
    example = "manage.py import_rankings tri5sem.run --dataset flickr8k --task annotation"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--task", required=True, choices=Output.Task.values)
        parser.add_argument(
            "--depth", type=int, help="keep the first so many items of each list (default: all)"
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        depth: int | None = options["depth"]
        if depth is not None and depth < 1:
            raise QuorumError(f"--depth is {depth}; expected 1 or more.")
        asked = {name: options[name] for name in ("path", "dataset", "task", "depth", "encoding")}
        with progress_bar() as progress:
            summary = import_rankings(**asked, progress=progress)
        say_import(self, "Rankings of", summary)
