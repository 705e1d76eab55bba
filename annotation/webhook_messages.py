"""What a webhook is sent, and its signature, after Standard Webhooks 1.0.0
(https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): the headers webhook-id,
webhook-timestamp and webhook-signature, the last one HMAC-SHA256 over ``id.timestamp.body`` in base64 after ``v1,``;
a secret is ``whsec_`` and base64.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from django.utils.crypto import salted_hmac

from annotation.models import Webhook, WebhookDelivery

SECRET_START = "whsec_"  # noqa: S105 (how every secret begins; none itself)


def secret_of(webhook: Webhook) -> str:
    """The secret that its owner was shown: made anew of SECRET_KEY each time, stored nowhere."""
    key = salted_hmac("quorum.webhook", f"{webhook.pk}\x1f{webhook.salt}", algorithm="sha256").digest()
    return SECRET_START + base64.b64encode(key).decode()


def sign(secret: str, *, id: str, timestamp: int, body: bytes) -> str:
    """The header webhook-signature."""
    key = base64.b64decode(secret.removeprefix(SECRET_START))
    signed = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def id_of(delivery: WebhookDelivery) -> str:
    """The same for every attempt: whoever was told twice knows it by that."""
    return f"msg_{delivery.pk.hex}"


def body_of(delivery: WebhookDelivery) -> bytes:
    """The message; byte for byte the same in every attempt."""
    message: dict[str, Any] = {
        "id": id_of(delivery),
        "event": delivery.event,
        "study": delivery.webhook.study.slug,
        "at": delivery.made_at.isoformat(),
        "data": delivery.payload,
    }
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()


def headers_of(delivery: WebhookDelivery, body: bytes, *, timestamp: int) -> dict[str, str]:
    """What goes with the message."""
    message_id = id_of(delivery)
    return {
        "Content-Type": "application/json",
        "User-Agent": "Quorum-Webhooks/1",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret_of(delivery.webhook), id=message_id, timestamp=timestamp, body=body),
    }
