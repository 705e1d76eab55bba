"""The design page of a study: where to start, the form, the study file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from judgments.admin.base import signed_in
from judgments.admin.design_desk import Desk, answer_look, count_now, open_desk, wants_json
from judgments.admin.study_pages import START_PAGES, Group, StudyPage, add_page, page_address
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
from judgments.markup import render_inline, render_markdown
from judgments.models import Dataset, Study
from judgments.plans import Plan
from judgments.presets import PRESETS, Preset
from judgments.services.presets import saved_presets
from judgments.services.studies import change_design, create_study, design_of
from judgments.visibility import visible_rows

if TYPE_CHECKING:
    from judgments.admin.studies import StudyAdmin


RENDERED: dict[str, Callable[[str], str]] = {
    "question": render_inline,
    "instructions": render_markdown,
    "consent": render_markdown,
}


def dataset_names(request: HttpRequest) -> list[str]:
    """What a design can be about: datasets that the person may look at."""
    return list(visible_rows(Dataset.objects.all(), request.user).values_list("name", flat=True))


def add_study(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """The choice of a protocol, then the form filled with its values."""
    saved = saved_presets()
    base = _asked_start(request, saved)
    names = dataset_names(request)
    asked = request.GET.get("dataset", "")
    if base is None:
        context = _outside(admin, request) | {
            "subtitle": "New study",
            "presets": PRESETS,
            "saved": saved,
            "kinds": KINDS,
            "datasets": names,
            "dataset": asked if asked in names else "",
            "start_pages": list(START_PAGES.values()),
        }
        return TemplateResponse(request, "judgments/study/start.html", context)
    desk = open_desk(request, base=base, datasets=names, saved=saved)
    if wants_json(request):
        return answer_look(desk)
    if _is_save(request) and desk.form.is_valid():
        study = _stored(desk.form, lambda design: create_study(design=design, user=signed_in(request)))
        if study is not None:
            admin.log_addition(request, study, "designed")
            return _next_page(request, study)
    count_now(desk, request)
    context = _outside(admin, request) | _form_context(desk, saved) | {"subtitle": "New study"}
    return TemplateResponse(request, "judgments/study/add.html", context)


def add_study_from_file(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """A study from pasted or uploaded TOML."""
    form = StudyFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            study = create_study(
                design=read_toml(form.cleaned_data["text"], saved=saved_presets()), user=signed_in(request)
            )
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
    saved = saved_presets()
    base = _asked_start(request, saved, kept=study.design) or study.design
    desk = open_desk(request, base=base, datasets=dataset_names(request), saved=saved)
    if wants_json(request):
        return answer_look(desk)
    if _is_save(request) and desk.form.is_valid():
        changed = _stored(
            desk.form, lambda design: change_design(study=study, design=design, user=signed_in(request))
        )
        if changed is not None:
            admin.log_change(request, study, "design")
            return _next_page(request, study)
    count_now(desk, request)
    return TemplateResponse(request, "judgments/study/design.html", context | _form_context(desk, saved))


def _is_save(request: HttpRequest) -> bool:
    """Neither a look nor a study file that fills the form."""
    return request.method == "POST" and not ({"_look", "_apply"} & request.POST.keys())


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


def _asked_start(
    request: HttpRequest, saved: dict[str, Preset], kept: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """The values of the preset or protocol that the address names; ``kept`` gives name, slug, dataset and seed."""
    preset, protocol = request.GET.get("preset", ""), request.GET.get("protocol", "")
    if preset not in {**saved, **PRESETS} and protocol not in KINDS:
        return None
    if preset not in {**saved, **PRESETS}:
        preset = ""
    base = starting_values(preset=preset, protocol=protocol, saved=saved)
    if kept is not None:
        base |= {key: kept[key] for key in ("name", "slug", "dataset", "seed", "registration") if key in kept}
    return base


def _form_context(desk: Desk, saved: dict[str, Preset]) -> dict[str, Any]:
    return desk.context | {
        "form_kind": KINDS[desk.base["protocol"]],
        "preset": {**saved, **PRESETS}.get(desk.base.get("preset", "")),
        "preset_ships": desk.base.get("preset", "") in PRESETS,
        "presets": PRESETS,
        "saved": saved,
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
    """The design as titles and labelled values; Markdown and the question as HTML, as workers read them."""
    values = design.model_dump(mode="json")
    shown = []
    for section in sections_for(KINDS[design.protocol]):
        if section.crowd not in ("", design.crowd.backend):
            continue
        rows = [(entry.label, _as_read(key, value_at(values, key))) for key, entry in section.entries.items()]
        shown.append((section.title, rows))
    if design.registration is not None:
        shown.append(("Plan", _plan_in_words(design.registration)))
    return shown


def _as_read(key: str, value: Any) -> str:
    render = RENDERED.get(key)
    return render(value) if render and value else in_words(key, value)


def _plan_in_words(plan: Plan) -> list[tuple[str, str]]:
    hypotheses = [f"{one.text} ({one.claim})" if one.claim else one.text for one in plan.hypotheses]
    return [
        ("Hypotheses", "\n".join(hypotheses)),
        ("Exclusions", plan.exclusions or "–"),
        ("Rules that may exclude", ", ".join(plan.exclude_by) or "–"),
        ("Stopping", plan.stopping or "–"),
        ("Analyses", "\n".join(plan.analyses) or "–"),
        ("Metrics", ", ".join(plan.metrics) or "any"),
        ("Level", f"{plan.level:g}"),
    ]


def _not_a_view(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    """The design page stands at the admin's own change address."""
    return redirect(page_address(study, "change"))


add_page(StudyPage(name="change", label="Design", order=10, view=_not_a_view, group=Group.PREPARE))
add_page(StudyPage(name="study-file", label="", order=11, view=show_file))
