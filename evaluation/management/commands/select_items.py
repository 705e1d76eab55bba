"""Choose a draft's items within a budget."""

from __future__ import annotations

from typing import Any

from common.commands import progress_bar
from evaluation.planning.choosing import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.select_items
    help = (
        "Choose the items of a draft by scores at hand, each with a chance that goes with its usefulness, so that "
        "results can be weighed back to all items (docs/choosing.md). --method all takes the choice back."
    )
    example = (
        "manage.py select_items arena --method disagreement --metrics cider-d,rouge-l --budget 200 --seed 1"
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            outcome = self.operation.run(study, values, by=None, progress=progress)
        self.say(outcome.words)
