"""Word the titles of presets for the type of judged text, such as "summary" instead of "caption"."""

from __future__ import annotations

from django.utils.translation import gettext

from judgments.design.editing.text_types import can_ask_about_texts
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.wordings import CAPTION
from judgments.kinds import KINDS


def preset_title(preset: Preset, text_type: str) -> str:
    """Return the title of a preset, worded for the type of judged text unless the preset is made for one type."""
    wordings = KINDS[preset.values["protocol"]].wordings
    is_for_one_type = preset.values.get("judged", CAPTION) != CAPTION
    if text_type == CAPTION or text_type not in wordings or is_for_one_type:
        return gettext(preset.title)
    return gettext(wordings[text_type].title)


def preset_titles(text_type: str) -> dict[str, str]:
    """Return the titles of presets by name, worded for the type of judged text.

    For texts other than captions, leave out presets whose page needs pictures.
    """
    return {
        name: preset_title(preset, text_type)
        for name, preset in PRESETS.items()
        if text_type == CAPTION or can_ask_about_texts(KINDS[preset.values["protocol"]])
    }
