"""Whole installations for tests: a database of their own, real server and worker processes."""

import fcntl
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from config.features import all_features
from tests import forking, services

ROOT = Path(__file__).resolve().parent.parent
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    # the clock of a run (scripts/conditions.py), for programs that an installation starts
    "LD_PRELOAD",
    "CLOCK_AHEAD",
    "CLOCK_SINCE",
    "NO_PROXY",
    "no_proxy",
    "VIRTUAL_ENV",
    "OMP_NUM_THREADS",
    "WEB_PROCESSES",
    "WEB_THREADS",
)


MIGRATED = "migrated.sqlite3"
PATIENCE = 600.0  # seconds, as a machine may be busy; what is there sooner is waited for no longer


def until(question: Callable[[], bool], *, what: str) -> None:
    """Waits until `question` is answered yes; fails naming `what` when it never is."""
    end = time.monotonic() + PATIENCE
    while not question():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not after {PATIENCE:g} seconds")
        time.sleep(0.05)


def free_port() -> int:
    """A loopback port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def once_a_run(path: Path) -> Iterator[bool]:
    """Whether `path` is still to be made; the other processes of the run wait until it is there."""
    path.parent.mkdir(exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not path.exists()


@dataclass
class Installation:
    """Quorum with its own data folder and database."""

    folder: Path
    env: dict[str, str]
    url: str = ""
    processes: list[BaseProcess] = field(default_factory=list)

    def manage(self, *arguments: str) -> str:
        """Runs a command; what it printed. Fails with what it said when it does not end well."""
        call = f"execute_from_command_line({['manage.py', *arguments]!r})"
        return self.python(f"from django.core.management import execute_from_command_line\n{call}")

    def run_new(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a new Python in this installation: others are forked from one that has all features and no packages."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def turn_off(self, feature: str) -> None:
        """Leave a feature out, and answer the test client; for what `run_new` starts from now on."""
        self.env["CONTRIB_APPS"] = ",".join(name for name in all_features() if name != feature)
        self.env["ALLOWED_HOSTS"] = "testserver"
        self.collect_static()

    def reply_of(self, script: str) -> dict[str, Any]:
        """Return the JSON that a script prints last, run in a new Python."""
        done = self.run_new("-c", script)
        assert done.returncode == 0, done.stderr
        reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return reply

    def python(self, code: str) -> str:
        """Runs a few lines inside this installation, Django set up; what they printed."""
        fine, out, err = forking.run(code, self.env)
        assert fine, f"{code[:200]}: {out[-2000:]}{err[-2000:]}"
        return out.strip()

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows straight from the database, for a look that must be quick and see only what was committed."""
        if self.env["DATABASE_URL"]:
            with psycopg.connect(self.env["DATABASE_URL"]) as server:
                return server.execute(statement.encode()).fetchall()
        with closing(sqlite3.connect(self.folder / "quorum.sqlite3", timeout=30)) as file:
            return file.execute(statement).fetchall()

    def start(self, module: str, *arguments: str, log: str) -> BaseProcess:
        """Starts a module as `python -m` does, in a process group of its own, its words going to `log`."""
        process = forking.start(module, arguments, self.env, self.folder / log)
        self.processes.append(process)
        return process

    def collect_static(self) -> None:
        """Collect the static files, once for all installations of a run."""
        with once_a_run(Path(self.env["STATIC_ROOT"]) / "staticfiles.json") as missing:
            if missing:
                self.manage("collectstatic", "--no-input", "--verbosity", "0")

    def start_server(self, *, workers: int | None = None, port: int = 0) -> str:
        """Starts gunicorn on a free port, or on `port` again, and waits for its first answer; the address."""
        self.collect_static()
        port = port or free_port()
        # fmt: off
        process = self.start(
            "gunicorn", "--config", "python:config.gunicorn", "--bind", f"127.0.0.1:{port}",
            *(["--workers", str(workers)] if workers else []), "config.wsgi", log="server.log",
        )
        # fmt: on
        self.url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.is_alive(), (self.folder / "server.log").read_text()
            try:
                with urllib.request.urlopen(f"{self.url}/admin/login/", timeout=10):
                    return True
            except urllib.error.HTTPError as error:
                error.close()
                return True
            except OSError:
                return False

        until(answers, what="the server's first answer")
        return self.url

    def start_worker(
        self, *more: str, include: str = "", processes: int = 2, beat: bool = True
    ) -> BaseProcess:
        """Starts a worker of Celery that imports the module `include` as well, with beat or without."""
        # fmt: off
        return self.start(
            "celery", "--quiet", "--app", "config", "worker", f"--concurrency={processes}",
            f"--hostname={uuid.uuid4().hex[:8]}@%h", *(["--beat"] if beat else []),
            *([f"--include={include}"] if include else []), *more, log="worker.log",
        )
        # fmt: on

    def start_beat(self) -> BaseProcess:
        return self.start("celery", "--quiet", "--app", "config", "beat", log="beat.log")

    def stop(self) -> None:
        """Ends what was started at once, children too: what was stored must not depend on a goodbye."""
        for process in self.processes:
            forking.kill(process)
        self.processes.clear()


