"""The page of work with the worker's HIT, views to reclaim a HIT and to report a problem, and the page at the end."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST

from annotation.crowds.mturk.views import work_in_frame
from annotation.crowds.panel.endings import end_session_without_work, screen_out
from annotation.crowds.panel.sessions import outcome_of
from annotation.errors import ConsentChanged, NotAdmitted, NotJoined, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Judgment, Participation
from annotation.views.decorators import GET, GET_POST, errors_as_pages, see_other, worker_page
from annotation.views.forms import ReportForm
from annotation.views.json_requests import errors_as_json, view_by_content_type
from annotation.views.sheet_page import render_sheet, save_form_draft
from annotation.views.visitors import frame_of, own_assignment_of, session_of, worker_of
from annotation.work.answers.revisions import last_revisable_assignment
from annotation.work.claims import claim_assignment
from annotation.work.leases import retake_assignment
from annotation.work.requirements import has_reached_limit
from annotation.work.sheet.texts import read_design
from annotation.work.sheet.units import PageUnit, page_units_of
from annotation.work.slots.candidates import RETRY_SECONDS, free_hit_for, may_get_a_hit_later
from annotation.work.submissions import report_problem
from common.errors import ObjectNotFound
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.studies import find_study

RECENT_ASSIGNMENTS = 5  # enough assignments to include the last one that was submitted or expired


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


retake = never_cache(require_POST(view_by_content_type(_retake_json, _retake_form)))


@gzip_page  # gzip compresses the page to a sixth
@worker_page(GET)
def work(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the worker's current HIT, or claim the next one. If a HIT with answers expired, first ask what to do."""
    frame = frame_of(request)
    if frame is not None:
        return work_in_frame(request, frame)
    study = find_study(slug)
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:study", slug)
    session = session_of(study=study, worker=worker)
    if session is not None and outcome_of(session):  # the session has ended
        return redirect("annotation:panel-end", slug)
    recent_assignments = list(
        Assignment.objects.filter(study=study, worker=worker).order_by("-accepted_at")[:RECENT_ASSIGNMENTS]
    )
    for assignment in recent_assignments:
        assignment.study = study  # saves queries
    expired_assignment = find_expired_assignment(recent_assignments)
    # the query has "another" if the worker wants another page than the expired one
    if expired_assignment is not None and "another" not in request.GET:
        answer_count = len(expired_assignment.answers)
        context = {"study": study, "assignment": expired_assignment, "answer_count": answer_count}
        return render(request, "annotation/expired.html", context)
    try:
        claim = claim_assignment(study=study, worker=worker)
    except NotJoined:  # the worker has not joined this study
        return redirect("annotation:study", slug)
    except ConsentChanged:
        return redirect("annotation:consent", slug)
    except (NotAdmitted, WorkPaused, WorkerExcluded) as error:
        # for some errors, such as an exclusion, a panel's session ends
        if session is not None and screen_out(session=session, error=error):
            return redirect("annotation:panel-end", slug)
        # the address of what must be done first, such as a quiz
        if isinstance(error, NotAdmitted) and error.address:
            return redirect(error.address, slug)
        raise
    if claim is None and session is not None and not end_session_without_work(session=session):
        return redirect("annotation:work", slug)  # another window claimed a HIT or ended the session
    if claim is None:
        return redirect("annotation:done", slug)
    claim.assignment.study = study
    if claim.is_new and "waited" in request.GET:  # a waiting page loaded this address; see ``show_end``
        messages.success(request, _("A page of work became free. It is yours now."))
        return see_other("annotation:work", slug)
    revisable_assignment = last_revisable_assignment(recent_assignments)
    return render_sheet(request, claim.assignment, claim.page_units, revisable=revisable_assignment)


