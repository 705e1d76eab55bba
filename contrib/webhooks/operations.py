"""The operations that add, test, switch and remove webhooks of a study, renew secrets, and send messages again."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.errors import DataConflict, DesignError, ObjectNotFound, WrongState
from common.http.addresses import BadAddress
from common.parameters import Parameters
from contrib.webhooks.delivery import give_up_waiting
from contrib.webhooks.events import is_complete
from contrib.webhooks.models import COMPLETED, EVENTS, EXCLUDED, PING, SUBMITTED, Webhook, WebhookDelivery
from contrib.webhooks.posting import checked_url
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.operations import Outcome, find_row, operation

MAX_WEBHOOKS = 10  # webhooks per study
State = WebhookDelivery.State


@transaction.atomic
def store_webhook(*, study: Study, url: str, events: Collection[str], by: User | None = None) -> Webhook:
    """Store a webhook for ``events``, which are keys of EVENTS.

    Raises:
        DesignError: the address is not permitted.
        DataConflict: the study has too many webhooks, or one with this address.
    """
    url = url.strip()
    try:
        checked_url(url)
    except BadAddress as problem:
        raise DesignError(
            _("The webhook's address cannot be used: %(problem)s.") % {"problem": problem}, field="url"
        ) from None
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if Webhook.objects.filter(study=study).count() >= MAX_WEBHOOKS:
        raise DataConflict(f"Study {study.slug!r} has {MAX_WEBHOOKS} webhooks already; remove one first.")
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                salt=secrets.token_hex(32),  # the secret is derived from it
                submissions=SUBMITTED in events,
                completions=COMPLETED in events,
                exclusions=EXCLUDED in events,
                # a new webhook gets no completion event of a study that is already complete
                told_complete_at=timezone.now() if is_complete(study) else None,
                made_by=by,
            )
    except IntegrityError:
        raise DataConflict(f"Study {study.slug!r} has a webhook of this address already.") from None
    sentence = f"A webhook was added for the events {', '.join(webhook.events)}."
    note_event(study=study, what="webhook-added", sentence=sentence, by=by, webhook=webhook.pk)
    return webhook


@transaction.atomic
def write_test_message(*, webhook: Webhook) -> WebhookDelivery:
    """Write a test message, which is sent even if the webhook is suspended. Raise WrongState if it is disabled."""
    if not Webhook.objects.filter(pk=webhook.pk, active=True).update(rests_until=None):
        raise WrongState(_("Nothing was sent, because the webhook is disabled."))
    return WebhookDelivery.objects.create(
        webhook=webhook,
        event=PING,
        key=f"ping:{uuid4().hex}",
        payload={"by": "test", "events": webhook.events},
    )


class WebhookRequest(Parameters):
    """The address and the events of a new webhook."""

    url = serializers.CharField(
        max_length=500, help_text="Address that gets the messages; it begins with https://."
    )
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=list(EVENTS)),
        min_length=1,
        help_text="Events to send.",
        error_messages={"required": "A webhook needs an event."},
    )


@operation("add-webhook", "Add a webhook", parameters=WebhookRequest, scope="webhooks")
def add_webhook(*, study: Study, by: User | None, url: str, events: Collection[str]) -> Outcome:
    """Add a webhook. Only this response has its secret."""
    webhook = store_webhook(study=study, url=url, events=events, by=by)
    return Outcome(_("The webhook was added."), webhook)


@operation("ping-webhook", "Test a webhook", scope="webhooks", row="webhook")
def ping_webhook(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Write a test message. It is sent within seconds."""
    delivery = write_test_message(webhook=_find_webhook(study, webhook))
    return Outcome(
        _("A test message will be sent within seconds; reload this page to see the response."), delivery
    )


@operation("rotate-webhook", "Change a webhook's secret", scope="webhooks", row="webhook")
@transaction.atomic
def rotate_secret(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Give a webhook a new secret. The old secret is invalid from now on."""
    row = _find_webhook(study, webhook)
    row.salt = secrets.token_hex(32)
    if not Webhook.objects.filter(pk=row.pk).update(salt=row.salt):
        raise ObjectNotFound(_("This webhook no longer exists."))
    sentence = "The secret of a webhook was changed."
    note_event(study=study, what="webhook-rotated", sentence=sentence, by=by, webhook=row.pk)
    return Outcome(_("A new secret was created for the webhook."), row)


class SwitchRequest(Parameters):
    """Whether to switch a webhook on or off."""

    active = serializers.BooleanField(help_text="true to switch the webhook on, false to switch it off.")


@operation(
    "switch-webhook", "Switch a webhook on or off", parameters=SwitchRequest, scope="webhooks", row="webhook"
)
@transaction.atomic
def switch_webhook(*, study: Study, by: User | None, webhook: str, active: bool) -> Outcome:
    """Switch a webhook on or off.

    Switched off, it gives up waiting messages; switched on, it gets events from now on.
    """
    row = _find_webhook(study, webhook)
    is_switched = Webhook.objects.filter(pk=row.pk, active=not active).update(
        active=active,
        failures=0,
        rests_until=None,
        told_complete_at=timezone.now() if is_complete(study) else None,
    )
    if is_switched:
        if not active:
            give_up_waiting(row)
        sentence = f"A webhook was switched {'on' if active else 'off'}."
        note_event(study=study, what="webhook-switched", sentence=sentence, by=by, webhook=row.pk)
    row.refresh_from_db()
    return Outcome(_("The webhook was enabled.") if active else _("The webhook was disabled."), row)


@operation("remove-webhook", "Remove a webhook", scope="webhooks", row="webhook")
@transaction.atomic
def remove_webhook(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Remove a webhook and its log."""
    count, _rows = Webhook.objects.filter(pk=_find_webhook(study, webhook).pk).delete()
    if count:
        sentence = "A webhook was removed, and its log with it."
        note_event(study=study, what="webhook-removed", sentence=sentence, by=by)
    return Outcome(_("The webhook was removed."))


@operation("retry-delivery", "Send a message again", scope="webhooks", row="delivery")
@transaction.atomic
def retry_delivery(*, study: Study, by: User | None, delivery: str) -> Outcome:
    """Send again a message that was given up. Its id stays the same."""
    row = find_row(WebhookDelivery.objects.filter(webhook__study=study), delivery)
    if not Webhook.objects.filter(pk=row.webhook_id, active=True).update(rests_until=None):
        raise WrongState(_("Nothing was sent, because the webhook is disabled."))
    is_waiting = WebhookDelivery.objects.filter(pk=row.pk, state=State.GIVEN_UP).update(
        state=State.WAITING, attempts=0, next_at=timezone.now(), problem=""
    )
    if not is_waiting:
        raise WrongState(
            _("Nothing was changed: only messages that could not be delivered can be sent again.")
        )
    row.refresh_from_db()
    return Outcome(_("The message will be sent again within seconds."), row)


def _find_webhook(study: Study, key: str) -> Webhook:
    return find_row(Webhook.objects.filter(study=study), key)
