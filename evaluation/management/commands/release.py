"""Release a study's judgments as a frozen bundle."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.commands import progress_bar
from evaluation.data.releases.documents import LICENCES
from evaluation.reports.releases import operations
from evaluation.reports.releases.making import release_study
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.release
    workers_option = "--workers"
    help = (
        "Write a closed study's judgments, what they say together, its design and its papers as one zip file that\n"
        "`verify` can check without a database (docs/releases.md). People get pseudonyms of this release alone.\n"
        f"Licences: {', '.join(LICENCES)}."
    )
    example = "manage.py release triplets-50 --version 1.0 --licence CC-BY-4.0 --output triplets-50-1.0.zip"

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--output", required=True, type=Path, help="the file to write; it must not exist yet"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        terms = operations.terms_of(study, **values)
        with progress_bar() as progress:
            release, path = release_study(
                study=study, terms=terms, output=options["output"], progress=progress
            )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(
            f"{path}: version {release.version}, {release.size:,} bytes, SHA-256 {release.sha256}.{simulated}"
        )
        self.say(release.signature)
