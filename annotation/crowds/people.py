"""The pseudonyms of crowd workers, and their raw ids, which are stored separately.

Pseudonyms, session ids, tokens and the marks of erased people are HMACs under the installation's key. Raw ids are kept
out of stored messages, and can be deleted.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from annotation.models import (
    CrowdCall,
    CrowdSession,
    Demographics,
    Erasure,
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
PUBLIC_LINK_PLATFORMS = ("", "local")  # platforms of studies with a public link
# The platform of people in result files. People from Mechanical Turk's API have rows of their own.
MTURK_FILES = "mturk-files"
AMAZON_ID = re.compile(r"A[0-9A-Z]{9,20}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")  # some platforms identify people by e-mail address


def pseudonym(platform: str, raw: str) -> str:
    """Return the pseudonym of a person. It stays the same, and reveals nothing without the installation's key.

    Args:
        platform: the crowd, and sandbox or live.
        raw: the crowd's id of the person.
    """
    return f"p-{_digest('person', platform, raw)[:16]}"


def worker_name(name: str) -> str:
    """Return a pseudonym if a name in a result file is an Amazon id or an e-mail address; else return the name."""
    return pseudonym(MTURK_FILES, name) if AMAZON_ID.fullmatch(name) or EMAIL.fullmatch(name) else name


def session_pseudonym(platform: str, raw: str) -> str:
    """Return the pseudonym of a submission, whose id at the crowd is ``raw``."""
    return f"s-{_digest('session', platform, raw)[:24]}"


def installation_id() -> str:
    """Return a word that distinguishes this installation from others that use the same crowd account."""
    return _digest("installation")[:12]


def worker_token(platform: str, name: str) -> str:
    """Return the token by which the browsers of a person sent by a panel are recognised.

    It depends only on the person, so that the panel's link works in every browser.
    """
    return _digest("token", platform, name)


def keyed_hash(*parts: str) -> str:
    """Return 64 hexadecimal digits that only this installation can derive from the parts."""
    return _digest("mark", *parts)


def erasure_mark(source: str, platform: str, name: str) -> str:
    """Return the mark that is stored when a worker is erased. Without the installation's key it reveals nothing."""
    return keyed_hash("erased", source, platform, name)


def erasure_marks(study: Study) -> frozenset[str]:
    """Return the marks of people erased from a study, by which they are recognised in later lists of the crowd."""
    return frozenset(Erasure.objects.filter(study=study).values_list("mark", flat=True))


def is_session_of(session: CrowdSession, name: str, marks: Collection[str]) -> bool:
    """Return whether a session belongs to a person, who may have been erased.

    Args:
        name: the person's pseudonym.
        marks: ``erasure_marks`` of the session's study.
    """
    if session.worker.erased:
        return erasure_mark(session.worker.source, session.platform, name) in marks
    return session.worker.name == name


def uses_public_link(platform: str) -> bool:
    return platform in PUBLIC_LINK_PLATFORMS


def _digest(*parts: str) -> str:
    text = "\x1f".join(parts).encode()
    return hmac.new(settings.PSEUDONYM_KEY.encode(), text, hashlib.sha256).hexdigest()


def without_ids(text: str, ids: Iterable[str]) -> str:
    """Return a text in which each of the ids is replaced, unless it is part of a longer word."""
    for raw in sorted(ids, key=len, reverse=True):
        if raw in text:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(raw)}(?![A-Za-z0-9])", ID_REPLACEMENT, text)
    return text


def error_of_call(call: CrowdCall, text: str) -> str:
    """Return the error message ``text`` of a call, without the crowd's ids of the people whom the call is about."""
    rows = RawId.objects.none()
    if call.session is not None:
        rows = RawId.objects.filter(Q(session=call.session) | Q(worker=call.session.worker_id, session=None))
    elif call.worker_id is not None:
        rows = RawId.objects.filter(worker=call.worker_id, session=None)
    elif call.publication is not None:  # a publish call sends the ids of people with a qualification
        workers = design_of(call.study).workers
        qualifications = Qualification.objects.filter(name__in=(*workers.requires, *workers.forbids))
        rows = RawId.objects.filter(
            worker__in=qualifications.values("worker"), worker__platform=call.platform, session=None
        )
    return without_ids(text, rows.values_list("value", flat=True))


def ids_not_passed_on(platform: str, qualification: str) -> list[str]:
    """Return the crowd's ids of people whose qualification was never sent to the crowd."""
    calls = CrowdCall.objects.filter(
        worker=OuterRef("worker"), platform=platform, kind="qualify", payload__qualification=qualification
    )
    holders = Qualification.objects.filter(~Exists(calls), name=qualification, worker__platform=platform)
    raw_ids = RawId.objects.filter(worker__in=holders.values("worker"), session=None).order_by("pk")
    return list(raw_ids.values_list("value", flat=True))


def remove_ids_from_texts(raw_ids: Collection[RawId]) -> None:
    """Remove ids from stored calls and answers, before the ids are deleted. People copy their ids into forms."""
    ids_by_worker: dict[int, list[str]] = {}
    for raw_id in raw_ids:
        ids_by_worker.setdefault(raw_id.worker_id, []).append(raw_id.value)
    is_about_them = Q(worker__in=ids_by_worker) | Q(session__worker__in=ids_by_worker)
    for call in CrowdCall.objects.filter(is_about_them).select_related("session").iterator():
        worker = call.worker_id or (call.session.worker_id if call.session else 0)
        ids = ids_by_worker.get(worker, [])
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

    These people can no longer be paid or messaged. The ids of people who never came are deleted as well: of those who
    got a qualification that the study names, or about whom the study wrote its crowd a message.

    Return the number of deleted ids. Raise WrongState if the study is open.
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
    # Wait until demographics that are being stored are committed.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    Demographics.objects.filter(study=study).delete()
    remove_ids_from_texts(raw_ids)
    RawId.objects.filter(pk__in=[raw_id.pk for raw_id in raw_ids]).delete()
    ids_forgotten.send(Study, study=study)
    id_count = len(raw_ids)
    note_event(
        study=study, what="forget-ids", sentence=f"{id_count} raw ids of participants were deleted.", by=by
    )
    return id_count
