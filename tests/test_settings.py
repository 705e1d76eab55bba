"""Settings come from the environment, and the dangerous ones are caught."""

import ast
import json
import os
import re
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from playwright.sync_api import Page

from tests import forking
from tests import settings as settings_of_tests
from tests.installations import ROOT, Installation
from tests.refusals import assert_names


def run(folder: Path, code: str, **environment: str) -> tuple[bool, str, str]:
    """Run a few lines with only this environment: whether they came to their end, what they printed, and their
    complaints."""
    base = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(folder),
        "ENV_FILE": os.devnull,
    }
    return forking.run(code, base | environment)


def ask(folder: Path, expression: str, **environment: str) -> str:
    """What an expression over the settings is."""
    fine, out, err = run(folder, f"from django.conf import settings\nprint({expression})", **environment)
    assert fine, err
    return out.strip()


def check(folder: Path, *arguments: str, **environment: str) -> tuple[bool, str]:
    """`manage.py check`: whether it passes, and all that it says."""
    call = f"execute_from_command_line({['manage.py', 'check', *arguments]!r})"
    code = f"from django.core.management import execute_from_command_line\n{call}"
    fine, out, err = run(folder, code, **environment)
    return fine, out + err


def test_a_new_installation_makes_a_secret_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "not created yet"
    first = ask(folder, "settings.SECRET_KEY")
    assert len(first) > 50
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600
    assert ask(folder, "settings.SECRET_KEY") == first


@pytest.mark.long
def test_processes_that_start_together_agree_on_the_secret_key(tmp_path: Path) -> None:
    code = "from django.conf import settings\nprint(settings.SECRET_KEY)"
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    together = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in together}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret_key"]


def test_a_secret_key_that_was_cut_short_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("short")
    fine, _, complaint = run(tmp_path, "")
    assert not fine
    assert_names(complaint.splitlines()[-1], "50")


@pytest.mark.parametrize("address", ["kafka://localhost", "redis://localhost:abc/0", "amqp://", "redis"])
def test_a_broker_that_is_none_is_refused_in_one_sentence(tmp_path: Path, address: str) -> None:
    fine, _, complaint = run(tmp_path, "", CELERY_BROKER_URL=address)
    assert not fine
    assert "expected redis://host:6379/0, amqp://user" in complaint.splitlines()[-1]


def readers() -> dict[str, str]:
    """Return the variables of the settings, with the methods that read them."""
    found = {f"LIMIT_{name.upper()}": "limit" for name in settings_of_tests.LIMITS}
    calls = (
        one
        for path in (ROOT / "config/settings.py", *sorted(ROOT.glob("contrib/*/apps.py")))
        for one in ast.walk(ast.parse(path.read_text()))
        if isinstance(one, ast.Call)
    )
    for call in calls:
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("env"), attr=how), args=[ast.Constant(str(name)), *_]
            ):
                found[name] = how
    return found


READERS = {name: how for name, how in readers().items() if how != "db_url"}
CHECKED = {
    "int": ["many", "-1", "1.5", "1e3"],
    "float": ["many", "-1", "nan", "inf", "1,5 s"],
    "decimal": ["many", "-1", "NaN", "-Infinity"],
    "bool": ["maybe", "2"],
    "choice": ["nonsense", "Info"],
    "limit": ["100000", "many", "10/fortnight", "1/minute; 5/hour", "-5/minute"],
}
UNREADABLE = [(name, value) for name, how in READERS.items() for value in CHECKED.get(how, [])]


def test_no_variable_is_read_past_the_reader_that_checks_them() -> None:
    known = {
        "CONTRIB_APPS",
        "DJANGO_SETTINGS_MODULE",
        "PROMETHEUS_MULTIPROC_DIR",
        "PORT",
        "LOG_FORMAT",
    }  # the last two also in settings
    for path in (ROOT / "config").rglob("*.py"):
        names = set(re.findall(r"""os\.environ(?:\.\w+\(|\[)["'](\w+)""", path.read_text()))
        assert names <= known, path
    assert set(READERS.values()) == {*CHECKED, "str", "list"}


@pytest.mark.parametrize(("name", "value"), UNREADABLE)
def test_a_value_that_cannot_be_read_ends_the_start_with_one_sentence(
    tmp_path: Path, name: str, value: str
) -> None:
    fine, _, complaint = run(tmp_path, "", **{name: value})
    assert not fine
    sentence = complaint.splitlines()[-1].partition(": ")[2]
    assert re.fullmatch(rf"{name} is {value!r}; expected .+\.", sentence), complaint