class Installations:
    """Makes installations on SQLite or PostgreSQL from a database migrated once.

    What all processes of a run can use is made once in the folder `shared`.
    """

    def __init__(self, folder: Path, postgres_url: str | None, *, shared: Path | None = None) -> None:
        self.folder, self.shared, self.postgres_url = folder, shared or folder, postgres_url
        self._made_template = ""

    def _environment(self, folder: Path, database_url: str) -> dict[str, str]:
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return passed | {
            "DJANGO_SETTINGS_MODULE": "tests.installed_settings",
            "ENV_FILE": os.devnull,
            "DATA_DIR": str(folder),
            "STATIC_ROOT": str(self.shared / "static"),
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": "",
            "SECRET_KEY": "the-same-for-every-installation-under-test-0123456789",
            "ALLOWED_HOSTS": "localhost,127.0.0.1",
            "DEBUG": "false",
            "HTTPS": "false",
            "PYTHONUNBUFFERED": "1",
        }

    @contextmanager
    def fresh(self, database: str, *, dump: str = "", after: str = "") -> Iterator[Installation]:
        """An installation on an empty, migrated database, or on that of an SQL dump; stopped and dropped afterwards.

        On SQLite, the lines of code `after` have run in it: once for all installations that name the same.
        """
        if database == "postgresql":
            services.require_marker("postgresql")
        name = f"quorum_test_{uuid.uuid4().hex[:12]}"
        folder = self.folder / name
        if database == "postgresql" or dump:
            folder.mkdir()
        else:
            shutil.copytree(self._prepared(after), folder)
        url = ""
        if database == "postgresql":
            url = self._load_postgres(name, dump) if dump else self._copy_postgres(name)
        elif dump:
            with closing(sqlite3.connect(folder / "quorum.sqlite3")) as file:
                file.executescript(dump)
        installation = Installation(folder, self._environment(folder, url))
        try:
            yield installation
        finally:
            installation.stop()
            if database == "postgresql":
                self._drop(name)
            shutil.rmtree(folder)

    def _prepared(self, code: str) -> Path:
        """The folder of an installation on SQLite in which the code ran."""
        folder = self.shared / f"prepared-{hashlib.sha256(code.encode()).hexdigest()[:12]}"
        empty = self._prepared("") if code else None
        with once_a_run(folder) as missing:
            if missing:
                half_made = self.folder / folder.name
                if empty:
                    shutil.copytree(empty, half_made)
                    Installation(half_made, self._environment(half_made, "")).python(code)
                else:
                    half_made.mkdir()
                    shutil.copy(self._migrated(), half_made / "quorum.sqlite3")
                half_made.rename(folder)
        return folder

    def _migrated(self) -> Path:
        """A migrated database in a file, for tests that need nothing but a database too (tests/plugin.py)."""
        with once_a_run(self.shared / MIGRATED) as missing:
            if missing:
                half_made = self.folder / "migrated"
                half_made.mkdir()
                Installation(half_made, self._environment(half_made, "")).manage(
                    "migrate", "--verbosity", "0"
                )
                (half_made / "quorum.sqlite3").rename(self.shared / MIGRATED)
        return self.shared / MIGRATED

    def _copy_postgres(self, name: str) -> str:
        """A copy of a migrated database that all processes of the run copy."""
        note = self.shared / "postgresql-template"
        with once_a_run(note) as missing:
            if missing:
                template = f"{name}_template"
                self._on_server(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(template)))
                self._made_template = template
                folder = self.folder / self._made_template
                folder.mkdir()
                url = self._named(self._made_template)
                Installation(folder, self._environment(folder, url)).manage("migrate", "--verbosity", "0")
                note.write_text(self._made_template)
            made, original = sql.Identifier(name), sql.Identifier(note.read_text())
            self._on_server(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(made, original))
        return self._named(name)

    def _load_postgres(self, name: str, dump: str) -> str:
        self._on_server(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with psycopg.connect(self._named(name), autocommit=True) as server:
            server.execute(dump.encode())
        return self._named(name)

    def _named(self, database: str) -> str:
        assert self.postgres_url is not None
        return urlsplit(self.postgres_url)._replace(path=f"/{database}").geturl()

    def _drop(self, name: str) -> None:
        self._on_server(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _on_server(self, statement: sql.Composed) -> None:
        assert self.postgres_url is not None
        with psycopg.connect(self.postgres_url, autocommit=True) as server:
            server.execute(statement)

    def close(self) -> None:
        """Drops the migrated database of PostgreSQL, if it was made here; who needs it still makes another."""
        if self._made_template:
            note = self.shared / "postgresql-template"
            with once_a_run(note):
                note.unlink(missing_ok=True)  # migrating may have failed
                self._drop(self._made_template)
