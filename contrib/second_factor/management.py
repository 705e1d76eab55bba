"""The command that removes a lost second factor."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from common.commands import QuorumCommand
from contrib.second_factor.devices import remove_second_factor


class ResetSecondFactor(QuorumCommand):
    help = "Removes the second factor of an account whose person lost the app and the recovery codes."
    example = "manage.py reset_second_factor ada"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        account = User.objects.filter(username=username).first()
        if account is None:
            raise CommandError(f"There is no account {username!r}.")
        if not remove_second_factor(account):
            raise CommandError(f"The account {username} has no second factor.")
        self.stdout.write(f"{username} signs in by password alone, and can set up a second factor again.")
