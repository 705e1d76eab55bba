"""Measure the time of each page and list of a researcher with a million judgments: best and median of 7.

    python -m benchmarks.pages                                              # SQLite, a few minutes
    scripts/with-services python -m benchmarks.pages --database postgresql
    python -m benchmarks.pages --judgments 60000 --only results work        # a few of them, on a small study

The program makes a new installation, fills it (benchmarks/filling.py), computes results and the dashboard's snapshot as
jobs would, and requests pages through Django's test client, so the times are the server's. Pages and lists are found in
their registries. Next to the wall time is the processor time of the server's process, which other programs on the
machine do not affect (on PostgreSQL, without the database's time). On a shared machine, the best time shows the page,
and the median shows the load of the machine. Stored figures of pages (judgments/cached_figures.py) are computed first,
as the background worker does. The last lines name pages that took more than 200 ms, and the machine's load.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tests.installations import Installations

MAX_MILLISECONDS = 200.0
ROUNDS = 7
T = TypeVar("T")


def admin_lists() -> dict[str, str]:
    """Return the address of each model's list in the admin, by the model's label."""
    from django.contrib import admin
    from django.urls import reverse

    return {
        model._meta.label: reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    }


def api_lists() -> dict[str, str]:
    """Return the address of each resource's list, by its path."""
    from django.urls import reverse

    from config.api.urls import router

    return {
        f"/api/{prefix}/": reverse(f"api:{name}-list")
        for prefix, view, name in router.registry
        if hasattr(view, "list")
    }


def study_pages(study: Any) -> dict[str, str]:
    """Return the address of each page that the study's state shows, by the page's name. Leave out downloads."""
    from judgments.studies.study_page import PAGES, study_page_address

    return {
        name: study_page_address(study, name)
        for name, page in PAGES.items()
        if name not in ("download", "report-file") and page.has_tab(study)
    }


def measure(database: str, judgments: int, only: list[str], results: bool) -> None:
    """Fill the installation of Django's settings, compute results, and request the pages."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client, override_settings
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    from benchmarks.filling import fill_study
    from contrib.dashboard.models import BoardSnapshot
    from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
    from evaluation.models import Analysis
    from evaluation.results.aggregation import aggregate_study
    from evaluation.results.metrics.storage import evaluate_study
    from judgments.cached_figures import FIGURES_JOB, recompute_figures, store_figures
    from judgments.models import Job, Study

    found = Study.objects.filter(slug="large").first()
    if found is None:
        found = _step("filling", lambda: fill_study(judgments=judgments))
    study = found
    if not BoardSnapshot.objects.filter(study=found).exists():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("VACUUM ANALYZE")
        _step("board's first snapshot", lambda: store_snapshot(compute_snapshot(study=found)))
        _step("board's later snapshot", lambda: store_snapshot(compute_snapshot(study=found)))
    if results and not Analysis.objects.filter(study=study).exists():
        _step("consensus and agreement", lambda: aggregate_study(study=found))
        _step("metrics against people", lambda: evaluate_study(study=found))
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}).enable()
    User.objects.filter(username="designer").delete()
    User.objects.create_superuser("designer")
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username="designer"))
    addresses = {
        "front page": reverse("admin:index"),
        **{f"study: {name}": address for name, address in study_pages(study).items()},
        **{f"list: {name}": address for name, address in admin_lists().items()},
        **{
            f"list: {name}, one study": f"{address}?study__id__exact={study.pk}"
            for name, address in admin_lists().items()
            if name in ("judgments.Unit", "judgments.HIT", "annotation.Assignment", "evaluation.Consensus")
        },
        **{f"api: {name}": address for name, address in api_lists().items()},
    }
    slow = []
    print("| page | ms, best | ms, median | ms of processor | queries |\n|---|---|---|---|---|", flush=True)
    for name, address in addresses.items():
        if only and not any(word in name for word in only):
            continue
        client.get(address)
        for names in Job.objects.filter(kind=FIGURES_JOB, state="queued").values_list(
            "args__names", flat=True
        ):
            store_figures(recompute_figures(study, names))  # as the background worker does
        Job.objects.filter(kind=FIGURES_JOB).delete()
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address)
            b"".join(answer)
            asked = list(queries.captured_queries)  # copied, because the next request empties the log
        best = _row(name, partial(client.get, address), len(asked))
        if best > MAX_MILLISECONDS:
            slow.append(name)
            costly = sorted(asked, key=lambda one: -float(one["time"]))[:3]
            for one in costly:
                if float(one["time"]) > 0.03:
                    print(f"    {name}: {one['time']} s {one['sql'][:600]}", file=sys.stderr, flush=True)
    live = addresses["study: board-live"]
    unchanged = {"If-None-Match": client.get(live)["ETag"]}
    _row("study: board-live, unchanged", lambda: client.get(live, headers=unchanged))
    print(f"\nmore than {MAX_MILLISECONDS:.0f} ms at best: {', '.join(slow) or 'none'} ({database})")
    print(f"load of the machine, processes of 1, 5 and 15 minutes: {os.getloadavg()}, {os.cpu_count()} cores")


def _row(name: str, ask: Callable[[], Any], queries: int | str = "") -> float:
    """Request a page ``ROUNDS`` times, print a row of the table, and return the best time in ms."""
    times, own = [], []
    for _ in range(ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        answer = ask()
        b"".join(answer)
        times.append(1000 * (time.perf_counter() - began))
        own.append(1000 * (time.process_time() - used))
    said = "" if answer.status_code == 200 else f" ({answer.status_code})"
    middle = statistics.median(times)
    print(f"| {name}{said} | {min(times):.0f} | {middle:.0f} | {min(own):.0f} | {queries} |", flush=True)
    return min(times)


def _step(name: str, what: Callable[[], T]) -> T:
    before, began, used = _peak(), time.perf_counter(), time.process_time()
    made = what()
    seconds, own = time.perf_counter() - began, time.process_time() - used
    print(f"{name}: {seconds:.1f} s, {own:.1f} s of processor, {_peak() - before:.0f} MB more", flush=True)
    return made


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--only", nargs="*", default=[], help="words in the names of the pages to ask for")
    parser.add_argument("--bare", action="store_true", help="without computing results first")
    parser.add_argument("--here", action="store_true", help="in the database that the environment names")
    chosen = parser.parse_args()
    if chosen.here:
        _set_up()
        measure(chosen.database, chosen.judgments, chosen.only, not chosen.bare)
        return
    with tempfile.TemporaryDirectory() as folder:
        maker = Installations(Path(folder), os.environ.get("TEST_DATABASE_URL"))
        try:
            with maker.fresh(chosen.database) as installation:
                os.environ.update(installation.env)
                _set_up()
                measure(chosen.database, chosen.judgments, chosen.only, not chosen.bare)
                from django.db import connection

                connection.close()
        finally:
            maker.close()


def _set_up() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()


if __name__ == "__main__":
    main()
