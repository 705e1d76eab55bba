"""Wake waiting workers through the Redis that CELERY_BROKER_URL names.

A worker that misses a message finds the job when it polls.
"""

from __future__ import annotations

import logging
import threading
from functools import cache

import redis
from django.conf import settings
from redis.client import PubSub

log = logging.getLogger(__name__)

CHANNEL = "quorum-jobs"
POLL_SECONDS = 0.25
POLL_SECONDS_WITH_REDIS = 5


def ring() -> None:
    """Wake the workers, if there is a Redis."""
    if not settings.CELERY_BROKER_URL:
        return
    try:
        _server(settings.CELERY_BROKER_URL).publish(CHANNEL, "")
    except redis.RedisError as error:
        log.warning("A job is stored, but Redis could not be reached: %s", error)


class Listener:
    """Pauses of a thread between two polls."""

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
            self._subscription = _server(settings.CELERY_BROKER_URL).pubsub(ignore_subscribe_messages=True)
            self._subscription.subscribe(CHANNEL)
            return  # poll again: a job may have come before the subscription
        for _ in range(POLL_SECONDS_WITH_REDIS):
            if self._stopping.is_set() or self._subscription.get_message(timeout=1.0):
                return


@cache
def _server(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
