"""Check whether a feature that draws the pages of arenas is active. Pages are drawn when they are claimed."""

from __future__ import annotations

from django.utils.translation import pgettext

from common.errors import FeatureIsOff
from common.features import of_features


def draws_arenas() -> bool:
    """Return whether a feature that draws pages when they are claimed is active."""
    return bool(of_features("arena_drawings"))


def refuse_absent_arena() -> None:
    """Raise FeatureIsOff if no feature that draws pages when they are claimed is active."""
    if not draws_arenas():
        raise FeatureIsOff(
            pgettext(
                "staff",
                "This study generates pages when participants take them, but this feature is off. "
                "Turn on “arena” in the setting CONTRIB_APPS.",
            )
        )
