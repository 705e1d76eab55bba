"""The page of work: claim, save, submit, revise, return, report a problem; and the last page."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.crowds.arrivals import end_session
from annotation.crowds.mturk.frames import frame_of
from annotation.crowds.mturk.views import work_in_frame
from annotation.crowds.panel.people import end_without_work, outcome_of, screen_out
from annotation.crowds.panel.sessions import session_of
from annotation.errors import (
    AnswersMissing,
    NotAdmitted,
    NotJoined,
    QuizNotPassed,
    TooLateToChange,
    WorkerExcluded,
    WorkPaused,
)
from annotation.models import Assignment, CrowdSession, Judgment, Participation
from annotation.views.calls import change_json, is_json, said_of_change, save_json, submit_json
from annotation.views.common import (
    ReportForm,
    errors_as_pages,
    keep_draft,
    own_assignment_of,
    render_sheet,
    see_other,
    submitted,
    worker_of,
)
from annotation.work.admission import has_done_all
from annotation.work.answers import without_unfinished
from annotation.work.claims import claim_assignment, return_assignment, without_own_captions
from annotation.work.presentation import Place, places_of
from annotation.work.submissions import (
    changeable_until,
    last_changeable,
    report_problem,
    revise_judgments,
    save_answers,
)
from annotation.work.worksheet import answers_of_form, open_positions, undecided
from common.errors import NotThere
from judgments.models import HIT, Study
from judgments.studies.studies import design_of, find_study, kind_of

RECENT = 5  # among so many newest assignments is the last submitted or expired one


@gzip_page  # the page repeats itself: gzip leaves a sixth
@never_cache
@require_safe
@errors_as_pages
def work(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the worker's current HIT or claim the next one. Ask first whether to reclaim an expired one."""
    frame = frame_of(request)
    if frame is not None:
        return work_in_frame(request, frame)
    study = find_study(slug)
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:study", slug)
    session = session_of(study=study, worker=worker)
    if session is not None and outcome_of(session):
        return redirect("annotation:panel-end", slug)
    recent = list(Assignment.objects.filter(study=study, worker=worker).order_by("-accepted_at")[:RECENT])
    for one in recent:
        one.study = study
    lost = lost_work(recent)
    if lost is not None and "another" not in request.GET:
        context = {"study": study, "assignment": lost, "answers": len(lost.answers)}
        return render(request, "annotation/expired.html", context)
    try:
        claim = claim_assignment(study=study, worker=worker)
    except NotJoined:  # a worker who has not joined this study
        return redirect("annotation:study", slug)
    except (NotAdmitted, WorkPaused, WorkerExcluded) as error:
        if session is not None and screen_out(session=session, error=error):
            return redirect("annotation:panel-end", slug)
        if isinstance(error, QuizNotPassed):
            return redirect("annotation:quiz", slug)
        raise
    if claim is None and session is not None and not end_without_work(session=session):
        return redirect("annotation:work", slug)  # claimed in another window meanwhile
    if claim is None:
        return redirect("annotation:done", slug)
    claim.assignment.study = study
    return render_sheet(request, claim.assignment, claim.places, last=last_changeable(recent))


def lost_work(recent: Sequence[Assignment]) -> Assignment | None:
    """Return the newest assignment if it expired before submission."""
    last = next((one for one in recent if one.state != Assignment.State.RESERVED), None)
    if last is None or not last.answers or last.expires_at is None or last.study.state != Study.State.OPEN:
        return None
    ended = last.state == Assignment.State.ACCEPTED and last.expires_at <= timezone.now()
    return last if ended or last.state == Assignment.State.EXPIRED else None


