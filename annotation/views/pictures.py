"""Serve pictures to workers and staff."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.crowds.mturk.frames import sites_of
from annotation.models import Adjudication, Assignment, Participation, Worker
from annotation.views.common import worker_of
from annotation.work.joining import worker_for_token
from annotation.work.pictures import example_item, item_at, picture_response
from judgments.access.roles import Right, may, visible_rows
from judgments.models import Item, Study
from judgments.studies.studies import design_of

SCHEME = "token "


@require_safe
def picture(request: HttpRequest, assignment_id: UUID, position: int) -> HttpResponseBase:
    """Return the picture at a position of an assignment, or a 404 for other visitors.

    An API client gets 401 without a token, and 403 for other workers' pictures.
    """
    header = request.headers.get("Authorization", "")
    worker = _bearer(header) or worker_of(request)
    if worker is None and not request.user.is_staff and (header or request.user.is_anonymous):
        return _problem(401, "Unauthorized", "A picture is shown to the worker whose token comes along.")
    assignment = Assignment.objects.filter(pk=assignment_id).select_related("study").first()
    if assignment is not None and (
        (worker is not None and worker.pk == assignment.worker_id) or _may_look(request, assignment.study)
    ):
        return picture_response(request, item_at(assignment, position))
    if header:
        return _problem(
            403, "Forbidden", "A worker's token opens the pictures of the worker's own assignments."
        )
    raise Http404("There is no such picture.")


@require_safe
def example_picture(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """Return a worked example's picture to participants and staff, or to all if a crowd's preview shows it."""
    study = Study.objects.filter(slug=slug).first()
    worker = worker_of(request)
    if study is None or not (
        (study.state == Study.State.OPEN and sites_of(study.place))
        or _may_look(request, study)
        or (worker is not None and Participation.objects.filter(study=study, worker=worker).exists())
    ):
        raise Http404("There is no such picture.")
    return picture_response(request, example_item(study, design_of(study), number))


@require_safe
def preview_picture(request: HttpRequest, item_id: int) -> HttpResponseBase:
    item = Item.objects.filter(pk=item_id).first() if request.user.is_staff else None
    if item is None or not (
        visible_rows(Item.objects.filter(pk=item_id), request.user).exists()
        or Adjudication.objects.filter(adjudicator=request.user.pk, unit__item=item).exists()
    ):
        raise Http404("There is no such picture.")
    return picture_response(request, item)


def _may_look(request: HttpRequest, study: Study) -> bool:
    return request.user.is_staff and may(request.user, Right.VIEW, study)


def _bearer(header: str) -> Worker | None:
    return worker_for_token(header[len(SCHEME) :].strip()) if header.lower().startswith(SCHEME) else None


def _problem(status: int, title: str, detail: str) -> JsonResponse:
    document = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    headers = {"WWW-Authenticate": "Token"} if status == 401 else {}
    return JsonResponse(document, status=status, headers=headers, content_type="application/problem+json")
