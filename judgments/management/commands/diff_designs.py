"""Two designs side by side."""

from argparse import ArgumentParser
from typing import Any

from common.commands import QuorumCommand
from judgments.design.reading import compare_designs
from judgments.design.saved_presets import find_design
from judgments.models import Study


class Command(QuorumCommand):
    help = (
        "Compare two designs. Each is the slug of a study, SLUG@NUMBER for its design before that entry of its\n"
        "log, the name of a preset, or a study file that ends in .toml."
    )
    example = "manage.py diff_designs demo-triplet vedantam-2015-triplet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("this", metavar="A")
        parser.add_argument("that", metavar="B")
        parser.add_argument("--unified", action="store_true", help="as a unified diff of the two study files")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["this"], options["that"]
        this, that = (find_design(name, studies=Study.objects.all(), files=True) for name in names)
        found = compare_designs(this.values_beside(that), that.values_beside(this), names=names)
        if options["unified"]:
            for line in found.lines:
                self.say(line)
            return
        if not found.count:
            self.say("The two designs are the same, key for key.")
        for rows in found.tables.values():
            for row in rows:
                self.say(row.key)
                self._say_side("-", row.this)
                self._say_side("+", row.that)

    def _say_side(self, mark: str, value: str) -> None:
        for line in value.splitlines():
            self.say(f"  {mark} {line}")
