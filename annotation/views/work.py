"""The work page, its calls, and the last page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST

from annotation.crowds.mturk.views import work_in_frame
from annotation.crowds.panel.people import end_without_work, outcome_of, screen_out
from annotation.crowds.sessions import end_session
from annotation.errors import (
    AlreadyEnded,
    AnswerProblem,
    AnswersMissing,
    ConsentChanged,
    NotAdmitted,
    NotJoined,
    SlotTaken,
    TooLate,
    TooLateToChange,
    WorkerExcluded,
    WorkPaused,
)
from annotation.models import Assignment, CrowdSession, Judgment, Participation
from annotation.views.common import (
    FORM,
    SAFE,
    ReportForm,
    errors_as_pages,
    frame_of,
    own_assignment_of,
    read_form,
    render_sheet,
    save_draft,
    see_other,
    session_of,
    submit_answers,
    worker_of,
    worker_page,
)
from annotation.work.claims import (
    LOOK_AGAIN,
    claim_assignment,
    free_a_page,
    return_assignment,
    waits_for_a_page,
)
from annotation.work.joining import has_reached_limit
from annotation.work.leases import Lease, extend_lease, reserve_next, retake_assignment
from annotation.work.submissions import (
    advice_on,
    changeable_until,
    last_changeable,
    report_problem,
    revise_judgments,
    save_answers,
    submit_and_claim,
)
from annotation.work.worksheet import (
    PageUnit,
    open_positions,
    page_units_of,
    read_design,
    undecided_positions,
)
from common.errors import NotThere, QuorumError
from common.files import can_be_stored
from common.incoming import load_json
from judgments.models import Study
from judgments.studies.studies import design_of, find_study, kind_of

MOST_BYTES = 1_000_000

# which note the page shows for an error
ERROR_CODES: dict[type[QuorumError], str] = {
    TooLate: "late",
    SlotTaken: "taken",
    AlreadyEnded: "over",
    TooLateToChange: "fixed",
    NotThere: "unknown",
}
View = Callable[..., HttpResponse]
RECENT_ASSIGNMENTS = 5  # enough to include the last submitted or expired one


def by_content(script: View, form: View) -> View:
    """Return a view that answers a script's JSON with ``script``, and a form with ``form``."""

    def view(request: HttpRequest, **path: Any) -> HttpResponse:
        return (script if request.content_type == "application/json" else form)(request, **path)

    return view


def errors_as_json(view: View) -> View:
    """Return a named error as ``{"title", "detail", "why"?, "missing"?, "position"?}``."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            problem: dict[str, Any] = {"title": _(error.title), "detail": str(error)}
            why = next((word for kind, word in ERROR_CODES.items() if isinstance(error, kind)), "")
            if why:
                problem["why"] = why
            if isinstance(error, AnswersMissing):
                problem["missing"] = error.missing
            if isinstance(error, AnswerProblem) and error.position is not None:
                problem["position"] = error.position
            return JsonResponse(problem, status=error.status)

    return wrapped


def _read_body(request: HttpRequest) -> dict[str, Any]:
    if len(request.body) > MOST_BYTES:
        raise QuorumError(_("Nothing was saved: the answers are larger than a page of work can be."))
    try:
        body = load_json(request.body)
        if b"\\" in request.body and not can_be_stored(body):  # unstorable signs need an escape
            raise QuorumError(_("Nothing was saved: a text holds signs that cannot be stored."))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body


def _read_answers(request: HttpRequest) -> Any:
    body = _read_body(request)
    if "answers" not in body:
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body["answers"]


def _lease_as_json(lease: Lease) -> dict[str, int]:
    return {
        "left": max(0, int((lease.expires_at - timezone.now()).total_seconds())),
        "more": lease.extensions_left,
    }


@errors_as_json
def _save_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    answers = _read_answers(request)
    save_answers(assignment=assignment, answers=answers)
    advice = advice_on(assignment, answers)
    return JsonResponse({"saved": True} | ({"advice": advice} if advice else {}))


@errors_as_json
def _submit_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Submit and claim the next page."""
    assignment = own_assignment_of(request, slug, assignment_id)
    if frame_of(request) is not None:  # a frame has one assignment only
        submit_answers(request, assignment, _read_answers(request))
        return JsonResponse({"next": None, "where": resolve_url("annotation:finish", slug)})
    submission, claim = submit_and_claim(assignment=assignment, answers=_read_answers(request))
    message = _("Your page of work is submitted.")
    reply: dict[str, Any] = {"said": message, "next": None, "where": resolve_url("annotation:work", slug)}
    if claim is not None:
        assignment_held = claim.assignment
        left = (
            (assignment_held.expires_at - timezone.now()).total_seconds() if assignment_held.expires_at else 0
        )
        reply |= {"next": str(assignment_held.pk), "left": max(0, int(left))}
    if changeable_until(submission.assignment) is not None:
        reply["change"] = resolve_url("annotation:change", slug, assignment_id)
    if reply["next"] is None or reply["next"] != _read_body(request).get("ahead"):
        messages.success(request, message)
    return JsonResponse(reply)


