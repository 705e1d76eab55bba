"""Check and prepare the machine before Quorum starts: Python, writable folders, ports, packages.

This module uses only the standard library, since nothing is installed yet, and no syntax that an old Python cannot
parse.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST_PYTHON = (3, 11)
# What is printed about the downloads of each requirements file.
DOWNLOAD_NOTES = {
    "requirements.txt": "from PyPI; not METEOR's tables, which the metric meteor asks for",
    "requirements-dev.txt": "from PyPI, with METEOR's tables of 104 MB",
}


class SetupError(Exception):
    """Quorum cannot start. ``str()`` is the reason in one line."""


def print_line(text: str) -> None:
    """Print a line and flush, so that a pipe gets the text at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def restart_in_newer_python() -> None:
    """Restart the program in a newer Python of this machine if this Python is too old."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    for minor in range(20, OLDEST_PYTHON[1] - 1, -1):  # the newest first
        program = shutil.which(f"python3.{minor}")
        if program:
            os.execv(program, [program, "-m", "scripts.quorum", *sys.argv[1:]])
    oldest_version, version = ".".join(map(str, OLDEST_PYTHON)), ".".join(map(str, sys.version_info[:3]))
    raise SetupError(
        f"Quorum needs Python {oldest_version} or newer; {sys.executable} is {version}. "
        "Install a newer one, or name it: make run PYTHON=python3.12"
    )


def setting(name: str, default: str) -> str:
    """Return a setting from the environment or else from .env, or else the default."""
    if os.environ.get(name):
        return os.environ[name]
    for line in file_text(os.path.join(ROOT, ".env")).split("\n"):
        key, equals, value = line.strip().partition("=")
        if equals and key.replace("export ", "").strip() == name and value.strip():
            return value.strip().strip("'\"")
    return default


def check_writable(folder: str) -> None:
    """Raise SetupError unless a file can be written into the folder.

    Permissions do not say this for read-only disks, or for root.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise SetupError(
            f"The folder {folder} cannot be written to ({error.strerror}); Quorum keeps its data and packages there."
        ) from error


def check_port(name: str = "PORT", default: str = "8000", command: str = "make run PORT={}") -> int:
    """Return the port of a setting. Raise SetupError if it is no number, or if the port cannot be used.

    ``command`` is the one that the error suggests, with ``{}`` in place of another port.
    """
    text = setting(name, default)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise SetupError(f"{name} is {text!r}; expected a number from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(text)))
        except OSError as error:
            way_out = command.format(int(text) % 65535 + 1)
            raise SetupError(
                f"Port {text} cannot be used ({error.strerror}); stop what runs there, or choose another: {way_out}"
            ) from error
    return int(text)


def install_requirements(requirements: str) -> None:
    """Create .venv and install a requirements file, unless this was done before."""
    digest = hashlib.sha256(sys.version.encode())
    for name in sorted({"requirements.txt", requirements}):
        with open(os.path.join(ROOT, name), "rb") as stream:
            digest.update(stream.read())
    digest_file = os.path.join(VENV, "installed-" + requirements)
    if os.path.exists(PYTHON) and file_text(digest_file) == digest.hexdigest():
        return
    if not _runs_this_version(PYTHON):
        print_line("Making .venv ...")
        creation = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", VENV],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if creation.returncode:
            shutil.rmtree(VENV, ignore_errors=True)
            raise SetupError(
                f"{sys.executable} cannot make a virtual environment (on Debian and Ubuntu: "
                f"apt-get install python3-venv): {' '.join(creation.stdout.split())}"
            )
    download_note = DOWNLOAD_NOTES.get(requirements, "from PyPI")
    print_line(
        f"Installing what {requirements} names ({download_note}); this takes a minute or two, once ..."
    )
    # Python compiles modules when they are imported. pip would spend a third of its time on compiling all of them.
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    command = [PYTHON, "-m", "pip", "install", *options, "-r", requirements]
    if subprocess.run(command, cwd=ROOT).returncode:
        raise SetupError(f"Installing {requirements} failed; pip's words are above.")
    with open(digest_file, "w", encoding="ascii") as stream:
        stream.write(digest.hexdigest())


def _runs_this_version(python: str) -> bool:
    """Return whether .venv's Python runs, which a system upgrade may have broken, and has this Python's version."""
    if not os.path.exists(python):
        return False
    program = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    return subprocess.run([python, "-c", program], stderr=subprocess.DEVNULL).returncode == 0


def file_text(path: str) -> str:
    """Return the text of a file; "" if there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""
