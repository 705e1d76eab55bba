"""Store webhook messages in the transaction of the event that they report, and delete messages about erased people."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.crowds.people import keyed_hash
from annotation.models import Assignment, Exclusion, Worker
from annotation.models.assignments import LEASED_STATES
from annotation.privacy.names import name_replacer
from contrib.webhooks.models import (
    COMPLETED,
    EXCLUDED,
    HEARS_OF_SUBMISSIONS,
    SUBMITTED,
    Webhook,
    WebhookDelivery,
)
from judgments.models import Study

State = WebhookDelivery.State
ENDED_STATES = (State.DELIVERED, State.GIVEN_UP)


def note_submission(*, assignment: Assignment, judgments: int, **_: Any) -> None:
    """Write messages about a submission, if a webhook wants them, as an annotation in the assignment's query says."""
    if not getattr(assignment, HEARS_OF_SUBMISSIONS):
        return
    payload = {
        "assignment": str(assignment.pk),
        "hit": assignment.hit.key if assignment.hit is not None else None,
        "worker": pseudonym_for_webhook(assignment.study, assignment.worker),
        "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else None,
        "judgments": judgments,
        "simulated": assignment.simulated,
    }
    webhooks = Webhook.objects.filter(study=assignment.study_id, active=True, submissions=True)
    _create_deliveries(
        webhooks.values_list("pk", flat=True), SUBMITTED, f"submitted:{assignment.pk}", payload
    )


def note_exclusion(*, exclusion: Exclusion, **_: Any) -> None:
    """Write messages about an exclusion, without its reason, which may quote the worker."""
    study = exclusion.study
    webhooks = Webhook.objects.filter(study=study, active=True, exclusions=True)
    payload = {
        "exclusion": exclusion.pk,
        "worker": pseudonym_for_webhook(study, exclusion.worker),
        "rule": exclusion.rule or None,
        "excluded_at": exclusion.made_at.isoformat(),
    }
    _create_deliveries(webhooks.values_list("pk", flat=True), EXCLUDED, f"excluded:{exclusion.pk}", payload)


def _create_deliveries(webhooks: Collection[int], event: str, key: str, payload: dict[str, Any]) -> None:
    """Write a message to each webhook.

    Args:
        webhooks: row ids.
        key: identifies the event, so that no webhook gets two messages about it.
    """
    rows = [WebhookDelivery(webhook_id=pk, event=event, key=key, payload=payload) for pk in webhooks]
    if rows:
        WebhookDelivery.objects.bulk_create(rows)


def pseudonym_for_webhook(study: Study, worker: Worker, **_signal: Any) -> str:
    """Return a worker's pseudonym, which for a crowd's worker is the name. This also answers a signal of erasures."""
    if worker.source == Worker.Source.CROWD:
        return worker.name
    return f"w-{keyed_hash('webhook', str(study.pk), str(worker.pk))[:16]}"


def is_complete(study: Study) -> bool:
    """Return whether the study is closed, or is open, with submissions, and has no page to take or in progress."""
    if study.state == Study.State.CLOSED:
        return True
    if study.state != Study.State.OPEN or study.hits.filter(open_slots__gt=0).exists():
        return False
    held_assignments = Assignment.objects.filter(study=study, state__in=LEASED_STATES)
    return not held_assignments.exists() and study.assignments.finished().exists()


def note_completions() -> int:
    """Write a message to each webhook whose study has been completed; return the number of messages.

    Completions are found by a query, not noticed at a submission: of two simultaneous last submissions, neither sees
    the other, and studies can be completed in other ways.
    """
    message_count = 0
    complete_by_study: dict[int, bool] = {}
    for webhook in Webhook.objects.filter(active=True, completions=True).select_related("study"):
        study = webhook.study
        if study.pk not in complete_by_study:
            complete_by_study[study.pk] = is_complete(study)
        told_at = webhook.told_complete_at
        if not complete_by_study[study.pk]:
            if told_at is not None:
                Webhook.objects.filter(pk=webhook.pk, told_complete_at=told_at).update(told_complete_at=None)
        elif told_at is None or _has_new_submissions(study, webhook):
            message_count += _note_completion(webhook)
    return message_count


def _has_new_submissions(study: Study, webhook: Webhook) -> bool:
    """Return whether a study is open and got submissions since the webhook was told of its completion."""
    return (
        study.state == Study.State.OPEN
        and study.assignments.finished().filter(submitted_at__gt=webhook.told_complete_at).exists()
    )


@transaction.atomic
def _note_completion(webhook: Webhook) -> int:
    """Write a message about the study's completion. Return 0 if another process wrote it, else 1."""
    study, now = webhook.study, timezone.now()
    updated_count = Webhook.objects.filter(pk=webhook.pk, told_complete_at=webhook.told_complete_at).update(
        told_complete_at=now
    )
    if updated_count:
        is_closed = study.state == Study.State.CLOSED
        payload = {
            "because": "closed" if is_closed else "all-judged",
            "assignments": study.assignments.finished().count(),
        }
        _create_deliveries([webhook.pk], COMPLETED, f"completed:{now.isoformat()}", payload)
    return updated_count


def forget_people(*, study: Study, replacements: Mapping[str, str], **_: Any) -> None:
    """Delete ended messages about erased people, and replace their names in other messages."""
    replace_names = name_replacer(replacements)
    for delivery in WebhookDelivery.objects.filter(webhook__study=study).iterator():
        payload = replace_names(delivery.payload)
        if payload.get("worker") != delivery.payload.get("worker") and delivery.state in ENDED_STATES:
            delivery.delete()
        elif payload != delivery.payload:
            delivery.payload = payload
            delivery.save(update_fields=["payload"])
