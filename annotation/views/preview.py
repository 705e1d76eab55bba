"""Previews of the worker's page for designers: the same templates, nothing stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from annotation.views.common import sheet_context
from annotation.words import spell_left
from annotation.work.pictures import Worked, preview_picture_url, sketched_examples, worked_examples
from annotation.work.presentation import Place, placed
from annotation.work.worksheet import sheet_of
from common.errors import QuorumError, WrongState
from judgments.admin.base import signed_in
from judgments.design.editing.editor_page import find_look, find_row
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import rng_for
from judgments.drawing.material import UnitSpec
from judgments.hit_templates.importing import sketched_hits
from judgments.kinds import KINDS
from judgments.models import Dataset, HITUnit, Item, Study, Unit
from judgments.studies.generation import build_batch
from judgments.studies.studies import design_of, find_dataset


@never_cache
@require_safe
@staff_member_required
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the first page of work: stored HITs, or for a draft a temporary draw."""
    study = Study.objects.visible_to(request.user).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise Http404("There is no such study.")  # as on the study's other admin pages
    try:
        design = design_of(study)
        units: Sequence[Unit | UnitSpec]
        if study.state == Study.State.DRAFT:
            units = build_batch(design, study.dataset).hits[0].units
        else:
            units = _first_units(study)
    except QuorumError as error:
        context = {"title": "There is nothing to preview", "message": str(error)}
        return render(request, "annotation/ended.html", context, status=error.status)
    examples = worked_examples(study, design)
    return render_preview(request, design, units, dataset=study.dataset, examples=examples)


@never_cache
@require_safe
@staff_member_required
@xframe_options_sameorigin
def look(request: HttpRequest, key: str) -> HttpResponseBase:
    """Show the first page of work of an unsaved design, framed by its form alone."""
    return csp_replace({"frame-ancestors": [SELF]})(lambda asked: _look(asked, key))(request)


def _look(request: HttpRequest, key: str) -> HttpResponse:
    design = find_look(request.session, key)
    if design is None:
        raise Http404("This design is not looked at any more.")
    try:
        row = find_row(request.session, key)
        if row is None:
            dataset = find_dataset(design.dataset, user=signed_in(request))
            hits = build_batch(design, dataset).hits
        else:
            dataset, hits = Dataset(name=design.dataset), sketched_hits(design, row)
        if not hits:
            raise WrongState("This design draws no HIT, so there is no page of work to show.")
    except QuorumError as error:
        context = {
            "title": "There is nothing to preview",
            "message": str(error),
            "in_frame": True,
            "designing": True,  # next to the form, not at a crowd
        }
        return render(request, "annotation/ended.html", context, status=error.status)
    examples = sketched_examples(dataset, design) if dataset.pk else ()
    return render_preview(request, design, hits[0].units, dataset=dataset, examples=examples)


def _first_units(study: Study) -> list[Unit]:
    hit = study.hits.order_by("position").first()
    if hit is None:
        raise WrongState(f"Study {study.slug!r} has no HITs; its judgments came from elsewhere.")
    rows = HITUnit.objects.filter(hit=hit).select_related(
        "unit__item", "unit__reference", "unit__first", "unit__second"
    )
    return [row.unit for row in rows.order_by("position")]


def render_preview(
    request: HttpRequest,
    design: StudyDesign,
    units: Sequence[Unit | UnitSpec],
    *,
    dataset: Dataset,
    examples: Sequence[Worked] = (),
) -> HttpResponse:
    """Render the page for ``units`` with a banner; its form does nothing."""
    sides = KINDS[design.protocol].sides.draw(units, rng_for(design.seed, "sides preview"))
    items = _items(units, dataset)
    units = [_with_source(unit, items) for unit in units]
    steps = sheet_of(
        placed(units, [], sides), design=design, picture_url=lambda place: _picture(place, items), answers={}
    )
    context = sheet_context(design, steps) | {
        "study": {"name": design.name, "slug": design.slug},
        "left_words": spell_left(design.crowd.lease_minutes * 60),
        "examples": examples,
        "preview": True,
    }
    return render(request, "annotation/work.html", context)


def _items(units: Sequence[Unit | UnitSpec], dataset: Dataset) -> dict[str, Item]:
    """Return the items of unsaved units by name, in one query. A sketched row has none."""
    names = {unit.image for unit in units if isinstance(unit, UnitSpec)}
    if not names or not dataset.pk:
        return {}
    return {item.name: item for item in Item.objects.filter(dataset=dataset, name__in=names)}


def _with_source(unit: Unit | UnitSpec, items: Mapping[str, Item]) -> Unit | UnitSpec:
    if isinstance(unit, UnitSpec) and unit.image in items:
        return replace(unit, source_text=items[unit.image].text)
    return unit


def _picture(place: Place, items: Mapping[str, Item]) -> str:
    unit: Unit | UnitSpec = place.unit
    if not isinstance(unit, UnitSpec):
        return preview_picture_url(unit.item)
    return preview_picture_url(items[unit.image]) if unit.image in items else ""
