#!/usr/bin/env python3
"""Quorum's commands: `python manage.py help` lists them."""

import gc
import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.core.management.base import BaseCommand
from django.utils.functional import SimpleLazyObject

from config.commands import load_command
from config.features import Feature, active_features, feature_names_in

# Starting loads some 150,000 objects that all stay in use. To look for garbage among them takes a tenth of the time.
gc.set_threshold(500_000)

# Commands that read only files, with the text in an argument by which they need the database nevertheless ("" if none).
FILE_COMMANDS = {"score": "", "agreement": "study:"}


def main(arguments: list[str]) -> None:
    name = arguments[1] if len(arguments) > 1 else ""
    if reads_only_files(name, arguments):
        load_file_command(name).run_from_argv(arguments)
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(arguments)


def reads_only_files(name: str, arguments: list[str]) -> bool:
    """Return whether a command with these arguments needs no database."""
    if name not in FILE_COMMANDS:
        return False
    database_mark = FILE_COMMANDS[name]
    return not (database_mark and any(database_mark in argument for argument in arguments))


def features_of_environment() -> dict[str, type[Feature]]:
    return active_features(feature_names_in(os.environ.get("CONTRIB_APPS")))


def load_file_command(name: str) -> BaseCommand:
    """Return a command that reads only files, without loading apps and models, which would take longer than scoring."""
    settings.configure(USE_I18N=False, FEATURES=SimpleLazyObject(features_of_environment))
    return load_command(name)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
