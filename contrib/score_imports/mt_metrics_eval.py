"""Read scores from files of mt-metrics-eval (github.com/google-research/mt-metrics-eval).

There is a file per metric: NAME.seg.score, or NAME.sys.score with scores of whole systems. A line has a system, a tab
and its score. In NAME.seg.score, the lines of a system are in the order of the images, which the file does not name.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common.incoming import LimitExceeded, quote_value, unpacked_name
from common.incoming.bounded_files import GZIP_ERRORS, open_bounded
from contrib.score_imports.rows import CHECK_INTERVAL, ScoreRows, check_names, check_size
from evaluation.errors import EvaluationError
from evaluation.models import ScoreKeys
from judgments.importers.records.values import BadCell, read_name, read_number
from judgments.importers.textio import ImportProblem, read_lines
from quorum.numeric.arrays import Floats
from quorum.statistics.inputs import MAX_NUMBER

SEGMENTS_SUFFIX, SYSTEMS_SUFFIX = ".seg.score", ".sys.score"
NO_SCORE = ("None", "")  # how a missing score is written


def is_score_file(path: Path) -> bool:
    """Return whether a path is that of a file or a folder of mt-metrics-eval, by its name."""
    return path.is_dir() or unpacked_name(path.name).lower().endswith((SEGMENTS_SUFFIX, SYSTEMS_SUFFIX))


class _ScoreFile(NamedTuple):
    """A file of mt-metrics-eval, with the system and the score of each line."""

    metric: str
    file: Path
    systems: list[str]
    scores: Floats


def read_mt_metrics_eval(path: Path, metrics: Sequence[str]) -> Iterator[ScoreRows]:
    """Yield the scores in a folder or a file, of the named metrics or else of all.

    Raises:
        ImportProblem: a file cannot be read.
        EvaluationError: a metric has no file, or an invalid name.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    metric_files = [
        (name.removesuffix(SEGMENTS_SUFFIX).removesuffix(SYSTEMS_SUFFIX), file)
        for file in files
        if (name := unpacked_name(file.name)).endswith((SEGMENTS_SUFFIX, SYSTEMS_SUFFIX))
    ]
    if not path.is_dir() and len(metrics) == 1:  # a single file need not have the name of its metric
        metric_files = [(metrics[0], path)]
    for name in metrics:
        if name not in [metric for metric, _ in metric_files]:
            raise EvaluationError(
                f"{path} has no {name}{SEGMENTS_SUFFIX} or {name}{SYSTEMS_SUFFIX}; expected one of them."
            )
    if not metric_files:
        raise EvaluationError(
            f"{path} has no file *{SEGMENTS_SUFFIX} or *{SYSTEMS_SUFFIX}; expected one for each metric."
        )
    check_names(metric for metric, _ in metric_files)
    score_files = (
        _ScoreFile(metric, file, *_read_columns(file))
        for metric, file in metric_files
        if not metrics or metric in metrics
    )
    # consecutive files with the same lines become one table with several metrics
    for (scores_whole_systems, systems), group in groupby(
        score_files, key=lambda entry: (_scores_whole_systems(entry.file), entry.systems)
    ):
        entries = list(group)
        file, keys = entries[0].file, {"system": systems}
        scores = {entry.metric: entry.scores for entry in entries}
        if scores_whole_systems:
            yield ScoreRows(file, ScoreKeys.Subject.SYSTEMS, keys, scores)
        else:
            yield ScoreRows(
                file, ScoreKeys.Subject.CAPTIONS, keys, scores, segments=_number_segments(systems)
            )


def _scores_whole_systems(file: Path) -> bool:
    return unpacked_name(file.name).endswith(SYSTEMS_SUFFIX)


def _number_segments(systems: Sequence[str]) -> Sequence[int]:
    """Return the number of each row among the rows of its system, from 0: ``["a", "a", "b"]`` gives 0, 1, 0."""
    segment_counts: Counter[str] = Counter()
    segments = array("q")
    for system in systems:
        segments.append(segment_counts[system])
        segment_counts[system] += 1
    return segments


def _read_columns(file: Path) -> tuple[list[str], Floats]:
    """Return the system and the score of each line. Arrow reads the file; ``_read_by_line`` does if Arrow cannot."""
    import pyarrow as pa  # imported lazily, since web processes start without it
    from pyarrow import csv

    systems: list[str] = []
    scores = array("d")
    interned_names: dict[str, str] = {}  # so that equal names are one object
    try:
        batches = csv.open_csv(
            open_bounded(file),
            csv.ReadOptions(column_names=["system", "score"], use_threads=False),
            csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={"system": pa.string(), "score": pa.float64()}, null_values=[NO_SCORE[0]]
            ),
        )
        for batch in batches:
            encoded_names = batch["system"].dictionary_encode()
            names = [interned_names.setdefault(name, name) for name in encoded_names.dictionary.to_pylist()]
            numbers = batch["score"].to_numpy(zero_copy_only=False)
            has_valid_names = all(read_name(name, "the name of a system") == name for name in names)
            # A missing score is nan, so that it is counted, too, and subtracted again.
            invalid_count = np.count_nonzero(~(np.abs(numbers) <= MAX_NUMBER)) - batch["score"].null_count
            if invalid_count or not has_valid_names:
                return _read_by_line(file)  # which raises an error with the line
            systems += [names[code] for code in encoded_names.indices.to_numpy().tolist()]
            scores.frombytes(numbers.tobytes())
            check_size(file, _size_of_lines(systems, interned_names))
    except (pa.ArrowInvalid, OSError, BadCell, LimitExceeded, *GZIP_ERRORS):  # for example, a score is ""
        return _read_by_line(file)
    return systems, np.frombuffer(scores, dtype=np.float64)


def _read_by_line(file: Path) -> tuple[list[str], Floats]:
    systems: list[str] = []
    scores = array("d")
    interned_names: dict[str, str] = {}  # so that equal names are one object
    for line_number, line in read_lines(file):
        system, tab, value = line.rstrip("\r\n").partition("\t")
        if not tab:
            raise ImportProblem(
                file, line_number, None, quote_value(line.strip()), "a system, a tab, and its score"
            )
        try:
            name = read_name(system, "the name of a system")
            systems.append(interned_names.setdefault(name, name))
            has_score = value.strip() not in NO_SCORE
            number = read_number(value, textual=True, expected="a score, or None") if has_score else np.nan
            scores.append(number)
        except BadCell as error:
            raise ImportProblem(file, line_number, None, error.actual, error.expected) from None
        if not len(systems) % CHECK_INTERVAL:
            check_size(file, _size_of_lines(systems, interned_names))
    if not systems:
        raise ImportProblem(file, None, None, "no lines", "a system and its score in each")
    return systems, np.frombuffer(scores, dtype=np.float64)


def _size_of_lines(systems: list[str], distinct_names: Collection[str]) -> int:
    """Return the number of bytes that lines take in memory, with their scores and segment numbers."""
    # 8 bytes for each of the reference to the name, the score and the segment; about 200 for a name in a dictionary
    return 24 * len(systems) + 200 * len(distinct_names)
