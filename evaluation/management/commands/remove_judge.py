"""Remove a judge and its answers."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from common.errors import NotThere
from evaluation.models import Judge
from evaluation.results.judges import operations
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.remove_judge
    help = "Delete a judge and its answers for good (docs/judges.md). What was computed with it stays, and says so."
    example = "manage.py remove_judge triplets-50 small"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("judge", help="name of the judge")

    def handle(self, *args: Any, **options: Any) -> None:
        study, _ = self.asked(options)
        judge = Judge.objects.filter(study=study, name=options["judge"]).first()
        if judge is None:
            raise NotThere(f"Study {study.slug!r} has no judge {options['judge']!r}.")
        self.say(self.operation.run(study, {"judge": str(judge.pk)}, by=None).words)
