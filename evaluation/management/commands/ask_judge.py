"""Ask a language model about a study's units."""

from __future__ import annotations

from typing import Any

from common.commands import progress_bar
from evaluation.results.judges import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.ask_judge
    help = (
        "Ask a model at the OpenAI-compatible endpoint of JUDGE_API_URL about every unit, in both orders, each once. "
        "A run that stopped is continued by the same command (docs/judges.md)."
    )
    example = "manage.py ask_judge triplets-50 --name small --model small-1 --budget 2 --price-in 0.15 --price-out 0.6"

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        with progress_bar() as progress:
            asked = operations.ask_judge_now(study=study, progress=progress, **values)
        self.say(asked.words())
