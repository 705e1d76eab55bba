"""End the processes of a worker.

A worker is a process of Celery whose child processes run jobs. The functions of this module let the worker ask its
children to stop, end a process whose job another worker took over, and interrupt the main thread of a process, so that
its other threads can run.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0  # seconds between checks whether a process should end

_stop_flag: bytearray | mmap.mmap = bytearray(1)  # its byte is 1 once this process's worker was asked to stop
_worker_id = 0  # id of the process whose children run jobs; only the children may end at any time


def share_stop_flag() -> None:
    """Make the request to stop visible to the processes that this process forks later."""
    global _stop_flag, _worker_id
    _stop_flag, _worker_id = mmap.mmap(-1, 1), os.getpid()


def request_stop() -> None:
    """Ask the runs of this process and its children to end at their next report of progress."""
    _stop_flag[0] = 1


def is_stopping() -> bool:
    """Return whether the worker of this process was asked to stop."""
    return bool(_stop_flag[0])


def end_child_process(reason: str) -> None:
    """End this process at once if it is a child of a worker."""
    if os.getppid() == _worker_id:
        log.warning("%s Its process ends.", reason)
        os._exit(0)


@contextmanager
def interrupt_regularly() -> Iterator[None]:
    """Interrupt the main thread regularly in the block, so that the heartbeat thread can run.

    Without this, a long match of a regular expression would block the heartbeat thread.
    """
    signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.01))  # lets the heartbeat thread read the job's row
    signal.setitimer(signal.ITIMER_REAL, CHECK_SECONDS, CHECK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
