"""Sets Quorum up and runs it: the work behind `make run`, `make test`, `make coverage`, `make lint` and `make docs`.

Only the standard library, because this runs before anything is installed; and no newer syntax than a Python
needs to be told that it is too old.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from typing import Dict  # noqa: UP035 - a Python that is too old still has to read this file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST = (3, 11)
STOP_SECONDS = 8
START_SECONDS = 60
MOST_RESTARTS = 5
WEB, WORKER = "web server", "background worker"
COMMANDS = {
    WEB: ["gunicorn", "--config", "python:config.gunicorn", "config.wsgi"],
    WORKER: ["config.worker", "--loglevel=WARNING"],
}
NUMERIC_PACKAGES = ("evaluation/metrics", "evaluation/statistics", "evaluation.signatures")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

BANNER = """
Quorum runs at  {address}
{account}
Three things to try
  1. Judge a few captions as a worker:     {address}/
  2. Look at a finished study, simulated:  {address}/admin/ (sign in, then Studies)
  3. The same figures by command:          .venv/bin/python manage.py aggregate demo-triplet-simulated

Ctrl-C stops it. What you do is kept in {data}.
"""


class CannotGoOn(Exception):
    """Holds the one line that says why."""


def say(text: str) -> None:
    """Prints at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# --- what must be there ---------------------------------------------------------------------------


