"""Tell whether arenas are on. They need a feature that draws pages of work when participants take them."""

from __future__ import annotations

from django.utils.translation import pgettext

from common.errors import FeatureIsOff
from common.features import of_features


def is_arena_on() -> bool:
    return bool(of_features("arena_drawings"))


def require_arena() -> None:
    if not is_arena_on():
        raise FeatureIsOff(
            pgettext(
                "staff",
                "This study generates pages when participants take them, but this feature is off. "
                "Turn on “arena” in the setting CONTRIB_APPS.",
            )
        )
