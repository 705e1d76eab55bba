"""The page "Personal data" of a study: consent, retention, and erasing a person after a preview."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from annotation.models import Erasure, ErasureRequest
from annotation.privacy.consent import consent_version, versions_of
from annotation.privacy.erasing import erasure_of, find_person, preview
from annotation.privacy.operations import change, decline_request, erase
from annotation.privacy.retention import retention_of
from common.errors import NotThere
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import Context, Group, StudyPage, add_operation, add_page, study_context
from judgments.study_operations import Outcome

MOST_SHOWN = 100


def show_privacy(request: HttpRequest, study: Study, context: Context, **more: Any) -> HttpResponse:
    design = design_of(study)
    requests = ErasureRequest.objects.filter(study=study).select_related("worker")
    context |= {
        "design": design,
        "version": consent_version(design),
        "versions": versions_of(study),
        "languages": sorted(design.translations),
        "promised": retention_of(study),
        "requests": requests.order_by("state", "asked_at")[:MOST_SHOWN],
        "erasures": Erasure.objects.filter(study=study).order_by("-pk")[:MOST_SHOWN],
        "may_change_consent": study.state != Study.State.DRAFT and study.source == Study.Source.DESIGNED,
        **_looked_at(request, study, context),
        **more,
    }
    return TemplateResponse(request, "admin/annotation/study_privacy.html", context)


def _looked_at(request: HttpRequest, study: Study, context: Context) -> dict[str, Any]:
    """Return the preview of erasing the person in the address, for owners."""
    name = request.GET.get("worker", "").strip()
    if not name or not context["may_own"]:
        return {}
    way = request.GET.get("way", design_of(study).erasure.way)
    way = way if way in Erasure.Way.values else Erasure.Way.IDENTITY.value
    shown: dict[str, Any] = {"name": name, "way": way, "ways": Erasure.Way.choices}
    try:
        person = find_person(study, name)
    except NotThere as error:
        return shown | {"nobody": str(error)}
    if person is None:
        before = erasure_of(study, name)
        assert before is not None
        message = _("The person was erased already, on %(day)s.") % {"day": before.at.date().isoformat()}
        return shown | {"nobody": message}
    return shown | {"seen": preview(study=study, worker=person, way=way)}


def show_receipt(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    """Show the receipt, this once: no message or session that others could read has it."""
    context = study_context(admin.site, request, study, active="privacy")
    answer = show_privacy(request, study, context, done=outcome.value, words=outcome.message)
    answer["Cache-Control"] = "no-store"
    return answer


add_page(StudyPage(name="privacy", label="Personal data", order=83, view=show_privacy, group=Group.SHARE))
add_operation(erase, label="Erase for good", fields=(), shows=show_receipt)
add_operation(decline_request, label="Decline", fields=())
add_operation(change, label="Make it the text in force", fields=())
