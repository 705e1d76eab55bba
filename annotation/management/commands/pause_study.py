"""Pause a study."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.delivery import carry_out_calls
from annotation.work.pausing import pause_study
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Doing it twice changes nothing."""

    help = "Hand out nothing new of an open study; who holds a HIT goes on."
    example = "manage.py pause_study triplets-50 --why 'a caption is broken'"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        parser.add_argument("--why", required=True, help="the reason, which stands in the study's log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and ask the crowd."""
        study = find_study(options["study"])
        pause_study(study=study, why=options["why"])
        carry_out_calls(study=study)
        self.say(f"Study {study.slug} is paused.")
