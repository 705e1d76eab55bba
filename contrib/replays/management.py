"""The command that runs detectors over finished work."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.files import check_writable_path, write_json
from judgments.management.base import OperationCommand, operation_at


class ReplayRules(OperationCommand):
    """Prints whom detectors would have flagged in finished work, also in studies that are too large for the page."""

    operation = operation_at("contrib.replays.operations.replay_detectors")
    help = "Run detectors over the finished work of a study, before they are switched on."
    example = "manage.py replay_rules demo-triplet --rules side-bias,too-fast --output rules.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", help="write the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["output"]:
            check_writable_path(Path(options["output"]))
        study, values = self.study_and_values(options)
        replays = self.operation.run(study, values, by=None).value
        for replay in replays:
            if not replay.applies:
                reason = "no answer holds what it looks at, so it says nothing"
                self.say(
                    f"{replay.rule}: {reason if replay.unrecorded else 'not applicable to this kind of answers'}."
                )
                continue
            self.say(
                f"{replay.rule}: {len(replay.found):,} of {replay.workers:,} participants; excluding them would "
                f"invalidate {replay.judgments:,} judgments and open {replay.slots:,} places."
            )
            for worker in replay.found:
                status = "" if worker.standing == "active" else f" ({worker.standing})"
                self.say(f"  {worker.worker}{status}, after {worker.answers:,} answers: {worker.words}")
        if options["output"]:
            findings = {"study": study.slug, "rules": [replay.as_json() for replay in replays]}
            write_json(Path(options["output"]), findings)
