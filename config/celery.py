"""The Celery app: `celery --app config worker` and `celery --app config beat` (docs/decisions/0014-celery.md).

Kombu, on which Celery builds, transports messages to workers. This module changes its transports, so that they survive
killed processes and brokers. Without a broker, messages are files in DATA_DIR. Kombu's own file transport writes a
message directly into the folder that workers read, and keeps a table of queues that every process rewrites. If a
process is killed while it writes one of these files, every worker that reads the incomplete file exits, and exits again
at each start. The transport in this module adds and removes messages atomically, and finds queues by name.

Messages are signed with SECRET_KEY, so that somebody who can write to the broker cannot make workers do anything.
"""

from __future__ import annotations

import gc
import logging
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any

from amqp.exceptions import AMQPError
from celery import Celery, Task
from celery.signals import before_task_publish, setup_logging, worker_init, worker_shutting_down
from celery.worker import strategy
from celery.worker.consumer.gossip import Gossip
from celery.worker.consumer.mingle import Mingle
from django.conf import settings
from django.core.signing import BadSignature, Signer
from kombu import Queue
from kombu.exceptions import ContentDisallowed, DecodeError, KombuError
from kombu.transport import TRANSPORT_ALIASES, filesystem, redis
from kombu.utils.json import dumps, loads
from redis.exceptions import RedisError

from config.observing.logs import log_exposed_files

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TRANSPORT_ALIASES["files"] = "config.celery:FilesTransport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.celery:RedisTransport"
# Messages between workers are not signed, so they are switched off. By an "election" among workers, anybody could make
# a worker sign and send any task.
Gossip.compatible_transports, Mingle.compatible_transports = set(), set()


class SignedTask(Task):
    """A task whose messages must be signed."""

    Strategy = "config.celery:run_signed"


