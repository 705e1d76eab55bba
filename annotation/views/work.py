"""The page of work: taking it, saving, submitting, giving it back, reporting a problem; and the last page."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.answers import without_unfinished
from annotation.cookies import worker_of
from annotation.errors import AnswersMissing, NotJoined, QuizNotPassed
from annotation.examples import worked_examples
from annotation.forms import ReportForm
from annotation.models import Assignment, Judgment, Participation
from annotation.pictures import picture_url
from annotation.presentation import Place, places_of
from annotation.services.claims import claim_assignment, return_assignment
from annotation.services.own_captions import without_own_captions
from annotation.services.submissions import report_problem, save_answers, submit_assignment
from annotation.views.common import errors_as_pages, own_assignment_of, see_other
from annotation.words import spell_left
from annotation.worksheet import answers_of_form, open_positions, sheet_of, undecided
from judgments.errors import NotThere, QuorumError
from judgments.kinds import KINDS
from judgments.markup import render_markdown
from judgments.models import HIT, Study
from judgments.services.studies import design_of, find_study

MOST_BYTES = 1_000_000


@never_cache
@require_safe
@errors_as_pages
def work(request: HttpRequest, slug: str) -> HttpResponse:
    """The HIT this worker holds, or the next one; asking again gives the same one."""
    study = find_study(slug)
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:study", slug)
    try:
        claim = claim_assignment(study=study, worker=worker)
    except NotJoined:  # known here, but not in this study yet
        return redirect("annotation:study", slug)
    except QuizNotPassed:
        return redirect("annotation:quiz", slug)
    if claim is None:
        return redirect("annotation:done", slug)
    claim.assignment.study = study
    return _work_page(request, claim.assignment, claim.places)


def _work_page(
    request: HttpRequest,
    assignment: Assignment,
    places: list[Place],
    *,
    missing: Collection[int] = (),
    status: int = 200,
) -> HttpResponse:
    study = assignment.study
    design = design_of(study)
    steps = sheet_of(
        places,
        design=design,
        picture_url=lambda place: picture_url(place=place, assignment=assignment),
        answers=assignment.answers,
        missing=missing,
    )
    left = (assignment.expires_at - timezone.now()).total_seconds() if assignment.expires_at else 0.0
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "kind": KINDS[design.protocol],
        "assignment": assignment,
        "steps": steps,
        "missing_steps": [step for step in steps if step.missing],
        "now": next((step.number for step in steps if not step.answered), len(steps)),
        "left": max(0, int(left)),
        "left_words": spell_left(left),
        "instructions": render_markdown(design.instructions) if design.instructions else "",
        "examples": worked_examples(study, design),
    }
    return render(request, "annotation/work.html", context, status=status)


@never_cache
@require_POST
def save(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Keep a draft. The page's script sends ``{"answers": [...]}`` and reads JSON; its form comes back to itself."""
    if request.content_type != "application/json":
        return _save_form(request, slug=slug, assignment_id=assignment_id)
    try:
        assignment = own_assignment_of(request, slug, assignment_id)
        save_answers(assignment=assignment, answers=_json_answers(request))
    except QuorumError as error:
        return JsonResponse({"title": error.title, "detail": str(error)}, status=error.status)
    return JsonResponse({"saved": True})


