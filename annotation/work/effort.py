"""The effort of an assignment: number of questions, duration and pay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import ngettext

from annotation.words import spell_duration, spell_pay
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls import REPEATED
from judgments.drawing.material import LARGEST_PAGE, SCREENS
from judgments.kinds import KINDS
from judgments.models import HITUnit, Study
from judgments.studies.studies import design_of


@dataclass(frozen=True, slots=True)
class Effort:
    """``steps`` are screens: questions, or what has several; ``seconds`` is the duration of all."""

    steps: int
    seconds: float


def efforts_of(studies: Iterable[Study]) -> dict[int, Effort]:
    """Return the effort of an assignment by the study's row id.

    Based on the first HIT, since a small dataset fills none of the design's size and the last may be shorter; on the
    largest if documents stay whole; on the design before HITs are drawn.
    """
    found = list(studies)
    drawn = defaultdict(list)
    rows = HITUnit.objects.filter(hit__study__in=found, hit__position=0, unit__withdrawn=False)
    for study, item, control in rows.values_list("hit__study", "unit__item", "unit__control_kind"):
        drawn[study].append((item, control == REPEATED))
    return {study.pk: _effort(design_of(study), drawn[study.pk], study.notes) for study in found}


def _effort(design: StudyDesign, units: list[tuple[int, bool]], notes: Mapping[str, Any]) -> Effort:
    grouped = KINDS[design.protocol].grouped
    if largest := notes.get(LARGEST_PAGE, 0):
        return Effort(notes.get(SCREENS, largest), largest * design.seconds_per_unit)
    if units:
        steps = len(set(units)) if grouped else notes.get(SCREENS, len(units))
        return Effort(steps, len(units) * design.seconds_per_unit)
    steps = design.images_per_hit if grouped else design.units_per_hit
    each = design.captions_per_image if grouped else 1
    return Effort(steps, steps * each * design.seconds_per_unit)


def effort_in_words(study: Study, effort: Effort | None = None) -> dict[str, Any]:
    """Return ``size``, ``duration`` and ``pay`` of an assignment in words, and ``seconds``."""
    design = design_of(study)
    effort = effort or efforts_of([study])[study.pk]
    if KINDS[design.protocol].grouped and design.about_pictures:
        size = ngettext("%(n)d picture", "%(n)d pictures", effort.steps) % {"n": effort.steps}
    else:
        size = ngettext("%(n)d question", "%(n)d questions", effort.steps) % {"n": effort.steps}
    return {
        "size": size,
        "duration": spell_duration(effort.seconds),
        "seconds": effort.seconds,
        "pay": spell_pay(design.crowd.reward_cents, design.named_currency),
    }


def studies_with_effort(studies: Iterable[Study]) -> list[dict[str, Any]]:
    found = list(studies)
    efforts = efforts_of(found)
    return [{"study": study, **effort_in_words(study, efforts[study.pk])} for study in found]
