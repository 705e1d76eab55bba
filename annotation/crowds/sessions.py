"""Begin and end sessions: the visits of workers whom a crowd (Mechanical Turk or a panel) sends.

A ``CrowdSession`` stands for one assignment or submission at the crowd; ``external_id`` is the crowd's id of it, or a
pseudonym of that id. Anybody can invent an id, so a session is unconfirmed until the crowd reports it.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.crowds.people import pseudonym
from annotation.errors import ArrivalRefused
from annotation.models import Assignment, CrowdSession, Publication, RawId, Worker
from annotation.work.joining import join_from_crowd
from annotation.work.slots.release import release_slots
from common import rate_limits
from judgments.models import Study

Status = CrowdSession.Status


@transaction.atomic
def worker_for_crowd_id(*, study: Study, crowd_id: str, id_name: str) -> Worker:
    """Return the worker whose id at the crowd is ``crowd_id``; create the worker if the id is new.

    Args:
        id_name: the crowd's name for this kind of id, such as WorkerId.
    """
    worker, created = Worker.objects.get_or_create(
        source=Worker.Source.CROWD, platform=study.platform, name=pseudonym(study.platform, crowd_id)
    )
    # the id of a person who comes back is stored again if it was deleted
    if created or not RawId.objects.filter(worker=worker, session=None, name=id_name).exists():
        RawId.objects.get_or_create(worker=worker, session=None, name=id_name, defaults={"value": crowd_id})
    return worker


@transaction.atomic
def open_session(*, publication: Publication, worker: Worker, external_id: str) -> CrowdSession:
    """Return the worker's session with this external id; create it if it is missing.

    If another worker has a running session with the same id, that session is ended (psiTurk#184).
    """
    earlier_sessions = CrowdSession.objects.filter(
        platform=publication.platform, external_id=external_id, status=Status.WORKING
    ).exclude(worker=worker)
    for earlier_session in earlier_sessions:
        end_session(session=earlier_session, status=Status.RETURNED)
    session, _created = CrowdSession.objects.get_or_create(
        platform=publication.platform,
        external_id=external_id,
        worker=worker,
        defaults={"study": publication.study, "publication": publication},
    )
    return session


def receive_worker(
    *, publication: Publication, worker_id: str, assignment_id: str, consent: bool = False
) -> CrowdSession:
    """Store the arrival of a Mechanical Turk worker. Return their session; if returned or timed out, it is reopened.

    Raises:
        JoinRefused, ArrivalRefused, TooManyAttempts: nothing is stored.
    """
    sessions = CrowdSession.objects.filter(platform=publication.platform, external_id=assignment_id)
    if not sessions.filter(worker__name=pseudonym(publication.platform, worker_id)).exists():
        rate_limits.count_use("join", publication.study.slug)
    return _join_and_open(publication, worker_id, assignment_id, consent=consent)


@transaction.atomic
def _join_and_open(
    publication: Publication, worker_id: str, assignment_id: str, *, consent: bool
) -> CrowdSession:
    """Make the worker a participant of the study, and open or reopen their session."""
    worker = worker_for_crowd_id(study=publication.study, crowd_id=worker_id, id_name="WorkerId")
    join_from_crowd(study=publication.study, worker=worker, consent=consent)
    session = open_session(publication=publication, worker=worker, external_id=assignment_id)
    if session.publication_id != publication.pk:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: you already opened another HIT with this assignment. Open that HIT "
                "from your worker’s page, or return it."
            )
        )
    CrowdSession.objects.filter(pk=session.pk, status__in=[Status.RETURNED, Status.TIMED_OUT]).update(
        status=Status.WORKING
    )
    _take_over_work(session)
    session.refresh_from_db(fields=["status"])
    return session


def _take_over_work(session: CrowdSession) -> None:
    """End the worker's other unconfirmed sessions of the same HIT, and move submitted work from them to ``session``.

    A worker who returns a HIT and accepts it again arrives with another assignment id.
    """
    sessions = CrowdSession.objects.filter(publication=session.publication, worker=session.worker_id)
    for row in sessions.exclude(pk=session.pk).filter(confirmed=False).order_by("pk"):
        if row.status == Status.WORKING:
            end_session(session=row, status=Status.RETURNED)
        elif row.status == Status.SUBMITTED and row.booked == CrowdSession.Booked.NOTHING:
            Assignment.objects.filter(session=row).update(session=session, external_id=session.external_id)
            CrowdSession.objects.filter(pk=row.pk).update(status=Status.RETURNED)
            CrowdSession.objects.filter(pk=session.pk).update(status=Status.SUBMITTED)


@transaction.atomic
def end_session(*, session: CrowdSession, status: str) -> bool:
    """End a running session and release its slots; drafts are kept. Return False if the session had ended before."""
    assignments = Assignment.objects.filter(session=session)
    state = Assignment.State.EXPIRED if status == Status.TIMED_OUT else Assignment.State.RETURNED
    release_slots(assignments, state)
    return bool(CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=status))
