"""Open a study."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.publishing import open_study
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Publishes to the study's crowd; opening an open study changes nothing."""

    help = "Let workers into a study."
    example = "manage.py open_study triplets-50"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")

    def handle(self, *args: Any, **options: Any) -> None:
        """Open it."""
        self.say(open_study(study=find_study(options["study"])))
