"""The list of the export formats, and the lookup of a format by its name.

The modules of this package have the formats' encodings. Features add formats of their own (``Feature.formats``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from common.errors import did_you_mean
from common.features import of_features
from evaluation.data.export.encodings import Encoding
from evaluation.data.export.formats import (
    consensus,
    demographics,
    judgments,
    relevance,
    reliability,
    soft_labels,
    written_captions,
)
from evaluation.data.export.formats.requirements import (
    accept_any_study,
    why_no_fixed_scale,
    why_not_flickr8k,
    why_not_grounding,
    why_not_keywords,
    why_not_single_captions,
    why_not_written_captions,
)
from evaluation.errors import ExportError
from judgments.access.rights import Right
from judgments.models import Study

TASKS = ("annotation", "search")  # tasks of qrels: the query is an image, or a caption

JSONL, CSV, TEXT = "application/jsonl", "text/csv; charset=utf-8", "text/plain; charset=utf-8"
PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Format:
    """An export format.

    Attributes:
        suffix: the suffix of a file's name.
        description: the format's purpose, a colon, and its content.
        why_unsuitable: a function that returns why the format cannot represent a study, or "" if it can.
        encoding: a function that returns a new encoding, which writes a file.
        right: the right needed to write and download a file.
        personal: whether files are deleted with the study's raw ids.
    """

    name: str
    suffix: str
    content_type: str
    description: str
    why_unsuitable: Callable[[Study], str]
    encoding: Callable[[], Encoding]
    right: Right = Right.VIEW
    personal: bool = False


_FORMATS = (
    Format(
        "jsonl", "jsonl", JSONL,
        "JSON lines for programs: one judgment per line", accept_any_study, judgments.JsonLines,
    ),
    Format("csv", "csv", CSV, "CSV for a spreadsheet: one judgment per row", accept_any_study, judgments.CsvLines),
    Format(
        "parquet", "parquet", PARQUET,
        "Parquet for data frames: judgments in typed columns", accept_any_study, judgments.ParquetParts,
    ),
    Format(
        "qrels", "qrels.txt", TEXT,
        "qrels for trec_eval: the consensus as relevance judgments", why_not_single_captions, relevance.Qrels,
    ),
    Format(
        "flickr8k", "flickr8k.txt", TEXT,
        "Format of Flickr8k: the crowd file (relevance) or the expert file (graded)",
        why_not_flickr8k, relevance.Flickr8k,
    ),
    Format(
        "captions", "captions.jsonl", JSONL,
        "Captions for a new dataset, as a file to import", why_not_written_captions, written_captions.WrittenCaptions,
    ),
    Format(
        "reliability", "reliability.csv", CSV,
        "Reliability table: CSV for programs that compute agreement, with participants in rows and items in columns",
        why_no_fixed_scale, reliability.Reliability,
    ),
    Format(
        "soft-labels", "soft-labels.jsonl", JSONL,
        "Soft labels for training: the distribution of answers to each item, with its entropy",
        soft_labels.why_no_soft_labels, soft_labels.SoftLabelLines,
    ),
    Format(
        "demographics", "demographics.csv", CSV,
        "Demographics for the paper: data from the crowd about participants, one participant per line",
        demographics.why_no_demographics, demographics.DemographicLines,
        right=Right.CHANGE, personal=True,
    ),
    Format(
        "keywords", "keywords.jsonl", JSONL,
        "Keywords for programs: the number of participants who gave each keyword, one item per line",
        why_not_keywords, consensus.KeywordLines,
    ),
    Format(
        "grounding", "grounding.jsonl", JSONL,
        "Links for programs: words and boxes that the majority linked, one caption per line",
        why_not_grounding, consensus.GroundingLines,
    ),
)  # fmt: skip
FORMATS = {file_format.name: file_format for file_format in (*_FORMATS, *of_features("formats"))}


def format_named(name: str) -> Format:
    """Return a format. Raise ExportError if the name is unknown; the message suggests the nearest known name."""
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS)
        raise ExportError(f"There is no export format {name!r}; there are {', '.join(FORMATS)}.{hint}")
    return FORMATS[name]


def formats_for(study: Study) -> list[Format]:
    return [file_format for file_format in FORMATS.values() if not file_format.why_unsuitable(study)]


def check_fits(study: Study, file_format: Format) -> None:
    """Raise ExportError if the format cannot represent the study."""
    why = file_format.why_unsuitable(study)
    if why:
        raise ExportError(
            f"Format {file_format.name} does not fit study {study.slug!r} ({study.protocol}): {why}."
        )
