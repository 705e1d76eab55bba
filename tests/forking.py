"""Runs code inside an installation without starting Django anew: one process starts it, waits, and forks."""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
import traceback
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 600  # seconds that a piece of code may take


class Forking:
    """The process that forks, as tests see it."""

    def __init__(self, env: dict[str, str]) -> None:
        self._calls = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, code: str, env: dict[str, str]) -> tuple[bool, str, str]:
        """Whether the code came to its end, what it printed, and what it complained of."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._calls:
            self._process.stdin.write(json.dumps([code, env]) + "\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        assert reply, "the process that runs code inside the installation is gone"
        fine, out, err = json.loads(reply)
        return fine, out, err

    def close(self) -> None:
        """Ends it and what it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


@cache
def forking(settings_module: str) -> Forking:
    """The process for all installations of this test run; which of them is meant says each call."""
    made = Forking(dict(os.environ) | {"DJANGO_SETTINGS_MODULE": settings_module})
    atexit.register(made.close)
    return made


def _in_a_child(code: str, env: dict[str, str]) -> tuple[bool, str, str]:
    """Each piece of code has a process of its own, so that none finds what another left behind."""
    from django.db import connections

    with ExitStack() as stack:
        script, out, err = (stack.enter_context(NamedTemporaryFile("w+", suffix=".py")) for _ in range(3))
        script.write(code)
        script.flush()
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                signal.alarm(LONGEST)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                _settle_in(env)
                runpy.run_path(script.name, run_name="__main__")
            finally:
                failure = sys.exception()
                if failure is not None:
                    traceback.print_exception(failure)
                connections.close_all()  # SQLite then moves its log into the file, which tests copy
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(failure is not None)
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it started
        return status == 0, Path(out.name).read_text(), Path(err.name).read_text()


def _settle_in(env: dict[str, str]) -> None:
    """Read the settings again, of another installation; nothing has used them yet."""
    import django
    from django.conf import settings
    from django.db import connections
    from django.utils.functional import empty

    os.environ.clear()
    os.environ.update(env)
    for name in ("config.settings", settings.SETTINGS_MODULE):
        sys.modules.pop(name, None)
    settings._wrapped = empty
    vars(connections)["_settings"] = None
    vars(connections).pop("settings", None)
    with suppress(AttributeError):  # nothing has opened it
        del connections["default"]
    django.setup()  # its part in logging


def serve() -> None:
    """Answer line by line until there are no more."""
    import django

    django.setup()
    for name in ("config.urls", "evaluation.metrics", "evaluation.statistics"):
        import_module(name)
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        replies.write(json.dumps(_in_a_child(*json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    serve()
