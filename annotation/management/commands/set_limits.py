"""Set limits on money above studies."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from rest_framework import serializers

from annotation.money.limits import set_limits
from annotation.money.operations import LimitsRequest
from common.parameters import sentence_of
from judgments.management.base import QuorumCommand, add_parameters, as_text


class Command(QuorumCommand):
    help = "Set all limits of an account, or of the installation, in one currency (docs/roles.md)."
    example = "manage.py set_limits --currency USD --day-cents 50000 --confirm-cents 10000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_parameters(parser, LimitsRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            values = LimitsRequest.read(as_text(LimitsRequest(), options))
        except serializers.ValidationError as error:
            raise CommandError(sentence_of(error.detail)) from error
        self.say(f"The limits are set: {set_limits(**values)}.")
