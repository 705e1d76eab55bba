"""The formats of ``export_judgments``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from common.errors import did_you_mean
from common.features import of_features
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
    fits_any,
    needs_captions_of_images,
    needs_flickr8k_grades,
    needs_kind,
)
from evaluation.data.export.parts import Encoding
from evaluation.errors import ExportError
from judgments.access.rights import Right
from judgments.models import Study

TASKS = ("annotation", "search")

JSONL, CSV, TEXT = "application/jsonl", "text/csv; charset=utf-8", "text/plain; charset=utf-8"
PARQUET = "application/vnd.apache.parquet"
_KEYWORDS = partial(needs_kind, lambda kind: "keywords" in kind.own_formats, "it holds keywords")
_GROUNDING = partial(
    needs_kind, lambda kind: "grounding" in kind.own_formats, "it holds links from words to boxes"
)
_CAPTIONS_CHECK = partial(
    needs_kind, lambda kind: kind.writes_captions, "it holds captions that workers wrote (caption)"
)
_NEEDS_FIXED_SCALE = partial(needs_kind, lambda kind: kind.values, "it holds answers from a fixed scale")


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        what: the format's purpose, a colon, and its content.
        fits: a function that returns why the format cannot represent a study, or "" if it can.
        right: the right needed to write and download a file.
        personal: whether files are deleted with the study's raw ids.
    """

    name: str
    suffix: str
    content_type: str
    what: str
    fits: Callable[[Study], str]
    encoding: Callable[[], Encoding]
    right: Right = Right.VIEW
    personal: bool = False


_FORMATS = (
    Format(
        "jsonl", "jsonl", JSONL,
        "JSON lines for programs: one judgment per line", fits_any, judgments.JsonLines,
    ),
    Format("csv", "csv", CSV, "CSV for a spreadsheet: one judgment per row", fits_any, judgments.CsvLines),
    Format(
        "parquet", "parquet", PARQUET,
        "Parquet for data frames: judgments in typed columns", fits_any, judgments.ParquetParts,
    ),
    Format(
        "qrels", "qrels.txt", TEXT,
        "qrels for trec_eval: the consensus as relevance judgments", needs_captions_of_images, relevance.Qrels,
    ),
    Format(
        "flickr8k", "flickr8k.txt", TEXT,
        "Format of Flickr8k: the crowd file (relevance) or the expert file (graded)",
        needs_flickr8k_grades, relevance.Flickr8k,
    ),
    Format(
        "captions", "captions.jsonl", JSONL,
        "Captions for a new dataset, as a file to import", _CAPTIONS_CHECK, written_captions.WrittenCaptions,
    ),
    Format(
        "reliability", "reliability.csv", CSV,
        "Reliability table: CSV for programs that compute agreement, with participants in rows and items in " "columns",
        _NEEDS_FIXED_SCALE, reliability.Reliability,
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
        _KEYWORDS, consensus.KeywordLines,
    ),
    Format(
        "grounding", "grounding.jsonl", JSONL,
        "Links for programs: words and boxes that the majority linked, one caption per line",
        _GROUNDING, consensus.GroundingLines,
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
    return [file_format for file_format in FORMATS.values() if not file_format.fits(study)]


def check_fits(study: Study, chosen: Format) -> None:
    """Raise ExportError if the format cannot represent the study."""
    why = chosen.fits(study)
    if why:
        raise ExportError(
            f"Format {chosen.name} does not fit study {study.slug!r} ({study.protocol}): {why}."
        )
