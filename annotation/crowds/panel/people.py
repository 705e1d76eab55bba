"""Admit people sent by a panel, end their sessions, and send them back to the panel.

A completed session keeps its place. A session that was returned, timed out or screened out leaves its place and
reservation to the next person. Open places are released when the study closes. People with invented ids may take
places, but not from somebody whom the panel confirms (docs/decisions/0009-crowds.md).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.crowds import backend_of
from annotation.crowds.outbox.effects import release_unfilled
from annotation.crowds.panel.backend import (
    OUTCOMES_BY_STATUS,
    LinkProblem,
    PanelIds,
    code_for,
    count_submitted,
    end_session_with_status,
    idle_sessions,
    panel_sessions,
    session_name,
)
from annotation.crowds.people import pseudonym, worker_token
from annotation.crowds.reported_work import exclude_unknown_work
from annotation.crowds.sessions import worker_for_crowd_id
from annotation.errors import (
    AddressFull,
    AllSlotsTaken,
    CountryProblem,
    JoinRefused,
    RequirementNotMet,
    WorkerExcluded,
    WorkPaused,
)
from annotation.models import Assignment, CrowdSession, Publication, QuizAttempt, RawId, Worker, at_crowd
from annotation.models.assignments import LEASED_STATES
from annotation.quality.flags import refuse_paused_study
from annotation.work.joining import check_requirements, checked_country, hash_secret, join_from_crowd
from annotation.work.seats import may_take_seat, note_seat, people_at_same_address
from annotation.work.slots.release import release_slots
from annotation.work.slots.silent_leases import MIN_UNANSWERED_TIME, longest_pause
from common import rate_limits
from common.errors import QuorumError
from judgments.design.panel_links import session_parameter, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
MAX_ENTRIES = 5  # number of attempts to find a place for a person whom the crowd confirms
# statuses of sessions that have a place, and of sessions whose person took part
PLACE_STATUSES = (Status.WORKING, Status.SUBMITTED, Status.APPROVED)
PARTICIPANT_STATUSES = (Status.SUBMITTED, Status.APPROVED, Status.REJECTED)
SCREENING_ERRORS = (CountryProblem, RequirementNotMet, WorkPaused, WorkerExcluded)
TOOK_PART_BEFORE = "The person took part before."


class PlacesTaken(Exception):
    """Raised if all places are taken. People with invented ids may have some of them."""


def find_session(*, study: Study, ids: PanelIds) -> CrowdSession | None:
    """Return the session of the ids in a link; None if it has not begun. Raise LinkProblem if it is somebody else's."""
    rows = CrowdSession.objects.filter(platform=study.platform, external_id=session_name(study, ids))
    session = rows.select_related("worker", "publication").first()
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
    """Return the person's session, or create it. If no place is free, the new session ends at once.

    If all places are taken, one that may belong to somebody with an invented id is freed first.

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
    enter = partial(_enter_session, study, design, ids, consent=consent, country=country)
    outcome = FreeingOutcome.FREED
    for _try in range(MAX_ENTRIES):  # another person may take the freed place first
        try:
            return _retry_on_conflict(enter)
        except PlacesTaken:
            outcome = _free_place(study, ids)
            if outcome is not FreeingOutcome.FREED:
                break
    return _retry_on_conflict(partial(enter, replace=outcome is FreeingOutcome.UNCLEAR))


class FreeingOutcome(Enum):
    """What became of the attempt to free a place for somebody."""

    FREED = "the place of somebody whom the crowd does not know"
    NONE = "the crowd knows everybody who has a place"
    UNCLEAR = "the crowd does not say whom it knows, so people who answered nothing have to make room"


def _free_place(study: Study, ids: PanelIds) -> FreeingOutcome:
    """Free the place of a person whom the crowd does not know, if the crowd confirms ``ids``.

    Raises:
        AllSlotsTaken: the crowd does not know ``ids``.
    """
    publication, backend = _publications(study).last(), backend_of(study)
    if publication is None or design_of(study).panel.signature:  # the ids in signed links cannot be invented
        return FreeingOutcome.NONE
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
    for session in _unmatched_sessions(publication):
        if session.external_id in work_ids:
            continue
        raw = ids_of(session)
        if not raw.session:  # the raw ids were deleted
            continue
        # the list of work may be out of date, so ask about this submission
        if backend.knows_work(publication, worker=raw.worker, work=raw.session, at_work=False) is False:
            why = "The panel does not know of it."
            is_freed = end_panel_session(session=session, status=Status.RETURNED, why=why)
            if count_submitted(session) and exclude_unknown_work(session=session):
                is_freed = True
            if is_freed:  # otherwise another request has freed it
                return FreeingOutcome.FREED
    return FreeingOutcome.NONE


def _publications(study: Study) -> QuerySet[Publication]:
    return at_crowd(Publication, study).filter(hit=None)


def _unmatched_sessions(publication: Publication) -> QuerySet[CrowdSession]:
    """Return sessions that have a place and that the crowd has not confirmed, oldest first."""
    sessions = CrowdSession.objects.filter(
        publication=publication, status__in=[Status.WORKING, Status.SUBMITTED]
    )
    return sessions.filter(confirmed=False, booked="").select_related("study", "publication").order_by("pk")


def _silent_sessions(publication: Publication) -> QuerySet[CrowdSession]:
    """Return unconfirmed sessions that may be replaced, ordered by the time ``replaceable_at`` from which they may.

    If several people at a session's address have places, the session may be replaced some time after its last answer.
    Otherwise it may be replaced only while it has no answer.
    """
    work = Assignment.objects.filter(session=OuterRef("pk"))
    attempts = QuizAttempt.objects.filter(study=publication.study_id, worker=OuterRef("worker"))
    is_silent = ~Exists(work.exclude(answers={}, submitted_at=None)) & ~Exists(attempts.exclude(answers={}))
    last_answers = work.order_by().values("session").annotate(at=Max(Coalesce("submitted_at", "answered_at")))
    free_at = Coalesce(Subquery(last_answers.values("at")), "arrived_at") + longest_pause(publication.study)
    sessions = _unmatched_sessions(publication).filter(status=Status.WORKING)
    candidates = sessions.annotate(people_count=people_at_same_address("session"))
    unanswered_until = F("arrived_at") + MIN_UNANSWERED_TIME
    replaceable_at = Case(When(people_count__gt=1, then=free_at), default=unanswered_until)
    candidates = candidates.filter(is_silent | Q(people_count__gt=1))
    return candidates.annotate(replaceable_at=replaceable_at).order_by("replaceable_at")


def _retry_on_conflict(enter: Callable[[], CrowdSession]) -> CrowdSession:
    try:
        return enter()
    except IntegrityError:  # the same link was opened in another window at the same moment
        return enter()


@transaction.atomic
def _enter_session(
    study: Study,
    design: StudyDesign,
    ids: PanelIds,
    *,
    consent: bool,
    country: str,
    replace: bool | None = None,
) -> CrowdSession:
    """Create the person's session, or return the existing one.

    Args:
        replace: whether to end a silent session if no place is free; if None, raise PlacesTaken in this case.
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
    done_count = panel_sessions(study).filter(status__in=[Status.SUBMITTED, Status.APPROVED]).count()
    if may_be_invented and not may_take_seat(study, unfinished=publication.places - done_count):
        raise AddressFull
    worker = worker_for_crowd_id(study=study, crowd_id=ids.worker, id_name=worker_parameter(design.panel))
    Worker.objects.filter(pk=worker.pk, token_hash="").update(
        token_hash=hash_secret(worker_token(worker.platform, worker.name))
    )
    session = CrowdSession.objects.create(
        study=study,
        platform=study.platform,
        publication=publication,
        worker=worker,
        external_id=session_name(study, ids),
    )
    if ids.session:
        RawId.objects.create(
            worker=worker, session=session, name=session_parameter(design.panel), value=ids.session
        )
    earlier_sessions = list(panel_sessions(study).filter(worker=worker).exclude(pk=session.pk))
    for previous in earlier_sessions:
        # the panel gave the person a new submission, so the previous session is over
        if previous.status == Status.WORKING:
            why = "The panel sent the person again, with another submission."
            end_panel_session(session=previous, status=Status.RETURNED, why=why)
    _settle_arrival(session, design, earlier_sessions=earlier_sessions, country=country, replace=replace)
    if session.status == Status.WORKING:
        join_from_crowd(study=study, worker=worker, consent=consent)
        if may_be_invented:
            note_seat(study, session)
    return session


