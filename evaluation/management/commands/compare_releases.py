"""Compare two release bundles."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand
from evaluation.presentation.content import format_cell
from evaluation.reports.releases.comparison import compare_releases

FLIPPED_SHOWN = 20


class Command(QuorumCommand):
    help = (
        "Say what changed from one release of a study to another: judgments added, removed, no longer used; consensus\n"
        "that flipped; agreement, metrics and registered hypotheses before and after (docs/releases.md). No database."
    )
    example = "manage.py compare_releases triplets-50-1.0.zip triplets-50-1.1.zip"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", type=Path, help="a release bundle")
        parser.add_argument("after", type=Path, help="a later one")
        self.add_output(parser, help="JSON file for the comparison")

    def handle(self, *args: Any, **options: Any) -> None:
        found = compare_releases(options["before"], options["after"])
        self.write_output(options, found)
        judgments, flipped = found["judgments"], found["consensus"]
        self.say(f"From {found['versions'][0]} to {found['versions'][1]}:")
        self.say(
            f"  judgments {judgments['before']:,} to {judgments['after']:,}: {judgments['added']:,} added, "
            f"{judgments['removed']:,} removed, {judgments['no_longer_used']:,} no longer used"
        )
        self.say(f"  consensus of {len(flipped):,} units and pairs is another")
        for row in flipped[:FLIPPED_SHOWN]:
            self.say(f"    {row['unit'] or row['pair']}: {row['before']} to {row['after']}")
        for name, (before, after) in {"alpha": found["alpha"], **found["metrics"]}.items():
            self.say(f"  {name} {format_cell(before, 'coefficient')} to {format_cell(after, 'coefficient')}")
        for one, two in found["swapped"]:
            self.say(f"  {one} and {two} changed places")
        if not found["plan"]:
            self.say("  the registered plan is another")
        for row in found["hypotheses"]:
            self.say(f"  {row['text']} {row['before']} to {row['after']}: {row['words']}")
        for sign, words in (("more", "added"), ("no longer", "removed")):
            for deviation in found["deviations"][words]:
                self.say(f"  {sign} done otherwise than registered: {deviation}")
