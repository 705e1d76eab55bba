"""Opening a study to its crowd, and closing it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from annotation.backends import CrowdBackend, backend_for
from annotation.services.calls import carry_out_calls
from annotation.services.claims import expire_overdue, free_reserved
from annotation.services.gate import shut_gate
from annotation.services.money import budget_of, set_budget
from annotation.services.publishing import ask_to_expire, plan_publications
from annotation.services.rules import copy_rules
from judgments.errors import WrongState
from judgments.jobs import Progress
from judgments.models import Study
from judgments.requirements import not_stated
from judgments.services.events import note_event
from judgments.services.studies import design_of, mark_closed, mark_open


def open_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> str:
    """Let workers in, and carry out what that asks of the crowd; one sentence that says where they go. Opening an open
    study puts up what is missing there, and changes nothing else.

    Raises:
        WrongState: as for ``begin_opening``, or the account at the crowd holds too little.
    """
    said = begin_opening(study=study, by=by)
    carried = carry_out_calls(study=study, progress=progress)
    if carried.stopped:
        raise WrongState(
            f"Study {study.slug!r} is open, but its crowd stopped at {carried.done} publications: {carried.stopped}"
        )
    rest = f" {carried.parked} calls were refused and wait to be looked at." if carried.parked else ""
    later = f" {carried.waiting} calls go on later (sync_crowd {study.slug})." if carried.waiting else ""
    return said + rest + later


@transaction.atomic
def begin_opening(*, study: Study, by: User | None = None) -> str:
    """Open the study here and write down what its crowd is to be asked, all or nothing.

    Raises:
        WrongState: there are no HITs yet, the answers are simulated or imported, this version cannot publish to the
            study's crowd, that crowd cannot state what the study asks of its workers, the study was open to another
            place before, or its budget does not reach.
    """
    design = design_of(study)
    unsaid = not_stated(design.workers, design.crowd.backend)
    if unsaid:
        raise WrongState(
            f"Study {study.slug!r} asks for workers with {unsaid[0]}, which the crowd {design.crowd.backend!r} can "
            "neither state nor check; change its requirements or its crowd."
        )
    backend = backend_for(design)
    if study.simulated:
        raise WrongState(
            f"Study {study.slug!r} holds the rehearsal crowd's answers; duplicate it and open the copy to people."
        )
    backend.refuse(study, design)
    was = study.state
    mark_open(study=study)
    _settle_in(study, backend)
    copy_rules(study=study)
    plan_publications(study=study, by=by)
    said = backend.where(study)
    if was != Study.State.OPEN:
        note_event(study=study, what="opened", words=_opened_words(study, said), by=by)
    return said


def _opened_words(study: Study, said: str) -> str:
    """Where people come from, in the log; of a study of this site the link says it."""
    return f"Opened. {said}" if study.place == "local" else f"Opened at {study.place}. {said}"


def _settle_in(study: Study, backend: CrowdBackend) -> None:
    """The study belongs to one place for good: people and money of two places never meet in one study."""
    design = design_of(study)
    place = backend.place(design)
    if study.place and study.place != place:
        raise WrongState(
            f"Study {study.slug!r} belongs to {study.place} and cannot be opened at {place}; duplicate it for that."
        )
    if not study.place:
        study.place = place
        study.save(update_fields=["place"])
        if design.crowd.budget_cents and backend.sends_people:
            budget_of(study, place)
            set_budget(study=study, place=place, cents=design.crowd.budget_cents)


def close_study(*, study: Study, by: User | None = None, progress: Progress | None = None) -> None:
    """Offer no more work, here and at the crowd; who holds a HIT may still submit it within the lease. Leases that
    ended are closed too, and what was only fetched ahead: nobody comes to take what they held.

    Raises:
        WrongState: the study was never opened.
    """
    begin_closing(study=study, by=by)
    carry_out_calls(study=study, progress=progress)


@transaction.atomic
def begin_closing(*, study: Study, by: User | None = None) -> None:
    """Close the study here and write down what its crowd is to be asked.

    Raises:
        WrongState: as for ``close_study``.
    """
    shut_gate(study)
    was = study.state
    mark_closed(study=study)
    ask_to_expire(study=study, by=by)
    expire_overdue(study=study)
    free_reserved(study=study)
    if was != Study.State.CLOSED:
        note_event(study=study, what="closed", words="Closed to new workers.", by=by)
