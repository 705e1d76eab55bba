"""Serve the pictures of pages of work, of worked examples and of previews."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.crowds.mturk.frames import sites_of
from annotation.models import Adjudication, Assignment, Participation, Worker
from annotation.views.visitors import api_worker, worker_of
from annotation.work.sheet.examples import example_item
from annotation.work.sheet.pictures import item_at, picture_response
from common.downloads import problem_page
from judgments.access.rights import Right, has_right
from judgments.access.visible_rows import visible_rows
from judgments.models import Item, Study
from judgments.studies.designs import design_of


@require_safe
def picture(request: HttpRequest, assignment_id: UUID, position: int) -> HttpResponseBase:
    """Return the picture at a position of an assignment.

    A visitor whom nothing identifies gets 401, since an API client may have forgotten its token. A client whose token
    is another worker's gets 403. Others, such as staff without the right to see the study, get 404.
    """
    header = request.headers.get("Authorization", "")
    worker = api_worker(request) or worker_of(request)
    may_be_api_client = bool(header) or request.user.is_anonymous
    if worker is None and not request.user.is_staff and may_be_api_client:
        return problem_page(
            401,
            "A picture is shown to the participant whose token comes along.",
            headers={"WWW-Authenticate": "Token"},
        )
    assignment = Assignment.objects.filter(pk=assignment_id).select_related("study").first()
    if assignment is not None:
        is_own = worker is not None and worker.pk == assignment.worker_id
        if is_own or _may_view(request, assignment.study):
            return picture_response(request, item_at(assignment, position))
    if header:
        return problem_page(403, "A participant's token opens the pictures of their own assignments.")
    raise Http404("There is no such picture.")


@require_safe
def example_picture(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """Return the picture of a worked example, to participants and staff.

    Anybody gets it while the study is open at Mechanical Turk, where a preview shows it to all workers.
    """
    study = Study.objects.filter(slug=slug).first()
    worker = worker_of(request)
    if study is None or not _may_view_example(request, study, worker):
        raise Http404("There is no such picture.")
    return picture_response(request, example_item(study, design_of(study), number))


def _may_view_example(request: HttpRequest, study: Study, worker: Worker | None) -> bool:
    if study.state == Study.State.OPEN and sites_of(study.platform):
        return True
    if _may_view(request, study):
        return True
    return worker is not None and Participation.objects.filter(study=study, worker=worker).exists()


@require_safe
def preview_picture(request: HttpRequest, item_id: int) -> HttpResponseBase:
    """Return the picture of an item to staff who may see its dataset, or who adjudicate a unit about it."""
    item = Item.objects.filter(pk=item_id).first() if request.user.is_staff else None
    if item is None or not (
        visible_rows(Item.objects.filter(pk=item_id), request.user).exists()
        or Adjudication.objects.filter(adjudicator=request.user.pk, unit__item=item).exists()
    ):
        raise Http404("There is no such picture.")
    return picture_response(request, item)


def _may_view(request: HttpRequest, study: Study) -> bool:
    """Return whether the visitor is staff with the right to see the study."""
    return request.user.is_staff and has_right(request.user, Right.VIEW, study)
