"""The page of a study about personal data: consent texts, how long identities are kept, and erasures.

A person is erased in two steps: the page previews the erasure of the person whom its address names, and the form below
the preview carries it out.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import pgettext

from annotation.models import Erasure, ErasureRequest
from annotation.privacy.consent import versions_in_use
from annotation.privacy.operations import change_consent_text, decline_request, erase
from annotation.privacy.people import erasure_of, find_person
from annotation.privacy.preview import preview_erasure
from annotation.privacy.retention import retention_of
from common.errors import ObjectNotFound
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.designs import design_of
from judgments.studies.frame_page import study_context
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

MAX_ROWS_SHOWN = 100


@study_page("privacy", "Personal data", order=83, section=StudySection.SHARE, help="privacy.md")
def show_privacy(request: HttpRequest, study: Study, context: Context, **extra_context: Any) -> HttpResponse:
    design = design_of(study)
    requests = ErasureRequest.objects.filter(study=study).select_related("worker")
    context |= {
        "design": design,
        "versions": versions_in_use(study),
        "retention": retention_of(study),
        "requests": requests.order_by("state", "asked_at")[:MAX_ROWS_SHOWN],
        "erasures": Erasure.objects.filter(study=study).order_by("-pk")[:MAX_ROWS_SHOWN],
        "may_change_consent": study.state != Study.State.DRAFT and study.source == Study.Source.DESIGNED,
        **_erasure_context(request, study, context),
        **extra_context,
    }
    return TemplateResponse(request, "admin/annotation/study_privacy.html", context)


def _erasure_context(request: HttpRequest, study: Study, context: Context) -> dict[str, Any]:
    """Return the context with a preview of erasing the person that the address names, for owners of the study."""
    name = request.GET.get("worker", "").strip()
    if not name or not context["may_own"]:
        return {}
    way = request.GET.get("way", design_of(study).erasure.way)
    way = way if way in Erasure.Extent.values else Erasure.Extent.IDENTITY.value
    erasure_context: dict[str, Any] = {"name": name, "way": way}
    try:
        person = find_person(study, name)
    except ObjectNotFound as error:
        return erasure_context | {"not_found": str(error)}
    if person is None:
        erasure = erasure_of(study, name)
        assert erasure is not None  # else ``find_person`` would have raised ObjectNotFound
        message = pgettext("staff", "The participant was already erased, on %(day)s.") % {
            "day": date_format(localtime(erasure.at))
        }
        return erasure_context | {"not_found": message}
    return erasure_context | {"preview": preview_erasure(study=study, worker=person, way=way)}


def show_receipt(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    """Show the receipt, by which the person can prove their judgments, only once, and not in a stored message."""
    context = study_context(admin.site, request, study, active="privacy")
    response = show_privacy(
        request, study, context, erasure_result=outcome.value, outcome_message=outcome.message
    )
    response["Cache-Control"] = "no-store"
    return response


# fields=(): the template of the page has the forms
add_operation(erase, label="Erase permanently", fields=(), show_result=show_receipt)
add_operation(decline_request, label="Decline", fields=())
add_operation(change_consent_text, label="Publish this version", fields=())