def _settle_arrival(
    session: CrowdSession,
    design: StudyDesign,
    *,
    earlier_sessions: list[CrowdSession],
    country: str,
    replace: bool | None,
) -> None:
    """End a new session at once if its person may not take part, or if no place is free.

    Args:
        replace: as for ``_enter_session``.
    """
    worker = session.worker
    if any(previous.status in PARTICIPANT_STATUSES for previous in earlier_sessions):
        end_session_with_status(session=session, status=Status.RETURNED, why=TOOK_PART_BEFORE)
        return
    if any(previous.status == Status.SCREENED_OUT for previous in earlier_sessions):
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
    if _has_place(session, design):
        return
    if replace is None:
        raise PlacesTaken
    if not (replace and _replace_silent(session)):
        end_session_with_status(session=session, status=Status.FULL)


def _has_place(session: CrowdSession, design: StudyDesign) -> bool:
    """Return whether a place is free for the session. If none seems free, end abandoned sessions first."""
    publication = session.publication
    sessions_with_place = CrowdSession.objects.filter(publication=publication, status__in=PLACE_STATUSES)
    other_sessions = sessions_with_place.exclude(pk=session.pk)
    if other_sessions.count() >= publication.places:
        time_out_sessions(study=session.study, minutes=design.crowd.lease_minutes)
    return other_sessions.count() < publication.places


