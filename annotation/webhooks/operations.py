"""Operations on webhooks: add, try, switch and remove them."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.models import Webhook, WebhookDelivery
from annotation.models.webhooks import EVENTS
from annotation.webhooks import webhooks as services
from common.parameters import Parameters
from judgments.models import Study
from judgments.study_operations import Outcome, operation, row_of


class WebhookRequest(Parameters):
    """A new webhook."""

    url = serializers.CharField(max_length=500, help_text="https://")
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=list(EVENTS)),
        min_length=1,
        error_messages={"required": "A webhook needs an event."},
    )


@operation("add-webhook", "Add a webhook", parameters=WebhookRequest, scope="webhooks")
def add(*, study: Study, by: User | None, url: str, events: Collection[str]) -> Outcome:
    """Add a webhook. Only this answer has its secret."""
    webhook = services.add_webhook(study=study, url=url, events=events, by=by)
    return Outcome(_("The webhook was added."), webhook)


@operation("ping-webhook", "Try a webhook", scope="webhooks", row="webhook")
def ping(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Write a test message, which is sent within seconds."""
    sent = services.ping_webhook(webhook=_webhook(study, webhook), by=by)
    return Outcome(_("A test message goes out within seconds; load this page again to see its answer."), sent)


@operation("rotate-webhook", "Change a webhook's secret", scope="webhooks", row="webhook")
def rotate(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Make another secret; the old one ends now."""
    row = _webhook(study, webhook)
    services.rotate_secret(webhook=row, by=by)
    return Outcome(_("The webhook has another secret."), row)


class SwitchRequest(Parameters):
    """On or off."""

    active = serializers.BooleanField()


@operation(
    "switch-webhook", "Switch a webhook on or off", parameters=SwitchRequest, scope="webhooks", row="webhook"
)
def switch(*, study: Study, by: User | None, webhook: str, active: bool) -> Outcome:
    """Switch a webhook off, which gives up waiting messages, or on, for events from now on."""
    row = _webhook(study, webhook)
    services.switch_webhook(webhook=row, active=active, by=by)
    row.refresh_from_db()
    return Outcome(_("The webhook is on.") if active else _("The webhook is off."), row)


@operation("remove-webhook", "Remove a webhook", scope="webhooks", row="webhook")
def remove(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Remove a webhook, and its log."""
    services.remove_webhook(webhook=_webhook(study, webhook), by=by)
    return Outcome(_("The webhook was removed."))


@operation("retry-delivery", "Send a message again", scope="webhooks", row="delivery")
def retry(*, study: Study, by: User | None, delivery: str) -> Outcome:
    """Send a given-up message again, under the same id."""
    row = row_of(WebhookDelivery.objects.filter(webhook__study=study), delivery)
    sent = services.retry_delivery(delivery=row)
    return Outcome(_("The message goes out again within seconds."), sent)


def _webhook(study: Study, key: str) -> Webhook:
    return row_of(Webhook.objects.filter(study=study), key)
