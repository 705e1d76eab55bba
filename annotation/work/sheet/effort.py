"""The effort of a page of work, as workers read it before they begin: its length, duration and pay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Subquery
from django.utils.translation import ngettext

from annotation.work.sheet.texts import spell_duration, spell_pay
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.material import LARGEST_PAGE, SCREENS
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study
from judgments.studies.designs import design_of

HitItems = list[tuple[int, bool]]  # each unit's item, and whether it is a repetition on its own screen


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort of an assignment.

    Attributes:
        steps: the number of screens.
        seconds: the expected duration of all screens.
        is_maximum: whether another assignment of the study may need less.
    """

    steps: int
    seconds: float
    is_maximum: bool = False


def efforts_of(studies: Iterable[Study]) -> dict[int, Effort]:
    """Return the effort of an assignment of each study, by study row id.

    It is the largest effort among the first HIT, the last HIT, which may be shorter, and the first HIT of version 0.
    A HIT of a higher version has lost control items, or had its units drawn by an arena. Before HITs are generated, the
    effort comes from the design.
    """
    study_list = list(studies)
    hits_of_study = HIT.objects.filter(study=OuterRef("pk"))
    hit_orders = (
        hits_of_study.order_by("position"),
        hits_of_study.order_by("-position"),
        hits_of_study.filter(version=0).order_by("position"),
    )
    rows = Study.objects.filter(pk__in=[study.pk for study in study_list]).values_list(
        "pk",
        Exists(hits_of_study.filter(version__gt=0)),
        *(Subquery(hits_in_order.values("pk")[:1]) for hits_in_order in hit_orders),
    )
    changed_studies: set[int] = set()
    examined_hits: set[int] = set()
    for study_id, has_changed_hit, *first_hits in rows:
        examined_hits.update(hit for hit in first_hits if hit is not None)
        if has_changed_hit:
            changed_studies.add(study_id)
    items_by_study = _items_by_hit(examined_hits)
    return {
        study.pk: _effort_of_page(
            design_of(study),
            items_by_study.get(study.pk, {}),
            study.notes,
            has_changed=study.pk in changed_studies,
        )
        for study in study_list
    }


def _items_by_hit(hits: Collection[int]) -> Mapping[int, Mapping[int, HitItems]]:
    """Return the items of each HIT by HIT row id, grouped by study row id. Withdrawn control items are left out."""
    items_by_study: dict[int, dict[int, HitItems]] = defaultdict(lambda: defaultdict(list))
    hit_units = HITUnit.objects.filter(hit__in=hits, unit__withdrawn=False)
    for study, hit, item, control_kind in hit_units.values_list(
        "hit__study", "hit", "unit__item", "unit__control_kind"
    ):
        items_by_study[study][hit].append((item, control_kind == REPEATED))
    return items_by_study


def _effort_of_page(
    design: StudyDesign, items_by_hit: Mapping[int, HitItems], notes: Mapping[str, Any], *, has_changed: bool
) -> Effort:
    """Return the effort of a page.

    Args:
        items_by_hit: the examined HITs, by row id; empty before HITs are generated.
        notes: the study's notes, written when its units were drawn: the largest numbers on a page of units, in an arena
            and where documents stay whole (``LARGEST_PAGE``), and of screens, where two units share one (``SCREENS``).
        has_changed: whether a HIT has a version above 0.
    """
    is_grouped = KINDS[design.protocol].grouped  # a step is an image with all its captions instead of a unit
    if max_units := notes.get(LARGEST_PAGE, 0):
        # Where documents stay whole, pages differ in length. The examined HITs need not be the largest ones, since
        # documents are in random order. All pages of an arena have the same length.
        is_maximum = not design.arena.pages and len(items_by_hit) > 1
        return Effort(notes.get(SCREENS, max_units), max_units * design.seconds_per_unit, is_maximum)
    if items_by_hit:
        step_counts = [len(set(items)) if is_grouped else len(items) for items in items_by_hit.values()]
        max_units = max(len(items) for items in items_by_hit.values())
        is_maximum = len(items_by_hit) > 1 and (has_changed or len(set(step_counts)) > 1)
        # the notes have the number of screens if several units share one
        steps = max(step_counts) if is_grouped else notes.get(SCREENS, max(step_counts))
        return Effort(steps, max_units * design.seconds_per_unit, is_maximum)
    steps = design.images_per_hit if is_grouped else design.units_per_hit
    units_per_step = design.captions_per_image if is_grouped else 1
    return Effort(steps, steps * units_per_step * design.seconds_per_unit)


def describe_effort(study: Study, effort: Effort | None = None) -> dict[str, Any]:
    """Return the ``size``, ``duration`` and ``pay`` of an assignment in words, and its ``seconds``."""
    design = design_of(study)
    effort = effort or efforts_of([study])[study.pk]
    n = effort.steps
    counts_pictures = KINDS[design.protocol].grouped and design.about_pictures
    if counts_pictures and effort.is_maximum:
        size = ngettext("up to %(n)d picture", "up to %(n)d pictures", n)
    elif counts_pictures:
        size = ngettext("%(n)d picture", "%(n)d pictures", n)
    elif effort.is_maximum:
        size = ngettext("up to %(n)d question", "up to %(n)d questions", n)
    else:
        size = ngettext("%(n)d question", "%(n)d questions", n)
    return {
        "size": size % {"n": n},
        "duration": spell_duration(effort.seconds),
        "seconds": effort.seconds,
        "pay": spell_pay(design.crowd.reward_cents, design.named_currency),
    }


def studies_with_effort(studies: Iterable[Study]) -> list[dict[str, Any]]:
    """Return each study with its effort in words, as templates list open studies."""
    study_list = list(studies)
    efforts = efforts_of(study_list)
    return [{"study": study, **describe_effort(study, efforts[study.pk])} for study in study_list]