@pytest.mark.parametrize("name", [name for name, how in READERS.items() if how in ("str", "list")])
def test_any_text_is_refused_at_the_start_or_does_not_fail_a_visitor(tmp_path: Path, name: str) -> None:
    code = (
        "from django.test import Client\n"
        "print(Client(raise_request_exception=False).get('/api/nowhere/').status_code)"
    )
    fine, status, complaint = run(tmp_path, code, **{name: f"{tmp_path}/100000 nonsense"})
    assert status.strip() in ("404", "400") if fine else name in complaint.splitlines()[-1], complaint


def test_empty_and_usual_values_are_read(tmp_path: Path) -> None:
    values = {"PORT": "", "DEBUG": "", "HTTPS": "Yes", "LIMIT_JOIN": "", "LIMIT_API": "5 per 2 hours"}
    values |= {"PROLIFIC_FEE_PERCENT": "33.3", "CROWD_BACKOFF_SECONDS": "0.25", "LOG_LEVEL": "DEBUG"}
    asked = (
        "settings.PORT, settings.DEBUG, settings.HTTPS, settings.LIMITS['join'], settings.LIMITS['api'], "
        "str(settings.PROLIFIC_FEE_PERCENT), settings.CROWD_BACKOFF_SECONDS"
    )
    found = json.loads(ask(tmp_path, f"__import__('json').dumps([{asked}])", **values))
    assert found == [8000, False, True, "", "5 per 2 hours", "33.3", 0.25]


def test_the_database_is_sqlite_in_the_data_folder_and_two_variables_switch_to_services(
    tmp_path: Path,
) -> None:
    asked = "settings.DATABASES['default'], settings.CELERY_BROKER_URL, str(settings.MEDIA_ROOT.parent)"
    asked = f"__import__('json').dumps([{asked}])"
    database, broker, media = json.loads(ask(tmp_path, asked))
    assert (database["NAME"], media) == (str(tmp_path / "quorum.sqlite3"), str(tmp_path))
    assert broker == "files://localhost"
    services = {
        "DATABASE_URL": "postgres://quorum@127.0.0.1/quorum",
        "CELERY_BROKER_URL": "redis://127.0.0.1/3",
    }
    database, broker, _ = json.loads(ask(tmp_path, asked, **services))
    assert (database["ENGINE"], broker) == ("django.db.backends.postgresql", "redis://127.0.0.1/3")


def test_sqlite_waits_its_turn_and_writes_through_to_the_disk(
    installation_on: Callable[[str], Installation],
) -> None:
    code = (
        "import json\nfrom django.db import connection\n"
        "def told(name):\n"
        "    with connection.cursor() as c: return c.execute(f'PRAGMA {name}').fetchone()[0]\n"
        "print(json.dumps([told(n) for n in ('journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout')]))"
    )
    full = 2
    assert json.loads(installation_on("sqlite").python(code)) == ["wal", full, 1, 30_000]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"transaction_mode": "DEFERRED"}, ["quorum.E001"]),
        ({"timeout": 29}, ["quorum.E001"]),
        ({"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"}, ["quorum.E002"]),
        ({"transaction_mode": None, "init_command": ""}, ["quorum.E001", "quorum.E002"]),
    ],
)
def test_a_sqlite_that_could_lose_an_answer_is_an_error_of_djangos_check(
    options: dict[str, object], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in options.items():
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], name, value)
    errors = [one.id for one in run_checks(databases=["default"]) if one.is_serious()]
    assert errors == said


@pytest.mark.django_db
def test_the_tests_themselves_run_on_a_database_that_checks_foreign_keys() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys")
        assert cursor.fetchone() == (1,)


def test_an_address_that_is_no_databases_is_told_in_one_line(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": "nonsense",
        "ENV_FILE": os.devnull,
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert_names(done.stderr, "DATABASE_URL")
    assert len(done.stderr.splitlines()) == 1


def test_a_public_server_passes_djangos_deployment_check(tmp_path: Path) -> None:
    fine, said = check(
        tmp_path, "--deploy", "--fail-level", "WARNING", HTTPS="true", ALLOWED_HOSTS="quorum.example.org"
    )
    assert fine, said
    assert "no issues" in said


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"ALLOWED_HOSTS": ["localhost"], "HTTPS": True}, {"quorum.W001"}),
        ({"ALLOWED_HOSTS": ["quorum.example.org"], "HTTPS": False}, {"quorum.W002"}),
        ({"ALLOWED_HOSTS": ["*"], "HTTPS": False}, {"quorum.W001", "quorum.W002"}),
        ({"REDIS_URL": "redis://127.0.0.1:6379/0"}, {"quorum.W004"}),
        ({"REDIS_URL": "rediss://quorum@redis.example.org/0"}, {"quorum.W004"}),
        ({"REDIS_URL": "redis://:secret@redis.example.org/0"}, set()),
        ({"MEDIA_ROOT": Path("public/media"), "STATIC_ROOT": Path("public")}, {"quorum.E003"}),
        ({"MEDIA_ROOT": Path("site/media"), "STATIC_ROOT": Path("site")}, {"quorum.E003"}),
    ],
)
def test_the_check_names_what_a_public_server_lacks(
    values: dict[str, object], named: set[str], settings: Any
) -> None:
    usual = {"ALLOWED_HOSTS": ["quorum.example.org"], "HTTPS": True}
    for name, value in (usual | values).items():
        setattr(settings, name, value)
    found = {str(one.id) for one in run_checks(tags=["security"], include_deployment_checks=True)}
    assert {one for one in found if one.startswith("quorum.")} == named


