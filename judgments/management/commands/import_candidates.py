"""Import one system's captions."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from judgments.datasets.importing import import_candidates
from judgments.importers import CANDIDATE_FORMATS
from judgments.management.base import say_import


class Command(QuorumCommand):
    help = "Import one system's captions (docs/formats.md)."
    example = "manage.py import_candidates coco results.json --dataset coco --system my-model"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=list(CANDIDATE_FORMATS))
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--system", required=True)
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = {name: options[name] for name in ("format", "path", "dataset", "system", "encoding")}
        with progress_bar() as progress:
            summary = import_candidates(**asked, progress=progress)
        say_import(self, "System", summary)
