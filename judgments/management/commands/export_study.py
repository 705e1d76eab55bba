"""Write a study's design back as a study file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand
from common.files import write_lines
from judgments.design.reading import write_toml
from judgments.studies.studies import design_of, find_study


class Command(QuorumCommand):
    help = "Write a study's design as TOML, to a file or to standard output."
    example = "manage.py export_study demo-triplet --output triplet.toml"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--output", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        text = write_toml(design_of(find_study(options["study"]))).rstrip("\n")
        if options["output"] is None:
            self.say(text)
        else:
            write_lines(options["output"], text.split("\n"))
