"""Admit people sent by a panel: start their sessions if they may take part and a place is free.

A place is for one session. A completed session keeps its place. A session that was returned, timed out or screened out
leaves its place and its reservation to the next person. People with invented ids may take places, but not from somebody
whom the panel confirms (docs/decisions/0009-crowds.md).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.crowds import CrowdBackend, backend_of
from annotation.crowds.panel.endings import end_panel_session, time_out_sessions
from annotation.crowds.panel.links import LinkProblem, PanelIds
from annotation.crowds.panel.sessions import (
    count_submitted,
    end_session_with_status,
    external_id_for,
    panel_ids_of,
    panel_sessions,
)
from annotation.crowds.people import pseudonym, worker_token
from annotation.crowds.reported_work import exclude_unknown_work
from annotation.crowds.sessions import worker_for_crowd_id
from annotation.errors import AddressFull, AllSlotsTaken, JoinRefused, RequirementNotMet
from annotation.models import Assignment, CrowdSession, Publication, QuizAttempt, RawId, Worker, at_crowd
from annotation.quality.exclusions import refuse_paused_study
from annotation.work.joining import hash_secret, join_from_crowd
from annotation.work.requirements import check_requirements, checked_country
from annotation.work.seats import may_take_seat, note_seat, people_at_same_address
from annotation.work.slots.silent_leases import MIN_UNANSWERED_TIME, longest_pause
from common import rate_limits
from judgments.design.panel_links import session_parameter, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
MAX_ATTEMPTS = 5  # number of attempts to find a place for a person whom the panel confirms
PLACE_STATUSES = (Status.WORKING, Status.SUBMITTED, Status.APPROVED)  # of sessions that have a place
PARTICIPANT_STATUSES = (Status.SUBMITTED, Status.APPROVED, Status.REJECTED)  # of people who took part
TOOK_PART_BEFORE = "The person took part before."


class PlacesTaken(Exception):
    """Raised if all places are taken. People with invented ids may have some of them."""


def find_session(*, study: Study, ids: PanelIds) -> CrowdSession | None:
    """Return the session of the ids in a link; None if it has not begun.

    Raises:
        LinkProblem: the session belongs to another study or another person.
    """
    sessions = CrowdSession.objects.filter(platform=study.platform, external_id=external_id_for(study, ids))
    session = sessions.select_related("worker", "publication").first()
    if session is None:
        return None
    if session.study_id != study.pk:
        raise LinkProblem(
            _(
                "Nothing was recorded: the link that you followed belongs to another study. Please go back to "
                "where you found the study and open it from there."
            )
        )
    if session.worker.name != pseudonym(study.platform, ids.worker):
        raise LinkProblem(
            _(
                "Nothing was recorded: the link that you followed belongs to somebody else's submission. Please "
                "go back to where you found the study and open it from there."
            )
        )
    return session


def start_session(*, study: Study, ids: PanelIds, consent: bool, country: str = "") -> CrowdSession:
    """Return the person's session, or create it. If no place is free or can be freed, the new session ends at once.

    A place can be freed if it may belong to somebody with an invented id.

    Raises:
        LinkProblem, JoinRefused, CountryProblem, StudyPaused, TooManyAttempts: nothing is stored.
    """
    design = design_of(study)
    session = find_session(study=study, ids=ids)
    if session is None:
        if design.consent and not consent:
            raise JoinRefused(_("Please read the consent text and agree to it before you join."))
        rate_limits.count_use("join", study.slug)
    country = checked_country(country)
    outcome = FreeingOutcome.FREED
    for _attempt in range(MAX_ATTEMPTS):  # another person may take the freed place first
        try:
            return _get_or_create_session(study, design, ids, consent=consent, country=country)
        except PlacesTaken:
            outcome = _free_place(study, ids)
            if outcome is not FreeingOutcome.FREED:
                break
    replace_silent = outcome is FreeingOutcome.UNCLEAR
    return _get_or_create_session(
        study, design, ids, consent=consent, country=country, replace_silent=replace_silent
    )


class FreeingOutcome(Enum):
    FREED = "the session of somebody whom the panel does not know was ended"
    NONE_FREED = (
        "nobody with a place proved unknown, or the panel was not asked, as signed ids cannot be invented"
    )
    UNCLEAR = "the panel does not say whom it knows, so a session without answers may be replaced"


def _free_place(study: Study, ids: PanelIds) -> FreeingOutcome:
    """Free one place that belongs to somebody whom the panel does not know, and return the outcome.

    Args:
        ids: those of the visitor who needs the place. Nothing is freed unless the panel confirms them.

    Raises:
        AllSlotsTaken: the panel says that it does not know the visitor.
    """
    publication, backend = _publications(study).last(), backend_of(study)
    if publication is None or design_of(study).panel.signature:  # the ids in signed links cannot be invented
        return FreeingOutcome.NONE_FREED
    is_confirmed = backend.knows_work(publication, worker=ids.worker, work=ids.session)
    if is_confirmed is False:
        raise AllSlotsTaken(
            _(
                "Nothing was recorded: all places are taken, and the panel does not know your submission. "
                "If you have just started it at the panel, press “Start” again in a minute."
            )
        )
    work_ids = backend.fetch_work_ids(publication) if is_confirmed else None
    if work_ids is None:
        return FreeingOutcome.UNCLEAR
    for session in _unconfirmed_sessions(publication):
        if session.external_id not in work_ids and _end_unknown_session(session, backend):
            return FreeingOutcome.FREED
    return FreeingOutcome.NONE_FREED


def _end_unknown_session(session: CrowdSession, backend: CrowdBackend) -> bool:
    """End the session and exclude its work if the panel does not know its submission. Return whether it was ended."""
    panel_ids = panel_ids_of(session)
    if not panel_ids.session:  # the panel's ids were deleted
        return False
    # the panel's list of work may be out of date, so ask about this submission, whether finished or not
    is_known = backend.knows_work(
        session.publication, worker=panel_ids.worker, work=panel_ids.session, at_work=False
    )
    if is_known is not False:  # None if the panel does not say
        return False
    is_ended = end_panel_session(
        session=session, status=Status.RETURNED, why="The panel does not know of it."
    )
    # without submitted work there is nothing to exclude, and the session keeps the status "returned"
    has_excluded_work = bool(count_submitted(session)) and exclude_unknown_work(session=session) > 0
    return is_ended or has_excluded_work  # if neither, another request has freed the place


def _publications(study: Study) -> QuerySet[Publication]:
    """Return the publications of the whole study, as opposed to single HITs, at its panel."""
    return at_crowd(Publication, study).filter(hit=None)


def _unconfirmed_sessions(publication: Publication) -> QuerySet[CrowdSession]:
    """Return sessions with a place that the panel has not confirmed and no payment is recorded for, oldest first."""
    sessions = CrowdSession.objects.filter(
        publication=publication, status__in=[Status.WORKING, Status.SUBMITTED]
    )
    return sessions.filter(confirmed=False, booked="").select_related("study", "publication").order_by("pk")


def _replaceable_sessions(publication: Publication) -> QuerySet[CrowdSession]:
    """Return unconfirmed sessions that may be replaced, with the annotation ``replaceable_at``, earliest first.

    If several people with the same network address have places, each of their sessions may be replaced some time after
    its last answer. Another session may be replaced only while it has no answer, some time after the arrival.
    """
    work = Assignment.objects.filter(session=OuterRef("pk"))
    attempts = QuizAttempt.objects.filter(study=publication.study_id, worker=OuterRef("worker"))
    # neither a draft or submission nor answers to the quiz
    is_silent = ~Exists(work.exclude(answers={}, submitted_at=None)) & ~Exists(attempts.exclude(answers={}))
    # order_by() drops the default order, so that the maximum is over all assignments of the session
    answer_times = (
        work.order_by().values("session").annotate(last=Max(Coalesce("submitted_at", "answered_at")))
    )
    last_active_at = Coalesce(Subquery(answer_times.values("last")), "arrived_at")
    replaceable_at = Case(
        When(people_count__gt=1, then=last_active_at + longest_pause(publication.study)),
        default=F("arrived_at") + MIN_UNANSWERED_TIME,
    )
    sessions = _unconfirmed_sessions(publication).filter(status=Status.WORKING)
    candidates = sessions.annotate(people_count=people_at_same_address("session"))  # by ``Seat.session``
    candidates = candidates.filter(is_silent | Q(people_count__gt=1))
    return candidates.annotate(replaceable_at=replaceable_at).order_by("replaceable_at")


def _retry_on_conflict(function: Callable[..., CrowdSession]) -> Callable[..., CrowdSession]:
    """Decorate a function to call it again if it meets a row that another request has just created."""

    @wraps(function)
    def with_retry(*args: Any, **kwargs: Any) -> CrowdSession:
        try:
            return function(*args, **kwargs)
        except IntegrityError:  # the same link was opened in another window at the same moment
            return function(*args, **kwargs)

    return with_retry


@_retry_on_conflict
@transaction.atomic
def _get_or_create_session(
    study: Study,
    design: StudyDesign,
    ids: PanelIds,
    *,
    consent: bool,
    country: str,
    replace_silent: bool | None = None,
) -> CrowdSession:
    """Create the person's session, or return the existing one.

    Args:
        replace_silent: what to do if no place is free. True: end a session without recent answers to free its place.
            False: end the new session. None: raise PlacesTaken.
    """
    # people who arrive for the last place at the same time wait here
    publication = _publications(study).select_for_update().last()
    if publication is None:
        raise LinkProblem(_("Nothing was recorded: this study is not published at a panel yet."))
    session = find_session(study=study, ids=ids)
    if session is not None:
        return session
    refuse_paused_study(study)
    may_be_invented = not design.panel.can_verify_ids
    # one network address may take only a share of the places that are free or in progress
    done_count = panel_sessions(study).filter(status__in=[Status.SUBMITTED, Status.APPROVED]).count()
    if may_be_invented and not may_take_seat(study, seat_count=publication.places - done_count):
        raise AddressFull
    session = _create_session(study, publication, design, ids)
    worker = session.worker
    earlier_sessions = list(panel_sessions(study).filter(worker=worker).exclude(pk=session.pk))
    for earlier_session in earlier_sessions:
        # the panel gave the person a new submission, so the earlier session is over
        if earlier_session.status == Status.WORKING:
            reason = "The panel sent the person again, with another submission."
            end_panel_session(session=earlier_session, status=Status.RETURNED, why=reason)
    _end_unless_admitted(
        session,
        design,
        earlier_sessions=earlier_sessions,
        country=country,
        replace_silent=replace_silent,
    )
    if session.status == Status.WORKING:
        join_from_crowd(study=study, worker=worker, consent=consent)
        if may_be_invented:
            note_seat(study, session)
    return session


def _create_session(
    study: Study, publication: Publication, design: StudyDesign, ids: PanelIds
) -> CrowdSession:
    """Create the session of a submission, and the worker of its person if they are new."""
    worker = worker_for_crowd_id(study=study, crowd_id=ids.worker, id_name=worker_parameter(design.panel))
    # the token depends only on the person, so it is stored once, when they first come
    Worker.objects.filter(pk=worker.pk, token_hash="").update(
        token_hash=hash_secret(worker_token(worker.platform, worker.name))
    )
    session = CrowdSession.objects.create(
        study=study,
        platform=study.platform,
        publication=publication,
        worker=worker,
        external_id=external_id_for(study, ids),
    )
    if ids.session:
        RawId.objects.create(
            worker=worker, session=session, name=session_parameter(design.panel), value=ids.session
        )
    return session


def _end_unless_admitted(
    session: CrowdSession,
    design: StudyDesign,
    *,
    earlier_sessions: list[CrowdSession],
    country: str,
    replace_silent: bool | None,
) -> None:
    """End a new session at once if its person may not take part, or if no place is free.

    ``replace_silent`` is as for ``_get_or_create_session``.
    """
    worker = session.worker
    if any(earlier_session.status in PARTICIPANT_STATUSES for earlier_session in earlier_sessions):
        end_session_with_status(session=session, status=Status.RETURNED, why=TOOK_PART_BEFORE)
        return
    if any(earlier_session.status == Status.SCREENED_OUT for earlier_session in earlier_sessions):
        end_session_with_status(
            session=session, status=Status.SCREENED_OUT, why="The person was screened out before."
        )
        return
    if country and not worker.country:  # the first declared country is kept
        Worker.objects.filter(pk=worker.pk, country="").update(country=country)
        worker.country = country
    try:
        check_requirements(requirements=design.requirements_checked_here, worker=worker)
    except RequirementNotMet as error:
        end_session_with_status(session=session, status=Status.SCREENED_OUT, why=str(error))
        return
    publication = session.publication
    if session.study.state != Study.State.OPEN or publication.state != Publication.State.PUBLISHED:
        end_session_with_status(session=session, status=Status.FULL)
        return
    if not _has_place(session):  # abandoned sessions may have places
        time_out_sessions(study=session.study, minutes=design.crowd.lease_minutes)
    if _has_place(session):
        return
    if replace_silent is None:
        raise PlacesTaken
    has_freed_place = replace_silent and _replace_session(session)
    if not has_freed_place:
        end_session_with_status(session=session, status=Status.FULL)


def _has_place(session: CrowdSession) -> bool:
    """Return whether the other sessions leave a place for this one."""
    publication = session.publication
    sessions_with_place = CrowdSession.objects.filter(publication=publication, status__in=PLACE_STATUSES)
    return sessions_with_place.exclude(pk=session.pk).count() < publication.places


def _replace_session(session: CrowdSession) -> bool:
    """End the session that may be replaced first, to free a place for ``session``. Return False if there is none.

    Raises:
        AllSlotsTaken: no session may be replaced yet, since its person arrived or answered recently.
    """
    other_sessions: QuerySet[Any] = _replaceable_sessions(session.publication).exclude(pk=session.pk)
    silent_session, now = other_sessions.first(), timezone.now()
    if silent_session is None:
        return False
    if silent_session.replaceable_at > now:
        minutes = 1 + int((silent_session.replaceable_at - now).total_seconds() // 60)
        raise AllSlotsTaken(
            ngettext(
                "Nothing was recorded: all places are taken, but somebody with a place has not "
                "started yet. This place may become free in %(n)d minute. Press “Start” again "
                "then.",
                "Nothing was recorded: all places are taken, but somebody with a place has not "
                "started yet. This place may become free in %(n)d minutes. Press “Start” again "
                "then.",
                minutes,
            )
            % {"n": minutes}
        )
    # lock the assignments, so that no answer arrives now; if one has just arrived, the session keeps its place
    list(Assignment.objects.filter(session=silent_session).select_for_update().order_by("pk"))
    if not other_sessions.filter(pk=silent_session.pk, replaceable_at__lte=now).exists():
        return _replace_session(session)
    return end_panel_session(
        session=silent_session,
        status=Status.TIMED_OUT,
        why="No answers came, and somebody else needed the place.",
    )
