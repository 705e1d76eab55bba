"""How gunicorn serves Quorum: `gunicorn --config python:config.gunicorn config.wsgi`.

Threads, because requests mostly wait for the database; two processes, so that one request that computes
does not hold up all. Options on the command line win over these.
"""

import os

bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_PROCESSES") or 2)
threads = 8
timeout = 120  # an upload of a large dataset is read within one request
graceful_timeout = 5
preload_app = True
control_socket_disable = True
accesslog = None
errorlog = "-"
loglevel = "warning"