def find_expired_assignment(assignments: Sequence[Assignment]) -> Assignment | None:
    """Return the first of these assignments if its lease expired, it has answers and its study is open; else None.

    They are the worker's, the newest first. One that is reserved for later is skipped.
    """
    page = next(
        (assignment for assignment in assignments if assignment.state != Assignment.State.RESERVED), None
    )
    if page is None or not page.answers or page.expires_at is None or page.study.state != Study.State.OPEN:
        return None
    # an expired lease is marked as expired only some time later
    has_ended = page.state == Assignment.State.ACCEPTED and page.expires_at <= timezone.now()
    return page if has_ended or page.state == Assignment.State.EXPIRED else None


@worker_page(GET_POST)
def report_item(request: HttpRequest, slug: str, assignment_id: UUID, position: int) -> HttpResponse:
    """Show the form to report a problem with the unit at a position, and store the report.

    The button on the page of work posts the draft, which is saved first; the form of the report posts "what".
    """
    assignment = own_assignment_of(request, slug, assignment_id)
    page_unit = next(
        (candidate for candidate in page_units_of(assignment) if candidate.position == position), None
    )
    if page_unit is None:
        raise ObjectNotFound(f"There is no position {position}.")
    if request.method == "POST" and "what" not in request.POST:
        save_form_draft(request, assignment)
        return see_other("annotation:report", slug, assignment_id, position)
    form = ReportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        report_problem(assignment=assignment, position=position, **form.cleaned_data)
        messages.success(request, _("Thank you. The problem is reported. Your answers have not changed."))
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
    """Return whether the page shows a picture for the unit, or should show one."""
    item = page_unit.unit.item
    if not design_of(study).about_pictures and not (item.picture or item.url):
        return False
    return "image" in kind_of(study).present_unit(page_unit.unit, side=None, picture_url="")


@worker_page(GET)
def show_end(request: HttpRequest, slug: str) -> HttpResponse:
    """Thank the worker and show the completion code, or say that no work is left now.

    If a slot can be freed for the worker, it is freed, so that the page can offer more work.
    """
    study = find_study(slug)
    worker = worker_of(request)
    participation = (
        Participation.objects.filter(study=study, worker=worker).first() if worker is not None else None
    )
    if worker is None or participation is None:
        return redirect("annotation:study", slug)
    if session_of(study=study, worker=worker) is not None:
        return redirect("annotation:panel-end", slug)
    assignments = Assignment.objects.filter(study=study, worker=worker)
    finished_count = assignments.finished().count()
    has_lease = assignments.with_lease(timezone.now()).exists()
    is_open = study.state == Study.State.OPEN
    design = read_design(study)
    may_work = is_open and not has_lease
    is_at_limit = may_work and has_reached_limit(study=study, design=design, worker=worker)
    can_claim = may_work and not is_at_limit and free_hit_for(study=study, worker=worker)
    may_wait = not has_lease and not can_claim and may_get_a_hit_later(study=study, worker=worker)
    # what the worker can do now, for the template; "held": go on with the HIT that they hold; "all": nothing, since
    # they took as many HITs as one person may
    if has_lease:
        outlook = "held"
    elif can_claim:
        outlook = "more"
    elif may_wait:
        outlook = "waiting"
    elif is_at_limit:
        outlook = "all"
    else:
        outlook = "nothing"
    judgments = Judgment.objects.filter(assignment__in=assignments)
    context = {
        "study": study,
        "design": design,
        "worker": worker,
        "page_count": finished_count,
        "judgment_count": judgments.count() if finished_count else 0,
        "completion_code": participation.completion_code if finished_count else "",
        "outlook": outlook,
    }
    response = render(request, "annotation/done.html", context)
    if outlook == "waiting":
        # reload by a header, which needs no script; a worker with a completion code stays on the page that shows it
        work_address = f"{resolve_url('annotation:work', slug)}?another&waited"
        address = resolve_url("annotation:done", slug) if finished_count else work_address
        response.headers["Refresh"] = f"{RETRY_SECONDS}; url={address}"
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
