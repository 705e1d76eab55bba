"""Commands of the Makefile for developers: tests, coverage, `make lint`, `make docs`, and audits of packages.

A command returns the exit code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scripts.environment import PYTHON, ROOT, check_writable, file_text, install_requirements, print_line

NUMERIC_PACKAGES = ("quorum/metrics", "quorum/statistics", "quorum.numeric.signatures")
AUDIT_REQUIREMENTS, PINNED_REQUIREMENTS = "requirements-audit.txt", "requirements-pinned.txt"
MIN_MEMORY_BYTES = 8 * 2**30  # free space in memory that a run of the tests needs
PINNED_HEADER = """\
# Every package of requirements.txt and what it needs, with hashes, for Python 3.11 (docs/install.md).
# Made by `make pinned`; do not edit.
"""
# The first program renders the same pages in a third of the time, since it is not a full desktop browser.
CHROMIUM_NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
)  # fmt: skip
# Tests of a file share expensive fixtures, so they stay together. The order is that of tests/plugin.py: longest first.
PARALLEL_OPTIONS = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]


def environment() -> int:
    """Create .venv with the packages for development, unless it is up to date."""
    check_writable(ROOT)
    install_requirements("requirements-dev.txt")
    return 0


def test(arguments: list[str]) -> int:
    """Run the tests that need no services, with a browser if possible. Without arguments, skip the long tests."""
    return _run_tests(["--services=none", *([] if arguments else ["-m", "not long"])], arguments)


def test_long(arguments: list[str]) -> int:
    """Run the long tests that need no services, such as those that kill processes or go through whole studies."""
    return _run_tests(["--services=none", "-m", "long"], arguments)


def test_services(arguments: list[str]) -> int:
    """Run the tests that need PostgreSQL, Redis, RabbitMQ, nginx, a shell or the shared data."""
    shared_folder = os.path.join(os.path.dirname(ROOT), "shared")
    if os.path.isdir(shared_folder):
        os.environ.setdefault("QUORUM_SHARED", shared_folder)
    return _run_tests(["--services=only"], arguments, before=[os.path.join(ROOT, "scripts", "with-services")])


def _run_tests(selection: list[str], arguments: list[str], *, before: Sequence[str] = ()) -> int:
    """Run pytest with options that select tests. Without the developer's own arguments, run it in parallel.

    ``before`` is a command, such as a script that starts services, that gets the command of pytest as its arguments.
    """
    environment()
    browser()
    # Without stored bytecode, each of a run's many processes would compile all sources.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not arguments:
        print_line("Compiling the kernels and the tests, or each process would do so ...")
        compilation = subprocess.Popen([PYTHON, "-m", "config.compiling"], cwd=ROOT, env=environ)
        if not any(Path(ROOT, "tests", "__pycache__").glob("*-pytest-*.pyc")):
            # Store bytecode once before the run; errors of collecting are shown by the run itself.
            collect_command = [PYTHON, "-m", "pytest", "--collect-only", "--quiet"]
            subprocess.run(
                collect_command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        if compilation.wait():
            return compilation.returncode
    with tempfile.TemporaryDirectory(prefix="quorum-tests-", dir=_folder_in_memory()) as folder:
        Path(folder).chmod(0o711)  # PostgreSQL's account must be able to enter it
        # One more process than cores, since some tests wait. Not more, since each process collects all tests. An
        # inherited number takes precedence.
        processes = {"PYTEST_XDIST_AUTO_NUM_WORKERS": str((os.cpu_count() or 1) + 1)}
        variables = processes | environ | {"TMPDIR": folder}
        command = [*before, PYTHON, "-m", "pytest", *selection, *(arguments or PARALLEL_OPTIONS)]
        return subprocess.run(command, cwd=ROOT, env=variables).returncode


def _folder_in_memory() -> str | None:
    """Return a folder in memory with enough space, or None. On a disk, every commit would wait."""
    folder = os.path.join("/dev", "shm")
    is_usable = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > MIN_MEMORY_BYTES
    return folder if is_usable and "TMPDIR" not in os.environ else None


def coverage() -> int:
    """Run the tests of the numeric packages, and fail unless they cover every branch.

    Kernels run as plain Python, so that their lines count, too. Tests on the shared data, and tests marked as large,
    are left out, since they would take hours in this way.
    """
    environment()
    variables = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [PYTHON, "-m", "pytest", "-q", "--services=none", "-m", "not large"]
    command += ["--cov-branch", "--cov-report=term-missing:skip-covered"]
    command += [f"--cov={package}" for package in NUMERIC_PACKAGES]
    command += ["--cov-fail-under=100", "tests/metrics", "tests/statistics", "tests/test_signatures.py"]
    command += ["contrib/comparing/tests/test_sources.py", "contrib/comparing/tests/test_flickr8k.py"]
    return subprocess.run(command, cwd=ROOT, env=variables).returncode


def browser() -> int:
    """Find or install Chromium. Without it, browser tests are reported as not run."""
    environment()
    if chromium_on_path() is not None or _playwright_has_chromium():
        return 0
    print_line("No Chromium on the PATH; asking Playwright for its own ...")
    if _run_quietly([PYTHON, "-m", "playwright", "install", "chromium"]) and _playwright_has_chromium():
        return 0
    if shutil.which("apt-get") and os.geteuid() == 0:
        _install_chromium_package()
    if chromium_on_path() is None:
        print_line(
            "No browser to be had: install Chromium; until then the browser tests are named at the end."
        )
    return 0


def _install_chromium_package() -> None:
    """Install Chromium from the packages of Debian or Ubuntu, if possible."""
    print_line("Playwright could not bring one; asking the system's packages ...")
    variables = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if not _run_quietly(["apt-get", "update"], variables):
        return
    for package in CHROMIUM_NAMES[:2]:  # the first package does not exist for all systems
        if _run_quietly(["apt-get", "install", "-y", "--no-install-recommends", package], variables):
            return


def chromium_on_path() -> str | None:
    """Return the path of Chromium in the variable CHROMIUM ("" for none), else the first on the PATH, or None."""
    if "CHROMIUM" in os.environ:
        return os.environ["CHROMIUM"]
    return next((path for path in map(shutil.which, CHROMIUM_NAMES) if path), None)


def _playwright_has_chromium() -> bool:
    program = (
        "import os\nfrom playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: raise SystemExit(not os.path.exists(p.chromium.executable_path))"
    )
    return _run_quietly([PYTHON, "-c", program])


def _run_quietly(command: list[str], environment: dict[str, str] | None = None) -> bool:
    """Run a command without output for at most ten minutes. Return whether it succeeded."""
    try:
        process = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=600,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return process.returncode == 0


def lint() -> int:
    """Check style, types and migrations, and the settings of a public server."""
    install_requirements("requirements-dev.txt")
    with tempfile.TemporaryDirectory() as data:
        local_env = dict(os.environ, DATA_DIR=data, DATABASE_URL="", CELERY_BROKER_URL="")
        public_env = dict(local_env, HTTPS="true", DEBUG="false", ALLOWED_HOSTS="quorum.example.org")
        exit_code = 0
        for command, variables in (
            (["ruff", "check"], local_env),
            (["ruff", "format", "--check"], local_env),
            (["mypy", "."], local_env),
            (["manage.py", "makemigrations", "--check", "--dry-run"], local_env),
            (["manage.py", "check", "--deploy", "--fail-level", "WARNING"], public_env),
        ):
            print_line("$ " + " ".join(command))
            start = [PYTHON] if command[0] == "manage.py" else [PYTHON, "-m"]
            exit_code |= subprocess.run(start + command, cwd=ROOT, env=variables).returncode
    return exit_code


def pinned() -> int:
    """Write requirements-pinned.txt: the newest versions that requirements.txt allows, with hashes."""
    install_requirements(AUDIT_REQUIREMENTS)
    path = os.path.join(ROOT, PINNED_REQUIREMENTS)
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, PINNED_REQUIREMENTS)
        command = [PYTHON, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--strip-extras"]
        command += ["--allow-unsafe", "--no-annotate", "--no-header", "--no-emit-index-url"]
        command += ["--no-emit-find-links", "--no-emit-trusted-host", f"--output-file={output}"]
        command += ["requirements.txt"]
        exit_code = subprocess.run(command, cwd=ROOT).returncode
        if exit_code == 0:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(PINNED_HEADER + file_text(output))
    return exit_code


def audit() -> int:
    """Look up the pinned packages in the Python Packaging Advisory Database."""
    install_requirements(AUDIT_REQUIREMENTS)
    command = [PYTHON, "-m", "pip_audit", "--require-hashes", "--disable-pip", "-r", PINNED_REQUIREMENTS]
    return subprocess.run(command, cwd=ROOT).returncode


def sbom() -> int:
    """Write var/sbom.json, the software bill of materials: a list of all packages in the format of CycloneDX."""
    install_requirements(AUDIT_REQUIREMENTS)
    os.makedirs(os.path.join(ROOT, "var"), mode=0o700, exist_ok=True)
    command = [PYTHON, "-m", "cyclonedx_py", "requirements", "--pyproject", "pyproject.toml"]
    command += [
        "--output-reproducible",
        "--output-file",
        os.path.join("var", "sbom.json"),
        PINNED_REQUIREMENTS,
    ]
    return subprocess.run(command, cwd=ROOT).returncode


def docs() -> int:
    """Build the pages of the documentation."""
    install_requirements("requirements-dev.txt")
    # otherwise the theme prints an announcement of another program at every start
    environment = dict(os.environ, NO_MKDOCS_2_WARNING="1")
    return subprocess.run([PYTHON, "-m", "mkdocs", "build", "--strict"], cwd=ROOT, env=environment).returncode
