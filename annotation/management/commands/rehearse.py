"""Rehearse a study with simulated workers."""

from typing import Any

from annotation.rehearsal import operations
from annotation.rehearsal.rehearsal import CAREFUL, SortReport
from common.commands import progress_bar
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.rehearse
    help = "Let a simulated crowd answer the open HITs of a study until every HIT is full."
    example = "manage.py rehearse demo-triplet-copy --workers 20 --spammers 0.2 --seed 1"

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            outcome = self.operation.run(study, values, by=None, progress=progress)
        self.say(outcome.words)
        report = outcome.value
        self.say(
            f"The known truth was recovered on {100 * report.recovered:.0f} % of {report.units:,} units "
            f"({100 * report.undecided:.0f} % ended in a tie), without workers who failed their control items."
        )
        if report.controls_careful is not None:
            spammed = (
                "none seen" if report.controls_spammers is None else f"{100 * report.controls_spammers:.0f} %"
            )
            self.say(
                f"Control items got right: careful workers {100 * report.controls_careful:.0f} %, spammers {spammed}."
            )
        for one in report.by_sort:
            self.say(_report_line(one))
        if report.by_sort:
            self.say(
                f"{report.invalidated:,} judgments of excluded people were invalidated, and their slots filled again."
            )


def _report_line(one: SortReport) -> str:
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
