"""A design used again: duplicated, kept as a preset, compared with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from judgments.admin.base import signed_in
from judgments.admin.study_pages import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    page_address,
    take_refusal,
)
from judgments.design_diff import compare_designs
from judgments.errors import QuorumError, WrongState
from judgments.forms.sections import sections_for
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.presets import PRESETS
from judgments.services.design_sources import NamedDesign, earlier_designs, find_design
from judgments.services.presets import newest_presets, save_preset
from judgments.services.studies import design_of, duplicate_study, next_copy

if TYPE_CHECKING:
    from judgments.admin.studies import StudyAdmin

MOST_OFFERED = 200  # studies, and saved presets, in the list to compare with; the address takes any


def is_designed(study: Study) -> bool:
    """Published judgments have no design of their own to try again."""
    return study.source == Study.Source.DESIGNED


def show_reuse(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """The forms for a copy and for a preset, and what the design can be compared with."""
    refusal = take_refusal(request, study)
    number = next_copy(study)
    others = Study.objects.visible_to(signed_in(request)).exclude(pk=study.pk)
    context |= {
        "copy_name": f"{study.name[:190]} ({number})",
        "copy_slug": f"{study.slug[:75]}-{number}",
        "others": others.values_list("slug", "name")[:MOST_OFFERED],
        "shipped": PRESETS,
        "saved": newest_presets(MOST_OFFERED),
        "earlier": earlier_designs(study),
        "is_designed": is_designed(study),
    }
    if refusal is not None:
        context[f"sent_{refusal.step.replace('-', '_')}"] = refusal
    return TemplateResponse(request, "judgments/study/reuse.html", context)


def _duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    if not is_designed(study):
        raise WrongState(f"Study {study.slug!r} holds imported judgments; there is nothing to try again.")
    copy = duplicate_study(
        study=study,
        name=request.POST.get("name", "").strip(),
        slug=request.POST.get("slug", "").strip(),
        user=signed_in(request),
    )
    messages.success(request, f"“{copy.name}” is a draft with the same design.")
    return redirect(page_address(copy, "change"))


def _save_preset(request: HttpRequest, study: Study) -> HttpResponse:
    kept = save_preset(
        design=design_of(study),
        slug=request.POST.get("slug", "").strip(),
        title=request.POST.get("title", ""),
        description=request.POST.get("description", ""),
        by=signed_in(request),
    )
    messages.success(request, f"“{kept.title}” is offered for new studies, as preset {kept.slug}.")
    return redirect(page_address(study, "reuse"))


def show_comparison(admin: StudyAdmin, request: HttpRequest) -> HttpResponse:
    """Two designs by their names in the address, which can be passed on; who may not see a study is told it is not
    there."""
    context: Context = {
        **admin.admin_site.each_context(request),
        "opts": Study._meta,
        "title": "Compare designs",
        "subtitle": "Compare designs",
    }
    studies = Study.objects.visible_to(signed_in(request))
    names = request.GET.get("this", ""), request.GET.get("that", "")
    context |= {"this": names[0], "that": names[1]}
    try:
        this, that = (find_design(name, studies=studies) for name in names)
    except QuorumError as error:
        context["problem"] = str(error)
        return TemplateResponse(request, "judgments/study/compare.html", context, status=error.status)
    found = compare_designs(this.values_beside(that), that.values_beside(this), names=names)
    context |= {
        "this_title": this.title,
        "that_title": that.title,
        "found": found,
        "groups": _grouped(found.tables, this, that),
        "turned": f"{reverse('admin:judgments_study_compare')}?{urlencode({'this': names[1], 'that': names[0]})}",
    }
    return TemplateResponse(request, "judgments/study/compare.html", context)


def _grouped(tables: dict[str, list[Any]], this: NamedDesign, that: NamedDesign) -> list[dict[str, Any]]:
    """The differences under the titles of the form's sections, each key with its label where the form has one."""
    titles: dict[str, tuple[str, str]] = {}
    for design in (that.design, this.design):
        for section in sections_for(KINDS[design.protocol]):
            for key, entry in section.entries.items():
                titles[key] = (section.title, entry.label)
    groups: dict[str, list[dict[str, Any]]] = {}
    for rows in tables.values():
        for row in rows:
            title, label = titles.get(row.key, ("Other keys", ""))
            groups.setdefault(title, []).append({"label": label, "row": row})
    return [{"title": title, "rows": rows} for title, rows in groups.items()]


add_page(StudyPage(name="reuse", label="Use again", order=95, view=show_reuse, group=Group.MANAGE))
add_step(
    StudyStep(name="duplicate", label="Duplicate", run=_duplicate, beside=True, also="judgments.add_study")
)
add_step(StudyStep(name="save-preset", label="Save as a preset", run=_save_preset, beside=True))
