"""``manage.py adopt_captions``: what workers wrote becomes part of the dataset."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from evaluation.follow_up.adoption import adopt_captions
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``adopt_captions``."""

    help = (
        "Make the used captions of a closed study of caption writing references of its dataset, or with --system the "
        "outputs of a system, which later studies judge. Nobody is asked to judge a caption of their own. Doing it "
        "again changes nothing."
    )
    example = "manage.py adopt_captions street-captions"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study and system."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("--system", default="", help="make them this system's outputs, no references")

    def handle(self, *args: Any, **options: Any) -> None:
        """Adopt and say what came of it."""
        study = find_study(options["study"])
        made = adopt_captions(study=study, system=options["system"])
        what = f"outputs of system {made.system!r}" if made.system else "references"
        self.say(
            f"{made.added:,} captions by {made.writers:,} writers became {what} of dataset {made.dataset!r}; "
            f"{made.there:,} had been adopted before."
        )
