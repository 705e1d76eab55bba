"""The page that imports a HIT template: upload it with its inputs, see a preview, and create the study."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminTextInputWidget

from common.amounts import thousands
from common.errors import DataConflict, QuorumError
from common.incoming import RequestBytesExceeded
from common.incoming.bounded_files import TextRefused, uploaded_text
from common.rate_limits import TooManyAttempts
from contrib.hit_templates.importing import (
    CheckedTemplate,
    check_template,
    import_template,
    make_draft_design,
)
from judgments.admin.base import signed_in
from judgments.datasets import uploads
from judgments.datasets.views.forms import validate_short_name
from judgments.design.editing.previews import find_preview, store_preview, store_preview_row
from judgments.jobs.queues import enqueue
from judgments.models import Dataset, Study
from judgments.studies.pages import Context, StartPage
from judgments.studies.study_page import add_start_page, study_page_address

# The session key of {PREVIEW: UPLOAD}: the stored preview of the template that was checked last, and the name of the
# upload with its inputs and pictures.
CHECKED_UPLOAD_KEY = "quorum-brought"


class HITTemplateForm(forms.Form):
    """The upload of a template with its inputs and pictures."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=200,
        help_text=gettext_lazy("Participants see this name on the study’s page."),
        widget=UnfoldAdminTextInputWidget,
    )
    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=80,
        required=False,
        validators=[validate_short_name],
        help_text=gettext_lazy(
            "The link to the study contains the short name. The dataset gets the same name. If this field "
            "is empty, the short name is made from the name of the study."
        ),
        widget=UnfoldAdminTextInputWidget,
    )
    template = forms.FileField(
        label=gettext_lazy("Template"),
        help_text=gettext_lazy(
            "The HTML of the template from Mechanical Turk’s requester site or from Turkle. The HTML contains "
            "${field} at each place where rows differ."
        ),
    )
    inputs = forms.FileField(
        label=gettext_lazy("Inputs"),
        help_text=gettext_lazy("A CSV file in UTF-8 with a column for each field and a row for each task."),
    )
    pictures = forms.FileField(
        label=gettext_lazy("Pictures"),
        required=False,
        help_text=gettext_lazy(
            "A zip file with the pictures that are named in the column “picture”. It is not "
            "needed if the column contains web addresses."
        ),
    )

    def clean_template(self) -> str:
        try:
            return uploaded_text(self.cleaned_data["template"])
        except TextRefused as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not values.get("slug"):
            values["slug"] = slugify(values.get("name", ""))[:80] or "study"
        return values


def upload_template(request: HttpRequest, context: Context) -> HttpResponse:
    """Show the form, check an uploaded template and show its preview, or create the study of the preview.

    Until the study is created, only the upload and the preview are stored.
    """
    context |= {"title": gettext("New study")}
    if request.method == "POST" and "_create" in request.POST:
        return _create_study(request, context)
    form = HITTemplateForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        design_values = {"source": values["template"], "slug": values["slug"], "name": values["name"]}
        try:
            _refuse_existing_slug(values["slug"])
            make_draft_design(**design_values)  # raises an error if the design is invalid
            upload = uploads.store_upload([values["inputs"]], values.get("pictures"))
            with uploads.open_upload(upload) as files:
                checked_template = check_template(source=values["template"], inputs=files.path)
            context |= _store_preview(request, upload, design_values, checked_template)
        except RequestBytesExceeded:
            # The stored upload is too large for a preview. A job creates the draft, which can be discarded.
            return _start_job(request, {"upload": upload, **design_values})
        except QuorumError as error:
            form.add_error(None, str(error))
    return _render_page(request, context | {"form": form})


def _start_job(request: HttpRequest, args: dict[str, str]) -> HttpResponse:
    """Start a job that imports the upload, and show it."""
    try:
        job = enqueue(kind="import_template", args=args, user=signed_in(request))
    except TooManyAttempts as error:
        uploads.discard_upload(args["upload"])
        messages.error(request, str(error))
        return redirect(START_PAGE.address)
    return redirect(reverse("admin:judgments_job_change", args=[job.pk]))


def _render_page(request: HttpRequest, context: Context) -> HttpResponse:
    return TemplateResponse(request, "judgments/study/bring_template.html", context)


