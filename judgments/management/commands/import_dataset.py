"""Import images and reference captions."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from judgments.datasets.importing import import_dataset
from judgments.importers import DATASET_FORMATS
from judgments.management.base import say_import


class Command(QuorumCommand):
    help = "Import images and reference captions (docs/formats.md)."
    example = "manage.py import_dataset flickr8k ../Flickr8k --name flickr8k --images ../Flickr8k/images"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=list(DATASET_FORMATS))
        parser.add_argument("path", type=Path)
        parser.add_argument("--name", required=True, help="letters, digits, - and _")
        parser.add_argument(
            "--images", help="a folder with the pictures, or the address they are served from"
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = {name: options[name] for name in ("format", "path", "name", "images", "encoding")}
        with progress_bar() as progress:
            summary = import_dataset(**asked, progress=progress)
        say_import(self, "Dataset", summary)
