"""The command that writes the checklist for an ethics board."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand
from judgments.studies.studies import find_study


class PrintEthics(QuorumCommand):
    help = (
        "Print the checklist for an ethics board as Markdown, filled from the study's design; what the design does\n"
        "not say is to be filled in by you (contrib/ethics/README.md)."
    )
    example = "manage.py ethics triplets-50 --output triplets-50-ethics.md"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="a .md or .html file, instead of the terminal"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.ethics.checklist import build_checklist, count_open_lines
        from contrib.ethics.documents import as_html, as_markdown

        study = find_study(options["study"])
        sections = build_checklist(study)
        is_html = options["output"] is not None and options["output"].suffix == ".html"
        text = (as_html if is_html else as_markdown)(study, sections)
        if options["output"] is None:
            self.say(text)
            return
        options["output"].write_text(text, encoding="utf-8")
        self.say(f"{options['output']}: {count_open_lines(sections)} lines are to be filled in by you.")