app = Celery("quorum", task_cls=SignedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
# JOB_SECONDS has the queues of jobs; the queue "parts" has parts of jobs that all workers compute together
app.conf.task_queues = [Queue(name, routing_key=name) for name in (*settings.JOB_SECONDS, "parts")]
app.autodiscover_tasks()
# without a broker, messages are files in this folder
if _folder := settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("data_folder_in"):
    Path(str(_folder)).mkdir(parents=True, exist_ok=True)


# After a failure, no message is sent for this time, so that not every job waits for a timeout.
OUTAGE_SECONDS = 5.0
_broker_down_until = 0.0  # in monotonic time


def send_job(task: str, job_id: int, *, queue: str) -> None:
    """Send the message that starts a job, for the setting JOB_SENDER.

    If the broker does not respond, the task `requeue_lost_jobs` of ``judgments.jobs`` sends it later.
    """
    global _broker_down_until
    if time.monotonic() < _broker_down_until:
        return
    try:
        app.send_task(task, (job_id,), queue=queue)
    except (KombuError, AMQPError, RedisError, OSError) as error:
        _broker_down_until = time.monotonic() + OUTAGE_SECONDS
        log.warning("Job %s is stored, but the broker cannot be reached: %s", job_id, error)


SIGNATURE = "quorum_signature"
# RabbitMQ adds headers such as x-death. Kombu's Redis transport adds a header to a message that is delivered again.
UNSIGNED_HEADERS = (SIGNATURE, "x-", "redelivered")
_signer = Signer(salt="quorum.celery")


def _signed_part(headers: dict[str, Any], body: Any) -> str:
    """Return the part of a message that is signed: the body, and the headers that brokers do not add."""
    own_headers = {name: value for name, value in headers.items() if not name.startswith(UNSIGNED_HEADERS)}
    return str(dumps([own_headers, body], sort_keys=True))


@before_task_publish.connect
def _sign(headers: dict[str, Any], body: Any, **_: Any) -> None:
    headers[SIGNATURE] = _signer.signature(_signed_part(headers, body))


def run_signed(task: Task[..., Any], app: Celery, consumer: Any) -> Callable[..., None]:
    """Return the function that handles a task's messages. It drops messages without a valid signature."""
    handle = strategy.default(task, app, consumer)

    def handle_signed(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
        try:
            signed_part = _signed_part(message.headers, message.payload)
            _signer.unsign(f"{signed_part}{_signer.sep}{message.headers.get(SIGNATURE)}")
        except (BadSignature, ContentDisallowed, DecodeError, TypeError, ValueError):
            log.warning("A message for %s without the signature of this installation is dropped.", task.name)
            ack(log, consumer.connection_errors)
        else:
            handle(message, body, ack, reject, callbacks)

    return handle_signed


@setup_logging.connect
def _keep_logging_of_settings(**_: Any) -> None:
    """Do nothing. If this signal has a receiver, Celery does not change the logging of settings.LOGGING."""


@worker_init.connect
def _prepare_worker(**_: Any) -> None:
    """Import the modules that jobs need before worker processes are forked, so that processes share their memory."""
    from django.utils.module_loading import import_string

    from judgments.jobs.processes import share_stop_flag
    from judgments.jobs.registry import job_kinds

    log_exposed_files()
    share_stop_flag()
    for kind in job_kinds.values():
        import_string(kind.handler)
    gc.collect()
    gc.freeze()  # otherwise, garbage collection would copy the shared pages


@worker_shutting_down.connect
def _stop_jobs(**_: Any) -> None:
    """Ask running jobs to stop, so that the worker need not wait for their end."""
    from judgments.jobs.processes import request_stop

    request_stop()


@app.on_after_finalize.connect
def _schedule_periodic_tasks(sender: Celery, **_: Any) -> None:
    from judgments.jobs.registry import periodic_tasks

    for periodic_task in periodic_tasks():
        seconds = periodic_task.every()
        task = sender.tasks[periodic_task.task_name]
        # A task that has not begun by its next time is dropped, since tasks would pile up while no worker runs.
        sender.add_periodic_task(seconds, task.s(), name=task.name, expires=seconds)


class FilesChannel(filesystem.Channel):
    """A channel whose messages are files in a folder, such as ``01700000000000000000_5f3c.interactive.msg``.

    The name has the time, a random number and the queue. A message that is still being written has a leading dot.
    """

    # there is no table of queues, since the names of the files have the queues
    def get_table(self, exchange: str) -> list[Any]:
        return []

    def _queue_bind(self, *_: object) -> None:
        pass

    # Kombu's classes have different names for the argument
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020}_{uuid.uuid4().hex}.{queue}.msg"
        draft_path = folder / f".{name}"
        draft_path.write_text(dumps(payload))
        draft_path.rename(folder / name)

    @cached_property
    def _names_by_queue(self) -> defaultdict[str, list[str]]:
        """The names of messages in the folder when it was last read, the oldest at the end."""
        return defaultdict(list)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        names = self._names_by_queue[queue]
        if not names:
            # of a file with a leading dot, the part after the first dot is the whole name
            queued_names = [
                name for name in os.listdir(self.data_folder_in) if name.partition(".")[2] == f"{queue}.msg"
            ]
            names += sorted(queued_names, reverse=True)
        while names:
            path = Path(self.data_folder_in) / names.pop()
            with suppress(FileNotFoundError):  # another worker took it
                text = path.read_text(errors="replace")
                path.unlink()
                try:
                    return loads(text)
                except ValueError:
                    log.warning(
                        "The message %s cannot be read, as after a power failure; it is skipped.", path
                    )
        raise Empty


class FilesTransport(filesystem.Transport):
    Channel = FilesChannel


class RedisTransport(redis.Transport):
    # A worker that acknowledges a message while its connection is being replaced gets an AttributeError. It would exit
    # if this did not count as a connection error.
    connection_errors = (*redis.Transport.connection_errors, AttributeError)
