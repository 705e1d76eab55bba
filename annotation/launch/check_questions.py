"""The rule on check questions: whose answers it leaves out, and how probably those of a careful participant."""

from __future__ import annotations

import math

from django.utils.translation import gettext as _

from common.amounts import percent
from judgments.design.study_design import StudyDesign
from judgments.design.tables.controls import CAREFUL, GUESSING
from judgments.kinds import KINDS


def items_among(design: StudyDesign, groups: int) -> int:
    """Return the number of items in ``groups`` pictures, or other groups, of a page of work."""
    return groups * (design.captions_per_image if KINDS[design.protocol].grouped else 1)


def chance_of_exclusion(design: StudyDesign, accuracy: float) -> tuple[int, float]:
    """Return the check questions on the pages after which the rule applies first, and how likely it applies then.

    Args:
        accuracy: the chance that the person is right on a check question.
    """
    on_a_page = items_among(design, design.controls.per_hit)
    seen = on_a_page * math.ceil(design.controls.least / on_a_page)
    return seen, design.controls.chance_set_aside(seen, accuracy)


def describe_rule(design: StudyDesign) -> str:
    """Describe the rule on check questions; "" without one."""
    if not design.controls.per_hit or not design.controls.threshold:
        return ""
    seen, careful = chance_of_exclusion(design, CAREFUL)
    return _(
        "Answers of participants below the pass mark of %(mark)s are not used. At check question %(seen)s, this "
        "concerns %(careful)s of 100 careful participants, who get 95 of 100 check questions right, and %(guessing)s "
        "of 100 who guess."
    ) % {
        "mark": percent(design.controls.threshold),
        "seen": seen,
        "careful": round(100 * careful),
        "guessing": round(100 * chance_of_exclusion(design, GUESSING)[1]),
    }
