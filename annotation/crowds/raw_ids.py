"""Keep "raw ids" out of messages, and delete them: a crowd's ids of sessions, and of people (``session`` is None)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from annotation.models import (
    CrowdCall,
    CrowdSession,
    Demographics,
    Participation,
    Qualification,
    RawId,
    Worker,
)
from annotation.models.privacy import ids_forgotten
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

ID_REPLACEMENT = "…"  # what stands for an id that is removed from a text


def without_ids(text: str, ids: Iterable[str]) -> str:
    """Return a text in which each of the ids is replaced, unless it is part of a longer word."""
    # longest first, since a short id may be part of a longer one
    for crowd_id in sorted(ids, key=len, reverse=True):
        if crowd_id in text:
            whole_id = rf"(?<![A-Za-z0-9]){re.escape(crowd_id)}(?![A-Za-z0-9])"
            text = re.sub(whole_id, ID_REPLACEMENT, text)
    return text


def remove_ids_from_error(call: CrowdCall, message: str) -> str:
    """Return the error message of a call without the crowd's ids of the people whom the call is about."""
    raw_ids = RawId.objects.none()
    if call.session is not None:
        raw_ids = RawId.objects.filter(
            Q(session=call.session) | Q(worker=call.session.worker_id, session=None)
        )
    elif call.worker_id is not None:
        raw_ids = RawId.objects.filter(worker=call.worker_id, session=None)
    elif call.publication is not None:  # a publish call sends the ids of people with a qualification
        workers = design_of(call.study).workers
        qualifications = Qualification.objects.filter(name__in=(*workers.requires, *workers.forbids))
        raw_ids = RawId.objects.filter(
            worker__in=qualifications.values("worker"), worker__platform=call.platform, session=None
        )
    return without_ids(message, raw_ids.values_list("value", flat=True))


def ids_with_unsent_qualification(platform: str, qualification: str) -> list[str]:
    """Return the crowd's ids of people who have the qualification here, and about whom the crowd was never told."""
    calls = CrowdCall.objects.filter(
        worker=OuterRef("worker"), platform=platform, kind="qualify", payload__qualification=qualification
    )
    holders = Qualification.objects.filter(~Exists(calls), name=qualification, worker__platform=platform)
    raw_ids = RawId.objects.filter(worker__in=holders.values("worker"), session=None).order_by("pk")
    return list(raw_ids.values_list("value", flat=True))


def remove_ids_from_texts(raw_ids: Collection[RawId]) -> None:
    """Remove ids from the stored calls and sessions of their people, before the ids themselves are deleted.

    Sessions contain what people wrote at the crowd, and people copy their ids into forms.
    """
    ids_by_worker: dict[int, list[str]] = {}
    for raw_id in raw_ids:
        ids_by_worker.setdefault(raw_id.worker_id, []).append(raw_id.value)
    is_about_them = Q(worker__in=ids_by_worker) | Q(session__worker__in=ids_by_worker)
    for call in CrowdCall.objects.filter(is_about_them).select_related("session").iterator():
        worker_pk = call.worker_id or (call.session.worker_id if call.session else 0)
        ids = ids_by_worker.get(worker_pk, [])
        old_fields = (call.payload, call.answer, call.why, call.problem)
        new_fields = tuple(_remove_ids_within(text, ids) for text in old_fields)
        if new_fields != old_fields:
            call.payload, call.answer, call.why, call.problem = new_fields
            call.save(update_fields=["payload", "answer", "why", "problem"])
    sessions = CrowdSession.objects.filter(worker__in=ids_by_worker).exclude(receipt="", feedback="")
    for session in sessions.iterator():
        ids = ids_by_worker[session.worker_id]
        receipt, feedback = without_ids(session.receipt, ids), without_ids(session.feedback, ids)
        if (receipt, feedback) != (session.receipt, session.feedback):
            session.receipt, session.feedback = receipt, feedback
            session.save(update_fields=["receipt", "feedback"])


def _remove_ids_within(value: Any, ids: Collection[str]) -> Any:
    """Return a JSON value in which the ids are removed from all texts, except for the names of members."""
    if isinstance(value, str):
        return without_ids(value, ids)
    if isinstance(value, list):
        return [_remove_ids_within(item, ids) for item in value]
    if isinstance(value, dict):
        return {name: _remove_ids_within(item, ids) for name, item in value.items()}
    return value


@transaction.atomic
def forget_raw_ids(*, study: Study, by: User | None = None) -> int:
    """Delete the raw ids of people who are in no other study, and the demographics of the study.

    These people can no longer be paid or messaged. The ids of people who never came to a study are deleted as well, if
    they got a qualification that the study names, or if an outbox message of the study is about them.

    Return the number of deleted ids.

    Raises:
        WrongState: the study is open.
    """
    if study.state == Study.State.OPEN:
        raise WrongState(
            f"Nothing was deleted: study {study.slug!r} is open, and people who come leave their ids again; close it "
            "first."
        )
    # people without work are included: they have a session but no participation
    participants = Worker.objects.filter(
        Q(participations__study=study) | Q(crowd_sessions__study=study), source=Worker.Source.CROWD
    )
    other_participants = Worker.objects.filter(
        Q(participations__in=Participation.objects.exclude(study=study))
        | Q(crowd_sessions__in=CrowdSession.objects.exclude(study=study))
    ).values("pk")
    workers = design_of(study).workers
    qualifications = {*workers.requires, *workers.forbids, workers.grants}
    absent_workers = Worker.objects.filter(
        Q(qualifications__name__in=qualifications) | Q(crowd_calls__study=study),
        source=Worker.Source.CROWD,
        platform=study.platform,
        participations=None,
        crowd_sessions=None,
    )
    ids_of_workers = RawId.objects.filter(Q(worker__in=participants) | Q(worker__in=absent_workers)).exclude(
        worker__in=other_participants
    )
    raw_ids = list(ids_of_workers | RawId.objects.filter(session__study=study))
    # wait for this lock until demographics that are being stored are committed
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    Demographics.objects.filter(study=study).delete()
    remove_ids_from_texts(raw_ids)
    RawId.objects.filter(pk__in=[raw_id.pk for raw_id in raw_ids]).delete()
    # other apps delete what they made of the ids, such as files of exports
    ids_forgotten.send(Study, study=study)
    id_count = len(raw_ids)
    note_event(
        study=study, what="forget-ids", sentence=f"{id_count} raw ids of participants were deleted.", by=by
    )
    return id_count
