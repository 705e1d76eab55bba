"""Try a design with a simulated crowd."""

from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from annotation.rehearsal.people import SORTS
from annotation.rehearsal.rehearsal import Crowd, rehearse
from annotation.rehearsal.report import CAREFUL, SortReport
from judgments.management.base import QuorumCommand, progress_bar
from judgments.studies.studies import find_study

NUMBERS = (
    ("spammers", "SHARE", "share of them who answer without looking"),
    ("accuracy", "CHANCE", "mean chance of the others to be right"),
    ("drop_outs", "CHANCE", "chance that a HIT is returned"),
    ("speed", "TIMES", "times the speed that the design expects"),
)


class Command(QuorumCommand):
    """Answers through the same services as people; what it stores is marked as simulated."""

    help = "Let a simulated crowd answer the open HITs of a study until every HIT is full."
    example = "manage.py rehearse demo-triplet-copy --workers 20 --spammers 0.2 --seed 1"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        usual = Crowd()
        parser.add_argument("--workers", type=int, default=usual.workers, help="default %(default)s")
        for name, metavar, what in NUMBERS:
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                type=float,
                default=getattr(usual, name),
                metavar=metavar,
                help=f"{what} (default %(default)s)",
            )
        parser.add_argument("--seed", type=int, default=usual.seed, help="default %(default)s")
        sorts = "; ".join(f"{sort.name} {sort.about}" for sort in SORTS.values())
        parser.add_argument(
            "--sorts",
            default=usual.sorts,
            metavar="LIST",
            help=f"sorts of spammers, commas between them: {sorts} (default %(default)s)",
        )
        parser.add_argument(
            "--rules",
            action="store_true",
            help="run the recommended detectors where the study has none; its own always run",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Rehearse and say how well the known truth was recovered."""
        with progress_bar() as progress:
            report = rehearse(
                study=find_study(options["study"]),
                crowd=Crowd(**{field.name: options[field.name] for field in fields(Crowd)}),
                progress=progress,
            )
        self.say(
            f"{report.workers} simulated workers ({report.spammers} spammers) filled {report.hits:,} HITs with "
            f"{report.judgments:,} judgments in {report.hours:.1f} simulated hours; "
            f"{report.returned:,} HITs were returned."
        )
        self.say(
            f"The known truth was recovered on {report.recovered:.1%} of {report.units:,} units "
            f"({report.undecided:.1%} ended in a tie), without workers who failed their control items."
        )
        if report.controls_careful is not None:
            spammed = "none seen" if report.controls_spammers is None else f"{report.controls_spammers:.0%}"
            self.say(
                f"Control items got right: careful workers {report.controls_careful:.0%}, spammers {spammed}."
            )
        for one in report.by_sort:
            self.say(_told(one))
        if report.by_sort:
            self.say(
                f"{report.invalidated:,} judgments of excluded people were invalidated, and their slots filled again."
            )


def _told(one: SortReport) -> str:
    """What became of the people of one sort, in a sentence."""
    who = "Careful workers" if one.sort == CAREFUL else f"Spammers, {one.sort}"
    when = ""
    if one.answers is not None:
        low, middle, high = one.answers
        when = f" after {middle:,.0f} answers (middle half {low:,.0f} to {high:,.0f})"
    flagged = f", {one.flagged:,} more flagged" if one.flagged else ""
    wrongly = " wrongly" if one.sort == CAREFUL else ""
    return (
        f"{who}: {one.stopped:,} of {one.people:,} stopped{wrongly}{when}{flagged}; "
        f"{one.kept:,} of their {one.judgments:,} judgments count."
    )
