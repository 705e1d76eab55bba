"""The section of a report about the scores of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation.content import Section
from evaluation.presentation.rendering import render_sentence, section
from evaluation.results.consensus.tables import captions_table

EXTREME_CAPTIONS_SHOWN = 25  # captions shown from each end of the list, which is sorted by score


def caption_scores_section(figures: Mapping[str, Any]) -> Section:
    """Return the section. ``figures`` are the stored results of the kind (``results.py``)."""
    data = captions_table(figures["captions"], ends=EXTREME_CAPTIONS_SHOWN)
    split_half = figures.get("split_half", {})
    half = split_half if split_half.get("spearman") is not None else None  # undefined: not mentioned
    sentence = render_sentence("captions", captions=len(figures["captions"]), half=half)
    return section("captions", [sentence], tables=[data])
