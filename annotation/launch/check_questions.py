"""The rule on check questions: which workers it sets aside, and how probably it does so to a careful one."""

from __future__ import annotations

import math

from django.utils.translation import gettext as _

from judgments.design.study_design import StudyDesign
from judgments.design.tables.controls import CAREFUL, GUESSING
from judgments.kinds import KINDS


def items_among(design: StudyDesign, groups: int) -> int:
    """Return the number of items in ``groups`` pictures, or other groups, of a page of work."""
    return groups * (design.captions_per_image if KINDS[design.protocol].grouped else 1)


def chance_of_exclusion(design: StudyDesign, accuracy: float) -> tuple[int, float]:
    """Return the check questions on the pages after which the rule applies first, and how likely it sets aside then.

    Args:
        accuracy: the chance that the person is right on a check question.
    """
    on_a_page = items_among(design, design.controls.per_hit)
    seen = on_a_page * math.ceil(design.controls.least / on_a_page)
    return seen, design.controls.chance_set_aside(seen, accuracy)


def describe_rule(design: StudyDesign) -> str:
    """Return whom the rule on check questions sets aside, in a sentence; "" if nobody."""
    if not design.controls.per_hit or not design.controls.threshold:
        return ""
    seen, careful = chance_of_exclusion(design, CAREFUL)
    return _(
        "Answers of people below the least share are set aside from their check question number %(least)s on; they "
        "meet it on page %(pages)s at the latest. After that page, this happens to %(careful)s of 100 careful people, "
        "who get 95 of 100 check questions right, and to %(guessing)s of 100 who guess."
    ) % {
        "least": design.controls.least,
        "pages": seen // items_among(design, design.controls.per_hit),
        "careful": round(100 * careful),
        "guessing": round(100 * chance_of_exclusion(design, GUESSING)[1]),
    }
