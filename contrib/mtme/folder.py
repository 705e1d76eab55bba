"""Write the folder of mt-metrics-eval (github.com/google-research/mt-metrics-eval), which it reads for one study.

An image of the study is a "segment" there. A text file has a line for each segment. With the languages `img-en`:

    sources/img-en.txt                          names of the images, or their texts
    documents/img-en.docs                       split and document of each image
    references/img-en.ref1.txt                  the first reference of each image; ref2 the second, and so on
    system-outputs/img-en/SYSTEM.txt            a system's captions
    human-scores/img-en.graded.seg.score        people's mean answers; .sys.score is their mean over segments
    human-scores/img-en.spans.rater1.seg.rating errors that people marked
    metric-scores/img-en/cider-d-all.seg.score  a metric's scores against all references
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from common.files import ZIP_EPOCH, HashedFile
from contrib.mtme.judged_systems import JudgedSystems, judged_items, parse_system_id
from contrib.mtme.references import SegmentReferences, open_text, single_line, texts_of
from evaluation.data.export.encodings import ExportWork
from evaluation.data.judgment_sets import loaders
from evaluation.models import DEFAULT_METRICS
from judgments.kinds.base import ErrorMarks
from judgments.models import Study, System, Unit
from judgments.studies.designs import design_of, kind_of
from quorum.numeric.arrays import Floats

SOURCE_ERROR = "source issue"  # category of an error in the source text


def write_mtme_folder(
    folder: Path,
    work: ExportWork,
    table: JudgedSystems,
    references: SegmentReferences,
    score_files: Sequence[Path],
) -> int:
    """Write all files of a study. Return the number of files of references, of which one is written even if empty.

    Args:
        table: its arrays have a row for each system and a column for each segment.
        score_files: JSON lines with a system's scores by metric, as ``SegmentReferences.scores`` returns them.
    """
    study, design = work.study, design_of(work.study)
    source_language = design.source.language.replace("-", "_") if design.source.show else ""
    languages = f"{source_language or 'img'}-{design.language.replace('-', '_') or 'en'}"
    outputs, metrics = folder / "system-outputs" / languages, folder / "metric-scores" / languages
    for path in (outputs, metrics, *(folder / name for name in ("documents", "human-scores", "sources"))):
        path.mkdir(parents=True)
    max_references = references.write(folder / "references", languages)
    _write_images(study, table, folder, languages, show_texts=design.source.show)
    reference_names = {f"ref{number}" for number in range(1, max_references + 1)}
    system_names = System.objects.filter(pk__in=table.systems).values_list("pk", "name")
    file_names = file_names_of(system_names, reserved=reference_names)
    _write_outputs(table, file_names, outputs)
    means = table.means
    people_scores = ((file_names[pk], means[row]) for pk, row in table.systems.items())
    stem = folder / "human-scores" / f"{languages}.{study.protocol}"
    _write_score_files(stem, ((name, scores, _mean(scores)) for name, scores in people_scores))
    marks = kind_of(study).marks
    if marks is not None:
        _write_ratings(stem, table, file_names, work, marks)
    for metric in DEFAULT_METRICS if references.has_texts else ():
        metric_scores = (
            (file_names[line["system"]], np.array(line["images"][metric]), line["corpus"][metric])
            for line in _lines_in_order(score_files, table)
        )
        _write_score_files(metrics / f"{metric}-all", metric_scores)
    return max_references


def zip_folder(folder: Path, file: HashedFile) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16  # the upper 16 bits are the mode of a Unix file
            with archive.open(info, "w", force_zip64=True) as member, path.open("rb") as source:
                shutil.copyfileobj(source, member, 1 << 20)  # a mebibyte at a time


def _lines_in_order(score_files: Sequence[Path], table: JudgedSystems) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of the systems in the order of ``table``. Only one is in memory at a time."""
    offsets: dict[int, tuple[Path, int]] = {}
    for path in score_files:
        with path.open("rb") as lines:
            offset = 0
            for line in lines:
                offsets[parse_system_id(line)] = path, offset
                offset += len(line)
    for pk in table.systems:
        path, offset = offsets[pk]
        with path.open("rb") as lines:
            lines.seek(offset)
            scores: dict[str, Any] = json.loads(lines.readline())
        yield scores


def file_names_of(names: Iterable[tuple[int, str]], reserved: Iterable[str] = ()) -> dict[int, str]:
    """Return a file name for each row id, made of a name. File names differ from each other and from ``reserved``.

    Args:
        names: pairs of a row id and a name.
    """
    used_names, file_names = set(reserved), {}
    for pk, name in names:
        # one word without separators of folders, and not a hidden file
        stem = "_".join(name.replace("/", " ").replace("\\", " ").split()).lstrip(".") or "unnamed"
        number = 1
        while (unique_name := stem if number == 1 else f"{stem}_{number}") in used_names:
            number += 1
        used_names.add(unique_name)
        file_names[pk] = unique_name
    return file_names


