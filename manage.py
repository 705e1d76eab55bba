#!/usr/bin/env python3
"""Quorum's commands: `python manage.py help` lists them."""

import os
import sys
from importlib import import_module

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

# Commands on files, and what an argument holds where they need the database all the same.
OF_FILES = {"score": None, "agreement": "study:"}


def main(arguments: list[str]) -> None:
    name = arguments[1] if len(arguments) > 1 else ""
    needs = OF_FILES.get(name)
    if name not in OF_FILES or (needs and any(needs in one for one in arguments)):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        execute_from_command_line(arguments)
        return
    # The apps, their models and the settings take longer to load than most files to score.
    from django.conf import settings

    settings.configure(USE_I18N=False)
    import_module(f"evaluation.management.commands.{name}").Command().run_from_argv(arguments)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
