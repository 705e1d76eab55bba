"""Sign and send the messages of webhooks.

A message is marked as being sent before it is sent. If the sending process dies, another one sends the message again,
with the same id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from common.features import feature_settings
from contrib.webhooks.events import ENDED_STATES, note_completions
from contrib.webhooks.models import Webhook, WebhookDelivery
from contrib.webhooks.posting import Receipt, post
from judgments.access.study_log import note_event

SECRET_PREFIX = "whsec_"  # noqa: S105 (how every secret begins; none itself)
State = WebhookDelivery.State
MAX_ATTEMPTS = 10  # with the growing pauses, they take 16 to 32 hours
FIRST_PAUSE, MAX_PAUSE = 5.0, 12 * 3600.0  # seconds to wait after a failed attempt
MESSAGES_PER_ROUND = 200
DELETIONS_PER_ROUND = 1_000
# an attempt takes at most five seconds, so after this time its sender is presumed dead
SENDER_TIMEOUT = timedelta(seconds=60)
GONE_STATUS = 410  # Standard Webhooks: with this status, the endpoint asks for no more messages


def secret_of(webhook: Webhook) -> str:
    """Return the webhook's secret as shown to its owner. It is derived from SECRET_KEY and not stored."""
    key = salted_hmac("quorum.webhook", f"{webhook.pk}\x1f{webhook.salt}", algorithm="sha256").digest()
    return SECRET_PREFIX + base64.b64encode(key).decode()


def sign(secret: str, *, id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message as Standard Webhooks defines it."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def message_id_of(delivery: WebhookDelivery) -> str:
    """Return the message id. It is the same in every attempt, so that receivers can drop repetitions."""
    return f"msg_{delivery.pk.hex}"


def delivery_body_of(delivery: WebhookDelivery) -> bytes:
    """Return the message as JSON, always in the same bytes."""
    message: dict[str, Any] = {
        "id": message_id_of(delivery),
        "event": delivery.event,
        "study": delivery.webhook.study.slug,
        "at": delivery.made_at.isoformat(),
        "data": delivery.payload,
    }
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()


def headers_of(delivery: WebhookDelivery, body: bytes, *, timestamp: int) -> dict[str, str]:
    message_id = message_id_of(delivery)
    return {
        "Content-Type": "application/json",
        "User-Agent": "Quorum-Webhooks/1",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret_of(delivery.webhook), id=message_id, timestamp=timestamp, body=body),
    }


def send_webhooks(*, rng: random.Random | None = None) -> int:
    """Write messages about completions, send due messages, and delete old ones.

    Return the number of delivered messages.
    """
    if not Webhook.objects.exists():
        return 0
    rng = rng or random.Random()
    note_completions()
    delivered_count = 0
    for _message in range(MESSAGES_PER_ROUND):
        delivery = _next_delivery()
        if delivery is None:
            break
        if _begin_attempt(delivery):
            delivered_count += _send_message(delivery, rng)
    delete_old_deliveries()
    return delivered_count


def delete_old_deliveries() -> int:
    """Delete ended messages that are older than the log is kept, some in each round. Return their number."""
    start = timezone.now() - timedelta(days=feature_settings.WEBHOOK_LOG_DAYS)
    old_deliveries = WebhookDelivery.objects.filter(made_at__lt=start, state__in=ENDED_STATES)
    pks = list(old_deliveries.values_list("pk", flat=True)[:DELETIONS_PER_ROUND])
    return WebhookDelivery.objects.filter(pk__in=pks).delete()[0]


def _due_deliveries() -> Q:
    """Return the condition for messages to send now, including those whose sender died."""
    now = timezone.now()
    has_dead_sender = Q(state=State.SENDING, started_at__lte=now - SENDER_TIMEOUT)
    return Q(state=State.WAITING, next_at__lte=now) | has_dead_sender


def _next_delivery() -> WebhookDelivery | None:
    """Return the next due message. Webhooks with fewer failures come first: a hanging server does not delay others."""
    may_be_called = Q(webhook__rests_until=None) | Q(webhook__rests_until__lte=timezone.now())
    due_deliveries = WebhookDelivery.objects.filter(_due_deliveries(), may_be_called, webhook__active=True)
    return (
        due_deliveries.select_related("webhook__study").order_by("webhook__failures", "next_at", "pk").first()
    )


def _begin_attempt(delivery: WebhookDelivery) -> bool:
    """Mark the message as being sent. Return False if another sender has it."""
    now = timezone.now()
    updated_count = WebhookDelivery.objects.filter(_due_deliveries(), pk=delivery.pk).update(
        state=State.SENDING, started_at=now, attempts=F("attempts") + 1
    )
    delivery.started_at, delivery.attempts = now, delivery.attempts + 1
    return bool(updated_count)


def _send_message(delivery: WebhookDelivery, rng: random.Random) -> int:
    """Send the message once. Return 1 if it was delivered, else 0."""
    body = delivery_body_of(delivery)
    headers = headers_of(delivery, body, timestamp=int(timezone.now().timestamp()))
    receipt = post(delivery.webhook.url, body=body, headers=headers)
    return _store_attempt(delivery, receipt, rng)


@transaction.atomic
def _store_attempt(delivery: WebhookDelivery, receipt: Receipt, rng: random.Random) -> int:
    """Store the result of an attempt. Return 1 if this marked the message as delivered, else 0.

    The message is changed only if no other sender has taken it since: a sender that was presumed dead must not
    change a later attempt.
    """
    now = timezone.now()
    webhook = delivery.webhook
    attempt = WebhookDelivery.objects.filter(
        pk=delivery.pk, state=State.SENDING, started_at=delivery.started_at
    )
    if not receipt.problem:
        count = attempt.update(state=State.DELIVERED, delivered_at=now, status=receipt.status, problem="")
        # even if the sender is late: the address has answered
        Webhook.objects.filter(pk=webhook.pk).update(failures=0, rests_until=None)
        return count
    is_last = delivery.attempts >= MAX_ATTEMPTS or receipt.status == GONE_STATUS
    wait = max(receipt.retry_after, _pause(rng, delivery.attempts))
    count = attempt.update(
        state=State.GIVEN_UP if is_last else State.WAITING,
        next_at=now + timedelta(seconds=wait),
        status=receipt.status,
        problem=receipt.problem[:300],
    )
    if not count:
        return 0
    if receipt.status == GONE_STATUS:
        _switch_off(webhook)
        return 0
    webhook_wait = max(receipt.retry_after, _pause(rng, webhook.failures + 1))
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=F("failures") + 1, rests_until=now + timedelta(seconds=webhook_wait)
    )
    return 0


def _switch_off(webhook: Webhook) -> None:
    if Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False):
        give_up_waiting(webhook)
        sentence = "A webhook was switched off: its address answered 410, it wants no more."
        note_event(study=webhook.study, what="webhook-gone", sentence=sentence, webhook=webhook.pk)


def _pause(rng: random.Random, failure_count: int) -> float:
    """Return the seconds to wait after some failures. They grow fourfold, with a random factor from .5 to 1."""
    max_seconds = min(MAX_PAUSE, FIRST_PAUSE * 4.0 ** min(failure_count - 1, 20))
    return rng.uniform(max_seconds / 2, max_seconds)


def give_up_waiting(webhook: Webhook) -> None:
    """Give up the messages of a webhook that wait to be sent."""
    WebhookDelivery.objects.filter(webhook=webhook, state=State.WAITING).update(
        state=State.GIVEN_UP, problem="The webhook was switched off."
    )