def _write_images(
    study: Study, table: JudgedSystems, folder: Path, languages: str, *, show_texts: bool
) -> None:
    """Write the files of sources and documents, which have a line for each segment.

    A source is the image's name, or with ``show_texts`` its text. A line of documents has the domain, which is the
    split, a tab, and the document, by default the image itself.
    """
    items = judged_items(study).values_list("pk", "name", "split", "text", "fields")
    rows = items.iterator(loaders.ROWS_PER_BATCH)
    images = [row for row in rows if row[0] in table.segments]  # whose row id is a segment's
    names = file_names_of((pk, name) for pk, name, *_ in images)
    with ExitStack() as stack:
        texts = stack.enter_context(open_text(folder / "sources" / f"{languages}.txt"))
        documents = stack.enter_context(open_text(folder / "documents" / f"{languages}.docs"))
        for pk, name, split, text, fields in images:
            document = "_".join(dict(fields).get("document", "").split()) or names[pk]
            texts.write(f"{single_line(text if show_texts else name)}\n")
            documents.write(f"{'_'.join(split.split()) or 'all'}\t{document}\n")


def _write_ratings(
    stem: Path, table: JudgedSystems, file_names: Mapping[int, str], work: ExportWork, marks: ErrorMarks
) -> None:
    """Write ``STEM.rater1.seg.rating`` and so on. A line has a system, a tab, and its errors on a segment, or None.

    The first file has the errors of each segment's first judge, the next file those of the second judge, and so on.
    """
    errors_by_cell = _errors_by_cell(table, work, marks)
    for rater in range(max(map(len, errors_by_cell.values()), default=0)):
        with open_text(stem.with_name(f"{stem.name}.rater{rater + 1}.seg.rating")) as file:
            for (pk, system), segment in product(table.systems.items(), range(len(table.segments))):
                errors_by_rater = errors_by_cell.get((system, segment), [])
                rating = "None"
                if rater < len(errors_by_rater):
                    rating = json.dumps({"errors": errors_by_rater[rater]}, ensure_ascii=False)
                file.write(f"{file_names[pk]}\t{rating}\n")


def _errors_by_cell(
    table: JudgedSystems, work: ExportWork, marks: ErrorMarks
) -> dict[tuple[int, int], list[list[dict[str, Any]]]]:
    """Return the list of errors from each judge, by the numbers of system and segment in the table."""
    answers = dict(loaders.counted_answers(work.study, work.moment))
    errors_by_cell: dict[tuple[int, int], list[list[dict[str, Any]]]] = {}
    units = Unit.objects.filter(pk__in=answers).order_by("position", "pk")
    fields = ("pk", "item", "first__text_key", "first__text", "systems")  # systems that an import credits
    for pk, item, caption, text, file_credits in units.values_list(*fields).iterator(loaders.ROWS_PER_BATCH):
        segment = table.segments.get(item)
        if segment is None:
            continue
        errors = [_errors_as_json(text, marks.weighted_errors(answer)) for answer in answers[pk]]
        for system in table.systems_with(segment, caption, file_credits):
            errors_by_cell.setdefault((system, segment), []).extend(errors)
    return errors_by_cell


def _errors_as_json(text: str, spans: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return marked errors in the format of mt-metrics-eval.

    Offsets refer to texts with single blanks, as mt-metrics-eval reads them. Something missing, or an error in the
    source, is an empty span at the beginning, since mt-metrics-eval needs numbers.
    """

    def line_offset(offset: int | None) -> int:
        # Append "|" before the lines are joined, so that a blank right before the offset is kept.
        return 0 if offset is None else len(single_line(f"{text[:offset]}|")) - 1

    return [
        {
            "start": line_offset(span["start"]),
            "end": line_offset(span["end"]),
            "category": span.get("category", ""),
            "severity": span["severity"],
            "score": span["weight"],
            "is_source_error": span["start"] is None or span.get("category") == SOURCE_ERROR,
        }
        for span in spans
    ]


def _write_outputs(table: JudgedSystems, file_names: Mapping[int, str], folder: Path) -> None:
    for pk, row in table.systems.items():
        with open_text(folder / f"{file_names[pk]}.txt") as file:
            file.writelines(f"{single_line(text)}\n" for text in texts_of(table.caption[row]))


def _mean(scores: Floats) -> float:
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")


def _write_score_files(stem: Path, systems: Iterable[tuple[str, Floats, float]]) -> None:
    """Write ``STEM.seg.score`` and ``STEM.sys.score``. A line has a system, a tab, and a score or None.

    Args:
        systems: the file name, the scores of the segments, and the overall score of each system.
    """
    with (
        open_text(stem.with_name(f"{stem.name}.seg.score")) as segment_file,
        open_text(stem.with_name(f"{stem.name}.sys.score")) as system_file,
    ):
        for name, segment_scores, system_score in systems:
            segment_file.writelines(f"{name}\t{_format_score(score)}\n" for score in segment_scores.tolist())
            system_file.write(f"{name}\t{_format_score(system_score)}\n")


def _format_score(score: float) -> str:
    return "None" if np.isnan(score) else repr(score)
