"""What draws the pages of an arena when they are taken: a feature, which may be off."""

from __future__ import annotations

from typing import Any

from django.utils.translation import pgettext

from common.errors import FeatureIsOff
from common.features import of_features


def draws_arenas() -> bool:
    """Return whether a feature draws pages when they are claimed."""
    return bool(of_features("draws_at_claim"))


def drawing_at_claim() -> Any:
    """Return the function that draws the units of a page when it is claimed. Raise FeatureIsOff if there is none."""
    for draw in of_features("draws_at_claim"):
        return draw
    raise FeatureIsOff(
        pgettext(
            "staff",
            "The pages of this study are drawn when they are taken, which is off: turn on arena in the setting "
            "CONTRIB_APPS.",
        )
    )
