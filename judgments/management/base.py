"""What commands share: errors as one line, a progress bar, and commands of operations."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from django.db.models.functions import Now
from django.http import QueryDict
from rest_framework import serializers
from rich.console import Console
from rich.progress import Progress

from common.audit import acting_as
from common.errors import QuorumError
from common.parameters import Parameters, sentence_of
from judgments.datasets.importing import ImportSummary
from judgments.models import Job, Study
from judgments.studies.generation import Progress as Report
from judgments.studies.generation import no_progress
from judgments.studies.studies import find_study
from judgments.study_operations import Operation

SILENT_SECONDS = 1.0  # before a bar is drawn
MOST_CHOICES = 6  # that the usage line names


class QuorumCommand(BaseCommand):
    """A command whose errors are one line.

    ``example`` ends ``--help``, which keeps the line breaks of ``help``. An exception in ``named_errors`` ends the
    command with its message and exit code 1.
    """

    example = ""
    named_errors: tuple[type[Exception], ...] = (QuorumError,)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(
            prog_name,
            subcommand,
            epilog=f"Example:\n  {self.example}",
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )
        parser.error = partial(_wrong_call, parser)  # type: ignore[method-assign]
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            with acting_as(lambda: None, door="command", call=type(self).__module__.rpartition(".")[2]):
                return super().execute(*args, **options)
        except self.named_errors as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError) as error:
            message = str(error).splitlines()[0]
            empty = "no such table" in message or "does not exist" in message
            advice = " `manage.py prepare` (or the first `make run`) sets it up." if empty else ""
            raise CommandError(f"The database cannot be used ({message}).{advice}") from error
        except BrokenPipeError:
            # the reader (`| head`) has had enough; Python would complain once more while it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise CommandError(f"{where}{error.strerror or error}.") from error

    def say(self, text: str = "") -> None:
        self.stdout.write(text)

    def say_import(self, what: str, summary: ImportSummary) -> None:
        done = "imported" if summary.created else "was there already with the same rows; nothing changed"
        self.say(f"{what} {summary.what}: {done}.")
        for name, count in summary.counts.items():
            if count:
                self.say(f"  {count:>9,} {name}")
        for note in summary.notes:
            self.say(f"  {note}")


def _wrong_call(parser: CommandParser, message: str) -> NoReturn:
    """Print one line instead of argparse's usage."""
    if not parser.called_from_command_line:
        raise CommandError(message)
    parser.exit(2, f"{parser.prog}: {message}; --help has an example.\n")


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Yield a function ``(share, words)`` that draws a bar on a terminal after a second."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield no_progress
        return
    started = time.monotonic()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, visible=False)

        def show(share: float, words: str) -> None:
            bar.update(
                task, completed=share, description=words, visible=time.monotonic() - started > SILENT_SECONDS
            )

        yield show


class OperationCommand(QuorumCommand):
    """A command that does an operation on the study of the first argument."""

    operation: ClassVar[Operation]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        if self.operation.row:
            parser.add_argument(self.operation.row)
        add_parameters(parser, self.operation.parameters())

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        self.say(self.operation.run(study, values, by=None).words)

    def asked(self, options: dict[str, Any]) -> tuple[Study, dict[str, Any]]:
        """Return the study and the checked parameters.

        Raises:
            CommandError: a parameter is missing or wrong.
            WrongState: a job does the same at this moment. A waiting one is no obstacle: a command needs no worker.
        """
        operation = self.operation
        study = find_study(options["study"])
        try:
            text = as_text(operation.parameters(), options)
            values = operation.read(text, row=options.get(operation.row))
        except serializers.ValidationError as error:
            raise CommandError(sentence_of(error.detail)) from error
        if operation.job and operation.once != "never":
            alive = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
            running = Job.objects.filter(state=Job.State.RUNNING, heartbeat__gte=alive)
            operation.refuse_second(study, running)
        return study, values


def add_parameters(parser: ArgumentParser, parameters: Parameters) -> None:
    """Add an option for each parameter; ``--without-<name>`` for what is true by default.

    The serializer checks the values, so that all doors say the same about a mistake.
    """
    groups: dict[str, Any] = {}
    for names in parameters.one_of:
        groups |= dict.fromkeys(names, parser.add_mutually_exclusive_group(required=True))
    fields: Mapping[str, Any] = parameters.fields
    for name, field in fields.items():
        option = f"--{name.replace('_', '-')}"
        place: Any = groups.get(name, parser)
        words = str(field.help_text or field.label or "").replace("%", "%%")
        if isinstance(field, serializers.BooleanField):
            option = f"--without-{option[2:]}" if field.initial is True else option
            place.add_argument(option, dest=name, action="store_true", help=words)
            continue
        if isinstance(field, serializers.ChoiceField) and len(field.choices) <= MOST_CHOICES:
            metavar: str | None = "{" + ",".join(str(choice) for choice in field.choices) + "}"
        else:
            metavar = "LIST" if isinstance(field, serializers.ListField) else None
        if isinstance(field, serializers.ChoiceField) and metavar is None:
            words = f"{words}: one of {', '.join(map(str, field.choices))}"
        # a group asks for its members by itself
        needed = {} if name in groups else {"required": field.required}
        place.add_argument(option, metavar=metavar, help=words, **needed)


def as_text(parameters: Parameters, options: dict[str, Any]) -> QueryDict:
    """Return the given options as a form would send them."""
    text = QueryDict(mutable=True)
    fields: Mapping[str, Any] = parameters.fields
    for name, field in fields.items():
        value = options[name]
        if isinstance(field, serializers.BooleanField) and field.initial is True:
            value = not value
        if value is None or value is False:
            continue
        text.setlist(name, [str(one) for one in (value if isinstance(value, list | tuple) else [value])])
    return text
