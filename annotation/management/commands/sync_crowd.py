"""Synchronise a study with its crowd."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.crowds.operations import sync
from judgments.management.base import OperationCommand
from judgments.studies.studies import find_study


class Command(OperationCommand):
    operation = sync
    help = "Bring a study and its crowd together; may be run at any time, any number of times."
    example = "manage.py sync_crowd triplets-50 --output report.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", type=Path, help="the report as JSON")
        parser.add_argument(
            "--thorough",
            action="store_true",
            help="look at all work, also where nothing seems to have happened",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        synced = self.operation.run(study, {}, by=None, thorough=options["thorough"]).value
        if options["output"]:
            text = json.dumps(synced.as_json(), indent=2, ensure_ascii=False) + "\n"
            options["output"].write_text(text, encoding="utf-8")
        states = ", ".join(f"{count} {state}" for state, count in synced.assignments.items()) or "none"
        self.say(f"{synced.hits} HITs at the crowd; assignments: {states}.")
        for one in synced.discrepancies:
            self.say(f"{one.kind}: {one.words}")
