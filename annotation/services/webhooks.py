"""Webhooks of a study: made, tried, rotated, removed; and what they are to hear, noted where it happens."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotation.models import Assignment, Exclusion, Webhook, WebhookDelivery, Worker
from annotation.models.webhooks import COMPLETED, EVENTS, EXCLUDED, PING, SUBMITTED
from annotation.people import installation_mark
from annotation.webhook_messages import secret_of
from annotation.webhook_posts import BadAddress, checked_url
from judgments.errors import DataConflict, DesignError, NotThere, WrongState
from judgments.models import Study
from judgments.services.events import note_event

MOST = 10  # webhooks of a study
State = WebhookDelivery.State


@transaction.atomic
def add_webhook(
    *, study: Study, url: str, events: Collection[str], by: User | None = None
) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is told this once.

    Raises:
        DesignError: the address cannot be one, or there is no such event.
        DataConflict: the study has a webhook of this address, or too many.
    """
    url = url.strip()
    try:
        checked_url(url)
    except BadAddress as problem:
        raise DesignError(f"The webhook's address cannot be used: {problem}.", field="url") from None
    unknown = sorted(set(events) - EVENTS.keys())
    if unknown or not events:
        said = f"There is no event {unknown[0]!r}" if unknown else "A webhook needs an event"
        raise DesignError(f"{said}; expected one or more of {', '.join(EVENTS)}.", field="events")
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if Webhook.objects.filter(study=study).count() >= MOST:
        raise DataConflict(f"Study {study.slug!r} has {MOST} webhooks already; remove one first.")
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                salt=secrets.token_hex(32),
                submissions=SUBMITTED in events,
                completions=COMPLETED in events,
                exclusions=EXCLUDED in events,
                # who begins to listen to a finished study is not told that it was finished
                told_complete_at=timezone.now() if is_complete(study) else None,
                made_by=by,
            )
    except IntegrityError:
        raise DataConflict(f"Study {study.slug!r} has a webhook of this address already.") from None
    words = f"A webhook was added that hears of {', '.join(webhook.events)}."
    note_event(study=study, what="webhook-added", words=words, by=by, webhook=webhook.pk)
    return webhook, secret_of(webhook)


@transaction.atomic
def rotate_secret(*, webhook: Webhook, by: User | None = None) -> str:
    """Another secret, told this once; from now on the old one signs nothing.

    Raises:
        NotThere: the webhook was removed meanwhile.
    """
    webhook.salt = secrets.token_hex(32)
    if not Webhook.objects.filter(pk=webhook.pk).update(salt=webhook.salt):
        raise NotThere("There is no such webhook any more.")
    words = "The secret of a webhook was changed."
    note_event(study=webhook.study, what="webhook-rotated", words=words, by=by, webhook=webhook.pk)
    return secret_of(webhook)


@transaction.atomic
def remove_webhook(*, webhook: Webhook, by: User | None = None) -> None:
    """It hears nothing any more, and its log goes; twice is harmless."""
    removed, _ = Webhook.objects.filter(pk=webhook.pk).delete()
    if removed:
        words = "A webhook was removed, and its log with it."
        note_event(study=webhook.study, what="webhook-removed", words=words, by=by)


@transaction.atomic
def switch_webhook(*, webhook: Webhook, active: bool, by: User | None = None) -> None:
    """Off: it hears nothing, and what waited is given up. On: it hears what happens from now on."""
    found = Webhook.objects.filter(pk=webhook.pk, active=not active).update(
        active=active,
        failures=0,
        rests_until=None,
        told_complete_at=timezone.now() if is_complete(webhook.study) else None,
    )
    if not found:
        return
    if not active:
        give_up_waiting(webhook)
    words = f"A webhook was switched {'on' if active else 'off'}."
    note_event(study=webhook.study, what="webhook-switched", words=words, by=by, webhook=webhook.pk)


def give_up_waiting(webhook: Webhook) -> None:
    """Within the caller's transaction: nothing is sent to a webhook that is off."""
    WebhookDelivery.objects.filter(webhook=webhook, state=State.WAITING).update(
        state=State.GIVEN_UP, problem="The webhook was switched off."
    )


@transaction.atomic
def ping_webhook(*, webhook: Webhook, by: User | None = None) -> WebhookDelivery:
    """Write a test message, which goes out next.

    Raises:
        WrongState: the webhook is off.
    """
    if not Webhook.objects.filter(pk=webhook.pk, active=True).update(rests_until=None):
        raise WrongState("Nothing was sent: the webhook is switched off.")
    return WebhookDelivery.objects.create(
        webhook=webhook,
        event=PING,
        key=f"ping:{uuid4().hex}",
        payload={"by": "test", "events": webhook.events},
    )


