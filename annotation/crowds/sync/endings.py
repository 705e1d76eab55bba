"""End sessions and publications that are over at the crowd, and release the money that is held for them.

A publication is the database's row of an external HIT, an offer of work at the crowd. A session is unconfirmed until
the crowd lists its work.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.crowds import Ability
from annotation.crowds.reported_work import exclude_unknown_work
from annotation.crowds.sessions import end_session
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication, at_crowd
from annotation.money.bookings import release_places, release_screen_outs
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.studies import lock_study, mark_closed

Status = CrowdSession.Status
State = Publication.State


@transaction.atomic
def close_if_all_refused(study: Study) -> str:
    """Close an open study if the crowd refused all of its publications. Return the reason; "" if it stays open."""
    lock_study(study)
    publications = at_crowd(Publication, study)
    calls = at_crowd(CrowdCall, study).filter(kind=Ability.PUBLISH, state=CrowdCall.State.FAILED)
    refused_call = calls.order_by("pk").first()
    if study.state != Study.State.OPEN or refused_call is None:
        return ""
    if publications.exclude(state=Publication.State.WITHDRAWN).exists():  # WITHDRAWN: it was never published
        return ""
    sentence = _(
        "Study %(slug)r was not opened, because its crowd accepted none of its pages of work. The "
        "first error message from the crowd: %(answer)s"
    )
    sentence %= {"slug": study.slug, "answer": refused_call.problem}
    mark_closed(study=study)
    note_event(study=study, what="closed", sentence="Closed: its crowd refused every publication.")
    return sentence


def end_superseded_sessions(publication: Publication) -> None:
    """End unconfirmed sessions whose id the crowd has confirmed for another worker, as when a link was altered."""
    sessions = CrowdSession.objects.filter(publication=publication)
    confirmed_ids = sessions.filter(confirmed=True).values("external_id")
    for session in sessions.filter(confirmed=False, external_id__in=confirmed_ids):
        if session.status == Status.WORKING:
            end_session(session=session, status=Status.RETURNED)
        elif session.status == Status.SUBMITTED:
            exclude_unknown_work(session=session)


def end_publication(publication: Publication, *, read_at: datetime, asked_at: datetime) -> None:
    """End a publication whose external HIT is over, and exclude work that the crowd did not confirm.

    Work is not excluded during ``CROWD_GRACE_SECONDS`` after its submission, since the crowd may list it late.

    Args:
        read_at: when reading the crowd's list of work began.
        asked_at: when the crowd reported that the external HIT was over.
    """
    grace_start = read_at - timedelta(seconds=settings.CROWD_GRACE_SECONDS)
    unconfirmed_sessions = CrowdSession.objects.filter(publication=publication, confirmed=False)
    for session in unconfirmed_sessions.filter(status=Status.WORKING, arrived_at__lte=grace_start):
        end_session(session=session, status=Status.TIMED_OUT)
    unlisted_count = 0
    for session in unconfirmed_sessions.filter(status=Status.SUBMITTED):
        assignments = Assignment.objects.filter(session=session)
        # the crowd may not list recent work yet (ParlAI#2957)
        if assignments.filter(submitted_at__gt=grace_start).exists():
            unlisted_count += 1
        else:
            exclude_unknown_work(session=session)
    _release_open_places(publication, unlisted_count, asked_at)


@transaction.atomic
def _release_open_places(publication: Publication, unlisted_count: int, asked_at: datetime) -> None:
    """Release the money of places that nobody will fill. Mark the publication as finished once all work is decided.

    Args:
        unlisted_count: number of recent submissions that the crowd may list later.
        asked_at: when the crowd reported that the external HIT was over. If the publication was extended since then,
            it is not changed.
    """
    row = Publication.objects.select_for_update().get(pk=publication.pk)
    if row.state not in (State.PUBLISHED, State.EXPIRED):
        return
    is_recent = Q(state__in=["waiting", "started"]) | Q(done_at__gte=asked_at)
    if CrowdCall.objects.filter(is_recent, publication=row, kind=Ability.EXTEND).exists():
        return
    listed_count = row.sessions.filter(confirmed=True, status=Status.SUBMITTED).count()
    undecided_count = listed_count + unlisted_count
    free_count = row.held_slots - undecided_count
    if free_count > 0:
        release_places(publication=row, places=free_count)
        row.refresh_from_db()
    is_finished = not row.held_slots and not undecided_count
    if is_finished:
        release_screen_outs(publication=row)
    row.state = State.FINISHED if is_finished else State.EXPIRED
    row.save(update_fields=["state"])
