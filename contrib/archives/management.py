"""The command that shows what would be sent to an archive from a release, and sends it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.commands import progress_bar
from contrib.archives.planning.plan import describe_plan
from contrib.archives.sending import check_options, plan_publication, send_release
from judgments.management.base import OperationCommand, operation_at


class PublishRelease(OperationCommand):
    operation = operation_at("contrib.archives.sending.publish_release")
    help = (
        "Show what an archive would get of a release: files, description, licence, and why it must not be given away "
        "where that is so. With --send it goes there as a draft, with --publish it is made public. A run that stopped "
        "is continued by the same command (contrib/archives/README.md)."
    )
    example = (
        "manage.py publish_release triplets-50 --version 1.0 --to zenodo --sandbox --creators 'Doe, Jane'"
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's --version gives way to that of the operation.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--bundle", type=Path, help="the release's file, where it is not kept here")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        check_options(**values)
        send = values.pop("send")
        plan = plan_publication(study=study, bundle=options["bundle"], **values)
        if not send:
            for line in describe_plan(plan):
                self.say(line)
            self.say("Nothing was sent; --send does it.")
            return
        with progress_bar() as progress:
            result = send_release(plan=plan, progress=progress)
        self.say(result.summary())
