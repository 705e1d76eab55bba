"""What the board can ask of an open study: each step one service with a reason, which stands in the study's log."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest

from annotation.crowds.steps_page import go_on
from annotation.work.extending import (
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
    reopen_units,
)
from annotation.work.pausing import pause_study, resume_study
from common.errors import WrongState
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.studies.study_page import StudyStep, add_step


def _why(request: HttpRequest) -> str:
    return request.POST.get("why", "")


def _number(request: HttpRequest, name: str, what: str) -> int:
    text = request.POST.get(name, "").strip()
    if not text.isdecimal() or len(text) > 6:
        raise WrongState(f"Nothing was changed: {what} is {text[:20]!r}; expected a whole number.")
    return int(text)


def _keys(request: HttpRequest, name: str) -> list[str]:
    """Keys with commas, spaces or line breaks between them."""
    return request.POST.get(name, "").replace(",", " ").split()


def _pause(request: HttpRequest, study: Study) -> None:
    pause_study(study=study, why=_why(request), by=signed_in(request))
    go_on(request, study)


def _resume(request: HttpRequest, study: Study) -> None:
    resume_study(study=study, why=_why(request), by=signed_in(request))
    go_on(request, study)


def _extend(request: HttpRequest, study: Study) -> None:
    workers = _number(request, "workers", "the number of workers")
    keys = _keys(request, "hits")
    count = extend_study(
        study=study, workers=workers, hits=keys or None, why=_why(request), by=signed_in(request)
    )
    go_on(request, study)
    messages.success(request, f"{count:,} HITs are offered to {workers} more.")


def _more_time(request: HttpRequest, study: Study) -> None:
    minutes = _number(request, "minutes", "the number of minutes")
    count = extend_leases(study=study, minutes=minutes, why=_why(request), by=signed_in(request))
    messages.success(request, f"{count:,} leases are {minutes} minutes longer.")


def _take_back(request: HttpRequest, study: Study) -> None:
    """One that is held, or all whose lease is over."""
    try:
        chosen = [UUID(key) for key in request.POST.getlist("assignment")]
    except ValueError:
        raise WrongState("Nothing was changed: there is no such page of work.") from None
    count = expire_assignments(
        study=study, assignments=chosen or None, why=_why(request), by=signed_in(request)
    )
    messages.success(request, f"{'One HIT is' if count == 1 else f'{count:,} HITs are'} free for others.")


def _expire_slots(request: HttpRequest, study: Study) -> None:
    slots = expire_slots(study=study, hits=_keys(request, "hits"), why=_why(request), by=signed_in(request))
    go_on(request, study)
    messages.success(request, f"{slots:,} open slots are not offered any more.")


def _reopen(request: HttpRequest, study: Study) -> None:
    votes = _number(request, "votes", "the number of votes")
    count = reopen_units(
        study=study, units=_keys(request, "units"), votes=votes, why=_why(request), by=signed_in(request)
    )
    go_on(request, study)
    messages.success(
        request, f"{'One HIT goes' if count == 1 else f'{count:,} HITs go'} to {votes} more workers."
    )


add_step(StudyStep(name="pause", label="Pause", run=_pause, done="The study is paused.", beside=True))
add_step(StudyStep(name="resume", label="Resume", run=_resume, done="Work is handed out again.", beside=True))
add_step(StudyStep(name="add-workers", label="Extend", run=_extend, beside=True))
add_step(StudyStep(name="more-time", label="Give more time", run=_more_time, beside=True))
add_step(StudyStep(name="take-back", label="Take back", run=_take_back, beside=True))
add_step(StudyStep(name="expire-slots", label="Expire open slots", run=_expire_slots, beside=True))
add_step(StudyStep(name="reopen-units", label="Re-open units", run=_reopen, beside=True))
