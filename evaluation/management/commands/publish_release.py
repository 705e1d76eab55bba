"""Send a release to Zenodo or the Hugging Face Hub."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.commands import progress_bar
from evaluation.data.publishing import operations
from evaluation.data.publishing.describing import plan_in_words
from evaluation.data.publishing.sending import plan_publication, publish_release
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    operation = operations.publish_release
    help = (
        "Show what an archive would get of a release: files, description, licence, and why it must not be given away "
        "where that is so. With --send it goes there as a draft, with --publish it is made public. A run that stopped "
        "is continued by the same command (docs/publishing.md)."
    )
    example = (
        "manage.py publish_release triplets-50 --version 1.0 --to zenodo --sandbox --creators 'Doe, Jane'"
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--bundle", type=Path, help="the release's file, where it is not kept here")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        operations.check_given(**values)
        send = values.pop("send")
        plan = plan_publication(study=study, bundle=options["bundle"], **values)
        if not send:
            for line in plan_in_words(plan):
                self.say(line)
            self.say("Nothing was sent; --send does it.")
            return
        with progress_bar() as progress:
            sent = publish_release(plan=plan, progress=progress)
        self.say(sent.words())
