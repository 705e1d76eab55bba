"""Functions for ``Format.fits``: they return why a study does not suit an export format, or "" if it does."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.data.export.formats import relevance
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.studies.designs import kind_of


def accept_any_study(study: Study) -> str:
    return ""


def why_not_single_captions(study: Study) -> str:
    kind = KINDS[study.protocol]
    if kind.compares_pairs or not kind.values:
        return "it holds judgments of one caption of one item (relevance, graded, slider)"
    return ""


def why_not_flickr8k(study: Study) -> str:
    if kind_of(study).values not in relevance.FLICKR8K_COLUMNS:
        return "its files hold yes and no, or grades from 1 to 4 (relevance, graded)"
    return why_not_single_captions(study)


def why_wrong_kind(is_suitable: Callable[[Kind], object], reason: str, study: Study) -> str:
    """Return ``reason``, which says what the format holds, unless the study's kind is suitable."""
    return "" if is_suitable(KINDS[study.protocol]) else reason