def _json_answers(request: HttpRequest) -> Any:
    if len(request.body) > MOST_BYTES:
        raise QuorumError("Nothing was saved: the answers are larger than a page of work can be.")
    try:
        return json.loads(request.body)["answers"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise QuorumError('Nothing was saved: expected JSON of the form {"answers": [...]}.') from None


@errors_as_pages
def _save_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    _keep_draft(request, own_assignment_of(request, slug, assignment_id))
    messages.success(request, "Saved. You can go on now or later.")
    return see_other("annotation:work", slug)


def _keep_draft(request: HttpRequest, assignment: Assignment) -> None:
    """Whatever button of the work page is pressed, what was answered there is not lost."""
    places, design = places_of(assignment), design_of(assignment.study)
    answers, unfinished = without_unfinished(
        answers_of_form(
            request.POST, places, kind=KINDS[design.protocol], final=False, saved=assignment.answers
        ),
        design=design,
        places=places,
    )
    if answers or unfinished:
        save_answers(assignment=assignment, answers=answers, unfinished=unfinished)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def submit(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Submit the page; the reply leads to the next one. What is missing is named on the same page."""
    if request.method != "POST":
        return redirect("annotation:work", slug)
    assignment = own_assignment_of(request, slug, assignment_id)
    places = places_of(assignment)
    kind = KINDS[assignment.study.protocol]
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
        submission = submit_assignment(assignment=assignment, answers=answers)
    except AnswersMissing as error:
        assignment.refresh_from_db(fields=["answers"])
        return _work_page(request, assignment, places, missing=error.missing, status=422)
    if not submission.repeated:
        messages.success(request, "Your page of work is submitted.")
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def give_back(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Return a page of work, after asking."""
    assignment = own_assignment_of(request, slug, assignment_id)
    if request.method == "POST" and "confirm" in request.POST:
        return_assignment(assignment=assignment)
        return render(request, "annotation/returned.html", {"study": assignment.study})
    if request.method == "POST":
        _keep_draft(request, assignment)
        return see_other("annotation:return", slug, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return redirect("annotation:work", slug)
    return render(request, "annotation/return.html", {"study": assignment.study, "assignment": assignment})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def report(request: HttpRequest, slug: str, assignment_id: UUID, position: int) -> HttpResponse:
    """Say that something is wrong with an item; the answers of the page it was pressed on are kept first."""
    assignment = own_assignment_of(request, slug, assignment_id)
    place = next((one for one in places_of(assignment) if one.position == position), None)
    if place is None:
        raise NotThere(f"There is no position {position}.")
    if request.method == "POST" and "what" not in request.POST:
        _keep_draft(request, assignment)
        return see_other("annotation:report", slug, assignment_id, position)
    form = ReportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        report_problem(assignment=assignment, position=position, **form.cleaned_data)
        messages.success(request, "Thank you. The problem is reported; your answers are as they were.")
        return see_other("annotation:work", slug, fragment=f"u{position}")
    context = {
        "study": assignment.study,
        "assignment": assignment,
        "position": position,
        "form": form,
        "has_picture": "image"
        in KINDS[assignment.study.protocol].shown(place.unit, side=None, picture_url=""),
    }
    return render(request, "annotation/report.html", context, status=400 if form.is_bound else 200)


@never_cache
@require_safe
@errors_as_pages
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """Thank you, what was done, and the completion code; or that nothing is left right now."""
    study = find_study(slug)
    worker = worker_of(request)
    participation = (
        Participation.objects.filter(study=study, worker=worker).first() if worker is not None else None
    )
    if worker is None or participation is None:
        return redirect("annotation:study", slug)
    now = timezone.now()
    mine = Assignment.objects.filter(study=study, worker=worker)
    finished = mine.finished().count()
    held = mine.holding(now).exists()
    others = HIT.objects.filter(study=study).exclude(assignments__in=mine.finished())
    others = without_own_captions(others, study=study, worker=worker)
    is_open = study.state == Study.State.OPEN
    more = is_open and not held and others.filter(open_slots__gt=0).exists()
    leases = Assignment.objects.filter(study=study).holding(now)
    waiting = is_open and not held and not more and others.filter(assignments__in=leases).exists()
    context = {
        "study": study,
        "design": design_of(study),
        "worker": worker,
        "pages": finished,
        "judgments": Judgment.objects.filter(assignment__in=mine).count() if finished else 0,
        "code": participation.completion_code if finished else "",
        "left": "held" if held else "more" if more else "waiting" if waiting else "nothing",
    }
    return render(request, "annotation/done.html", context)
