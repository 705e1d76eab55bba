"""The landing page: what this installation is, and the studies that anybody may take part in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.people import BY_THE_LINK
from annotation.views.joining import effort_of
from judgments.models import Study
from judgments.services.studies import design_of

MOST_STUDIES = 30


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """One query, whatever there is."""
    studies = Study.objects.filter(state=Study.State.OPEN, simulated=False, design__access__join="open")
    studies = studies.filter(place__in=BY_THE_LINK)
    listed = [
        {"study": study, **effort_of(design_of(study))}
        for study in studies.order_by("-opened_at", "slug")[:MOST_STUDIES]
    ]
    return render(request, "home.html", {"studies": listed})
