"""Previews of a study's work for designers, which store nothing, and the views that serve pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from annotation.crowds.mturk.frames import sites_of
from annotation.models import Adjudication, Assignment, Participation
from annotation.views.sheet_page import sheet_context
from annotation.views.visitors import api_worker, worker_of
from annotation.work.sheet.examples import WorkedExample, example_item, preview_examples, worked_examples
from annotation.work.sheet.pictures import item_at, picture_response, preview_picture_url
from annotation.work.sheet.texts import read_design, spell_time_left
from annotation.work.sheet.units import PageUnit, arrange_units, units_of_hit
from annotation.work.worksheet import steps_of
from common.downloads import problem_page
from common.errors import QuorumError, WrongState
from judgments.access.rights import Right, has_right
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import number_in, signed_in
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
def preview(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show the page of work with the ``number`` in the address (default 1). For a draft, nothing is stored."""
    return csp_replace({"frame-ancestors": [SELF]})(lambda request: _preview(request, slug))(request)


def _preview(request: HttpRequest, slug: str) -> HttpResponse:
    study = Study.objects.visible_to(request.user).select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise Http404("There is no such study.")  # the same as on the study's other admin pages
    number = number_in(request)
    try:
        design = read_design(study)
        units: Sequence[Unit | UnitSpec]
        if study.state == Study.State.DRAFT:
            batch = build_batch(design, study.dataset, maker=study.created_by_id)
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
def preview_design(request: HttpRequest, key: str) -> HttpResponseBase:
    """Show the first page of work of an unsaved design, in a frame next to its form."""
    return csp_replace({"frame-ancestors": [SELF]})(lambda request: _preview_design(request, key))(request)


def _preview_design(request: HttpRequest, key: str) -> HttpResponse:
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
    """Return the units of the page with this number, or of the next one. A page of an arena is filled from its pool."""
    hit = study.hits.filter(position__gte=number - 1).order_by("position").first()
    if hit is None:
        raise WrongState(f"Study {study.slug!r} has no pages of work; its judgments were imported.")
    units = units_of_hit(hit.pk)
    if draws_at_claim(study):  # show units that a claim could draw
        pool = study.units.filter(control=False).select_related("item", "reference", "first", "second")
        units += pool[: max(0, design_of(study).units_per_hit - len(units))]
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
        examples: the worked examples of the design.
    """
    sides = KINDS[design.protocol].sides.draw(units, rng_for(design.seed, "sides preview"))
    items = _items_by_name(units, dataset)
    units = [_with_source(unit, items) for unit in units]
    steps = steps_of(
        arrange_units(units, [], sides),
        design=design,
        picture_url=lambda page_unit: _picture_url(page_unit, items),
        answers={},
        item_of=lambda page_unit: _item_of(page_unit, items),
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
    names = {unit.image for unit in units if isinstance(unit, UnitSpec)}
    if not names or not dataset.pk:
        return {}
    return {item.name: item for item in Item.objects.filter(dataset=dataset, name__in=names)}


def _with_source(unit: Unit | UnitSpec, items: Mapping[str, Item]) -> Unit | UnitSpec:
    """Return a unit with its source text, which a unit that is not stored lacks."""
    if isinstance(unit, UnitSpec) and unit.image in items:
        return replace(unit, source_text=items[unit.image].text)
    return unit


def _picture_url(page_unit: PageUnit, items: Mapping[str, Item]) -> str:
    item = _item_of(page_unit, items)
    return preview_picture_url(item) if item else ""


def _item_of(page_unit: PageUnit, items: Mapping[str, Item]) -> Item | None:
    unit: Unit | UnitSpec = page_unit.unit
    return items.get(unit.image) if isinstance(unit, UnitSpec) else unit.item


@require_safe
def picture(request: HttpRequest, assignment_id: UUID, position: int) -> HttpResponseBase:
    """Return the picture at a position of an assignment.

    An API client gets 401 without a token, and 403 for pictures of other workers. Other visitors get 404.
    """
    header = request.headers.get("Authorization", "")
    worker = api_worker(request) or worker_of(request)
    if worker is None and not request.user.is_staff and (header or request.user.is_anonymous):
        return problem_page(
            401,
            "A picture is shown to the participant whose token comes along.",
            headers={"WWW-Authenticate": "Token"},
        )
    assignment = Assignment.objects.filter(pk=assignment_id).select_related("study").first()
    if assignment is not None and (
        (worker is not None and worker.pk == assignment.worker_id) or _may_view(request, assignment.study)
    ):
        return picture_response(request, item_at(assignment, position))
    if header:
        return problem_page(403, "A participant's token opens the pictures of their own assignments.")
    raise Http404("There is no such picture.")


@require_safe
def example_picture(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """Return a worked example's picture to participants and staff. If a crowd's preview shows it, anybody gets it."""
    study = Study.objects.filter(slug=slug).first()
    worker = worker_of(request)
    if study is None or not (
        (study.state == Study.State.OPEN and sites_of(study.platform))
        or _may_view(request, study)
        or (worker is not None and Participation.objects.filter(study=study, worker=worker).exists())
    ):
        raise Http404("There is no such picture.")
    return picture_response(request, example_item(study, design_of(study), number))


@require_safe
def preview_picture(request: HttpRequest, item_id: int) -> HttpResponseBase:
    """Return the picture of an item to staff who may see its dataset, or who adjudicate a unit about it."""
    item = Item.objects.filter(pk=item_id).first() if request.user.is_staff else None
    if item is None or not (
        visible_rows(Item.objects.filter(pk=item_id), request.user).exists()
        or Adjudication.objects.filter(adjudicator=request.user.pk, unit__item=item).exists()
    ):
        raise Http404("There is no such picture.")
    return picture_response(request, item)


def _may_view(request: HttpRequest, study: Study) -> bool:
    return request.user.is_staff and has_right(request.user, Right.VIEW, study)
