"""Functions for ``Format.why_unsuitable``: they return what an export format needs that a study lacks, or "".

The clause follows "Format X does not fit study Y:" in a message. In it, "it" is the format, and "its design" that of a
study with this format.
"""

from __future__ import annotations

from contrib.export_formats.relevance import FLICKR8K_COLUMNS
from evaluation.data.judgment_sets.records import MAX_OUTCOMES, has_few_outcomes
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of


def why_not_single_captions(study: Study) -> str:
    kind = KINDS[study.protocol]
    if kind.compares_pairs or not kind.values:
        return "it holds judgments of one caption of one item (relevance, graded, slider)"
    return ""


def why_not_flickr8k(study: Study) -> str:
    if kind_of(study).values not in FLICKR8K_COLUMNS:
        return "its files hold yes and no, or grades from 1 to 4 (relevance, graded)"
    return why_not_single_captions(study)


def why_no_fixed_scale(study: Study) -> str:
    return "" if KINDS[study.protocol].values else "it holds answers from a fixed scale"


def why_no_soft_labels(study: Study) -> str:
    return "" if has_few_outcomes(kind_of(study)) else f"it holds answers of at most {MAX_OUTCOMES} values"


def why_no_demographics(study: Study) -> str:
    return "" if design_of(study).crowd.demographics else "its design names demographics (crowd.demographics)"


def why_not_keywords(study: Study) -> str:
    return "" if "keywords" in KINDS[study.protocol].specific_formats else "it holds keywords"


def why_not_grounding(study: Study) -> str:
    return (
        "" if "grounding" in KINDS[study.protocol].specific_formats else "it holds links from words to boxes"
    )
