"""Create a study from a study file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from judgments.design import read_toml
from judgments.management.base import QuorumCommand
from judgments.services.studies import create_study


class Command(QuorumCommand):
    """Creates a draft; nothing is drawn yet."""

    help = "Create a study from a TOML file (docs/study-files.md)."
    example = "manage.py create_study demo/studies/triplet.toml"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command takes (docs/commands.md)."""
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, check, store."""
        path: Path = options["file"]
        design = read_toml(path.read_text(encoding="utf-8-sig"), source=str(path))
        study = create_study(design=design)
        self.say(f"Study {study.slug} created as a draft. Next: manage.py generate_hits {study.slug}")