def _store_preview(
    request: HttpRequest, upload: str, design_values: dict[str, str], checked_template: CheckedTemplate
) -> dict[str, Any]:
    """Store a preview of the draft in the session, and discard earlier uploads. Return the template context for it."""
    design = make_draft_design(**design_values)
    for earlier_upload in set(request.session.get(CHECKED_UPLOAD_KEY, {}).values()) - {upload}:
        uploads.discard_upload(earlier_upload)
    preview_key = store_preview(request.session, design)
    store_preview_row(request.session, preview_key, checked_template.first_row)
    request.session[CHECKED_UPLOAD_KEY] = {preview_key: upload}
    return {
        "checked_template": checked_template,
        "questions": _question_rows(checked_template),
        "preview_key": preview_key,
        "name": design.name,
        "slug": design.slug,
        "preview_address": reverse("annotation:look", args=[preview_key]),
    }


def _refuse_existing_slug(slug: str) -> None:
    if Study.objects.filter(slug=slug).exists():
        raise DataConflict(
            gettext("A study %(slug)r already exists; choose another short name.") % {"slug": slug}
        )
    if Dataset.objects.filter(name=slug).exists():
        raise DataConflict(
            gettext("A dataset %(slug)r already exists; choose another short name.") % {"slug": slug}
        )


def _question_rows(checked_template: CheckedTemplate) -> list[dict[str, str]]:
    """Return the questions of a template as the preview lists them."""
    control_names = {
        "radio": gettext("one option (radio buttons)"),
        "select": gettext("one option (radio buttons)"),
        "checkbox": gettext("several options (checkboxes)"),
        "number": gettext("a number"),
        "range": gettext("a slider"),
        "text": gettext("a text"),
        "textarea": gettext("a long text"),
        "hidden": gettext("a constant"),
    }
    rows = []
    for question in checked_template.template.questions:
        options = ", ".join(option.value or "–" for option in question.options)
        is_required = question.required or any(option.required for option in question.options)
        rows.append(
            {
                "name": question.name,
                "label": "" if question.label == question.name else question.label,
                "answer_form": f"{control_names[question.control]}{f' {options}' if options else ''}",
                "required": gettext("yes") if is_required else gettext("no"),
            }
        )
    return rows


def _create_study(request: HttpRequest, context: Context) -> HttpResponse:
    """Create the study of the preview that the form names. Only the preview that was stored last has its upload."""
    preview_key = request.POST.get("_create", "")
    design = find_preview(request.session, preview_key)
    upload = request.session.get(CHECKED_UPLOAD_KEY, {}).get(preview_key)
    form = HITTemplateForm()
    if design is None or upload is None:
        messages.error(
            request, gettext("Nothing was created: please upload the template and its inputs again.")
        )
        return _render_page(request, context | {"form": form})
    try:
        with uploads.open_upload(upload) as files:
            study, template = import_template(
                slug=design.slug,
                source=design.template.html,
                inputs=files.path,
                name=design.name,
                images=files.pictures,
                user=signed_in(request),
            )
    except RequestBytesExceeded:  # There are many pictures, which the preview did not check.
        del request.session[CHECKED_UPLOAD_KEY]
        job_arguments = {
            "upload": upload,
            "source": design.template.html,
            "slug": design.slug,
            "name": design.name,
        }
        return _start_job(request, job_arguments)
    except QuorumError as error:
        messages.error(request, gettext("Nothing was created. %(error)s") % {"error": error})
        return _render_page(request, context | {"form": form})
    uploads.discard_upload(upload)
    del request.session[CHECKED_UPLOAD_KEY]
    admin.site.get_model_admin(Study).log_addition(request, study, "imported as a HIT template")
    rows = ngettext("%(n)s row", "%(n)s rows", template.row_count) % {"n": thousands(template.row_count)}
    messages.success(
        request,
        gettext("The draft “%(name)s” was created with %(rows)s of inputs.")
        % {"name": study.name, "rows": rows},
    )
    return redirect(study_page_address(study, "change"))


START_PAGE = StartPage(
    name="bring-template",
    label="Import a HIT template",
    text="If you have a template from Mechanical Turk or Turkle:",
    view=upload_template,
    uploads_data=True,  # so no dataset is needed before
)
add_start_page(START_PAGE)