@transaction.atomic
def retry_delivery(*, delivery: WebhookDelivery) -> WebhookDelivery:
    """Send again what was given up, under the same id.

    Raises:
        WrongState: it was not given up, or the webhook is off.
    """
    if not Webhook.objects.filter(pk=delivery.webhook_id, active=True).update(rests_until=None):
        raise WrongState("Nothing was sent: the webhook is switched off.")
    moved = WebhookDelivery.objects.filter(pk=delivery.pk, state=State.GIVEN_UP).update(
        state=State.WAITING, attempts=0, next_at=timezone.now(), problem=""
    )
    if not moved:
        raise WrongState("Nothing was changed: only what was given up can be sent again.")
    delivery.refresh_from_db()
    return delivery


def listens_to_submissions() -> Exists:
    """For a query of assignments: whether a webhook hears of them, without a query of its own."""
    return Exists(Webhook.objects.filter(study=OuterRef("study"), active=True, submissions=True))


def note_submission(*, assignment: Assignment, judgments: int) -> None:
    """Within the transaction of the submission; only where ``listens_to_submissions``."""
    payload = {
        "assignment": str(assignment.pk),
        "hit": assignment.hit.key if assignment.hit is not None else None,
        "worker": told_name(assignment.study, assignment.worker),
        "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else None,
        "judgments": judgments,
        "simulated": assignment.simulated,
    }
    listening = Webhook.objects.filter(study=assignment.study_id, active=True, submissions=True)
    _note(listening.values_list("pk", flat=True), SUBMITTED, f"submitted:{assignment.pk}", payload)


def note_exclusion(*, exclusion: Exclusion) -> None:
    """Within the transaction of the exclusion. The reason is not told: it may quote what the worker wrote."""
    study = exclusion.study
    listening = Webhook.objects.filter(study=study, active=True, exclusions=True)
    payload = {
        "exclusion": exclusion.pk,
        "worker": told_name(study, exclusion.worker),
        "rule": exclusion.rule or None,
        "excluded_at": exclusion.made_at.isoformat(),
    }
    _note(listening.values_list("pk", flat=True), EXCLUDED, f"excluded:{exclusion.pk}", payload)


def _note(webhooks: Collection[int], event: str, key: str, payload: dict[str, Any]) -> None:
    rows = [WebhookDelivery(webhook_id=pk, event=event, key=key, payload=payload) for pk in webhooks]
    if rows:
        WebhookDelivery.objects.bulk_create(rows)


def told_name(study: Study, worker: Worker) -> str:
    """A crowd's worker goes by a pseudonym everywhere; others chose their name, and get one for outside."""
    if worker.source == Worker.Source.CROWD:
        return worker.name
    return f"w-{installation_mark('webhook', str(study.pk), str(worker.pk))[:16]}"


def is_complete(study: Study) -> bool:
    """Whether the study was closed, or has neither a place that is offered nor one that is being worked on."""
    if study.state == Study.State.CLOSED:
        return True
    if study.state != Study.State.OPEN or study.hits.filter(open_slots__gt=0).exists():
        return False
    working = Assignment.objects.filter(study=study, state__in=["reserved", "accepted"])
    return not working.exists() and study.assignments.finished().exists()


def note_completions() -> int:
    """Tell webhooks once of each completion; how many were written.

    Looked for from the rows rather than in the last submission: two people who hand in the last two pages at one
    moment do not see each other's, and every other way to completion (an early stop, an expiry, a closing) is found the
    same way. Harmless at any time, and where two look at once.
    """
    written = 0
    known: dict[int, bool] = {}
    for webhook in Webhook.objects.filter(active=True, completions=True).select_related("study"):
        study = webhook.study
        if study.pk not in known:
            known[study.pk] = is_complete(study)
        told = webhook.told_complete_at
        if not known[study.pk]:
            if told is not None:
                Webhook.objects.filter(pk=webhook.pk, told_complete_at=told).update(told_complete_at=None)
        elif told is None or _worked_again(study, webhook):
            written += _note_completion(webhook)
    return written


def _worked_again(study: Study, webhook: Webhook) -> bool:
    """Whether it was completed anew between two looks: more was handed in, and not only what people still held when it
    was closed."""
    return (
        study.state == Study.State.OPEN
        and study.assignments.finished().filter(submitted_at__gt=webhook.told_complete_at).exists()
    )


@transaction.atomic
def _note_completion(webhook: Webhook) -> int:
    study, now = webhook.study, timezone.now()
    moved = Webhook.objects.filter(pk=webhook.pk, told_complete_at=webhook.told_complete_at).update(
        told_complete_at=now
    )
    if moved:
        closed = study.state == Study.State.CLOSED
        payload = {
            "because": "closed" if closed else "all-judged",
            "assignments": study.assignments.finished().count(),
        }
        _note([webhook.pk], COMPLETED, f"completed:{now.isoformat()}", payload)
    return moved
