"""The background worker's threads (`python -m config.worker`)."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

from django.db import close_old_connections

from judgments import jobs
from judgments.bell import Listener

log = logging.getLogger(__name__)

JOB_SECONDS = 5.0  # for a job to stop; `make run` kills the worker after 8
ROUND_SECONDS = 30.0  # for a request to a crowd to be answered


class Worker:
    """Threads that run queued jobs, and a thread for each function that is called at intervals."""

    def __init__(self, concurrency: int) -> None:
        self._runners = [
            threading.Thread(target=self._run_jobs, name=f"jobs-{number}", daemon=True)
            for number in range(concurrency)
        ]
        self._rounds = [
            threading.Thread(target=self._repeat, args=(function, every), name=function.__name__, daemon=True)
            for function, every in jobs.rounds()
        ]

    def run(self) -> None:
        """Work until SIGTERM or SIGINT. Jobs that do not end by then go back to the queue.

        A second signal ends the process at once.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for thread in (*self._runners, *self._rounds):
            thread.start()
        jobs.stopping.wait()
        _join(self._runners, JOB_SECONDS)
        with _FailuresLogged():
            jobs.give_back_all()
        _join(self._rounds, ROUND_SECONDS)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        jobs.stopping.set()

    def _run_jobs(self) -> None:
        listener = Listener(jobs.stopping)
        while not jobs.stopping.is_set():
            found = False
            with _FailuresLogged():
                found = jobs.run_next()
            if not found:
                listener.wait()

    def _repeat(self, function: Callable[[], object], every: float) -> None:
        while not jobs.stopping.is_set():
            began = time.monotonic()
            with _FailuresLogged():
                function()
            jobs.stopping.wait(max(0.0, began + every - time.monotonic()))


def _join(threads: list[threading.Thread], seconds: float) -> None:
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))


class _FailuresLogged:
    """Log what fails, so that the thread goes on; use no connection that broke before."""

    def __enter__(self) -> None:
        close_old_connections()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        close_old_connections()
        if isinstance(error, jobs.DATABASE_FAILURES):
            log.warning("The database cannot be used: %s", " ".join(str(error).split()))
        elif isinstance(error, Exception):
            log.error("Work in the background failed.", exc_info=error)
        return isinstance(error, Exception)
