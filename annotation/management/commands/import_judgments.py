"""Import judgments that were collected elsewhere."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.services.importing import import_judgments
from judgments.importers import JUDGMENT_FORMATS, TABLE_FORMATS
from judgments.kinds import KINDS
from judgments.management.base import QuorumCommand, progress_bar


class Command(QuorumCommand):
    """Makes a study of its own; all or nothing; the same file again changes nothing."""

    help = "Import judgments collected elsewhere as a study (docs/formats.md)."
    example = (
        "manage.py import_judgments flickr8k-expert ../Flickr8k --dataset flickr8k --study flickr8k-expert"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("format", choices=[*JUDGMENT_FORMATS, *TABLE_FORMATS])
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--study", required=True, help="slug of the study to make")
        parser.add_argument(
            "--protocol",
            choices=list(KINDS),
            help="which judgments of a published set (pascal-50s: triplet, the default, or pairwise)",
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say what was found."""
        with progress_bar() as progress:
            summary = import_judgments(
                format=options["format"],
                path=options["path"],
                dataset=options["dataset"],
                study=options["study"],
                protocol=options["protocol"],
                encoding=options["encoding"],
                progress=progress,
            )
        self.say_import("Study", summary)
