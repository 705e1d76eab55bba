"""``manage.py import_batch``: what people did at the requester pages, taken into the study."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.importing.batches import import_batch
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``import_batch``."""

    help = (
        "Take a result file of Mechanical Turk's requester pages into the study that export_batch wrote the batch of "
        "(docs/crowds/batch-files.md)."
    )
    example = "manage.py import_batch pairs-50 Batch_1234567_batch_results.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, file, and what to leave out of it."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("path", type=Path)
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        parser.add_argument(
            "--leave-out", default="", help="ids of assignments that do not fit, with commas between them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say what came."""
        done = import_batch(
            study=find_study(options["study"]),
            path=options["path"],
            encoding=options["encoding"],
            leave_out={name.strip() for name in options["leave_out"].split(",") if name.strip()},
        )
        self.say(f"{done.new:,} new assignments, {done.known:,} that were there already.")
        if done.approved or done.rejected:
            self.say(f"  {done.approved:>9,} approved and {done.rejected:,} rejected on the requester pages")
        if done.excluded:
            self.say(f"  {done.excluded:>9,} of people who were excluded before, not imported")
        if done.left_out:
            self.say(f"  {done.left_out:>9,} left out")
