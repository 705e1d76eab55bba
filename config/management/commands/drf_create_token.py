"""Disable the REST framework's command, which stores keys in plain text and without scopes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Makes nothing: use create_token, whose tokens have scopes and are not stored in plain text."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError(
            "No token was made: use create_token USER 'what for' --scopes studies:read, whose tokens have scopes "
            "and an end."
        )
