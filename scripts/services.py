"""`make run` and `quorum run`: start, supervise and stop the web server and the background workers.

This module uses only the standard library, and no syntax that an old Python cannot parse (scripts/environment.py).
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Dict  # noqa: UP035 - a Python that is too old must still parse this file

from scripts.environment import (
    PYTHON,
    ROOT,
    VENV,
    SetupError,
    check_port,
    check_writable,
    file_text,
    install_requirements,
    print_line,
    setting,
)  # fmt: skip

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 8  # time within which services must end before they are killed
START_SECONDS = 60  # time within which the web server must answer
MAX_RESTARTS = 5  # restarts of services that ended unexpectedly
WEB, WORKER = "web server", "background worker"
READING, HEAVY = "worker that reads files", "worker of heavy jobs"
CELERY = ["celery", "--quiet", "--app", "config", "worker", "--loglevel=WARNING", "--concurrency=2"]
COMMANDS = {
    WEB: ["gunicorn", "--config", "python:config.gunicorn", "config.wsgi"],
    WORKER: [*CELERY, "--queues=interactive,crowd", "--hostname=quick@%h", "--beat"],
    READING: [*CELERY, "--queues=reading", "--hostname=reading@%h"],
    HEAVY: [*CELERY, "--queues=heavy,parts", "--hostname=heavy@%h"],
}

QUORUM = ".venv/bin/python -m quorum"
BANNER = """
Quorum runs at  {address}
{account}
{first_steps}
Ctrl-C stops it. What you do is kept in {data}.
"""
DEMO_MESSAGE = """\
The demo asks: which metric agrees with people?
  1. Give answers, as participants do:     {address}/
  2. See the findings (answers simulated): {address}/admin/
  3. The same figures by command:          {command} evaluate demo-triplet-simulated
