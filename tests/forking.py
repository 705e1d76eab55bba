"""Processes inside an installation that need not start Django: they are forked from one in which it runs.

Each piece of code has a process of its own, so that none finds what another left behind.
"""

import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LONGEST = 600  # seconds that a piece of code may take
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.warm"])


def run(code: str, env: dict[str, str]) -> tuple[bool, str, str]:
    """Whether the code came to its end, what it printed, and what it complained of."""
    with TemporaryDirectory() as folder:
        script, out, err = (Path(folder) / name for name in ("code.py", "out", "err"))
        script.write_text(code)
        process = _fork(env, out, err, _run_script, str(script))
        process.join(LONGEST)
        kill(process)
        return process.exitcode == 0, out.read_text(), err.read_text()


def start(module: str, arguments: tuple[str, ...], env: dict[str, str], log: Path) -> BaseProcess:
    """Start a module as `python -m` does; what it prints is added to `log`."""
    return _fork(env, log, log, _run_module, module, *arguments)


def kill(process: BaseProcess) -> None:
    """End a process with all that it started, without a goodbye."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not lead a group yet
    process.join()


def _fork(
    env: dict[str, str], out: Path, err: Path, what: Callable[..., None], *arguments: str
) -> BaseProcess:
    process = _CONTEXT.Process(target=_in_the_child, args=(env, out, err, what, *arguments))
    process.start()
    return process


def _in_the_child(
    env: dict[str, str], out: Path, err: Path, what: Callable[..., None], *arguments: str
) -> None:
    from django.db import connections

    os.setsid()
    for descriptor, path in ((1, out), (2, err)):
        with path.open("ab") as stream:
            os.dup2(stream.fileno(), descriptor)
    _settle_in(env)
    try:
        what(*arguments)
    finally:
        connections.close_all()  # SQLite then moves its log into the file, which tests copy


def _run_script(path: str) -> None:
    runpy.run_path(path, run_name="__main__")


def _run_module(*words: str) -> None:
    sys.argv = list(words)
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


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


def all_at_once(*acts: Callable[[], Any]) -> list[str]:
    """Begin all acts at the same moment, each in a thread; return the tracebacks of those that failed."""
    from django.db import connection

    wrong: list[str] = []
    start = threading.Barrier(len(acts))

    def guarded(act: Callable[[], Any]) -> None:
        try:
            start.wait()
            act()
        except BaseException:  # noqa: BLE001  # the test shows it
            wrong.append(traceback.format_exc()[-1200:])
        finally:
            connection.close()

    threads = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
