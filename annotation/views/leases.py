"""Views about the lease of a page of work: extend the lease, reserve the next page, and return the page.

A lease is the time for which a worker may work on a HIT.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST

from annotation.crowds.sessions import end_session
from annotation.models import Assignment, CrowdSession
from annotation.views.decorators import GET_POST, errors_as_pages, see_other, worker_page
from annotation.views.json_requests import errors_as_json, view_by_content_type
from annotation.views.sheet_page import render_sheet, save_form_draft
from annotation.views.visitors import frame_of, own_assignment_of
from annotation.work.leases import Lease, extend_lease, reserve_next
from annotation.work.slots.release import return_assignment


def _lease_as_json(lease: Lease) -> dict[str, int]:
    """Return the seconds left ("left") and the number of possible extensions ("more")."""
    return {
        "left": max(0, int((lease.expires_at - timezone.now()).total_seconds())),
        "more": lease.extensions_left,
    }


@gzip_page
@never_cache
@require_POST
@errors_as_json
def prefetch_next(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Reserve the next page for the worker and return it, so that it can be shown at once; 204 if there is none."""
    claim = reserve_next(assignment=own_assignment_of(request, slug, assignment_id))
    if claim is None:
        return HttpResponse(status=204)
    return render_sheet(request, claim.assignment, claim.page_units)


@errors_as_json
def _extend_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    lease = extend_lease(assignment=own_assignment_of(request, slug, assignment_id))
    return JsonResponse(_lease_as_json(lease))


@errors_as_pages
def _extend_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    save_form_draft(request, assignment)
    extend_lease(assignment=assignment)
    messages.success(request, _("You have more time now."))
    return see_other("annotation:work", slug)


extend = never_cache(require_POST(view_by_content_type(_extend_json, _extend_form)))


@worker_page(GET_POST)
def return_page(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Ask whether the worker wants to return the page of work, or return it.

    The button on the page of work posts the draft, which is saved first; the confirmation posts "confirm".
    """
    assignment = own_assignment_of(request, slug, assignment_id)
    if request.method == "POST" and "confirm" in request.POST:
        return_assignment(assignment=assignment)
        frame = frame_of(request)  # around the page, at Mechanical Turk, where a session has one page of work
        if frame is not None:
            end_session(session=frame.session, status=CrowdSession.Status.RETURNED)
        return render(request, "annotation/returned.html", {"study": assignment.study})
    if request.method == "POST":
        save_form_draft(request, assignment)
        return see_other("annotation:return", slug, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return redirect("annotation:work", slug)
    return render(request, "annotation/return.html", {"study": assignment.study, "assignment": assignment})
