"""Pages that everybody may read: the home page, and the credits of a study's pictures."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.views.decorators import errors_as_pages
from annotation.work.sheet.effort import studies_with_effort
from annotation.work.summaries import open_studies
from judgments.models import Study
from judgments.studies.studies import find_study

MAX_STUDIES = 30  # maximum number of studies on the home page


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    studies = studies_with_effort(open_studies()[:MAX_STUDIES])
    return render(request, "home.html", {"studies": studies})


@require_safe
@errors_as_pages
def credits(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    if study.state in (Study.State.DRAFT, Study.State.GENERATED) or not study.dataset.attribution:
        raise Http404
    lines = study.dataset.attribution.splitlines()
    return render(request, "annotation/credits.html", {"study": study, "attribution_lines": lines})
