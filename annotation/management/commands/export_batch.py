"""``manage.py export_batch``: a study as a template and an input file for the requester pages."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.services.batches import export_batch
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``export_batch``."""

    help = (
        "Write a study as a template and an input file for Mechanical Turk's requester pages, to be run there by hand "
        "(docs/crowds/batch-files.md)."
    )
    example = "manage.py export_batch pairs-50 --output batch --pictures https://pictures.example.org/pascal"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, folder, and where pictures lie."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("--output", required=True, type=Path, help="a folder")
        parser.add_argument(
            "--pictures",
            default="",
            help="an https address in front of the names of images without one of their own",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Export and name the files."""
        study = find_study(options["study"])
        for files in export_batch(study=study, folder=options["output"], pictures=options["pictures"]):
            self.say(f"{files.template} with {files.rows}: {files.hits:,} HITs.")