def use_a_new_python() -> None:
    """Goes on in a newer Python of this machine when this one is too old."""
    if sys.version_info >= OLDEST:
        return
    for minor in range(20, OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            os.execv(found, [found, *sys.argv])
    oldest, found = ".".join(map(str, OLDEST)), ".".join(map(str, sys.version_info[:3]))
    raise CannotGoOn(
        f"Quorum needs Python {oldest} or newer; {sys.executable} is {found}. "
        "Install a newer one, or name it: make run PYTHON=python3.12"
    )


def setting(name: str, default: str) -> str:
    """A setting from the environment, else from .env, else the default."""
    if os.environ.get(name):
        return os.environ[name]
    try:
        with open(os.path.join(ROOT, ".env"), encoding="utf-8") as stream:
            for line in stream:
                key, equals, value = line.strip().partition("=")
                if equals and key.replace("export ", "").strip() == name and value.strip():
                    return value.strip().strip("'\"")
    except FileNotFoundError:
        return default
    return default


def check_writable(folder: str) -> None:
    """Tries it out: permissions alone do not tell about read-only disks, or root."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise CannotGoOn(
            f"The folder {folder} cannot be written to ({error.strerror}); Quorum keeps its data and packages there."
        ) from error


def check_port(name: str = "PORT", usual: str = "8000", order: str = "make run") -> int:
    """The port from a setting, free."""
    text = setting(name, usual)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise CannotGoOn(f"{name} is {text!r}; expected a number from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(text)))
        except OSError as error:
            another = int(text) % 65535 + 1
            raise CannotGoOn(
                f"Port {text} cannot be used ({error.strerror}); stop what runs there, or choose another: "
                f"{order} {name}={another}"
            ) from error
    return int(text)


# --- the environment --------------------------------------------------------------------------------


def install(requirements: str) -> None:
    """Makes .venv and installs a requirements file, unless its very words are installed already."""
    wanted = hashlib.sha256(sys.version.encode())
    for name in sorted({"requirements.txt", requirements}):
        with open(os.path.join(ROOT, name), "rb") as stream:
            wanted.update(stream.read())
    note = os.path.join(VENV, "installed-" + requirements)
    if os.path.exists(PYTHON) and _read(note) == wanted.hexdigest():
        return
    if not _is_new_enough(PYTHON):
        say("Making .venv ...")
        made = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", VENV],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if made.returncode:
            shutil.rmtree(VENV, ignore_errors=True)
            raise CannotGoOn(
                f"{sys.executable} cannot make a virtual environment (on Debian and Ubuntu: "
                f"apt-get install python3-venv): {' '.join(made.stdout.split())}"
            )
    say(f"Installing what {requirements} names; the first time this takes a minute or two ...")
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
    if subprocess.run(command, cwd=ROOT).returncode:
        raise CannotGoOn(f"Installing {requirements} failed; pip's words are above.")
    with open(note, "w", encoding="ascii") as stream:
        stream.write(wanted.hexdigest())


def _is_new_enough(python: str) -> bool:
    """Whether .venv's Python still runs; a system upgrade may have taken it away."""
    if not os.path.exists(python):
        return False
    program = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    return subprocess.run([python, "-c", program], stderr=subprocess.DEVNULL).returncode == 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


# --- make run ---------------------------------------------------------------------------------------


Services = Dict[str, "subprocess.Popen[bytes]"]


class Stopped(Exception):
    """Somebody wants it to end."""


def run() -> None:
    """Sets up, starts server and worker, tells where, and waits for Ctrl-C."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in ends:
        signal.signal(number, _stop)
    services: Services = {}
    try:
        data = os.path.join(ROOT, os.path.expanduser(setting("DATA_DIR", "var")))
        check_writable(ROOT)
        check_writable(data)
        port = check_port()
        install("requirements.txt")
        environment = dict(os.environ, DATA_DIR=data, PORT=str(port), PYTHONUNBUFFERED="1")
        environment.setdefault("OMP_NUM_THREADS", "1")
        account = prepare(environment)
        address = f"http://127.0.0.1:{port}"
        services[WEB] = start(WEB, environment)
        wait_for_answer(address, services)
        services[WORKER] = start(WORKER, environment)  # second, so that the pages are there sooner
        say(BANNER.format(address=address, account=account_lines(account), data=data))
        keep_running(services, environment)
    except Stopped:
        say("\nStopping ...")
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_IGN)
        stop(services)


def start(name: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Starts a service in a session of its own: Ctrl-C reaches this script alone, which ends them in order."""
    return subprocess.Popen(
        [PYTHON, "-m", *COMMANDS[name]],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def keep_running(services: Services, environment: dict[str, str]) -> None:
    """Looks after the services for ever; one that dies is started again, but not for ever."""
    restarts = 0
    while True:
        for name, process in services.items():
            if process.poll() is None:
                continue
            restarts += 1
            if restarts > MOST_RESTARTS:
                _check_alive(services)
            say(f"The {name} ended by itself (exit code {process.returncode}); starting it again.")
            _end_group(process)
            services[name] = start(name, environment)
        time.sleep(0.5)


def prepare(environment: dict[str, str]) -> dict[str, str] | None:
    """Database, static files, demo and first account; the account when it is new, else None."""
    data = environment["DATA_DIR"]
    note, wanted = os.path.join(data, "prepared", "by-make-run"), _what_prepare_reads()
    static = os.path.join(ROOT, setting("STATIC_ROOT", "staticfiles"), "staticfiles.json")
    database = setting("DATABASE_URL", "") or os.path.exists(os.path.join(data, "quorum.sqlite3"))
    if _read(note) == wanted and database and os.path.exists(static):
        return None
    handle, path = tempfile.mkstemp(prefix="quorum-", suffix=".json")
    os.close(handle)
    try:
        done = subprocess.run([PYTHON, "manage.py", "prepare", "--output", path], cwd=ROOT, env=environment)
        if done.returncode:
            raise CannotGoOn("Setting up failed; the reason is above.")
        account: dict[str, str] | None = json.loads(_read(path))["admin"]
    finally:
        os.remove(path)
    with open(note, "w", encoding="ascii") as stream:
        stream.write(wanted)
    return account


def _what_prepare_reads() -> str:
    """Changes with the packages, migrations, static files and settings: then a start has something to prepare."""
    seen = hashlib.sha256()
    for name in ("DATABASE_URL", "STATIC_ROOT"):
        seen.update(f"{name}={setting(name, '')}\n".encode())
    seen.update(_read(os.path.join(VENV, "installed-requirements.txt")).encode())
    for pattern in ("*/migrations/*.py", "static/**/*"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if os.path.isfile(path):
                seen.update(path.encode())
                with open(path, "rb") as stream:
                    seen.update(stream.read())
    return seen.hexdigest()


def account_lines(account: dict[str, str] | None) -> str:
    if account is None:
        return (
            "Admin account   as printed at the first start; for a new password:\n"
            "                .venv/bin/python manage.py ensure_admin --reset\n"
            "Workers         need no account: they join by name\n"
        )
    return (
        "Admin account   {name}   password {password}   (shown this once)\n"
        "Workers         need no account: they join by name\n".format(**account)
    )


def wait_for_answer(address: str, services: Services) -> None:
    """Until the server answers, whatever it says."""
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
    raise CannotGoOn(f"The web server gave no answer within {START_SECONDS} seconds.")


def _check_alive(services: Services) -> None:
    for name, process in services.items():
        if process.poll() is not None:
            raise CannotGoOn(f"The {name} ended by itself (exit code {process.returncode}).")


def _stop(number: int, frame: object) -> None:
    raise Stopped


def stop(services: Services) -> None:
    """Asks all to end, waits for a while, and ends by force what is left, children too."""
    for process in services.values():
        if process.poll() is None:
            process.terminate()
    end = time.monotonic() + STOP_SECONDS
    for process in services.values():
        try:
            process.wait(max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            say("Still at work; what it was doing is taken up at the next start.")
        _end_group(process)
        process.wait()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends by force what is left of a service and its children; mostly nothing is."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


# --- make test, coverage, lint, docs -----------------------------------------------------------------------------


def test(arguments: list[str]) -> int:
    """Installs what tests need, finds a browser, and runs pytest; its exit code."""
    check_writable(ROOT)
    install("requirements-dev.txt")
    find_browser()
    return subprocess.run([PYTHON, "-m", "pytest", *arguments], cwd=ROOT).returncode


def coverage() -> int:
    """Runs the tests of the numeric packages and asks that they see every branch; pytest's exit code.

    Kernels run as the plain Python they are, so that their lines are seen too; tests on the shared data would
    take hours that way and are left to `make test`.
    """
    check_writable(ROOT)
    install("requirements-dev.txt")
    environment = {name: value for name, value in os.environ.items() if name != "QUORUM_SHARED"}
    environment |= {"NUMBA_DISABLE_JIT": "1", "QUORUM_REQUIRE_SERVICES": "0"}
    command = [PYTHON, "-m", "pytest", "-q", "--cov-branch", "--cov-report=term-missing:skip-covered"]
    command += [f"--cov={package}" for package in NUMERIC_PACKAGES]
    command += ["--cov-fail-under=100", "tests/metrics", "tests/statistics", "tests/test_signatures.py"]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def find_browser() -> None:
    """A Chromium on the PATH, else Playwright's own, else the system's package; else tests are named as not run."""
    if any(shutil.which(name) for name in CHROMIUM_NAMES) or _playwright_has_one():
        return
    say("No Chromium on the PATH; asking Playwright for its own ...")
    if _quietly([PYTHON, "-m", "playwright", "install", "chromium"]) and _playwright_has_one():
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        say("Playwright could not bring one; asking the system's packages ...")
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        if _quietly(["apt-get", "update"], environment):
            _quietly(["apt-get", "install", "-y", "--no-install-recommends", "chromium"], environment)
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        say("No browser to be had: install Chromium; until then the browser tests are named at the end.")


def _playwright_has_one() -> bool:
    program = (
        "import os\nfrom playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: raise SystemExit(not os.path.exists(p.chromium.executable_path))"
    )
    return _quietly([PYTHON, "-c", program])


def _quietly(command: list[str], environment: dict[str, str] | None = None) -> bool:
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=600,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def lint() -> int:
    """Style, types, migrations and the settings of a public server; 0 when all are clean."""
    install("requirements-dev.txt")
    with tempfile.TemporaryDirectory() as data:
        here = dict(os.environ, DATA_DIR=data, DATABASE_URL="", CELERY_BROKER_URL="")
        public = dict(here, HTTPS="true", DEBUG="false", ALLOWED_HOSTS="quorum.example.org")
        failed = 0
        for command, environment in (
            (["ruff", "check"], here),
            (["ruff", "format", "--check"], here),
            (["mypy", "."], here),
            (["manage.py", "makemigrations", "--check", "--dry-run"], here),
            (["manage.py", "check", "--deploy", "--fail-level", "WARNING"], public),
        ):
            say("$ " + " ".join(command))
            start = [PYTHON] if command[0] == "manage.py" else [PYTHON, "-m"]
            failed |= subprocess.run(start + command, cwd=ROOT, env=environment).returncode
    return failed


def docs() -> int:
    """Builds the documentation as a site; 0 when nothing in it is amiss."""
    install("requirements-dev.txt")
    # the theme's makers announce another program of theirs at every start
    environment = dict(os.environ, NO_MKDOCS_2_WARNING="1")
    return subprocess.run([PYTHON, "-m", "mkdocs", "build", "--strict"], cwd=ROOT, env=environment).returncode


def main() -> int:
    """Does what the first argument names."""
    use_a_new_python()
    order, arguments = sys.argv[1], sys.argv[2:]
    if order == "test":
        return test(arguments)
    if order == "coverage":
        return coverage()
    if order == "lint":
        return lint()
    if order == "docs":
        return docs()
    run()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotGoOn as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
