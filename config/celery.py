"""Celery's application: `celery --app config worker` and `celery --app config beat` (docs/decisions/0014-celery.md)."""

import gc
import logging
import os
import time
from pathlib import Path
from typing import Any

from amqp.exceptions import AMQPError
from celery import Celery
from celery.signals import setup_logging, worker_init, worker_shutting_down
from django.conf import settings
from kombu import Queue
from kombu.exceptions import KombuError
from kombu.transport import TRANSPORT_ALIASES
from redis.exceptions import RedisError

from config.observing.logs import log_exposed_files

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TRANSPORT_ALIASES["files"] = "config.broker:FilesTransport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.broker:RedisTransport"
app = Celery("quorum")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name, routing_key=name) for name in ("interactive", "crowd", "heavy", "parts")]
app.autodiscover_tasks()
if _folder := settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("data_folder_in"):
    Path(str(_folder)).mkdir(parents=True, exist_ok=True)


AWAY = 5.0  # seconds after a failure in which no message is sent, so that many jobs do not wait one by one
_away_until = 0.0


def send_job(task: str, job_id: int, *, queue: str) -> None:
    """Send a job's message. If the broker is away, `jobs.sweep_jobs` sends it later."""
    global _away_until
    if time.monotonic() < _away_until:
        return
    try:
        app.send_task(task, (job_id,), queue=queue)
    except (KombuError, AMQPError, RedisError, OSError) as error:
        _away_until = time.monotonic() + AWAY
        log.warning("Job %s is stored, but the broker cannot be reached: %s", job_id, error)


@setup_logging.connect
def _keep_logging_of_settings(**_: Any) -> None:
    """Do nothing: where this signal is connected, Celery leaves logging to settings.LOGGING."""


@worker_init.connect
def _prepare_worker(**_: Any) -> None:
    """Load what jobs need before the fork, so that processes share it."""
    from django.utils.module_loading import import_string

    from judgments.jobs import registered_kinds, share_stopping

    log_exposed_files()
    share_stopping()
    for kind in registered_kinds().values():
        import_string(kind.handler)
    gc.collect()
    gc.freeze()  # or counting would copy the pages


@worker_shutting_down.connect
def _stop_jobs(**_: Any) -> None:
    from judgments.jobs import ask_to_stop

    ask_to_stop()


@app.on_after_finalize.connect
def _repeat_rounds(sender: Celery, **_: Any) -> None:
    from judgments.jobs import scheduled_rounds

    for scheduled in scheduled_rounds():
        every, task = scheduled.every(), sender.tasks[scheduled.task]
        # what was not begun by its next turn is left out, or it would pile up while no worker runs
        sender.add_periodic_task(every, task.s(), name=task.name, expires=every)
