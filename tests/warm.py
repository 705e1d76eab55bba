"""What the process that forks imports once, before it forks for the first time; see `tests.forking`."""

import gc
import os
from importlib import import_module

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.installed_settings"
django.setup()
for _name in ("config.urls", "evaluation.metrics", "evaluation.statistics"):
    import_module(_name)
gc.collect()
gc.freeze()  # or a collection in a child would copy what it shares with this process
