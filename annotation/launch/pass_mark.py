"""The pass mark for check questions, and the probability that it excludes a careful participant."""

from __future__ import annotations

import math

from django.utils.translation import ngettext

from common.amounts import percent
from judgments.design.study_design import StudyDesign
from judgments.design.tables.controls import CAREFUL_ACCURACY, GUESSING_ACCURACY
from judgments.kinds import KINDS


def items_in_groups(design: StudyDesign, groups: int) -> int:
    """Return the number of items in ``groups`` groups.

    A group is what is packed into a HIT together: the captions of a picture for grouped kinds, else a single item.
    """
    return groups * (design.captions_per_image if KINDS[design.protocol].grouped else 1)


def checks_until_mark(design: StudyDesign) -> int:
    """Return the number of answered check questions at which the pass mark first applies.

    This is ``controls.least``, rounded up to whole pages of work, since participants answer whole pages. The design
    must have check questions on each page.
    """
    checks_per_page = items_in_groups(design, design.controls.per_hit)
    return checks_per_page * math.ceil(design.controls.least / checks_per_page)


def chance_of_exclusion(design: StudyDesign, accuracy: float) -> float:
    """Return the probability that the pass mark excludes a participant when it first applies.

    Args:
        accuracy: the probability that the participant answers a check question right.
    """
    return design.controls.exclusion_probability(checks_until_mark(design), accuracy)


def describe_pass_mark(design: StudyDesign) -> str:
    """Return sentences about the pass mark and whom it excludes; "" if the study has none."""
    if not design.controls.per_hit or not design.controls.threshold:
        return ""
    check_count = checks_until_mark(design)
    return ngettext(
        "Answers of participants below the pass mark of %(mark)s are not used. After one check question, about "
        "%(careful)s of 100 careful participants are below the pass mark. Of 100 participants who guess, about "
        "%(guessing)s are below the pass mark. It is assumed that a careful participant gets %(accuracy)s of 100 check "
        "questions right.",
        "Answers of participants below the pass mark of %(mark)s are not used. After %(seen)s check questions, about "
        "%(careful)s of 100 careful participants are below the pass mark. Of 100 participants who guess, about "
        "%(guessing)s are below the pass mark. It is assumed that a careful participant gets %(accuracy)s of 100 check "
        "questions right.",
        check_count,
    ) % {
        "mark": percent(design.controls.threshold),
        "seen": check_count,
        "accuracy": round(100 * CAREFUL_ACCURACY),
        "careful": round(100 * chance_of_exclusion(design, CAREFUL_ACCURACY)),
        "guessing": round(100 * chance_of_exclusion(design, GUESSING_ACCURACY)),
    }