def _replace_silent(session: CrowdSession) -> bool:
    """End the session that has been silent longest. Return False if no session can be replaced.

    Raises:
        AllSlotsTaken: everybody arrived or answered recently, and may still be reading.
    """
    other_sessions: QuerySet[Any] = _silent_sessions(session.publication).exclude(pk=session.pk)
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
    list(Assignment.objects.filter(session=silent_session).select_for_update().order_by("pk"))
    # if an answer has just arrived, the session keeps its place
    if not other_sessions.filter(pk=silent_session.pk, replaceable_at__lte=now).exists():
        return _replace_silent(session)
    return end_panel_session(
        session=silent_session,
        status=Status.TIMED_OUT,
        why="No answers came, and somebody else needed the place.",
    )


@transaction.atomic
def time_out_sessions(*, study: Study, minutes: int) -> int:
    """End running sessions that began at least ``minutes`` ago and hold no lease now; return their number."""
    sessions = idle_sessions(study, minutes=minutes).select_related("study", "publication").order_by("pk")
    return sum(end_panel_session(session=session, status=Status.TIMED_OUT) for session in sessions)


def end_abandoned_sessions(*, study: Study) -> int:
    """End abandoned sessions of a closed study; return their number. In an open study, only arrivals end them."""
    if study.state == Study.State.OPEN:
        return 0
    return time_out_sessions(study=study, minutes=design_of(study).crowd.lease_minutes)


def screen_out(*, session: CrowdSession, error: QuorumError) -> bool:
    """End the session if ``error`` is a reason to screen the person out; return whether it is."""
    if not isinstance(error, SCREENING_ERRORS):
        return False
    end_panel_session(session=session, status=Status.SCREENED_OUT, why=str(error))
    return True


@transaction.atomic
def end_without_work(*, session: CrowdSession) -> bool:
    """End the session of a person for whom no work is left. It is complete if the person submitted a HIT.

    Return False if the person claimed a HIT in another window, or the session had ended.
    """
    CrowdSession.objects.select_for_update().get(pk=session.pk)  # wait for simultaneous claims of the session
    if Assignment.objects.with_lease(timezone.now()).filter(session=session).exists():
        return False
    status = Status.SUBMITTED if count_submitted(session) else Status.FULL
    return end_panel_session(session=session, status=status)


@transaction.atomic
def end_panel_session(*, session: CrowdSession, status: str, why: str = "") -> bool:
    """End a session. Submitted work is kept, and its other assignments are released. Return False if it had ended."""
    work = Assignment.objects.filter(session=session)
    # lock assignments before sessions, as a submission does
    list(work.filter(state__in=LEASED_STATES).select_for_update().order_by("pk"))
    if not end_session_with_status(session=session, status=status, why=why):
        return False
    release_slots(work, Assignment.State.EXPIRED if status == Status.TIMED_OUT else Assignment.State.RETURNED)
    release_unfilled(publication=session.publication)
    return True


def outcome_of(session: CrowdSession) -> str:
    """Return the session's outcome, a value of ``judgments.design.panels.OUTCOMES``; "" while it is running."""
    return OUTCOMES_BY_STATUS.get(session.status, "")


def ids_of(session: CrowdSession) -> PanelIds:
    """Return the panel's ids of the session's person and submission; "" for ids that were deleted."""
    design = design_of(session.study)
    rows = RawId.objects.filter(worker=session.worker_id)
    worker = rows.filter(session=None, name=worker_parameter(design.panel)).first()
    submission = rows.filter(session=session, name=session_parameter(design.panel)).first()
    return PanelIds(worker=worker.value if worker else "", session=submission.value if submission else "")


def code_of(session: CrowdSession) -> str:
    """Return the session's completion code, which was stored when it ended."""
    if session.code:
        return session.code
    return code_for(session.study, design_of(session.study), outcome_of(session), session.external_id)


def session_token_of(session: CrowdSession) -> str:
    """Return the token by which the browser of the session's person is recognised."""
    return worker_token(session.worker.platform, session.worker.name)
