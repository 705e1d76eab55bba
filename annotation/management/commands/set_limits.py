"""Set limits above studies."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from annotation.money.limits import SET_LIMITS, set_limits
from annotation.money.operations import LimitsRequest
from judgments.management.base import QuorumCommand, add_parameters, as_text


class Command(QuorumCommand):
    help = "Set all limits of an account, or of the installation, in one currency (docs/roles.md)."
    example = "manage.py set_limits --by root --currency USD --day-cents 50000 --confirm-cents 10000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--by",
            required=True,
            metavar="NAME",
            help="account that may set limits; the admin's history has it",
        )
        add_parameters(parser, LimitsRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        values = LimitsRequest.read(as_text(LimitsRequest(), options))
        by = User.objects.filter(username=options["by"], is_active=True).first()
        if by is None or not by.has_perms(SET_LIMITS):
            raise CommandError(f"Nothing was changed: no account {options['by']!r} may set limits.")
        self.say(f"The limits are set: {set_limits(by=by, **values)}.")
