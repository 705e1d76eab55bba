"""The design page of a study: where to start, the form, the study file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from judgments.admin.base import signed_in
from judgments.admin.study_pages import StudyPage, StudyStep, add_page, add_step, page_address
from judgments.design import StudyDesign, read_toml, write_toml
from judgments.errors import DataConflict, DesignError, QuorumError
from judgments.forms.design import (
    DesignForm,
    StudyFileForm,
    html_name,
    in_words,
    sections_for,
    starting_values,
    value_at,
)
from judgments.kinds import KINDS
from judgments.models import Dataset, Study
from judgments.presets import PRESETS
from judgments.services.studies import change_design, create_study, design_of, duplicate_study

if TYPE_CHECKING:
    from judgments.admin.studies import StudyAdmin


def dataset_names() -> list[str]:
    """What a design can be about."""
    return list(Dataset.objects.values_list("name", flat=True))


def add_study(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """The choice of a protocol, then the form filled with its values."""
    base = _asked_start(request)
    names = dataset_names()
    asked = request.GET.get("dataset", "")
    if base is None:
        context = _outside(admin, request) | {
            "subtitle": "New study",
            "presets": PRESETS,
            "kinds": KINDS,
            "datasets": names,
            "dataset": asked if asked in names else "",
        }
        return TemplateResponse(request, "judgments/study/start.html", context)
    form = DesignForm(request.POST or None, base=base, datasets=names)
    if asked in names or len(names) == 1:
        form.fields["dataset"].initial = asked or names[0]
    if request.method == "POST" and form.is_valid():
        study = _stored(form, lambda design: create_study(design=design, user=signed_in(request)))
        if study is not None:
            admin.log_addition(request, study, "designed")
            return _next_page(request, study)
    context = _outside(admin, request) | _form_context(form, base) | {"subtitle": "New study"}
    return TemplateResponse(request, "judgments/study/add.html", context)


def add_study_from_file(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """A study from pasted or uploaded TOML."""
    form = StudyFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            study = create_study(design=read_toml(form.cleaned_data["text"]), user=signed_in(request))
        except QuorumError as error:
            form.add_error("text", str(error))
        else:
            admin.log_addition(request, study, "designed by a study file")
            messages.success(request, f"“{study.name}” is a draft now.")
            return redirect(page_address(study, "change"))
    context = _outside(admin, request) | {"subtitle": "New study from a file", "form": form}
    return TemplateResponse(request, "judgments/study/from_file.html", context)


def show_design(admin: StudyAdmin, request: HttpRequest, study: Study) -> HttpResponse:
    """The form of a draft; the design to read of any other study."""
    context = admin.context(request, study, "change")
    context["toml"] = write_toml(design_of(study))
    if study.state != Study.State.DRAFT or not context["may_change"]:
        context["values"] = _readable(design_of(study))
        return TemplateResponse(request, "judgments/study/design_read.html", context)
    base = _asked_start(request, kept=study.design) or study.design
    form = DesignForm(request.POST or None, base=base, datasets=dataset_names())
    if request.method == "POST" and form.is_valid():
        changed = _stored(form, lambda design: change_design(study=study, design=design))
        if changed is not None:
            admin.log_change(request, study, "design")
            return _next_page(request, study)
    return TemplateResponse(request, "judgments/study/design.html", context | _form_context(form, base))


def show_file(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    """The study file, to keep."""
    return HttpResponse(
        write_toml(design_of(study)),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.slug}.toml"'},
    )


def _outside(admin: StudyAdmin, request: HttpRequest) -> dict[str, Any]:
    """For pages that belong to no study yet."""
    return {**admin.admin_site.each_context(request), "opts": Study._meta, "title": "New study"}


def _asked_start(request: HttpRequest, kept: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """The values of the preset or protocol that the address names; ``kept`` gives name, slug and dataset."""
    preset, protocol = request.GET.get("preset", ""), request.GET.get("protocol", "")
    if preset not in PRESETS and protocol not in KINDS:
        return None
    base = starting_values(preset=preset) if preset in PRESETS else starting_values(protocol=protocol)
    if kept is not None:
        base |= {key: kept[key] for key in ("name", "slug", "dataset", "seed")}
    return base


def _form_context(form: DesignForm, base: dict[str, Any]) -> dict[str, Any]:
    return {
        "form": form,
        "form_kind": KINDS[base["protocol"]],
        "preset": PRESETS.get(base.get("preset", "")),
        "presets": PRESETS,
    }


def _stored(form: DesignForm, store: Any) -> Study | None:
    """What ``store`` makes of the form's design; a refusal is said beside its field."""
    try:
        study: Study = store(form.design)
    except DesignError as error:
        name = html_name(error.field)
        form.add_error(name if name in form.fields else None, str(error))
    except DataConflict as error:
        form.add_error("slug", str(error))
    except QuorumError as error:
        form.add_error(None, str(error))
    else:
        return study
    return None


def _next_page(request: HttpRequest, study: Study) -> HttpResponse:
    messages.success(request, f"The design of “{study.name}” is saved.")
    return redirect(page_address(study, "hits" if "_plan" in request.POST else "change"))


def _readable(design: StudyDesign) -> list[tuple[str, list[tuple[str, str]]]]:
    """The design as titles and labelled values."""
    values = design.model_dump(mode="json")
    shown = []
    for section in sections_for(KINDS[design.protocol]):
        rows = [(entry.label, in_words(key, value_at(values, key))) for key, entry in section.entries.items()]
        shown.append((section.title, rows))
    return shown


def _is_designed(study: Study) -> bool:
    """Published judgments have no design of their own to try again."""
    return study.source == Study.Source.DESIGNED


def _duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    copy = duplicate_study(study=study, user=signed_in(request))
    messages.success(request, f"“{copy.name}” is a draft with the same design.")
    return redirect(page_address(copy, "change"))


def _not_a_view(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    """The design page stands at the admin's own change address."""
    return redirect(page_address(study, "change"))


add_page(StudyPage(name="change", label="Design", order=10, view=_not_a_view))
add_page(StudyPage(name="study-file", label="", order=11, view=show_file))
add_step(StudyStep(name="duplicate", label="Duplicate", run=_duplicate, offered=_is_designed))
