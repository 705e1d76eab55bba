"""Pictures leave through here: to the worker who holds the assignment, and to staff."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.cookies import worker_of
from annotation.models import Assignment, Worker
from annotation.pictures import item_at, picture_response
from annotation.services.joining import worker_for_token
from judgments.models import Item

SCHEME = "token "


@require_safe
def picture(request: HttpRequest, assignment_id: UUID, position: int) -> HttpResponseBase:
    """The picture at a position of an assignment; for anybody else it is not there."""
    assignment = Assignment.objects.filter(pk=assignment_id).first()
    if assignment is None or not _may_see(request, assignment):
        raise Http404("There is no such picture.")
    return picture_response(request, item_at(assignment, position))


@require_safe
def preview_picture(request: HttpRequest, item_id: int) -> HttpResponseBase:
    """Any item's picture, for staff."""
    if not request.user.is_staff:
        raise Http404("There is no such picture.")
    return picture_response(request, Item.objects.filter(pk=item_id).first())


def _may_see(request: HttpRequest, assignment: Assignment) -> bool:
    worker = _bearer(request) or worker_of(request)
    if worker is not None and worker.pk == assignment.worker_id:
        return True
    return bool(request.user.is_staff)


def _bearer(request: HttpRequest) -> Worker | None:
    """The worker of the API's ``Authorization: Token ...``."""
    header = request.headers.get("Authorization", "")
    return worker_for_token(header[len(SCHEME) :].strip()) if header.lower().startswith(SCHEME) else None
