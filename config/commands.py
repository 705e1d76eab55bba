"""Register the commands of ``quorum`` with ``manage.py``. A command is imported only when it is used."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandParser
from django.utils.module_loading import import_string

from quorum.subcommands import PLATFORM_COMMANDS, CommandTable

# Modules that the REST framework imports, if they are installed, for pages, tests and fields that Quorum does not use.
UNUSED_MODULES = ("django.contrib.postgres.fields", "markdown", "pygments", "requests", "yaml")


@cache
def all_commands() -> CommandTable:
    """Return the commands of the platform and of active features, by the words after ``quorum``."""
    return CommandTable(*(feature.commands for feature in settings.FEATURES.values()))


def _path_of(name: str) -> str:
    """Return the dotted path of a command's class. For commands of the platform, this needs no settings."""
    return PLATFORM_COMMANDS.paths.get(name) or all_commands().paths[name]


class LazyCommand(BaseCommand):
    """An entry in Django's table of commands. Each use makes a new command, as a used one keeps its output streams."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return load_command(self.name).create_parser(prog_name, subcommand, **kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        return load_command(self.name).execute(*args, **options)

    def run_from_argv(self, argv: list[str]) -> None:
        load_command(self.name).run_from_argv(argv)

    def rpartition(self, separator: str) -> tuple[str, str, str]:
        """Return the app last, since ``manage.py help`` calls ``rpartition`` of each command's dotted name."""
        return "", separator, _path_of(self.name).partition(".")[0]


def load_framework() -> None:
    """Import the REST framework without the modules in ``UNUSED_MODULES``, which would take half of the time."""
    # With None in sys.modules, importing the module fails.
    blocked_modules: dict[str, Any] = {name: None for name in UNUSED_MODULES if name not in sys.modules}
    sys.modules.update(blocked_modules)
    try:
        import_module("rest_framework.compat")
    finally:
        for name in blocked_modules:
            del sys.modules[name]


def load_command(name: str) -> BaseCommand:
    load_framework()
    if name not in PLATFORM_COMMANDS.paths:
        import_module("judgments.kinds")  # loads the features' kinds before a feature's module needs them
    target = import_string(_path_of(name))  # a class or an operation (see quorum.subcommands)
    if isinstance(target, type):
        command = target()
    else:
        from judgments.management.base import OperationCommand  # loads the REST framework

        command = OperationCommand.for_operation(target, name)
    command.name = name
    return cast(BaseCommand, command)


def register_commands() -> None:
    # Django caches this dict, so that updating it registers the commands.
    commands = cast(dict[str, Any], get_commands())
    commands.update((name, LazyCommand(name)) for name in all_commands().paths)
