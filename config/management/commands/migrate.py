"""Django's migrate, which creates the tables of an empty database in one step."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from common.commands import START_CHECKS
from common.migrating import create_tables

# Options of a call that asks for less than all tables.
NOT_ALL_TABLES = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    requires_system_checks = START_CHECKS

    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options[name] for name in NOT_ALL_TABLES):
            empty = create_tables(connections[options["database"]])
            if empty and options["verbosity"] > 0:
                self.stdout.write("The database was empty: all tables are created.")
        super().handle(*args, **options)
