"""Delete raw ids of a study's workers."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.people import forget_raw_ids
from annotation.models import CrowdSession
from common.commands import QuorumCommand
from common.errors import WrongState
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Delete the raw ids (PROLIFIC_PID, WorkerId, ...) of people who took part in this study alone, and what\n"
        "their crowd said of them (demographics).\n"
        "Pseudonyms and answers stay. Nobody can be paid, written to or sent back by the ids any more."
    )
    example = "manage.py forget_ids triplets-50 --yes"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--yes", action="store_true", help="delete; without it, only say what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        waiting = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED).count()
        if waiting:
            self.say(
                f"{waiting:,} sessions wait for their approval: without ids they cannot be paid by a list."
            )
        if not options["yes"]:
            raise WrongState(
                "Nothing was deleted: raw ids cannot be brought back; say --yes to delete those of study "
                f"{study.slug!r}."
            )
        self.say(f"{forget_raw_ids(study=study):,} raw ids were deleted.")
