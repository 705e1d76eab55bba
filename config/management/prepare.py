"""The command that prepares an installation in one process, after the packages are installed and before it serves."""

import fcntl
import hashlib
import io
import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import CommandParser
from django.db import OperationalError

from common.commands import QuorumCommand
from judgments.jobs.queues import enqueue
from quorum.numeric.signatures import quorum_version


class Prepare(QuorumCommand):
    help = (
        "Migrates the database, collects static files when they changed, compiles metrics and statistics, loads "
        "the demo once, and makes the first admin account. Changes nothing when all is in place."
    )
    example = "manage.py prepare --no-demo"
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave the demo out")
        parser.add_argument("--output", metavar="PATH", help="write the admin account as JSON to PATH")
        parser.add_argument(
            "--later",
            action="store_true",
            help="leave compiling, and the demo's results, to the background worker",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        notes_folder = settings.DATA_DIR / "prepared"
        notes_folder.mkdir(exist_ok=True)
        # Web server and worker may start at the same time. The system releases the lock when the process ends.
        with (notes_folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._prepare_steps(options["no_demo"], options["output"], options["later"])

    def _prepare_steps(self, no_demo: bool, output: str | None, later: bool) -> None:
        try:
            call_command("check", tags=["database"], databases=["default"], stdout=io.StringIO())
            call_command("migrate", interactive=False, verbosity=0)
        except OperationalError as error:
            self.stderr.write(f"The database cannot be used: {' '.join(str(error).split())}.")
            raise SystemExit(1) from error
        is_collected = (settings.STATIC_ROOT / "staticfiles.json").exists()
        self._do_step("static-files", _files_hash(), self._collect_static_files, is_lost=not is_collected)
        if not later:
            self._do_step("metrics", quorum_version(), self._announce_compiling)
            from config.compiling import compile_kernels  # imported late, since it loads the compiler

            compile_kernels()  # takes a second unless sources, numba or the cache have changed
        if not no_demo and "load_demo" in get_commands():
            self._do_step("demo", "loaded", partial(self._load_demo, later))
        if later:
            self.stdout.write(
                "Compiling metrics and statistics in the background; the admin's first page shows how far."
            )
            enqueue(kind="compile")
        admin_stream = io.StringIO()
        call_command("ensure_admin", stdout=admin_stream)
        admin_text = admin_stream.getvalue().strip()  # "NAME PASSWORD", or a sentence if there was an admin
        if output:
            name, _, password = admin_text.partition(" ")
            account = {"name": name, "password": password} if " " not in password else None
            Path(output).write_text(json.dumps({"admin": account}), encoding="utf-8")
        else:
            self.stdout.write(admin_text)

    def _do_step(self, step: str, state: str, run_step: Callable[[], None], *, is_lost: bool = False) -> None:
        """Do a step, unless it was done before in the same state. A file in the data folder has the last state.

        Args:
            state: a text that changes if the step must be done again, such as a hash or a version.
            is_lost: whether the result of the step was lost. The step is then done in any case.
        """
        note_path = settings.DATA_DIR / "prepared" / step
        if not is_lost and note_path.exists() and note_path.read_text(encoding="utf-8") == state:
            return
        run_step()
        note_path.write_text(state, encoding="utf-8")

    def _collect_static_files(self) -> None:
        self.stdout.write("Collecting static files ...")
        call_command("collectstatic", interactive=False, verbosity=0, clear=True)

    def _announce_compiling(self) -> None:
        """Print that compiling takes a minute. Only the first compiling of a version does."""
        self.stdout.write("Compiling metrics and statistics, which takes a minute once ...")

    def _load_demo(self, later: bool) -> None:
        self.stdout.write("Loading the demo ...")
        call_command("load_demo", later=later, stdout=io.StringIO())


def _files_hash() -> str:
    """Return a hash of Quorum's static files, the installed packages, and STATIC_ROOT."""
    digest = hashlib.sha256(str(settings.STATIC_ROOT).encode())
    for folder in settings.STATICFILES_DIRS:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                digest.update(str(path).encode() + path.read_bytes())
    packages = (package.metadata for package in distributions())  # `version` would read the metadata again
    for name, version in sorted((package["Name"], package["Version"]) for package in packages):
        digest.update(f"{name} {version}".encode())
    return digest.hexdigest()
