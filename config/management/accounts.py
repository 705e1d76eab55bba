"""The command that creates the first admin account."""

import secrets
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from common.commands import QuorumCommand


class EnsureAdmin(QuorumCommand):
    help = (
        "Makes the first admin account with a generated password and prints both; changes nothing when there "
        "is an admin already. With --reset the account gets a new password."
    )
    example = "manage.py ensure_admin --username ada --reset"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--username", help="the account's name; default: admin")
        parser.add_argument("--reset", action="store_true", help="give the account a new password")

    def handle(self, *args: Any, username: str | None, reset: bool, **options: Any) -> None:
        with transaction.atomic():
            admins = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
            if username is None:
                first_admin = admins.first()
                username = first_admin.get_username() if first_admin else "admin"
            account = User.objects.filter(username=username).first()
            if account and not reset and account in admins:
                self.stdout.write(
                    f"The admin account {username} is there; `--username {username} --reset` gives it "
                    "a new password."
                )
                return
            if account and not account.is_superuser:
                raise CommandError(
                    f"The account {username} is there and is no admin's: choose another --username."
                )
            password = "-".join(secrets.token_hex(3) for _ in range(3))
            account = account or User(username=username)
            account.is_staff = account.is_superuser = account.is_active = True
            account.set_password(password)
            account.save()
        self.stdout.write(f"{username} {password}")