def test_a_database_outside_the_data_folder_that_others_may_read_is_named(tmp_path: Path) -> None:
    database = tmp_path / "elsewhere.sqlite3"
    database.touch()
    database.chmod(0o644)
    fine, said = check(tmp_path / "data", DATABASE_URL=f"sqlite:///{database}")
    assert fine, said
    assert f"(quorum.W003) Others than its owner may read {database}: run chmod" in said


def test_collected_static_files_may_be_read_by_anybody_and_uploads_by_their_owner(tmp_path: Path) -> None:
    code = """
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
for storage in (staticfiles_storage, default_storage):
    storage.save("folder/style.css", ContentFile(b"a"))
"""
    fine, _, complaint = run(tmp_path / "data", code, STATIC_ROOT=str(tmp_path / "static"))
    assert fine, complaint

    def modes(folder: Path) -> list[int]:
        return [
            stat.S_IMODE(path.stat().st_mode) for path in (folder / "folder", folder / "folder/style.css")
        ]

    assert modes(tmp_path / "static") == [0o755, 0o644]
    assert modes(tmp_path / "data/media") == [0o700, 0o600]


def test_the_access_log_is_written_whatever_else_is_not(tmp_path: Path) -> None:
    code = "import logging\nfor name in ('quorum.access', 'quorum'): logging.getLogger(name).info('from %s', name)"
    _, _, logged = run(tmp_path, code, ACCESS_LOG="true", LOG_LEVEL="WARNING")
    assert "from quorum.access" in logged
    assert "quorum: from" not in logged


@pytest.mark.django_db
def test_pages_of_the_admin_alone_may_evaluate_code(client: Client) -> None:
    admin = client.get("/admin/login/").headers["Content-Security-Policy"]
    elsewhere = client.get("/no-such-page/").headers["Content-Security-Policy"]
    assert "'unsafe-eval'" in admin
    assert "unsafe" not in elsewhere
    assert "script-src 'self'" in elsewhere
    assert "default-src 'none'" in elsewhere


def test_a_message_with_a_line_break_stays_one_line_of_the_log(tmp_path: Path) -> None:
    _, _, logged = run(tmp_path, "import logging\nlogging.getLogger('quorum').warning('one\\nERROR two')")
    assert logged.splitlines()[-1].endswith("WARNING quorum: one\\nERROR two")


@pytest.mark.long
def test_pages_and_static_files_of_a_real_server_work_in_a_browser(
    live_server_on: Callable[[str], Installation], page: Page
) -> None:
    """The fixture ``page`` fails where a script, or the content policy, complains."""
    installation = live_server_on("sqlite")
    listed = json.loads((Path(installation.env["STATIC_ROOT"]) / "staticfiles.json").read_text())
    plain, hashed = next((a, b) for a, b in listed["paths"].items() if a.endswith(".css"))
    assert plain != hashed
    with urllib.request.urlopen(f"{installation.url}/static/{hashed}") as answer:
        assert "immutable" in answer.headers["Cache-Control"]
    name, password = installation.manage("ensure_admin").split()
    page.goto(f"{installation.url}/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")
    page.wait_for_load_state("networkidle")
    assert page.locator("[x-cloak]").count() == 0  # Alpine, which evaluates its attributes, has run


def test_no_test_changes_settings_in_two_ways_at_once() -> None:
    # What pytest's fixture sets within an override is taken back after it, and brings the override back for all
    # tests that follow.
    ways = {"override_settings", "settings_for", "emulated"}
    found = []
    for path in Path(__file__).parent.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in (*ways, "turk")):
            continue
        for test in ast.parse(text).body:
            if not isinstance(test, ast.FunctionDef) or "settings" not in ast.unparse(test.args):
                continue
            named = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
            sets = any(
                isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Store)
                and ast.unparse(one.value) == "settings"
                for one in ast.walk(test)
            )
            if sets and (ways & named or "turk" in ast.unparse(test.args)):
                found.append(f"{path.name}::{test.name}")
    assert found == []
