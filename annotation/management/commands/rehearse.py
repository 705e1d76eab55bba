"""Try a design with a simulated crowd."""

from argparse import ArgumentParser
from typing import Any

from annotation.services.rehearsal import rehearse
from judgments.management.base import QuorumCommand, progress_bar
from judgments.services.studies import find_study


class Command(QuorumCommand):
    """Answers through the same services as people; what it stores is marked as simulated."""

    help = "Let a simulated crowd answer the open HITs of a study until every HIT is full."
    example = "manage.py rehearse demo-triplet-copy --workers 20 --spammers 0.2 --seed 1"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        parser.add_argument("--workers", type=int, default=20)
        parser.add_argument("--spammers", type=float, default=0.1, help="share of them, 0 to 1")
        parser.add_argument("--seed", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        """Rehearse and say how well the known truth was recovered."""
        with progress_bar() as progress:
            report = rehearse(
                study=find_study(options["study"]),
                workers=options["workers"],
                spammers=options["spammers"],
                seed=options["seed"],
                progress=progress,
            )
        self.say(
            f"{report.workers} simulated workers ({report.spammers} spammers) filled {report.hits:,} HITs with "
            f"{report.judgments:,} judgments in {report.hours:.1f} simulated hours; "
            f"{report.returned:,} HITs were returned."
        )
        self.say(
            f"The known truth was recovered on {report.recovered:.1%} of {report.units:,} units "
            f"({report.undecided:.1%} ended in a tie)."
        )
        if report.controls_careful is not None:
            spammed = "none seen" if report.controls_spammers is None else f"{report.controls_spammers:.0%}"
            self.say(
                f"Control items got right: careful workers {report.controls_careful:.0%}, spammers {spammed}."
            )
