"""The command line's door of operations: arguments made from the operation's parameters."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandError
from django.http import QueryDict
from rest_framework import serializers

from common.parameters import Parameters, sentence_of
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study
from judgments.study_operations import Operation


class OperationCommand(QuorumCommand):
    """Does an operation on the study that the first argument names, and prints what was done.

    A command gives ``help`` and ``example``, and may extend ``add_arguments`` and ``handle``.
    """

    operation: ClassVar[Operation]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        add_parameters(parser, self.operation.parameters())

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            values = self.operation.read(as_text(self.operation.parameters(), options))
        except serializers.ValidationError as error:
            raise CommandError(sentence_of(error.detail)) from error
        self.say(self.operation.run(study, values, by=None).words)


def add_parameters(parser: ArgumentParser, parameters: Parameters) -> None:
    """Add an option for each parameter. The serializer checks the values, so that a mistake gets the same sentence as
    at the other doors."""
    groups: dict[str, Any] = {}
    for names in parameters.one_of:
        groups |= dict.fromkeys(names, parser.add_mutually_exclusive_group(required=True))
    fields: Mapping[str, Any] = parameters.fields
    for name, field in fields.items():
        option = f"--{name.replace('_', '-')}"
        place: Any = groups.get(name, parser)
        words = str(field.help_text or "").replace("%", "%%")
        if isinstance(field, serializers.BooleanField):
            place.add_argument(option, action="store_true", help=words)
            continue
        if isinstance(field, serializers.ChoiceField):
            metavar: str | None = "{" + ",".join(str(choice) for choice in field.choices) + "}"
        else:
            metavar = "LIST" if isinstance(field, serializers.ListField) else None
        # a group asks for its members by itself
        needed = {} if name in groups else {"required": field.required}
        place.add_argument(option, metavar=metavar, help=words, **needed)


def as_text(parameters: Parameters, options: dict[str, Any]) -> QueryDict:
    """Return the options that were given, as a form would send them."""
    text = QueryDict(mutable=True)
    for name in [*parameters.fields]:
        if (value := options[name]) is None or value is False:
            continue
        text.setlist(name, [str(one) for one in (value if isinstance(value, list | tuple) else [value])])
    return text
