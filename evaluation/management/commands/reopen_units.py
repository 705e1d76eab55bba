"""More votes for units that are tied, uncertain, or short of judgments."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.delivery import carry_out_calls
from annotation.work.extending import reopen_units
from common.errors import WrongState
from evaluation.results.follow_up import Need, units_in_need
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """A HIT is the smallest thing that is handed out: the units beside them get the votes too."""

    help = "Ask for more votes on units of an open study; the log says why."
    example = (
        "manage.py reopen_units triplets-50 --need tied --votes 2 --why 'two of three votes were invalidated'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--need", choices=[need.value for need in Need], help="the units that are so")
        which.add_argument("--units", default="", help="keys of units with commas between them")
        parser.add_argument(
            "--margin", type=float, default=0.34, help="uncertain: led by at most this share (0.34)"
        )
        parser.add_argument("--votes", type=int, required=True, help="so many more for each")
        parser.add_argument("--why", required=True, help="the reason, which stands in the study's log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find them, ask for more, and ask the crowd."""
        study = find_study(options["study"])
        if options["need"]:
            units = units_in_need(study, Need(options["need"]), margin=options["margin"])
            if not units:
                raise WrongState(
                    f"Nothing was changed: no unit of study {study.slug!r} is {options['need']}."
                )
        else:
            units = [key for key in options["units"].split(",") if key]
        hits = reopen_units(study=study, units=units, votes=options["votes"], why=options["why"])
        carry_out_calls(study=study)
        self.say(
            f"Study {study.slug}: {len(units):,} units in {hits:,} HITs get {options['votes']} more votes each."
        )
