"""gunicorn's configuration: `gunicorn --config python:config.gunicorn config.wsgi`.

Threads, because requests mostly wait for the database; two processes, so that one computing request does not
block all. Command line options override these.
"""

import gc
import os

bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_PROCESSES") or 2)
threads = 8
timeout = 120  # a large dataset is uploaded in one request
graceful_timeout = 5
keepalive = 75  # people read between two clicks; a proxy may use a connection for many of them
preload_app = True
control_socket_disable = True
accesslog = None
errorlog = "-"
loglevel = "warning"


def when_ready(server: object) -> None:
    """Leave what was loaded to no process's garbage collector, so that the pages stay shared after the fork."""
    gc.collect()
    gc.freeze()
