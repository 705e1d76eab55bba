"""What the rules would have found in a study's finished work."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.quality.detectors import RULES
from annotation.quality.rules import replay_rules, rules_to_replay
from common.files import check_place, write_json
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Nothing is stored and nobody is stopped; the rules look at each page as it was submitted."""

    help = "Run detectors over the finished work of a study, before they are switched on."
    example = "manage.py replay_rules demo-triplet --rules side-bias,too-fast --output rules.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/quality.md)."""
        parser.add_argument("study")
        parser.add_argument(
            "--rules",
            default="",
            metavar="LIST",
            help=f"names with commas between them (default: all of {', '.join(RULES)})",
        )
        parser.add_argument("--output", metavar="PATH", help="write the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say for each rule whom it would have found."""
        if options["output"]:
            check_place(Path(options["output"]))
        study = find_study(options["study"])
        names = [name.strip() for name in options["rules"].split(",") if name.strip()]
        replays = replay_rules(study=study, rules=rules_to_replay(study, names))
        for one in replays:
            if not one.applies:
                self.say(f"{one.rule}: means nothing for this kind of answers.")
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
