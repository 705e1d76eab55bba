"""What the process that forks imports once, before it forks for the first time; see `tests.forking`."""

import gc
import os
from importlib import import_module

import django
import numba

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.installed_settings"
django.setup()
for _name in (
    "config.urls",
    "quorum.metrics",
    "quorum.statistics",
    # what a server or worker imports later, each for itself: two seconds where figures are computed and drawn
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "gunicorn.app.wsgiapp",
    "kombu.transport.filesystem",
    "kombu.transport.redis",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pandas",  # by pyarrow, where it is there
    "scipy.stats",
):
    import_module(_name)
numba.njit(lambda: 0)()  # registers numba's own functions, which the first kernel of a process waits for
gc.collect()
gc.freeze()  # or a collection in a child would copy what it shares with this process
