"""The form that takes a HIT template and its inputs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify
from unfold.widgets import UnfoldAdminTextInputWidget

from common.errors import DataConflict, QuorumError
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.datasets import uploads
from judgments.datasets.page import short_name
from judgments.design.editing.editor_page import find_preview, keep_row, store_preview
from judgments.hit_templates.importing import (
    CheckedTemplate,
    check_template,
    import_template,
    sketched_design,
)
from judgments.hit_templates.reading import MOST_CHARACTERS
from judgments.models import Dataset, Study
from judgments.studies.study_page import page_address

MOST_INPUTS = 50 * 2**20  # bytes that a request may read while somebody waits; the command takes more
SHELF = "quorum-brought"  # preview key -> the upload with its inputs, of the template that was checked last


class HITTemplateForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=200,
        help_text="Workers see it on the study's page.",
        widget=UnfoldAdminTextInputWidget,
    )
    slug = forms.CharField(
        label="Short name",
        max_length=80,
        required=False,
        validators=[short_name],
        help_text="In the study's link, and of its dataset; left empty, it is made from the name.",
        widget=UnfoldAdminTextInputWidget,
    )
    template = forms.FileField(
        label="Template",
        help_text="The HTML of the requester page or of Turkle, with ${field} for what differs.",
    )
    inputs = forms.FileField(
        label="Inputs", help_text="CSV: a column for each field, a row for each task. UTF-8."
    )
    pictures = forms.FileField(
        label="Pictures",
        required=False,
        help_text="A zip with the pictures that a column “picture” names. Addresses in cells need none.",
    )

    def clean_template(self) -> str:
        file = self.cleaned_data["template"]
        if file.size > 4 * MOST_CHARACTERS:
            raise forms.ValidationError(
                f"The template has {file.size:,} bytes; expected at most {MOST_CHARACTERS:,} characters."
            )
        try:
            text = str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise forms.ValidationError(
                f"The template is not UTF-8 (byte {error.start + 1}); please save it as UTF-8."
            ) from None
        if "\x00" in text:
            raise forms.ValidationError("The template holds the character U+0000, which cannot be stored.")
        return text

    def clean_inputs(self) -> Any:
        file = self.cleaned_data["inputs"]
        if file.size > MOST_INPUTS:
            raise forms.ValidationError(
                f"The inputs have {file.size / 2**20:,.0f} MB; expected at most {MOST_INPUTS // 2**20} "
                "(the command import_template takes more)."
            )
        return file

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not cleaned.get("slug"):
            cleaned["slug"] = slugify(cleaned.get("name", ""))[:80] or "study"
        return cleaned


def upload_template(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    """Upload, check, create. Only the upload is stored before the last step."""
    if request.method == "POST" and "_create" in request.POST:
        return _create(admin, request)
    form = HITTemplateForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        context = _looked_at(request, form)
    return _page(admin, request, {"form": form, **context})


def _page(admin: QuorumAdmin, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    outside = {**admin.admin_site.each_context(request), "title": "New study"}
    return TemplateResponse(
        request,
        "judgments/study/bring_template.html",
        outside | {"subtitle": "Bring a HIT template"} | context,
    )


def _looked_at(request: HttpRequest, form: HITTemplateForm) -> dict[str, Any]:
    """Return the checked files; add an error to the form if they are unusable."""
    given = form.cleaned_data
    try:
        _refuse_taken(given["slug"])
        design = sketched_design(source=given["template"], slug=given["slug"], name=given["name"])
        upload = uploads.keep([given["inputs"]], given.get("pictures"))
        with uploads.opened(upload) as files:
            brought = check_template(source=given["template"], inputs=files.path)
    except QuorumError as error:
        form.add_error(None, str(error))
        return {}
    for earlier in request.session.get(SHELF, {}).values():
        uploads.discard(earlier)
    key = store_preview(request.session, design)
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


def _told(brought: CheckedTemplate) -> list[dict[str, str]]:
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


def _create(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    """Create the study of the files that this person checked last."""
    key = request.POST.get("_create", "")
    design, upload = find_preview(request.session, key), request.session.get(SHELF, {}).get(key)
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
