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

# What is loaded stays, some 150,000 objects: Python need not look for garbage among them, a tenth of a start's time.
gc.set_threshold(500_000)

# Commands on files, and what an argument holds where they need the database all the same.
FILE_COMMANDS = {"score": None, "agreement": "study:"}


def main(arguments: list[str]) -> None:
    name = arguments[1] if len(arguments) > 1 else ""
    if is_of_files(name, arguments):
        load_of_files(name).run_from_argv(arguments)
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(arguments)


def is_of_files(name: str, arguments: list[str]) -> bool:
    needs = FILE_COMMANDS.get(name)
    return name in FILE_COMMANDS and not (needs and any(needs in one for one in arguments))


def features_of_environment() -> dict[str, type[Feature]]:
    return active_features(feature_names_in(os.environ.get("CONTRIB_APPS")))


def load_of_files(name: str) -> BaseCommand:
    """Return a command that reads only files, without loading apps and models, which would take longer than scoring."""
    settings.configure(USE_I18N=False, FEATURES=SimpleLazyObject(features_of_environment))
    return load_command(name)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
