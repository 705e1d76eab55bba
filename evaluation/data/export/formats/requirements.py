"""Checks that return what a study lacks for an export format."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.data.export.formats import relevance
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.studies.designs import kind_of


def fits_any(study: Study) -> str:
    return ""


def needs_captions_of_images(study: Study) -> str:
    kind = KINDS[study.protocol]
    if kind.compares_pairs or not kind.values:
        return "it holds judgments of one caption of one item (relevance, graded, slider)"
    return ""


def needs_flickr8k_grades(study: Study) -> str:
    if kind_of(study).values not in relevance.FLICKR8K:
        return "its files hold yes and no, or grades from 1 to 4 (relevance, graded)"
    return needs_captions_of_images(study)


def needs_kind(fits: Callable[[Kind], object], why: str, study: Study) -> str:
    return "" if fits(KINDS[study.protocol]) else why
