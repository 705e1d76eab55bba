"""Close a study."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.publishing import close_study
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Workers who hold a HIT may still submit it; closing a closed study changes nothing."""

    help = "Offer no more work of a study."
    example = "manage.py close_study triplets-50"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")

    def handle(self, *args: Any, **options: Any) -> None:
        """Close it."""
        study = find_study(options["study"])
        close_study(study=study)
        self.say(f"Study {study.slug} is closed.")
