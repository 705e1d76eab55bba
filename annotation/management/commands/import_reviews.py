"""Import reviews from a result file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.importing.reviews import import_reviews
from common.commands import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Take reviews from a result file of Mechanical Turk's columns, as export_judgments --format mturk writes it: "
        "an x under Approve, or a reason under Reject (docs/crowds/batch-files.md)."
    )
    example = "manage.py import_reviews pairs-50 pairs-50.mturk.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("path", type=Path)
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        found = import_reviews(study=study, path=options["path"], encoding=options["encoding"])
        self.say(
            f"{found.approved:,} approved and {found.rejected:,} rejected; the file leaves {found.open:,} open."
        )
