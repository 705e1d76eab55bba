"""gunicorn's configuration: `gunicorn --config python:config.gunicorn config.wsgi`.

There are eight threads, since some requests wait, and without a proxy every unfinished upload occupies a thread. There
are not more, since computing threads slow each other down. With PostgreSQL, there are several processes. With SQLite,
which has one writer, a second process would only wait. Command line options override these settings.
"""

import gc
import os
import shutil
import tempfile
import time
from mmap import mmap
from pathlib import Path
from typing import Any

from django.conf import settings
from gunicorn.workers.gthread import ThreadWorker

from config.observing.logs import JSONServerLogger

bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
timeout = 120  # a large dataset is uploaded in one request
graceful_timeout = 5
keepalive = 75  # keep a connection while a person reads; a proxy may use it for many people
preload_app = True
control_socket_disable = True
accesslog = None
errorlog = "-"
loglevel = "warning"

if os.environ.get("LOG_FORMAT") == "json":
    logger_class = JSONServerLogger


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)  # sends no signal
    except ProcessLookupError:
        return False
    except PermissionError:  # the process belongs to another user
        return True
    return True


# Remove the folders of servers that were killed. `os.kill` accepts only numbers of 32 bits, hence the length.
for _old_folder in Path(tempfile.gettempdir()).glob("quorum-figures-*-*"):
    _process_id = _old_folder.name.split("-")[2]
    if _process_id.isdecimal() and len(_process_id) < 9 and not _is_alive(int(_process_id)):
        shutil.rmtree(_old_folder, ignore_errors=True)
# Each start has a new folder for counts of Prometheus. `prometheus_client` reads the variable when it is imported.
_counts_folder = tempfile.mkdtemp(prefix=f"quorum-figures-{os.getpid()}-")
os.environ["PROMETHEUS_MULTIPROC_DIR"] = _counts_folder

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
MAX_PROCESSES = 64
# The numbers of connections by process, in shared memory; -1 for no process. gunicorn numbers its processes (`age`). A
# process has the slot of its number, modulo the number of slots.
_connections = memoryview(mmap(-1, MAX_PROCESSES * 4)).cast("i")  # four bytes a number
for _slot in range(len(_connections)):
    _connections[_slot] = -1

# limits for reading the rest of a refused body
DRAIN_SECONDS = 5
DRAIN_BYTES = 2**31
YIELD_SECONDS = 0.005  # time in which a process with fewer connections can accept one


class SharingWorker(ThreadWorker):
    """A worker that lets processes with fewer connections accept first.

    A persistent connection stays with the process that accepted it, so otherwise one process would often have most
    connections.
    """

    @property
    def nr_conns(self) -> int:  # `ThreadWorker` sets it whenever the number changes
        return self._connection_count

    @nr_conns.setter
    def nr_conns(self, connection_count: int) -> None:
        self._connection_count = connection_count
        _connections[self.age % len(_connections)] = connection_count

    def accept(self, listener: Any) -> None:
        if self.nr_conns > min(count for count in _connections if count >= 0):
            time.sleep(YIELD_SECONDS)
        super().accept(listener)  # does nothing if another process accepted the connection

    def handle_request(self, req: Any, conn: Any) -> Any:
        keeps_connection = super().handle_request(req, conn)
        # If a connection is closed with unread bytes, the client does not get the response that refuses them. Instead,
        # nginx sends 502.
        conn.parser.finish_body(deadline=time.monotonic() + DRAIN_SECONDS, max_bytes=DRAIN_BYTES)
        return keeps_connection


def child_exit(server: Any, worker: Any) -> None:
    _connections[worker.age % len(_connections)] = -1


worker_class = SharingWorker
workers = settings.WEB_PROCESSES or (1 if settings.SQLITE_FILE else 2)
threads = settings.WEB_THREADS or 8 // workers or 1


def when_ready(server: Any) -> None:
    """Exempt loaded objects from garbage collection, so that forked processes continue to share their memory pages."""
    gc.collect()
    gc.freeze()


def on_exit(server: Any) -> None:
    shutil.rmtree(_counts_folder, ignore_errors=True)
