"""``manage.py release``: a study's judgments as a frozen, versioned bundle."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.releases.licences import LICENCES
from evaluation.services.releases import Terms, next_version, release_study
from judgments.management.base import QuorumCommand, progress_bar
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``release_study``."""

    help = (
        "Write a closed study's judgments, what they say together, its design and its papers as one zip file that\n"
        "`verify` can check without a database (docs/releases.md). People get pseudonyms of this release alone.\n"
        f"Licences: {', '.join(LICENCES)}."
    )
    example = "manage.py release triplets-50 --version 1.0 --licence CC-BY-4.0 --output triplets-50-1.0.zip"

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """``--version`` is the release's, not Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, version, licence, where to, and what else it says."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument(
            "--version", dest="of_release", default="", help="such as 1.0 (default: the next one)"
        )
        parser.add_argument("--licence", required=True, help="SPDX identifier")
        parser.add_argument(
            "--output", required=True, type=Path, help="the file to write; it must not exist yet"
        )
        parser.add_argument("--title", default="", help="default: the study's name")
        parser.add_argument("--citation", default="", help="how it is to be cited")
        parser.add_argument(
            "--without-texts", action="store_true", help="ids of captions alone, not their texts"
        )
        parser.add_argument(
            "--comments", action="store_true", help="people's comments, without names and addresses"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Release and say what was written."""
        study = find_study(options["study"])
        terms = Terms(
            version=options["of_release"] or next_version(study),
            licence=options["licence"],
            title=options["title"],
            citation=options["citation"],
            texts=not options["without_texts"],
            comments=options["comments"],
        )
        with progress_bar() as progress:
            release, path = release_study(
                study=study, terms=terms, output=options["output"], progress=progress
            )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(
            f"{path}: version {release.version}, {release.size:,} bytes, SHA-256 {release.sha256}.{simulated}"
        )
        self.say(release.signature)
