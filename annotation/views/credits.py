"""Who made the pictures: some licences ask that authors are named wherever their work is shown."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.views.common import errors_as_pages
from judgments.models import Study
from judgments.services.studies import find_study


@require_safe
@errors_as_pages
def credits(request: HttpRequest, slug: str) -> HttpResponse:
    """The attribution of the study's dataset, for anyone; a study that nobody was let into has no such page."""
    found = find_study(slug)
    if found.state in (Study.State.DRAFT, Study.State.GENERATED) or not found.dataset.attribution:
        raise Http404
    return render(
        request, "annotation/credits.html", {"study": found, "lines": found.dataset.attribution.splitlines()}
    )
