"""The list of the export formats, and the lookup of a format by its name.

The modules of this package have the formats' encodings. Features add formats of their own (``Feature.formats``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from common.errors import did_you_mean
from common.features import lazy_registry, of_apps, of_features
from evaluation.data.export.encodings import Encoding
from evaluation.data.export.formats import judgments, written_captions
from evaluation.data.export.formats.requirements import accept_any_study, why_not_written_captions
from evaluation.errors import ExportError
from judgments.access.rights import Right
from judgments.models import Study

TASKS = ("annotation", "search")  # tasks of formats: the query is an image, or a caption

JSONL, CSV, PARQUET = "application/jsonl", "text/csv; charset=utf-8", "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Format:
    """An export format.

    Attributes:
        suffix: the suffix of a file's name.
        description: the format's purpose, a colon, and its content.
        why_unsuitable: a function that returns why the format cannot represent a study, or "" if it can.
        encoding: a function that returns a new encoding, which writes a file.
        right: the right needed to write and download a file.
        personal: whether files have personal data, so that they are deleted when people's raw ids are.
        has_task: whether a file depends on the task of an export (``TASKS``).
        order: number by which lists of formats are sorted.
    """

    name: str
    suffix: str
    content_type: str
    description: str
    why_unsuitable: Callable[[Study], str]
    encoding: Callable[[], Encoding]
    right: Right = Right.VIEW
    personal: bool = False
    has_task: bool = False
    order: int = 100


_FORMATS = (
    Format(
        "jsonl",
        "jsonl",
        JSONL,
        "JSON lines for programs: one judgment per line",
        accept_any_study,
        judgments.JsonLines,
        order=10,
    ),
    Format(
        "csv",
        "csv",
        CSV,
        "CSV for a spreadsheet: one judgment per row",
        accept_any_study,
        judgments.CsvLines,
        order=10,
    ),
    Format(
        "parquet",
        "parquet",
        PARQUET,
        "Parquet for data frames: judgments in typed columns",
        accept_any_study,
        judgments.ParquetParts,
        order=10,
    ),
    Format(
        "captions",
        "captions.jsonl",
        JSONL,
        "Captions for a new dataset, as a file to import",
        why_not_written_captions,
        written_captions.WrittenCaptions,
        order=30,
    ),
)


def _read_formats() -> dict[str, Format]:
    formats = sorted((*_FORMATS, *of_features("formats")), key=lambda file_format: file_format.order)
    return {file_format.name: file_format for file_format in formats}


FORMATS: dict[str, Format] = lazy_registry(_read_formats)


def installed_formats() -> dict[str, Format]:
    """Return all formats by name, including those of features that are off, since their files may still exist."""
    formats_of_features = [file_format for _feature, file_format in of_apps("formats").values()]
    return {file_format.name: file_format for file_format in (*_FORMATS, *formats_of_features)}


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
