"""The background worker's threads (`python -m config.worker`)."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

import redis
from django.conf import settings
from django.db import close_old_connections
from redis.client import PubSub

from judgments import jobs

log = logging.getLogger(__name__)

POLL_SECONDS = 0.25
POLL_SECONDS_WITH_REDIS = 5
JOB_SECONDS = 5.0  # for a job to stop; `make run` kills the worker after 8
CALL_SECONDS = 30.0  # for a crowd or a webhook to answer
LONGEST_PAUSE = 30.0  # after failures, such as those of a database that is away


class Listener:
    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._subscription: PubSub | None = None

    def wait(self) -> None:
        """Return when it is time to poll, a message came, or the worker stops."""
        if not settings.CELERY_BROKER_URL:
            self._stopping.wait(POLL_SECONDS)
            return
        try:
            self._wait_for_message()
        except redis.RedisError as error:
            log.warning("Redis cannot be reached, so jobs are polled every second: %s", error)
            self._subscription = None
            self._stopping.wait(1.0)

    def _wait_for_message(self) -> None:
        if self._subscription is None:
            self._subscription = jobs.redis_server(settings.CELERY_BROKER_URL).pubsub(
                ignore_subscribe_messages=True
            )
            self._subscription.subscribe(jobs.CHANNEL)
            return  # poll again: a job may have come before the subscription
        for _ in range(POLL_SECONDS_WITH_REDIS):
            if self._stopping.is_set() or self._subscription.get_message(timeout=1.0):
                return


class Worker:
    def __init__(self, concurrency: int) -> None:
        self._runners = [
            threading.Thread(target=self._run_jobs, name=f"jobs-{number}", daemon=True)
            for number in range(concurrency)
        ]
        self._rounds = [
            threading.Thread(target=self._repeat, args=(function, every), name=function.__name__, daemon=True)
            for function, every in jobs.scheduled_functions()
        ]

    def run(self) -> None:
        """Work until SIGTERM or SIGINT. Unfinished jobs go back to the queue.

        A second signal ends the process at once.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for thread in (*self._runners, *self._rounds):
            thread.start()
        jobs.stopping.wait()
        _join(self._runners, JOB_SECONDS)
        jobs.wait_for_patient(CALL_SECONDS)
        _join(self._rounds, CALL_SECONDS)
        # Last: a run that went on after it could meet the next worker's run of the same job.
        with _FailuresLogged():
            jobs.give_back_all()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        for either in (signal.SIGTERM, signal.SIGINT):
            signal.signal(either, signal.SIG_DFL)
        jobs.stopping.set()

    def _run_jobs(self) -> None:
        listener, pause = Listener(jobs.stopping), 0.0
        while not jobs.stopping.is_set():
            with _FailuresLogged() as outcome:
                if not jobs.run_next():
                    listener.wait()
            pause = min(max(1.0, 2 * pause), LONGEST_PAUSE) if outcome.failed else 0.0
            jobs.stopping.wait(pause)

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
    """Log failures, so that the thread goes on; drop broken connections."""

    failed = False

    def __enter__(self) -> _FailuresLogged:
        close_old_connections()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        close_old_connections()
        if isinstance(error, jobs.DATABASE_FAILURES):
            log.warning("The database cannot be used: %s", " ".join(str(error).split()))
        elif isinstance(error, Exception):
            log.error("Work in the background failed.", exc_info=error)
        self.failed = isinstance(error, Exception)
        return self.failed
