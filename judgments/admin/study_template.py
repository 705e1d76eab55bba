"""The page that brings a HIT template over: what was understood and left out, the worker's page of the first row, and
only then a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from judgments import uploads
from judgments.admin.base import signed_in
from judgments.admin.study_pages import page_address
from judgments.errors import DataConflict, QuorumError
from judgments.forms.templates import HITTemplateForm
from judgments.looks import find_look, keep_look, keep_row
from judgments.models import Dataset, Study
from judgments.services.hit_templates import Brought, import_template, look_at_template, sketched_design

if TYPE_CHECKING:
    from judgments.admin.studies import StudyAdmin

SHELF = "quorum-brought"  # look -> the upload with its inputs, of the template that was looked at last


def bring_template(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """Upload, look, create. Nothing but the upload is kept before the last step."""
    if request.method == "POST" and "_create" in request.POST:
        return _create(admin, request)
    form = HITTemplateForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        context = _looked_at(request, form)
    return _page(admin, request, {"form": form, **context})


def _page(admin: StudyAdmin, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    outside = {**admin.admin_site.each_context(request), "opts": Study._meta, "title": "New study"}
    return TemplateResponse(
        request,
        "judgments/study/bring_template.html",
        outside | {"subtitle": "Bring a HIT template"} | context,
    )


def _looked_at(request: HttpRequest, form: HITTemplateForm) -> dict[str, Any]:
    """What the files come to; with an error on the form where they cannot be used."""
    given = form.cleaned_data
    try:
        _refuse_taken(given["slug"])
        design = sketched_design(source=given["template"], slug=given["slug"], name=given["name"])
        upload = uploads.keep([given["inputs"]], given.get("pictures"))
        with uploads.opened(upload) as files:
            brought = look_at_template(source=given["template"], inputs=files.path)
    except QuorumError as error:
        form.add_error(None, str(error))
        return {}
    for earlier in request.session.get(SHELF, {}).values():
        uploads.discard(earlier)
    key = keep_look(request.session, design)
    keep_row(request.session, key, brought.first)
    request.session[SHELF] = {key: upload}
    return {
        "brought": brought,
        "questions": _told(brought),
        "key": key,
        "name": design.name,
        "slug": design.slug,
        "preview_address": reverse("annotation:look", args=[key]),
    }


def _refuse_taken(slug: str) -> None:
    if Study.objects.filter(slug=slug).exists():
        raise DataConflict(f"There is a study {slug!r} already; choose another short name.")
    if Dataset.objects.filter(name=slug).exists():
        raise DataConflict(f"There is a dataset {slug!r} already; choose another short name.")


def _told(brought: Brought) -> list[dict[str, str]]:
    words = {
        "radio": "one of", "select": "one of", "checkbox": "any of", "number": "a number", "range": "a slider",
        "text": "a text", "textarea": "a long text", "hidden": "a constant",
    }  # fmt: skip
    rows = []
    for one in brought.template.questions:
        options = ", ".join(option.value or "–" for option in one.options)
        rows.append(
            {
                "name": one.name,
                "label": "" if one.label == one.name else one.label,
                "asks": f"{words[one.control]}{f' {options}' if options else ''}",
                "needed": "yes" if one.required or any(option.required for option in one.options) else "no",
            }
        )
    return rows


def _create(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """A study of what this person looked at last."""
    key = request.POST.get("_create", "")
    design, upload = find_look(request.session, key), request.session.get(SHELF, {}).get(key)
    form = HITTemplateForm()
    if design is None or upload is None:
        messages.error(request, "Nothing was created: please upload the template and its inputs again.")
        return _page(admin, request, {"form": form})
    try:
        with uploads.opened(upload) as files:
            study, brought = import_template(
                slug=design.slug,
                source=design.template.html,
                inputs=files.path,
                name=design.name,
                images=files.pictures,
                user=signed_in(request),
            )
    except QuorumError as error:
        messages.error(request, f"Nothing was created. {error}")
        return _page(admin, request, {"form": form})
    uploads.discard(upload)
    del request.session[SHELF]
    admin.log_addition(request, study, "brought over as a HIT template")
    rows = "1 row" if brought.rows == 1 else f"{brought.rows:,} rows"
    messages.success(request, f"“{study.name}” is a draft now, with {rows} of inputs.")
    return redirect(page_address(study, "change"))