@never_cache
@require_POST
def save(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Save a draft: the script sends ``{"answers": [...]}`` and gets JSON; the form is shown again."""
    return (save_json if is_json(request) else _save_form)(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _save_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    keep_draft(request, own_assignment_of(request, slug, assignment_id))
    messages.success(request, _("Saved. You can go on now or later."))
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Submit the page, and go on or show what is missing."""
    if request.method != "POST":
        return redirect("annotation:work", slug)
    return (submit_json if is_json(request) else _submit_form)(
        request, slug=slug, assignment_id=assignment_id
    )


@errors_as_pages
def _submit_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    places = places_of(assignment)
    kind = kind_of(assignment.study)
    answers, unfinished = without_unfinished(
        answers_of_form(request.POST, places, kind=kind, final=True, saved=assignment.answers),
        design=design_of(assignment.study),
        places=places,
    )
    try:
        if unfinished:
            draft = save_answers(assignment=assignment, answers=answers, unfinished=unfinished).answers
            raise AnswersMissing(open_positions(places, draft, kind=kind))
        if missing := undecided(request.POST, places, kind):
            save_answers(assignment=assignment, answers=answers)
            raise AnswersMissing(missing)
        submission = submitted(request, assignment, answers)
    except AnswersMissing as error:
        assignment.refresh_from_db(fields=["answers"])
        return render_sheet(request, assignment, places, missing=error.missing, status=422)
    if not submission.repeated and frame_of(request) is None:  # a frame's last step says so
        messages.success(request, _("Your page of work is submitted."))
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    is_call = request.method == "POST" and is_json(request)
    return (change_json if is_call else _change_form)(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _change_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    until = changeable_until(assignment)
    if until is None or until <= timezone.now():
        raise TooLateToChange(_("Your answers stay as you submitted them: the time to change them is over."))
    places = places_of(assignment)
    if request.method != "POST":
        return render_sheet(request, assignment, places, revising=True)
    kind = kind_of(assignment.study)
    answers, unfinished = without_unfinished(
        answers_of_form(request.POST, places, kind=kind, final=True, saved=assignment.answers),
        design=design_of(assignment.study),
        places=places,
    )
    if missing := [*unfinished, *undecided(request.POST, places, kind)]:
        return render_sheet(
            request, assignment, places, revising=True, missing=missing, unfinished=unfinished, status=422
        )
    changed = revise_judgments(assignment=assignment, answers=answers)
    messages.success(request, said_of_change(changed))
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def give_back(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    if request.method == "POST" and "confirm" in request.POST:
        return_assignment(assignment=assignment)
        frame = frame_of(request)
        if frame is not None:
            end_session(session=frame.session, status=CrowdSession.Status.RETURNED)
        return render(request, "annotation/returned.html", {"study": assignment.study})
    if request.method == "POST":
        keep_draft(request, assignment)
        return see_other("annotation:return", slug, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return redirect("annotation:work", slug)
    return render(request, "annotation/return.html", {"study": assignment.study, "assignment": assignment})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def report(request: HttpRequest, slug: str, assignment_id: UUID, position: int) -> HttpResponse:
    """Report a problem with an item, and save the page's answers first."""
    assignment = own_assignment_of(request, slug, assignment_id)
    place = next((one for one in places_of(assignment) if one.position == position), None)
    if place is None:
        raise NotThere(f"There is no position {position}.")
    if request.method == "POST" and "what" not in request.POST:
        keep_draft(request, assignment)
        return see_other("annotation:report", slug, assignment_id, position)
    form = ReportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        report_problem(assignment=assignment, position=position, **form.cleaned_data)
        messages.success(request, _("Thank you. The problem is reported; your answers are as they were."))
        return see_other("annotation:work", slug, fragment=f"u{position}")
    context = {
        "study": assignment.study,
        "assignment": assignment,
        "position": position,
        "form": form,
        "has_picture": _has_picture(assignment.study, place),
    }
    return render(request, "annotation/report.html", context, status=400 if form.is_bound else 200)


def _has_picture(study: Study, place: Place) -> bool:
    item = place.unit.item
    there = design_of(study).about_pictures or bool(item.picture or item.url)
    return there and "image" in kind_of(study).shown(place.unit, side=None, picture_url="")


@never_cache
@require_safe
@errors_as_pages
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """Thank the worker with the completion code, or say that nothing is left now."""
    study = find_study(slug)
    worker = worker_of(request)
    participation = (
        Participation.objects.filter(study=study, worker=worker).first() if worker is not None else None
    )
    if worker is None or participation is None:
        return redirect("annotation:study", slug)
    if session_of(study=study, worker=worker) is not None:
        return redirect("annotation:panel-end", slug)
    now = timezone.now()
    mine = Assignment.objects.filter(study=study, worker=worker)
    finished = mine.finished().count()
    held = mine.holding(now).exists()
    others = HIT.objects.filter(study=study).exclude(assignments__in=mine.finished())
    others = without_own_captions(others, study=study, worker=worker)
    is_open = study.state == Study.State.OPEN
    design = design_of(study)
    done_all = is_open and not held and has_done_all(study=study, design=design, worker=worker)
    more = is_open and not held and not done_all and others.filter(open_slots__gt=0).exists()
    leases = Assignment.objects.filter(study=study).holding(now)
    waiting = (
        is_open and not held and not done_all and not more and others.filter(assignments__in=leases).exists()
    )
    left = (("held", held), ("more", more), ("waiting", waiting), ("all", done_all))
    context = {
        "study": study,
        "design": design,
        "worker": worker,
        "pages": finished,
        "judgments": Judgment.objects.filter(assignment__in=mine).count() if finished else 0,
        "code": participation.completion_code if finished else "",
        "left": next((word for word, holds in left if holds), "nothing"),
    }
    return render(request, "annotation/done.html", context)
