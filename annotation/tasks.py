"""Celery tasks of this app: each calls one service, and may run twice."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from annotation.crowds import sync
from annotation.webhooks import sending


@shared_task(name="annotation.sync_crowds")
def sync_crowds() -> None:
    sync.sync_what_is_due()


@shared_task(name="annotation.send_webhooks")
def send_webhooks() -> None:
    sending.send_webhooks()


@worker_ready.connect
def _sync_from_now_on(sender: Any, **_: object) -> None:
    every = max(1, settings.CROWD_SYNC_SECONDS // 2)
    sender.timer.call_repeatedly(every, sync_crowds.apply_async, kwargs={"expires": every})
    often = max(1, settings.WEBHOOK_SECONDS)
    sender.timer.call_repeatedly(often, send_webhooks.apply_async, kwargs={"expires": often})