"""
SERVER_MESSAGE = """\
Begin at        {address}/admin/
"""

Services = Dict[str, "subprocess.Popen[bytes]"]


@dataclass(frozen=True)
class Installation:
    """The path of the Python with the installed packages, the prefix of commands, and the environment of services."""

    python: str
    command: str
    environment: Dict[str, str]


class StopRequested(Exception):
    """The process got a signal to stop, such as that of Ctrl-C."""


@contextlib.contextmanager
def until_stopped() -> Iterator[Services]:
    """Yield a dict for started services. Ctrl-C ends the block. At its end, stop the services in the dict."""
    for number in STOP_SIGNALS:
        signal.signal(number, _request_stop)
    services: Services = {}
    try:
        yield services
    except StopRequested:
        print_line("\nStopping ...")
    finally:
        _ignore_signals()
        stop(services)


def run() -> None:
    """Carry out `make run`: check and prepare the machine, and serve the demo until Ctrl-C."""
    with until_stopped() as services:
        data = os.path.join(ROOT, os.path.expanduser(setting("DATA_DIR", "var")))
        check_writable(ROOT)
        check_writable(data)
        port = check_port()
        install_requirements("requirements.txt")
        serve(services, Installation(PYTHON, QUORUM, environment_of(data, port)))


def environment_of(data: str, port: int) -> dict[str, str]:
    environment = dict(os.environ, DATA_DIR=data, PORT=str(port), PYTHONUNBUFFERED="1")
    # The threads of numpy's libraries would compete with the other processes.
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def serve(services: Services, installation: Installation, *, demo: bool = True) -> None:
    """Start the web server and the workers, print how to use them, and restart those that end unexpectedly."""
    account = prepare(installation, demo=demo)
    address = "http://127.0.0.1:" + installation.environment["PORT"]
    lines = account_lines(account, installation.command)
    try:
        start_service(services, WEB, installation)
        wait_for_answer(address, services)
    except (StopRequested, SetupError):
        print_line("\n" + lines)  # print them now, since nobody can see the new account's password later
        raise
    for name in (WORKER, READING, HEAVY):  # start workers last, so that pages are available earlier
        start_service(services, name, installation)
    data = installation.environment["DATA_DIR"]
    has_demo = demo and os.path.exists(os.path.join(data, "prepared", "demo"))
    first_steps = (DEMO_MESSAGE if has_demo else SERVER_MESSAGE).format(
        address=address, command=installation.command
    )
    print_line(BANNER.format(address=address, account=lines, first_steps=first_steps, data=data))
    keep_running(services, installation)


def start_service(services: Services, name: str, installation: Installation) -> None:
    """Start a service in its own session, so that Ctrl-C reaches only this script, which stops services in order."""
    with _delay_signals():  # a signal before the process is in the dict would not stop the process
        services[name] = subprocess.Popen(
            [installation.python, "-m", *COMMANDS[name]],
            cwd=ROOT,
            env=installation.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


@contextlib.contextmanager
def _delay_signals() -> Iterator[None]:
    """Handle signals to stop only after the block."""
    received_numbers = []
    handlers = {
        number: signal.signal(number, lambda number, frame: received_numbers.append(number))
        for number in STOP_SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received_numbers:
        _request_stop(received_numbers[0], None)


def keep_running(services: Services, installation: Installation) -> None:
    """Restart services that end unexpectedly. Raise SetupError after too many restarts."""
    restarts = 0
    while True:
        for name, process in services.items():
            if process.poll() is None:
                continue
            restarts += 1
            if restarts > MAX_RESTARTS:
                _check_alive(services)  # raises the error, since this service has ended
            print_line(f"The {name} ended unexpectedly (exit code {process.returncode}); starting it again.")
            _end_group(process)
            start_service(services, name, installation)
        time.sleep(0.5)


def prepare(installation: Installation, *, demo: bool = True) -> dict[str, str] | None:
    """Set up the database, static files and the demo. Return the first account if it was created, or None."""
    data = installation.environment["DATA_DIR"]
    digest_file, digest = os.path.join(data, "prepared", "by-make-run"), _digest_of_inputs(demo)
    static_files = os.path.join(ROOT, setting("STATIC_ROOT", "staticfiles"), "staticfiles.json")
    has_database = setting("DATABASE_URL", "") or os.path.exists(os.path.join(data, "quorum.sqlite3"))
    if file_text(digest_file) == digest and has_database and os.path.exists(static_files):
        return None  # everything was set up before
    handle, path = tempfile.mkstemp(prefix="quorum-", suffix=".json")
    os.close(handle)
    try:
        # --later leaves compiling and the demo's results to the background worker.
        command = [installation.python, "manage.py", "prepare", "--later", "--output", path]
        command += [] if demo else ["--no-demo"]
        result = subprocess.run(command, cwd=ROOT, env=installation.environment)
        if result.returncode:
            raise SetupError("Setting up failed; the reason is above.")
        account: dict[str, str] | None = json.loads(file_text(path))["admin"]
    finally:
        os.remove(path)
    with open(digest_file, "w", encoding="ascii") as stream:
        stream.write(digest)
    return account


def _digest_of_inputs(demo: bool) -> str:
    """Return a hash of the packages, migrations, static files and settings on which `prepare` depends."""
    digest = hashlib.sha256(b"" if demo else b"no demo")
    for name in ("DATABASE_URL", "STATIC_ROOT", "CONTRIB_APPS"):
        digest.update(f"{name}={setting(name, '')}\n".encode())
    digest.update(file_text(os.path.join(VENV, "installed-requirements.txt")).encode())
    # An installed Quorum lies in site-packages/quorum/platform. Then the last pattern matches the records of all
    # packages there, which have hashes of their files.
    for pattern in ("*/migrations/*.py", "static/**/*", "../../*.dist-info/RECORD"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if os.path.isfile(path):
                digest.update(path.encode())
                with open(path, "rb") as stream:
                    digest.update(stream.read())
    return digest.hexdigest()


def account_lines(account: dict[str, str] | None, command: str = QUORUM) -> str:
    """Return the lines about accounts: the name and password of a new account, or how to get a new password."""
    if account is None:
        admin = (
            "Admin account   as printed at the first start; for a new password:\n"
            f"                {command} server admin --reset\n"
        )
    else:
        admin = "Admin account   {name}   password {password}   (shown this once)\n".format(**account)
    return admin + "Participants    need no account: they join by name\n"


def wait_for_answer(address: str, services: Services) -> None:
    """Wait until the web server answers. Raise SetupError if it does not, or if a service ends."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        _check_alive(services)
        try:
            with urllib.request.urlopen(address + "/admin/login/", timeout=START_SECONDS):
                return
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            time.sleep(0.1)
    raise SetupError(f"The web server gave no answer within {START_SECONDS} seconds.")


def _check_alive(services: Services) -> None:
    """Raise SetupError if a service has ended."""
    for name, process in services.items():
        if process.poll() is not None:
            raise SetupError(f"The {name} ended unexpectedly (exit code {process.returncode}).")


def _request_stop(number: int, frame: object) -> None:
    _ignore_signals()  # make sends the same signal again, which would interrupt the clean-up
    raise StopRequested


def _ignore_signals() -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def stop(services: Services) -> None:
    """Terminate all services and wait. Then kill the services that still run, with their children."""
    for process in services.values():
        if process.poll() is None:
            process.terminate()
    end = time.monotonic() + STOP_SECONDS
    for process in services.values():
        try:
            process.wait(max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            print_line("Still at work; what it was doing is taken up at the next start.")
        _end_group(process)
        process.wait()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a service and the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
