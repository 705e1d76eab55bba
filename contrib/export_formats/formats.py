"""The export formats of this feature. ``order`` sorts them among the formats of the platform and of other features.

The encodings are imported only when they are called, since importing them here could be circular: the process that
writes a part of a file begins with the module of the encoding, whose own imports load all formats, and so this module.
"""

from __future__ import annotations

from common.features import lazy_function
from contrib.export_formats.requirements import (
    why_no_demographics,
    why_no_fixed_scale,
    why_no_soft_labels,
    why_not_flickr8k,
    why_not_grounding,
    why_not_keywords,
    why_not_single_captions,
)
from evaluation.data.export.formats import JSONL, Format
from judgments.access.rights import Right

CSV, TEXT = "text/csv; charset=utf-8", "text/plain; charset=utf-8"

QRELS = Format(
    name="qrels",
    suffix="qrels.txt",
    content_type=TEXT,
    description="qrels for trec_eval: the consensus as relevance judgments",
    why_unsuitable=why_not_single_captions,
    encoding=lazy_function("contrib.export_formats.relevance.Qrels"),
    has_task=True,  # a file is for one task: its queries are images, or captions
    order=20,
)
FLICKR8K = Format(
    name="flickr8k",
    suffix="flickr8k.txt",
    content_type=TEXT,
    description="Format of Flickr8k: the crowd file (relevance) or the expert file (graded)",
    why_unsuitable=why_not_flickr8k,
    encoding=lazy_function("contrib.export_formats.relevance.Flickr8k"),
    order=20,
)
RELIABILITY = Format(
    name="reliability",
    suffix="reliability.csv",
    content_type=CSV,
    description=(
        "Reliability table: CSV for programs that compute agreement, with participants in rows and items in columns"
    ),
    why_unsuitable=why_no_fixed_scale,
    encoding=lazy_function("contrib.export_formats.reliability.Reliability"),
    order=40,
)
SOFT_LABELS = Format(
    name="soft-labels",
    suffix="soft-labels.jsonl",
    content_type=JSONL,
    description="Soft labels for training: the distribution of answers to each item, with its entropy",
    why_unsuitable=why_no_soft_labels,
    encoding=lazy_function("contrib.export_formats.soft_labels.SoftLabelLines"),
    order=40,
)
DEMOGRAPHICS = Format(
    name="demographics",
    suffix="demographics.csv",
    content_type=CSV,
    description=(
        "Demographics for the paper: data from the crowd about participants, one participant per line"
    ),
    why_unsuitable=why_no_demographics,
    encoding=lazy_function("contrib.export_formats.demographics.DemographicLines"),
    right=Right.CHANGE,
    personal=True,
    order=40,
)
KEYWORDS = Format(
    name="keywords",
    suffix="keywords.jsonl",
    content_type=JSONL,
    description="Keywords for programs: the number of participants who gave each keyword, one item per line",
    why_unsuitable=why_not_keywords,
    encoding=lazy_function("contrib.export_formats.open_answers.KeywordLines"),
    order=40,
)
GROUNDING = Format(
    name="grounding",
    suffix="grounding.jsonl",
    content_type=JSONL,
    description="Links for programs: words and boxes that the majority linked, one caption per line",
    why_unsuitable=why_not_grounding,
    encoding=lazy_function("contrib.export_formats.open_answers.GroundingLines"),
    order=40,
)
