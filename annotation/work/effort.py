"""The effort of an assignment: number of questions, duration and pay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Subquery
from django.utils.translation import ngettext

from annotation.words import spell_duration, spell_pay
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls import REPEATED
from judgments.drawing.material import LARGEST_PAGE, SCREENS
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study
from judgments.studies.studies import design_of

Units = list[tuple[int, bool]]  # a HIT's items, and whether they are repeated


@dataclass(frozen=True, slots=True)
class Effort:
    """``steps`` are screens; ``seconds`` is the duration of all.

    ``varies``: another assignment of the study may have fewer.
    """

    steps: int
    seconds: float
    varies: bool = False


def efforts_of(studies: Iterable[Study]) -> dict[int, Effort]:
    """Return the effort of an assignment by the study's row id.

    It is that of the largest among the first HIT, the last one and the first that lost no control item; of the largest
    page if documents stay whole; of the design before HITs are drawn.
    """
    found = list(studies)
    drawn: dict[int, dict[int, Units]] = defaultdict(lambda: defaultdict(list))
    own = HIT.objects.filter(study=OuterRef("pk"))
    ends = [
        Subquery(some.values("pk")[:1])
        for some in (
            own.order_by("position"),
            own.order_by("-position"),
            own.filter(version=0).order_by("position"),
        )
    ]
    rows_of_studies = Study.objects.filter(pk__in=[study.pk for study in found]).values_list(
        "pk", Exists(own.filter(version__gt=0)), *ends
    )
    changed: set[int] = set()
    hits: set[int] = set()
    for study, is_changed, *some in rows_of_studies:
        hits.update(hit for hit in some if hit is not None)
        if is_changed:
            changed.add(study)
    rows = HITUnit.objects.filter(hit__in=hits, unit__withdrawn=False)
    for study, hit, item, control in rows.values_list(
        "hit__study", "hit", "unit__item", "unit__control_kind"
    ):
        drawn[study][hit].append((item, control == REPEATED))
    return {
        study.pk: _effort(design_of(study), drawn[study.pk], study.notes, changed=study.pk in changed)
        for study in found
    }


def _effort(
    design: StudyDesign, hits: Mapping[int, Units], notes: Mapping[str, Any], *, changed: bool
) -> Effort:
    """``changed``: a HIT lost a control item, or an arena drew its units."""
    grouped = KINDS[design.protocol].grouped
    if largest := notes.get(LARGEST_PAGE, 0):
        varies = not design.arena.pages and len(hits) > 1  # documents in a random order
        return Effort(notes.get(SCREENS, largest), largest * design.seconds_per_unit, varies)
    if hits:
        of_hits = [len(set(units)) if grouped else len(units) for units in hits.values()]
        longest = max(len(units) for units in hits.values())
        varies = len(hits) > 1 and (changed or len(set(of_hits)) > 1)
        steps = max(of_hits) if grouped else notes.get(SCREENS, max(of_hits))
        return Effort(steps, longest * design.seconds_per_unit, varies)
    steps = design.images_per_hit if grouped else design.units_per_hit
    each = design.captions_per_image if grouped else 1
    return Effort(steps, steps * each * design.seconds_per_unit)


def effort_in_words(study: Study, effort: Effort | None = None) -> dict[str, Any]:
    """Return ``size``, ``duration`` and ``pay`` of an assignment in words, and ``seconds``."""
    design = design_of(study)
    effort = effort or efforts_of([study])[study.pk]
    n = effort.steps
    if KINDS[design.protocol].grouped and design.about_pictures:
        size = (
            ngettext("up to %(n)d picture", "up to %(n)d pictures", n)
            if effort.varies
            else ngettext("%(n)d picture", "%(n)d pictures", n)
        )
    elif effort.varies:
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
    found = list(studies)
    efforts = efforts_of(found)
    return [{"study": study, **effort_in_words(study, efforts[study.pk])} for study in found]
