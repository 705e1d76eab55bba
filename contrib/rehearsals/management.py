"""The command that lets a simulated crowd answer a study, and prints how its participants fared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.amounts import percent
from common.commands import progress_bar
from judgments.management.base import OperationCommand, operation_at

if TYPE_CHECKING:
    from contrib.rehearsals.simulation.reports import CarelessTypeReport


class Rehearse(OperationCommand):
    operation = operation_at("contrib.rehearsals.operations.rehearse_study")
    help = "Let a simulated crowd answer the pages of work of a study until all are complete."
    example = "manage.py rehearse demo-triplet-copy --workers 20 --spammers 0.2 --seed 1"

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            outcome = self.operation.run(study, values, by=None, progress=progress)
        self.say(outcome.message)
        report = outcome.value
        self.say(
            f"Right answers recovered on {percent(report.recovered)} of {report.units:,} items "
            f"({percent(report.undecided)} tied), without participants below the pass mark."
        )
        if report.controls_careful is not None:
            share = "none seen" if report.controls_spammers is None else percent(report.controls_spammers)
            self.say(
                f"Check questions right: careful participants {percent(report.controls_careful)}, spammers {share}."
            )
        for type_report in report.by_sort:  # one for each type of participant; () if no detector is on
            self.say(_format_report(type_report))
        if report.by_sort:
            self.say(
                f"{report.invalidated:,} judgments of excluded participants were invalidated and replaced by others."
            )


def _format_report(report: CarelessTypeReport) -> str:
    from contrib.rehearsals.simulation.reports import CAREFUL

    group = "Careful participants" if report.sort == CAREFUL else f"Spammers, {report.sort}"
    time_words = ""
    if report.answers is not None:
        low, median, high = report.answers  # quartiles
        time_words = f" after {median:,.0f} answers (middle half {low:,.0f} to {high:,.0f})"
    flagged_words = f", {report.flagged:,} more flagged" if report.flagged else ""
    adverb = " wrongly" if report.sort == CAREFUL else ""
    return (
        f"{group}: {report.stopped:,} of {report.people:,} stopped{adverb}{time_words}{flagged_words}; "
        f"{report.kept:,} of their {report.judgments:,} judgments count."
    )
