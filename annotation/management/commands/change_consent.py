"""Make a new version of a consent text."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.privacy import operations
from common.commands import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Replace the consent text of a study that was drawn, from a Markdown file. Participants agree to the new\n"
        "version before they begin another page of work; what they hold and did is kept (docs/privacy.md)."
    )
    example = (
        'manage.py change_consent triplets-50 consent.md --translation de=consent-de.md --why "we publish"'
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path, help="the text, in Markdown")
        parser.add_argument(
            "--translation",
            action="append",
            default=[],
            metavar="LANGUAGE=FILE",
            help="the text in a language",
        )
        parser.add_argument("--why", required=True, help="the reason; the study's log shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        translations = {}
        for given in options["translation"]:
            language, equals, path = given.partition("=")
            if not equals:
                raise CommandError(
                    f"--translation is {given!r}; expected LANGUAGE=FILE, such as de=consent-de.md."
                )
            translations[language] = Path(path).read_text(encoding="utf-8")
        outcome = operations.change.run(
            find_study(options["study"]),
            {
                "consent": options["file"].read_text(encoding="utf-8"),
                "translations": translations,
                "why": options["why"],
            },
            by=None,
        )
        self.say(outcome.words)
