"""Run the detectors over finished work."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.quality import operations
from common.files import check_place, write_json
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.replay
    help = "Run detectors over the finished work of a study, before they are switched on."
    example = "manage.py replay_rules demo-triplet --rules side-bias,too-fast --output rules.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", help="write the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["output"]:
            check_place(Path(options["output"]))
        study, values = self.asked(options)
        replays = self.operation.run(study, values, by=None).value
        for one in replays:
            if not one.applies:
                why = "no answer holds what it looks at, so it says nothing"
                self.say(
                    f"{one.rule}: {why if one.unrecorded else 'means nothing for this kind of answers'}."
                )
                continue
            self.say(
                f"{one.rule}: {len(one.found):,} of {one.workers:,} workers; excluding them would touch "
                f"{one.judgments:,} judgments and open {one.slots:,} slots."
            )
            for hit in one.found:
                stopped = "" if hit.standing == "active" else f" ({hit.standing})"
                self.say(f"  {hit.worker}{stopped}, after {hit.answers:,} answers: {hit.words}")
        if options["output"]:
            found = {"study": study.slug, "rules": [one.as_json() for one in replays]}
            write_json(Path(options["output"]), found)
