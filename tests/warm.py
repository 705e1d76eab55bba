"""What the process that forks imports once, before it forks for the first time; see `tests.forking`."""

import os
from importlib import import_module

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.installed_settings"
django.setup()
for _name in ("config.urls", "evaluation.metrics", "evaluation.statistics"):
    import_module(_name)
