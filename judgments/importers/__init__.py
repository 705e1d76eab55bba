"""Read files as typed records, without the database: datasets, candidates and judgments by format name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from judgments.importers.coco import CocoCandidates, CocoDataset
from judgments.importers.fifty import FiftyDataset, FiftyPairwise, FiftyTriplets
from judgments.importers.flickr8k import Flickr8kCrowd, Flickr8kDataset, Flickr8kExpert
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.mturk import mturk_rows, turkle_rows
from judgments.importers.records import (
    CandidateSource,
    DatasetSource,
    JudgmentSource,
    read_csv,
    read_json_lines,
)
from judgments.importers.result_files import EXAMPLE, ResultColumns, ResultJudgments
from judgments.importers.tables import ALL, InputTable, TableCandidates, TableDataset, Taken, read_pairs
from judgments.importers.textio import ImportProblem
from judgments.importers.trec import read_runs

__all__ = [
    "CANDIDATE_FORMATS",
    "DATASET_FORMATS",
    "JUDGMENT_FORMATS",
    "RESULT_FORMATS",
    "TABLE_FORMATS",
    "CandidateSource",
    "DatasetSource",
    "ImportProblem",
    "JudgmentSource",
    "ResultColumns",
    "open_candidates",
    "open_dataset",
    "open_judgments",
    "read_pairs",
    "read_runs",
]

DATASET_FORMATS: dict[str, Callable[[Path, str | None], DatasetSource]] = {
    "flickr8k": Flickr8kDataset,
    "coco": CocoDataset,
    "pascal-50s": partial(FiftyDataset, "pascal-50s"),
    "abstract-50s": partial(FiftyDataset, "abstract-50s"),
    "jsonl": partial(TableDataset, records=read_json_lines),
    "csv": partial(TableDataset, records=read_csv),
    "inputs": InputTable,
}

CANDIDATE_FORMATS: dict[str, Callable[[Path, str | None], CandidateSource]] = {
    "coco": CocoCandidates,
    "jsonl": partial(TableCandidates, records=read_json_lines),
    "csv": partial(TableCandidates, records=read_csv),
}

# Published data: the protocols of a format's judgments, the default first.
JUDGMENT_FORMATS: dict[str, dict[str, Callable[[Path, str | None], JudgmentSource]]] = {
    "flickr8k-expert": {"graded": Flickr8kExpert},
    "flickr8k-crowd": {"relevance": Flickr8kCrowd},
    "pascal-50s": {
        "triplet": partial(FiftyTriplets, "pascal-50s"),
        "pairwise": partial(FiftyPairwise, "pascal-50s"),
    },
    "abstract-50s": {"triplet": partial(FiftyTriplets, "abstract-50s")},
}
TABLE_FORMATS = {"jsonl": read_json_lines, "csv": read_csv}
# Files with foreign columns, which need a mapping.
RESULT_FORMATS = {"mturk": mturk_rows, "turkle": turkle_rows}


def open_dataset(
    format: str, path: Path | str, *, encoding: str | None = None, taken: Taken = ALL
) -> DatasetSource:
    """Open a dataset in one of DATASET_FORMATS; its contents are read later.

    Args:
        encoding: for files that are neither UTF-8 nor marked (docs/formats.md).
        taken: the part of a table that holds people's captions.

    Raises:
        ImportProblem: the format is unknown, or nothing is there.
    """
    path = _checked(format, DATASET_FORMATS, path)
    if taken != ALL:
        records = taken.of(TABLE_FORMATS[format])
        return TableDataset(path, encoding, records=records, images_alone=taken.images_alone)
    return DATASET_FORMATS[format](path, encoding)


def open_candidates(
    format: str, path: Path | str, *, encoding: str | None = None, taken: Taken = ALL
) -> CandidateSource:
    """Open a system's captions in one of CANDIDATE_FORMATS, as `open_dataset` does."""
    path = _checked(format, CANDIDATE_FORMATS, path)
    if taken != ALL:
        return TableCandidates(path, encoding, records=taken.of(TABLE_FORMATS[format]))
    return CANDIDATE_FORMATS[format](path, encoding)


def open_judgments(
    format: str,
    path: Path | str,
    *,
    protocol: str | None = None,
    encoding: str | None = None,
    columns: ResultColumns | None = None,
) -> JudgmentSource:
    """Open judgments in one of JUDGMENT_FORMATS, TABLE_FORMATS or RESULT_FORMATS, as `open_dataset` does.

    Args:
        protocol: chooses among a published set's judgments; else that of rows without one.
        columns: required by RESULT_FORMATS, refused by others.
    """
    path = _checked(format, (*JUDGMENT_FORMATS, *TABLE_FORMATS, *RESULT_FORMATS), path)
    if (columns is None) == (format in RESULT_FORMATS):
        actual = "nothing" if columns is None else f"columns for {format}, whose columns are fixed"
        expected = EXAMPLE if columns is None else f"them for {', '.join(RESULT_FORMATS)} alone"
        raise ImportProblem(path, None, "--columns", actual, expected)
    if columns is not None:
        read = RESULT_FORMATS[format]
        return ResultJudgments(path, columns, protocol=protocol, encoding=encoding, read=read)
    if format in TABLE_FORMATS:
        return TableJudgments(path, TABLE_FORMATS[format], protocol=protocol, encoding=encoding)
    readers = JUDGMENT_FORMATS[format]
    chosen = protocol or next(iter(readers))
    if chosen not in readers:
        raise ImportProblem(path, None, None, f"no {chosen} judgments in {format}", " or ".join(readers))
    return readers[chosen](path, encoding)


def _checked(format: str, formats: Collection[str], path: Path | str) -> Path:
    if format not in formats:
        raise ImportProblem(
            path, None, None, f"the unknown format {format!r}", f"one of {', '.join(formats)}"
        )
    if not Path(path).exists():
        raise ImportProblem(path, None, None, "nothing there", "a file or a folder")
    return Path(path)
