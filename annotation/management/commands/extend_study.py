"""More workers for a study than its design says, or more time for who holds a HIT."""

from argparse import ArgumentParser
from typing import Any

from annotation.crowds.delivery import carry_out_calls
from annotation.crowds.publishing import offer_longer
from annotation.work.extending import extend_leases, extend_study
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """The budget is checked first: all or nothing."""

    help = "Let more workers judge every HIT, or some, or give more time; the log says why."
    example = "manage.py extend_study triplets-50 --workers 2 --why 'the pilot was too small'"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--workers", type=int, help="so many more for each HIT")
        what.add_argument("--minutes", type=int, help="so many more for everybody who holds a HIT now")
        what.add_argument(
            "--hours", type=int, help="offer what is up at the crowd for so many hours from now"
        )
        parser.add_argument("--hits", default="", help="keys of HITs with commas between them; else all")
        parser.add_argument("--why", required=True, help="the reason, which stands in the study's log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Extend it, and ask the crowd."""
        study, why = find_study(options["study"]), options["why"]
        if options["minutes"] is not None:
            count = extend_leases(study=study, minutes=options["minutes"], why=why)
            said = f"{count:,} leases are {options['minutes']} minutes longer"
        elif options["hours"] is not None:
            count = offer_longer(study=study, hours=options["hours"], why=why)
            said = f"{count:,} publications are offered for {options['hours']} hours from now"
        else:
            hits = [key for key in options["hits"].split(",") if key] or None
            count = extend_study(study=study, workers=options["workers"], hits=hits, why=why)
            said = f"{count:,} HITs go to {options['workers']} more workers"
        carry_out_calls(study=study)
        self.say(f"Study {study.slug}: {said}.")
