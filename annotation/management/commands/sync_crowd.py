"""Bring a study and its crowd together."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.crowds.sync import sync_crowd
from judgments.management.base import QuorumCommand
from judgments.studies.log import note_event
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Carries out what was asked of the crowd, takes over what was handed in there, and says what does not fit."""

    help = "Bring a study and its crowd together; may be run at any time, any number of times."
    example = "manage.py sync_crowd triplets-50 --output report.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("study")
        parser.add_argument("--output", metavar="PATH", type=Path, help="the report as JSON")
        parser.add_argument(
            "--thorough",
            action="store_true",
            help="look at all work, also where nothing seems to have happened",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Sync, write the report, and say it in sentences."""
        study = find_study(options["study"])
        synced = sync_crowd(study=study, thorough=options["thorough"])
        words = f"Compared with the crowd: {synced.hits} HITs there, {len(synced.discrepancies)} things do not fit."
        note_event(study=study, what="sync-crowd", words=words)
        if options["output"]:
            text = json.dumps(synced.as_json(), indent=2, ensure_ascii=False) + "\n"
            options["output"].write_text(text, encoding="utf-8")
        states = ", ".join(f"{count} {state}" for state, count in synced.assignments.items()) or "none"
        self.say(f"{synced.hits} HITs at the crowd; assignments: {states}.")
        for one in synced.discrepancies:
            self.say(f"{one.kind}: {one.words}")
