"""The base classes of commands that do an operation on a study, and their options.

The command of an operation is made from the operation's declaration (``judgments.operations``): its parameters become
options.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from django.conf import settings
from django.core.management.base import CommandError
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from rest_framework import serializers

from common.commands import QuorumCommand, progress_bar
from common.parameters import Parameters
from judgments.models import Job, Study
from judgments.operations import Operation
from judgments.studies.studies import find_study

MAX_CHOICES = 6  # choices that the usage line lists


def operation_at(path: str) -> Operation:
    """Return an operation by its dotted path. It is loaded when it is first used, so that other commands start fast."""
    return cast(Operation, SimpleLazyObject(partial(import_string, path)))


class OperationCommand(QuorumCommand):
    """A command that does an operation on the study that the first argument names."""

    operation: Operation

    @classmethod
    def for_operation(cls, operation: Operation, name: str) -> OperationCommand:
        assert operation.command is not None
        command = cls()
        command.operation = operation
        command.help = operation.command.text
        command.example = f"manage.py {name} {operation.command.example}"
        return command

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        if self.operation.row:  # the operation is about one row of the study, by its id
            parser.add_argument(self.operation.row)
        add_parameters(parser, self.operation.parameters())

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            run_options: dict[str, Any] = {"progress": progress} if self.operation.job else {}
            self.say(self.operation.run(study, values, by=None, **run_options).message)

    def study_and_values(self, options: dict[str, Any]) -> tuple[Study, dict[str, Any]]:
        """Return the study and the checked parameters.

        Raises:
            ValidationError: a parameter is missing or wrong.
            WrongState: a running job does the same operation. A queued job does not matter, since it may wait for a
                process that a command does not need.
        """
        operation = self.operation
        study = find_study(options["study"])
        form_data = as_form_data(operation.parameters(), options)
        values = operation.read(form_data, row=options.get(operation.row))
        if operation.job and operation.once != "never":  # "never" refuses no second job
            oldest_heartbeat = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
            running_jobs = Job.objects.filter(state=Job.State.RUNNING, heartbeat__gte=oldest_heartbeat)
            operation.refuse_second(study, running_jobs)
        return study, values


class FileOperationCommand(OperationCommand):
    """A command that does an operation on a study with the text of a file. Its arguments are the study and the file.

    Attributes:
        parameter: the name of the operation's parameter for the text.
        other_parameters: the dotted path of the class of the other parameters.
        expected: a phrase about the content of the file, for the help text and error messages.
    """

    parameter: ClassVar[str]
    other_parameters: ClassVar[str]
    expected: ClassVar[str]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("file", type=Path, help=f"the {self.parameter}: {self.expected}")
        add_parameters(parser, import_string(self.other_parameters)())

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            options[self.parameter] = path.read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise CommandError(f"{path} is no UTF-8 text, expected {self.expected}.") from None
        super().handle(*args, **options)


def add_parameters(parser: ArgumentParser, parameters: Parameters) -> None:
    """Add an option for each parameter. For a parameter that is true by default, add ``--without-<name>``.

    The serializer checks the values, so that pages, HTTP calls and commands have the same error messages.
    """
    groups: dict[str, Any] = {}
    for names in parameters.one_of:
        groups |= dict.fromkeys(names, parser.add_mutually_exclusive_group(required=True))
    fields: Mapping[str, Any] = parameters.fields
    for name, field in fields.items():
        option = f"--{name.replace('_', '-')}"
        group: Any = groups.get(name, parser)
        help_text = str(field.help_text or field.label or "").replace("%", "%%")
        if isinstance(field, serializers.BooleanField):
            option = f"--without-{option[2:]}" if field.initial is True else option
            group.add_argument(option, dest=name, action="store_true", help=help_text)
            continue
        metavar: str | None = None
        if isinstance(field, serializers.ListField):
            metavar = "LIST"
        elif isinstance(field, serializers.ChoiceField):
            choices = [str(choice) for choice in field.choices]
            if len(choices) <= MAX_CHOICES:
                metavar = f"{{{','.join(choices)}}}"
            else:
                help_text = f"{help_text}: one of {', '.join(choices)}"
        # a group already requires one of its members
        requirement = {} if name in groups else {"required": field.required}
        group.add_argument(option, metavar=metavar, help=help_text, **requirement)


def as_form_data(parameters: Parameters, options: dict[str, Any]) -> QueryDict:
    """Return the parameters in a command's options as texts, as the form of a page would send them."""
    form_data = QueryDict(mutable=True)
    fields: Mapping[str, Any] = parameters.fields
    for name, field in fields.items():
        value = options[name]
        if isinstance(field, serializers.BooleanField) and field.initial is True:
            value = not value
        if value is None or value is False:
            continue
        entries = value if isinstance(value, list | tuple) else [value]
        form_data.setlist(name, [str(entry) for entry in entries])
    return form_data
