"""What every test may ask for. What could not run for want of a service is named at the end of a run."""

import gc
import itertools
import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import Client
from hypothesis import HealthCheck, settings
from matplotlib.backends import _backend_pdf_ps
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker

import config.admin.site  # noqa: F401 - loads the pages in their order, as a web process does
from quorum.metrics.meteor.tables import MeteorTables, load_tables
from tests import plots, services
from tests.browsing import PATIENCE, WIDE, Tab, Tabs
from tests.installations import MIGRATED, Installation, Installations, once_a_run

# No test depends on how busy the machine is: neither may Hypothesis, nor what is awaited on a page.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
expect.set_options(timeout=PATIENCE)

# A third of the time of a report goes into cutting fonts for its PDFs, mostly the same characters each time.
_backend_pdf_ps.get_glyphs_subset = plots.cut_font  # type: ignore[assignment]

CHROMIUM_FLAGS = [
    "--no-sandbox",  # tests may run as root in a container, where the sandbox cannot start
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--in-process-gpu",  # what draws without one needs no process of its own: a tenth of the time
    "--disable-quic",
]
# What takes longest. It begins: a long file at the end leaves a core without work.
PEOPLE = itertools.count(1)  # of the fixture person
LONG = (
    "tests/browser/",
    "tests/test_run.py",
    "tests/client/",
    "tests/upgrade/",
    "tests/test_chaos.py",
    "tests/evaluation/test_growth.py",
    "tests/evaluation/test_resumed_exports.py",
    "tests/test_strangers.py",
    "tests/test_query_budgets.py",
    "tests/test_docs_blocks.py",
)
_NOT_RUN: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--services",
        choices=["any", "none", "only"],
        default="any",
        help="tests that need PostgreSQL or another service: those whose service is here, none, or no others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers; collect no garbage while modules are imported, which stay."""
    gc.disable()
    config.addinivalue_line(
        "markers", "large: of a size, or of many draws; smaller tests reach the same branches"
    )
    config.addinivalue_line("markers", "long: of many seconds; `make test-long` runs it")
    for service, title in services.TITLES.items():
        config.addinivalue_line("markers", f"{service}: needs {title}; not run where it is missing")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    services.mark(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    services.Current.item = item
    return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest. Leave out what lacks a service, and count it; with QUORUM_REQUIRE_SERVICES=1 it
    stays, and fails."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))  # the order is else that of the folders
    half = config.getoption("services")
    left_out = []
    for item in items:
        needs = services.needs(item)
        lacking = sorted(service for service in needs if services.missing(service))
        elsewhere = sorted(needs & services.SERVICES.keys())
        if half == "none" and elsewhere:
            left_out.append(item)
            _NOT_RUN[elsewhere[0]] += 1
        elif half == "only" and not elsewhere:
            left_out.append(item)
        elif lacking and not services.REQUIRED:
            left_out.append(item)
            _NOT_RUN[lacking[0]] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        unwanted = set(left_out)
        items[:] = [item for item in items if item not in unwanted]


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which stay to the end, and let it run seldom."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 50, 100)  # by default a fifth of a run's time


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what a process of pytest-xdist left out to the one that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_run"] = dict(_NOT_RUN)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes that over: each process collects the same tests."""
    for service, count in getattr(node, "workeroutput", {}).get("not_run", {}).items():
        _NOT_RUN[service] = count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not run and why, before pytest's own last line."""
    if not _NOT_RUN:
        return
    terminalreporter.section("not run")
    apart = terminalreporter.config.getoption("services") == "none"
    for service, count in sorted(_NOT_RUN.items()):
        tests = "1 test" if count == 1 else f"{count} tests"
        title = services.TITLES[service]
        if apart and service in services.SERVICES:
            terminalreporter.write_line(f"{tests} of {title}: make test-services")
        else:
            terminalreporter.write_line(f"{title} is not here: {tests} not run: {services.missing(service)}")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and golden numbers that are not part of the project."""
    services.demand("shared")
    return Path(os.environ["QUORUM_SHARED"]).resolve()


@pytest.fixture(scope="session")
def meteor_tables() -> MeteorTables:
    """The tables of the official METEOR program, which an optional requirements file brings."""
    services.demand("meteor")
    return load_tables()


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A PostgreSQL server where databases may be made and dropped."""
    services.demand("postgresql")
    return os.environ["TEST_DATABASE_URL"]


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis server for tests."""
    services.demand("redis")
    return os.environ["TEST_REDIS_URL"]


@pytest.fixture(autouse=True)
def _forget_what_the_process_keeps() -> Iterator[None]:
    """Empty the caches: what is rolled back gives its ids to the next test, or to a module's rows. End an outage: the
    next page would ask whether the database is back."""
    yield
    cache.clear()
    if health := sys.modules.get("config.observing.outage_state"):
        health.STATE.end()
    if presentation := sys.modules.get("annotation.work.sheet.units"):
        presentation._cached_units.cache_clear()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Runs a test once on each kind of database; hand it to `live_server_on` or `installation_on`."""
    kind: str = request.param
    if kind == "postgresql":
        services.demand("postgresql")
    return kind


@pytest.fixture(scope="session")
def made_once_a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what all processes of this run can use."""
    run = tmp_path_factory.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / "shared-installations"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, made_once_a_run: Path
) -> Iterator[None]:
    """A migrated database in memory: migrating takes six seconds, so one process does it and the others copy."""
    from django.db import connection

    creation: Any = connection.creation  # django-stubs leave the name of its database out
    original, migrated = connection.settings_dict["NAME"], made_once_a_run / MIGRATED
    with django_db_blocker.unblock(), once_a_run(migrated) as missing:
        if missing:
            creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            half_made = migrated.with_suffix(f".{os.getpid()}")
            with closing(sqlite3.connect(half_made)) as file:
                connection.connection.backup(file)
            half_made.rename(migrated)
        else:
            connection.close()
            connection.settings_dict["NAME"] = creation._get_test_db_name()
            connection.ensure_connection()
            with closing(sqlite3.connect(migrated)) as file:
                file.backup(connection.connection)
    tests_thread = threading.get_ident()

    def close(wrapper: DatabaseWrapper) -> None:
        # Django leaves all connections to a database in memory open, as the last one keeps its rows. From Python 3.13
        # on, a thread's own that is left open fails the test in which it is collected. Those of the thread that runs
        # the tests stay: one without an event loop, and one from where a browser runs its own.
        if wrapper._thread_ident != tests_thread:  # type: ignore[attr-defined]  # django-stubs leave it out
            BaseDatabaseWrapper.close(wrapper)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DatabaseWrapper, "close", close)
        yield
    with django_db_blocker.unblock():
        creation.destroy_test_db(original, verbosity=0)


@pytest.fixture(scope="session")
def installations(tmp_path_factory: pytest.TempPathFactory, made_once_a_run: Path) -> Iterator[Installations]:
    """The maker of installations."""
    folder = tmp_path_factory.mktemp("installations")
    maker = Installations(folder, os.environ.get("TEST_DATABASE_URL"), shared=made_once_a_run)
    yield maker
    maker.close()


@pytest.fixture
def installation_on(installations: Installations) -> Iterator[Callable[[str], Installation]]:
    """`installation_on("sqlite")`: commands and processes on an empty database, nothing started yet."""
    with ExitStack() as stack:
        yield lambda database: stack.enter_context(installations.fresh(database))


@pytest.fixture
def live_server_on(
    installation_on: Callable[[str], Installation],
) -> Callable[[str], Installation]:
    """`live_server_on("postgresql").url`: the same with gunicorn answering on a free loopback port."""

    def start(database: str) -> Installation:
        installation = installation_on(database)
        installation.start_server()
        return installation

    return start


@pytest.fixture
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time.time stand amid five minutes of the clock: what is kept or counted by such spans lasts for the test."""
    now = time.time() // 600 * 600 + 450
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Reports and releases with blank figures, for tests that do not look at them."""
    with plots.undrawn():
        yield


@pytest.fixture(scope="module")
def module_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keeps what fixtures of a module store until its last test; what a test itself stores goes with the test."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def designer(client: Client) -> Client:
    """The browser of somebody who may do everything."""
    from django.contrib.auth.models import User  # models cannot be imported before the settings are loaded

    client.force_login(User.objects.create_superuser("designer"))
    return client


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium that speaks to nobody but us."""
    services.demand("browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=services.chromium_path(), headless=True, args=CHROMIUM_FLAGS
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Tabs:
    """The pages that tests take turns in."""
    return Tabs(browser)


@pytest.fixture
def new_page(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """`new_page(color_scheme="dark")`: a page in a browser without cookies. The test fails when a script or the content
    policy complains. With `fresh=True` nobody used the browser before, and nobody will."""
    taken: list[Tab] = []

    def new(*, fresh: bool = False, **look: Any) -> Page:
        taken.append(tabs.take(WIDE | look, fresh=fresh))
        return taken[-1].page

    yield new
    complaints = [complaint for tab in taken for complaint in tabs.give_back(tab)]
    assert complaints == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page on a wide screen."""
    return new_page()


@pytest.fixture
def person() -> str:
    """A name for the person of this test, which nobody else has: they all work at one installation."""
    return f"person-{next(PEOPLE)}"
