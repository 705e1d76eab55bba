"""Previews of a study's pages of work for designers. They store nothing.

The units of a preview are stored (``Unit``) or, for a draft or an unsaved design, only planned (``UnitSpec``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from annotation.views.sheet_page import sheet_context
from annotation.work.sheet.examples import WorkedExample, preview_examples, worked_examples
from annotation.work.sheet.pictures import preview_picture_url
from annotation.work.sheet.texts import read_design, spell_time_left
from annotation.work.sheet.units import PageUnit, arrange_units, units_of_hit
from annotation.work.worksheet import steps_of
from common.errors import QuorumError, WrongState
from judgments.admin.base import requested_number, signed_in
from judgments.design.editing.previews import find_preview, find_preview_row
from judgments.design.study_design import StudyDesign, translate_design
from judgments.drawing.draws import rng_for
from judgments.drawing.material import UnitSpec
from judgments.kinds import KINDS
from judgments.models import Dataset, Item, Study, Unit
from judgments.studies.designs import design_of, draws_at_claim
from judgments.studies.generation.batches import build_batch, draw_hits_of_row
from judgments.studies.studies import find_dataset


@never_cache
@require_safe
@staff_member_required
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # csp types views without path arguments
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page of work whose number is in the query, such as ``?number=2``; the first page by default."""
    study = Study.objects.visible_to(request.user).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise Http404("There is no such study.")  # the same as on the study's other admin pages
    number = requested_number(request)
    try:
        design = read_design(study)
        units: Sequence[Unit | UnitSpec]
        if study.state == Study.State.DRAFT:
            batch = build_batch(design, study.dataset, maker=study.created_by_id)
            # of an arena, whose units are drawn at a claim, ``first_page`` returns an example
            units = batch.hits[number - 1].units if 1 < number <= len(batch.hits) else batch.first_page()
        else:
            units = _units_at(study, number)
        examples = worked_examples(study, design)
        return render_preview(request, design, units, dataset=study.dataset, examples=examples)
    except QuorumError as error:
        context = {"title": "There is nothing to preview", "message": str(error)}
        return render(request, "annotation/ended.html", context, status=error.status)


@never_cache
@require_safe
@staff_member_required
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # csp types views without path arguments
def preview_design(request: HttpRequest, key: str) -> HttpResponse:
    """Show the first page of work of an unsaved design, in a frame next to its form."""
    design = find_preview(request.session, key)
    if design is None:
        raise Http404("This design is not looked at any more.")
    design = translate_design(design, get_language())
    try:
        row = find_preview_row(request.session, key)  # a row of a table, in a form that has no dataset yet
        if row is None:
            user = signed_in(request)
            dataset = find_dataset(design.dataset, user=user)
            batch = build_batch(design, dataset, maker=user.pk)
            units = batch.first_page() if batch.hits else ()
        else:
            dataset, hits = Dataset(name=design.dataset), draw_hits_of_row(design, row)
            units = hits[0].units if hits else ()
        if not units:
            raise WrongState("The design yields no page of work, so there is nothing to show.")
    except QuorumError as error:
        context = {
            "title": "There is nothing to preview",
            "message": str(error),
            "in_frame": True,
            "is_next_to_form": True,  # the frame is the design form's, not a crowd's
        }
        return render(request, "annotation/ended.html", context, status=error.status)
    examples = preview_examples(dataset, design) if dataset.pk else ()
    return render_preview(request, design, units, dataset=dataset, examples=examples)


def _units_at(study: Study, number: int) -> list[Unit]:
    """Return the units of the page with this number or, if there is none, of the next page.

    In a study that draws units when a HIT is claimed (an arena), the page is filled up with units of the pool.
    """
    hit = study.hits.filter(position__gte=number - 1).order_by("position").first()
    if hit is None and study.hits.exists():
        raise WrongState(f"Study {study.slug!r} has no page of work {number}, expected a smaller number.")
    if hit is None:
        raise WrongState(f"Study {study.slug!r} has no pages of work; its judgments were imported.")
    units = units_of_hit(hit.pk)
    if draws_at_claim(study):
        pool = study.units.filter(control=False).select_related("item", "reference", "first", "second")
        missing_count = max(0, design_of(study).units_per_hit - len(units))
        units += pool[:missing_count]
    return units


def render_preview(
    request: HttpRequest,
    design: StudyDesign,
    units: Sequence[Unit | UnitSpec],
    *,
    dataset: Dataset,
    examples: Sequence[WorkedExample] = (),
) -> HttpResponse:
    """Render a page of work for ``units`` with a banner that says that it is a preview. Its form has no effect.

    Args:
        dataset: the dataset with the items of units that are not stored.
    """
    sides = KINDS[design.protocol].sides.draw(units, rng_for(design.seed, "sides preview"))
    items = _items_by_name(units, dataset)
    units = [_with_source(unit, items) for unit in units]

    def item_of(page_unit: PageUnit) -> Item | None:
        unit: Unit | UnitSpec = page_unit.unit
        return items.get(unit.image) if isinstance(unit, UnitSpec) else unit.item

    def picture_url(page_unit: PageUnit) -> str:
        item = item_of(page_unit)
        return preview_picture_url(item) if item else ""

    steps = steps_of(
        arrange_units(units, [], sides),  # in the HIT's own order
        design=design,
        picture_url=picture_url,
        answers={},
        item_of=item_of,
    )
    context = sheet_context(design, steps) | {
        "study": {"name": design.name, "slug": design.slug},
        "time_left": spell_time_left(design.crowd.lease_minutes * 60),
        "examples": examples,
        "preview": True,
        # the page is in a frame next to the form, whose heading says that it is a preview
        "in_frame": request.headers.get("Sec-Fetch-Dest") == "iframe",
    }
    return render(request, "annotation/work.html", context)


def _items_by_name(units: Sequence[Unit | UnitSpec], dataset: Dataset) -> dict[str, Item]:
    """Return the items of the units that are not stored, which name them; none if the dataset is not stored either."""
    names = {unit.image for unit in units if isinstance(unit, UnitSpec)}
    if not names or not dataset.pk:
        return {}
    return {item.name: item for item in Item.objects.filter(dataset=dataset, name__in=names)}


def _with_source(unit: Unit | UnitSpec, items: Mapping[str, Item]) -> Unit | UnitSpec:
    """Return a unit with its source text, which a unit that is not stored lacks."""
    if isinstance(unit, UnitSpec) and unit.image in items:
        return replace(unit, source_text=items[unit.image].text)
    return unit
