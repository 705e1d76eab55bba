"""Make a token for the HTTP interface."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from common.commands import QuorumCommand
from common.errors import NotThere
from judgments.access.tokens import SCOPES, create_token
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = "Make a token for the HTTP interface and print its key, once (docs/api.md)."
    example = "manage.py create_token grace 'nightly export' --scopes studies:read,exports:write --days 90"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")
        parser.add_argument("name", help="what it is for")
        parser.add_argument(
            "--scopes",
            default=",".join(SCOPES),
            metavar="LIST",
            help=f"what it opens, of {', '.join(SCOPES)}; all unless told",
        )
        parser.add_argument(
            "--studies", default="", metavar="LIST", help="the only studies that it opens; all unless told"
        )
        parser.add_argument("--days", type=int, help="how long it is good; for ever unless told")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise NotThere(f"There is no account {options['user']!r}.")
        days: int | None = options["days"]
        _, key = create_token(
            user=user,
            name=options["name"],
            scopes=[scope for scope in options["scopes"].split(",") if scope],
            studies=[find_study(slug) for slug in options["studies"].split(",") if slug],
            expires_at=None if days is None else timezone.now() + timedelta(days=min(max(days, 0), 36_500)),
        )
        self.say(key)