@errors_as_json
def _change_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    changed = revise_judgments(assignment=assignment, answers=_read_answers(request))
    messages.success(request, _change_message(changed))
    return JsonResponse({"next": None, "where": resolve_url("annotation:work", slug)})


def _change_message(changed: list[int]) -> str:
    if not changed:
        return _("Nothing was different: your answers stay as they are.")
    return _("Your answers are changed; what you submitted first is kept beside them.")


@gzip_page
@never_cache
@require_POST
@errors_as_json
def prefetch_next(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Return the reserved next page, or 204 if there is none."""
    claim = reserve_next(assignment=own_assignment_of(request, slug, assignment_id))
    if claim is None:
        return HttpResponse(status=204)
    return render_sheet(request, claim.assignment, claim.page_units)


@errors_as_json
def _extend_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    return JsonResponse(
        _lease_as_json(extend_lease(assignment=own_assignment_of(request, slug, assignment_id)))
    )


@errors_as_pages
def _extend_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    save_draft(request, assignment)
    extend_lease(assignment=assignment)
    messages.success(request, _("You have more time now."))
    return see_other("annotation:work", slug)


extend = never_cache(require_POST(by_content(_extend_json, _extend_form)))


@errors_as_json
def _retake_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    _retake_with_message(request, own_assignment_of(request, slug, assignment_id))
    return JsonResponse({"where": resolve_url("annotation:work", slug)})


@errors_as_pages
def _retake_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    _retake_with_message(request, own_assignment_of(request, slug, assignment_id))
    return see_other("annotation:work", slug)


def _retake_with_message(request: HttpRequest, assignment: Assignment) -> None:
    retake_assignment(assignment=assignment)
    messages.success(request, _("You have this page of work again, with your answers."))


retake = never_cache(require_POST(by_content(_retake_json, _retake_form)))


@gzip_page  # gzip leaves a sixth
@worker_page(SAFE)
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
    recent = list(
        Assignment.objects.filter(study=study, worker=worker).order_by("-accepted_at")[:RECENT_ASSIGNMENTS]
    )
    for assignment in recent:
        assignment.study = study
    lost = find_expired(recent)
    if lost is not None and "another" not in request.GET:
        context = {"study": study, "assignment": lost, "answers": len(lost.answers)}
        return render(request, "annotation/expired.html", context)
    try:
        claim = claim_assignment(study=study, worker=worker)
    except NotJoined:  # a worker who has not joined this study
        return redirect("annotation:study", slug)
    except ConsentChanged:
        return redirect("annotation:consent", slug)
    except (NotAdmitted, WorkPaused, WorkerExcluded) as error:
        if session is not None and screen_out(session=session, error=error):
            return redirect("annotation:panel-end", slug)
        if isinstance(error, NotAdmitted) and error.address:
            return redirect(error.address, slug)
        raise
    if claim is None and session is not None and not end_without_work(session=session):
        return redirect("annotation:work", slug)  # claimed in another window meanwhile
    if claim is None:
        return redirect("annotation:done", slug)
    claim.assignment.study = study
    if claim.created and "waited" in request.GET:
        messages.success(request, _("A page of work came free; it is yours now."))
        return see_other("annotation:work", slug)
    return render_sheet(request, claim.assignment, claim.page_units, last=last_changeable(recent))


def find_expired(recent: Sequence[Assignment]) -> Assignment | None:
    """Return the newest assignment if it expired with answers."""
    last = next((assignment for assignment in recent if assignment.state != Assignment.State.RESERVED), None)
    if last is None or not last.answers or last.expires_at is None or last.study.state != Study.State.OPEN:
        return None
    ended = last.state == Assignment.State.ACCEPTED and last.expires_at <= timezone.now()
    return last if ended or last.state == Assignment.State.EXPIRED else None


@errors_as_pages
def _save_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    save_draft(request, own_assignment_of(request, slug, assignment_id))
    messages.success(request, _("Saved. You can go on now or later."))
    return see_other("annotation:work", slug)


save = never_cache(require_POST(by_content(_save_json, _save_form)))


@never_cache
@require_http_methods(FORM)
def submit(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    if request.method != "POST":
        return redirect("annotation:work", slug)
    return by_content(_submit_json, _submit_form)(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _submit_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    page_units = page_units_of(assignment)
    kind = kind_of(assignment.study)
    answers, unfinished = read_form(request, assignment, page_units, final=True)
    try:
        if unfinished:
            draft = save_answers(assignment=assignment, answers=answers, unfinished=unfinished).answers
            raise AnswersMissing(open_positions(page_units, draft, kind=kind))
        if missing := undecided_positions(request.POST, page_units, kind):
            save_answers(assignment=assignment, answers=answers)
            raise AnswersMissing(missing)
        submission = submit_answers(request, assignment, answers)
    except TooLate:
        if frame_of(request) is None:  # what is late in a crowd's frame is kept apart already
            save_answers(assignment=assignment, answers=answers, unfinished=unfinished, keep_late=True)
        raise
    except AnswersMissing as error:
        assignment.refresh_from_db(fields=["answers"])
        return render_sheet(request, assignment, page_units, missing=error.missing, status=422)
    if not submission.repeated and frame_of(request) is None:  # a frame's last step says it
        messages.success(request, _("Your page of work is submitted."))
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(FORM)
def change(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    view = by_content(_change_json, _change_form) if request.method == "POST" else _change_form
    return view(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _change_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    until = changeable_until(assignment)
    if until is None or until <= timezone.now():
        raise TooLateToChange(_("Your answers stay as you submitted them: the time to change them is over."))
    page_units = page_units_of(assignment)
    if request.method != "POST":
        return render_sheet(request, assignment, page_units, revising=True)
    answers, unfinished = read_form(request, assignment, page_units, final=True)
    if missing := [*unfinished, *undecided_positions(request.POST, page_units, kind_of(assignment.study))]:
        return render_sheet(
            request, assignment, page_units, revising=True, missing=missing, unfinished=unfinished, status=422
        )
    changed = revise_judgments(assignment=assignment, answers=answers)
    messages.success(request, _change_message(changed))
    return see_other("annotation:work", slug)


@worker_page(FORM)
def give_back(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    if request.method == "POST" and "confirm" in request.POST:
        return_assignment(assignment=assignment)
        frame = frame_of(request)
        if frame is not None:
            end_session(session=frame.session, status=CrowdSession.Status.RETURNED)
        return render(request, "annotation/returned.html", {"study": assignment.study})
    if request.method == "POST":
        save_draft(request, assignment)
        return see_other("annotation:return", slug, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return redirect("annotation:work", slug)
    return render(request, "annotation/return.html", {"study": assignment.study, "assignment": assignment})


@worker_page(FORM)
def report(request: HttpRequest, slug: str, assignment_id: UUID, position: int) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    page_unit = next(
        (candidate for candidate in page_units_of(assignment) if candidate.position == position), None
    )
    if page_unit is None:
        raise NotThere(f"There is no position {position}.")
    if request.method == "POST" and "what" not in request.POST:
        save_draft(request, assignment)
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
        "has_picture": _has_picture(assignment.study, page_unit),
    }
    return render(request, "annotation/report.html", context, status=400 if form.is_bound else 200)


def _has_picture(study: Study, page_unit: PageUnit) -> bool:
    item = page_unit.unit.item
    shows_pictures = design_of(study).about_pictures or bool(item.picture or item.url)
    return shows_pictures and "image" in kind_of(study).present_unit(
        page_unit.unit, side=None, picture_url=""
    )


@worker_page(SAFE)
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
    mine = Assignment.objects.filter(study=study, worker=worker)
    finished = mine.finished().count()
    working = mine.with_lease(timezone.now()).exists()
    is_open = study.state == Study.State.OPEN
    design = read_design(study)
    done_all = is_open and not working and has_reached_limit(study=study, design=design, worker=worker)
    more = is_open and not working and not done_all and free_a_page(study=study, worker=worker)
    waiting = not working and not more and waits_for_a_page(study=study, worker=worker)
    left = (("held", working), ("more", more), ("waiting", waiting), ("all", done_all))
    context = {
        "study": study,
        "design": design,
        "worker": worker,
        "pages": finished,
        "judgments": Judgment.objects.filter(assignment__in=mine).count() if finished else 0,
        "code": participation.completion_code if finished else "",
        "left": next((word for word, holds in left if holds), "nothing"),
    }
    response = render(request, "annotation/done.html", context)
    if context["left"] == "waiting":
        # works without scripts; nobody is led away from the completion code
        work_address = f"{resolve_url('annotation:work', slug)}?another&waited"
        address = resolve_url("annotation:done", slug) if finished else work_address
        response.headers["Refresh"] = f"{LOOK_AGAIN}; url={address}"
        response.headers["Retry-After"] = str(LOOK_AGAIN)
    return response
