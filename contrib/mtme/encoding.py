"""Export mt-metrics-eval's folder layout as one archive (github.com/google-research/mt-metrics-eval).

What is judged with an image is a "segment" there. In a first stage, parts of units are written as sums of people's
answers; in a second, parts of systems as scores of metrics. From both, and from the texts, the folder is written and
packed.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from django.db.models import F

from annotation.snapshots import Snapshot
from common.files import ZIP_EPOCH, HashedFile
from common.rows.batches import KEYS_PER_QUERY, batched
from contrib.mtme.judged_systems import JudgedSystems, collect_systems, judged_items, parse_system_id
from evaluation.data.export.encodings import Encoding, ExportWork, Stage
from evaluation.data.judgment_sets import loaders
from evaluation.errors import ExportError
from evaluation.models import DEFAULT_METRICS
from judgments.drawing.keys import text_key
from judgments.kinds import KINDS
from judgments.kinds.base import ErrorMarks
from judgments.models import Caption, Study, System, Unit
from judgments.studies.designs import design_of, kind_of
from quorum.metrics import score
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.packing import declare
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND, side_of

CELLS_SUFFIX, SCORES_SUFFIX = "cells", "scores"  # suffixes of the parts of the two stages
NO_TEXT = "[No translation supplied]"  # what mt-metrics-eval writes for a missing text
SOURCE_ERROR = "source issue"  # category of an error in the source text


class MtmeEncoding(Encoding):
    """The encoding of an archive with one folder, named after the study.

    Parts of units are rows of four float64, a cell of ``JudgedSystems`` each: system number, segment number, sum and
    number of answers. Parts of systems are JSON lines with scores by metric.
    """

    counts = dict.fromkeys(("systems", "segments", "references", "scored", "left_out"), 0)
    tallies = True

    def __init__(self) -> None:
        # A table without answers; None once the parts are read.
        self._empty_table: JudgedSystems | None = None
        self._table_and_references: tuple[JudgedSystems, SegmentReferences] | None = None

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return the systems and the number of segments now, since systems may be imported during the export."""
        systems = System.objects.of_study(study).captioners().order_by("name", "pk")
        return {
            "systems": list(systems.values_list("pk", flat=True)),
            "segments": judged_items(study).count(),
        }

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        systems = System.objects.filter(pk__in=work.preparation["systems"]).annotate(position=F("pk"))
        scoring_stage = Stage(
            SCORES_SUFFIX,
            pieces=lambda study: systems,
            pieces_noun="systems",
            units_per_piece=max(1, work.preparation["segments"]),
        )
        return Stage(CELLS_SUFFIX), scoring_stage

    def load(self, work: ExportWork) -> None:
        if work.stage:  # the second stage
            self._read_parts(work)
        else:
            self._empty_table = collect_systems(work.study, work.preparation["systems"])

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        if work.stage:
            self._write_scores(work, file)
        else:
            self._write_cells(work, file)

    def _write_cells(self, work: ExportWork, file: HashedFile) -> None:
        assert self._empty_table is not None
        decisions, kind = work.moment.decisions, kind_of(work.study)
        make_cells = cells_of_options if kind.names_best else cells_of_captions
        make_cells = cells_of_pairs if kind.compares_pairs else make_cells
        for _, included_answers in work.answers():
            answers = {
                unit: [decisions[unit]] * len(unit_answers) if unit in decisions else unit_answers
                for unit, unit_answers in included_answers.items()
            }
            # The value of an answer with marks is the number on which agreement is measured.
            if kind.is_open and not kind.names_best:
                answers = {
                    unit: [kind.aggregation.codes(None, answer)[""] for answer in unit_answers]
                    for unit, unit_answers in answers.items()
                }
            cells, omitted_count = make_cells(self._empty_table, answers)
            file.write(np.array(cells, dtype=np.float64).tobytes())
            work.counts["left_out"] += omitted_count

    def _write_scores(self, work: ExportWork, file: HashedFile) -> None:
        table, references = self._read_parts(work)
        for pk in work.pieces:
            if pk in table.systems and references.has_texts:
                file.write_text(f"{json.dumps({'system': pk, **references.scores(table, pk)})}\n")

    def _read_parts(self, work: ExportWork) -> tuple[JudgedSystems, SegmentReferences]:
        """Return the table with the answers of all parts of the first stage, and the references of its segments."""
        if self._table_and_references is None:
            table = self._empty_table or collect_systems(work.study, work.preparation["systems"])
            for path in sorted(work.folder.glob(f"*.{CELLS_SUFFIX}")):
                cells = np.fromfile(path, dtype=np.float64).reshape(-1, 4)
                indices = cells[:, 0].astype(np.int64), cells[:, 1].astype(np.int64)
                np.add.at(table.total, indices, cells[:, 2])
                np.add.at(table.votes, indices, cells[:, 3])
            self._empty_table, judged_table = None, table.without_unjudged()
            if not judged_table.votes.any():
                raise ExportError(
                    f"No caption of a system has an answer that counts in study {work.study.slug!r}."
                )
            self._table_and_references = judged_table, SegmentReferences.for_study(work.study, judged_table)
        return self._table_and_references

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        score_files = list(parts)
        table, references = self._read_parts(work)
        study, parent = work.study, work.folder / "folder"
        # It exists if an earlier run was stopped while it joined parts.
        shutil.rmtree(parent, ignore_errors=True)
        design = design_of(study)
        source_language = design.source.language.replace("-", "_") if design.source.show else ""
        languages = f"{source_language or 'img'}-{design.language.replace('-', '_') or 'en'}"
        folder = parent / study.slug
        outputs, metrics = folder / "system-outputs" / languages, folder / "metric-scores" / languages
        for path in (outputs, metrics, *(folder / name for name in ("documents", "human-scores", "sources"))):
            path.mkdir(parents=True)
        max_references = references.write(folder / "references", languages)
        _write_images(study, table, folder, languages, sources=design.source.show)
        reference_names = {f"ref{number}" for number in range(1, max_references + 1)}
        names = file_names_of(
            System.objects.filter(pk__in=table.systems).values_list("pk", "name"), reference_names
        )
        _write_outputs(table, names, outputs)
        means = table.means
        people_scores = ((names[pk], means[row]) for pk, row in table.systems.items())
        stem = folder / "human-scores" / f"{languages}.{study.protocol}"
        _write_score_files(stem, ((name, scores, _mean(scores)) for name, scores in people_scores))
        marks = kind_of(study).marks
        if marks is not None:
            _write_ratings(stem, table, names, work, marks)
        for metric in DEFAULT_METRICS if references.has_texts else ():
            metric_scores = (
                (names[line["system"]], np.array(line["images"][metric]), line["corpus"][metric])
                for line in _lines_in_order(score_files, table)
            )
            _write_score_files(metrics / f"{metric}-all", metric_scores)
        _zip_folder(parent, file)
        work.counts |= {
            "systems": len(table.systems),
            "segments": len(table.segments),
            "references": max_references if references.has_texts else 0,
            "scored": int((table.votes > 0).sum()),
        }


def _lines_in_order(parts: Sequence[Path], table: JudgedSystems) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of the systems in the order of `table`. Only one is in memory at a time."""
    offsets: dict[int, tuple[Path, int]] = {}
    for path in parts:
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


# Rows of (system, segment, sum, number of answers), and the number of omitted answers.
Cells = tuple[list[tuple[float, ...]], int]


def cells_of_captions(table: JudgedSystems, answers: Mapping[int, Sequence[float]]) -> Cells:
    """Return the sum of the answers to each caption, for each system that is credited with it.

    ``answers`` are by row id of the unit, as in the next two functions.
    """
    cells: list[tuple[float, ...]] = []
    omitted_count = 0
    units = Unit.objects.filter(pk__in=answers).values_list("pk", "item", "first__text_key", "systems")
    for pk, item, caption, file_credits in units:
        segment, votes = table.segments[item], answers[pk]
        systems = table.systems_with(segment, caption, file_credits)
        cells += [(system, segment, sum(votes), len(votes)) for system in systems]
        omitted_count += 0 if systems else len(votes)
    return cells, omitted_count


def cells_of_pairs(table: JudgedSystems, answers: Mapping[int, Sequence[float]]) -> Cells:
    """Return each caption's number of votes. An answer for neither side counts as half a vote for each."""
    cells: list[tuple[float, ...]] = []
    omitted_count = 0
    units = Unit.objects.filter(pk__in=answers).values_list(
        "pk", "pair__item", "pair__first__text_key", "pair__second__text_key", "pair__first_system",
        "pair__second_system",
    )  # fmt: skip
    for pk, item, first, second, *systems in units:
        segment, votes = table.segments[item], answers[pk]
        for system, caption, side in zip(systems, (first, second), (FIRST, SECOND), strict=True):
            row = table.systems.get(system)
            if row is None or not table.has_text(row, segment, caption):
                omitted_count += len(votes)
            else:
                sides = [side_of(int(vote)) for vote in votes]
                undecided_votes = sum(vote not in (FIRST, SECOND) for vote in sides)
                cells.append((row, segment, sides.count(side) + 0.5 * undecided_votes, len(votes)))
    return cells, omitted_count


def cells_of_options(table: JudgedSystems, answers: Mapping[int, Sequence[Any]]) -> Cells:
    """Return each shown caption's points: 1 if an answer names it best, -1 if worst, else 0."""
    cells: list[tuple[float, ...]] = []
    omitted_count = 0
    units = list(Unit.objects.filter(pk__in=answers).select_related("item", "study"))
    for unit in units:
        segment = table.segments[unit.item_id]
        codes = [KINDS[unit.study.protocol].aggregation.codes(unit, answer) for answer in answers[unit.pk]]
        options = unit.content["options"]
        for option, file_credits in zip(options, unit.systems or [()] * len(options), strict=True):
            points = [code[option["key"]] for code in codes]
            systems = table.systems_with(segment, text_key(option["text"]), file_credits)
            cells += [(system, segment, sum(points), len(points)) for system in systems]
            omitted_count += 0 if systems else len(points)
    return cells, omitted_count


def _join_lines(text: str | None) -> str:
    return NO_TEXT if text is None else " ".join(text.split())


def file_names_of(rows: Iterable[tuple[int, str]], reserved: Iterable[str] = ()) -> dict[int, str]:
    """Return a file name for each row id, made of its text. The names differ from each other and from ``reserved``."""
    used_names, names = set(reserved), {}
    for pk, text in rows:
        name = "_".join(text.replace("/", " ").replace("\\", " ").split()).lstrip(".") or "unnamed"
        number = 1
        while (unique := name if number == 1 else f"{name}_{number}") in used_names:
            number += 1
        used_names.add(unique)
        names[pk] = unique
    return names


def _write_images(study: Study, table: JudgedSystems, folder: Path, languages: str, *, sources: bool) -> None:
    """Write the files of sources and documents, which have a line for each segment.

    A source is the image's name, or with ``sources`` its text. A line of documents has the domain, which is the split,
    and the document, by default the image itself.
    """
    rows = judged_items(study).values_list("pk", "name", "split", "text", "fields")
    images = [row for row in rows.iterator(loaders.ROWS_PER_BATCH) if row[0] in table.segments]
    names = file_names_of((pk, name) for pk, name, *_ in images)
    with ExitStack() as stack:
        texts = stack.enter_context(_open_text(folder / "sources" / f"{languages}.txt"))
        documents = stack.enter_context(_open_text(folder / "documents" / f"{languages}.docs"))
        for pk, name, split, text, fields in images:
            document = "_".join(dict(fields).get("document", "").split()) or names[pk]
            texts.write(f"{_join_lines(text if sources else name)}\n")
            documents.write(f"{'_'.join(split.split()) or 'all'}\t{document}\n")


def _write_ratings(
    stem: Path, table: JudgedSystems, names: Mapping[int, str], work: ExportWork, marks: ErrorMarks
) -> None:
    """Write ``STEM.rater1.seg.rating`` and so on. A line has a system, a tab, and marked errors.

    The first file has the errors of each segment's first judge, the next file those of the second judge, and so on.
    Offsets refer to texts with single blanks, as mt-metrics-eval reads them. Something missing, or an error in the
    source, is an empty span at the beginning, since mt-metrics-eval needs numbers.
    """
    answers = dict(loaders.counted_answers(work.study, work.moment))
    cells: dict[tuple[int, int], list[Any]] = {}
    units = Unit.objects.filter(pk__in=answers).order_by("position", "pk")
    fields = ("pk", "item", "first__text_key", "first__text", "systems")
    for pk, item, caption, text, file_credits in units.values_list(*fields).iterator(loaders.ROWS_PER_BATCH):
        segment = table.segments.get(item)
        if segment is None:
            continue
        errors = [_errors_as_json(text, marks.weighted_errors(answer)) for answer in answers[pk]]
        for system in table.systems_with(segment, caption, file_credits):
            cells.setdefault((system, segment), []).extend(errors)
    for rater in range(max(map(len, cells.values()), default=0)):
        with _open_text(stem.with_name(f"{stem.name}.rater{rater + 1}.seg.rating")) as file:
            for pk, system in table.systems.items():
                for segment in range(len(table.segments)):
                    ratings = cells.get((system, segment), [])
                    rating = "None"
                    if rater < len(ratings):
                        rating = json.dumps({"errors": ratings[rater]}, ensure_ascii=False)
                    file.write(f"{names[pk]}\t{rating}\n")


def _errors_as_json(text: str, spans: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return marked errors in the format of mt-metrics-eval."""

    def line_offset(offset: int | None) -> int:
        # Append "|" before the lines are joined, so that a blank right before the offset is kept.
        return 0 if offset is None else len(_join_lines(f"{text[:offset]}|")) - 1

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


@declare
@dataclass(slots=True)
class SegmentReferences:
    """The references of each segment, as lines of text."""

    texts: list[list[str]]

    @classmethod
    def for_study(cls, study: Study, table: JudgedSystems) -> SegmentReferences:
        texts: list[list[str]] = [[] for _ in table.segments]
        rows = (
            Caption.objects.filter(item__in=judged_items(study).values("pk"), role=Caption.Role.REFERENCE)
            .order_by("item__position", "item_id", "position", "pk")
            .values_list("item_id", "text")
        )
        for item, text in rows.iterator(loaders.ROWS_PER_BATCH):
            if item in table.segments:
                texts[table.segments[item]].append(_join_lines(text))
        return cls(texts)

    @property
    def has_texts(self) -> bool:
        return any(self.texts)

    def write(self, folder: Path, languages: str) -> int:
        """Write one file for each position of references; return the number of files."""
        folder.mkdir()
        file_count = max(1, *map(len, self.texts))
        for number in range(file_count):
            with _open_text(folder / f"{languages}.ref{number + 1}.txt") as file:
                for references in self.texts:
                    file.write(f"{references[number] if number < len(references) else NO_TEXT}\n")
        return file_count

    def scores(self, table: JudgedSystems, system: int) -> dict[str, Any]:
        """Return ``corpus`` and ``images``: the scores of a system and of its images against all references, by metric.

        The documents of CIDEr are the images. Without a caption or a reference, the score is 0.
        """
        captions = table.caption[table.systems[system]]
        references_by_segment = [[line for line in lines if line != NO_TEXT] for lines in self.texts]
        segments = np.flatnonzero(
            (captions != 0) & np.array([bool(lines) for lines in references_by_segment])
        )
        documents = [lines for lines in references_by_segment if lines]
        texts = [text or "" for text in _texts_of(captions[segments])]
        references = [references_by_segment[segment] for segment in segments.tolist()]
        # Images without a caption count as documents, too.
        document_corpus = None if len(segments) == len(documents) else documents
        result = score(texts, references, DEFAULT_METRICS, document_corpus=document_corpus)
        image_scores = {name: np.zeros(len(references_by_segment)) for name in DEFAULT_METRICS}
        for name, metric_score in result.scores.items():
            image_scores[name][segments] = metric_score.images
        return {
            "corpus": {name: float(metric_score.corpus) for name, metric_score in result.scores.items()},
            "images": {name: values.tolist() for name, values in image_scores.items()},
        }


def _texts_of(captions: Ints) -> Iterator[str | None]:
    """Yield the texts of captions, given by row id; None for the row id 0."""
    for batch in batched(captions.tolist(), KEYS_PER_QUERY):
        texts = dict(Caption.objects.filter(pk__in=set(batch)).values_list("pk", "text"))
        yield from (texts.get(pk) for pk in batch)


def _write_outputs(table: JudgedSystems, names: Mapping[int, str], folder: Path) -> None:
    for pk, row in table.systems.items():
        with _open_text(folder / f"{names[pk]}.txt") as file:
            file.writelines(f"{_join_lines(text)}\n" for text in _texts_of(table.caption[row]))


def _mean(scores: Floats) -> float:
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")


def _write_score_files(stem: Path, systems: Iterable[tuple[str, Floats, float]]) -> None:
    """Write ``STEM.seg.score`` and ``STEM.sys.score``. A line has a system, a tab, and a score or None.

    ``systems`` are the name, the scores of the segments, and the score of each system.
    """
    with (
        _open_text(stem.with_name(f"{stem.name}.seg.score")) as segment_file,
        _open_text(stem.with_name(f"{stem.name}.sys.score")) as system_file,
    ):
        for name, segment_scores, system_score in systems:
            segment_file.writelines(f"{name}\t{_format_score(score)}\n" for score in segment_scores.tolist())
            system_file.write(f"{name}\t{_format_score(system_score)}\n")


def _format_score(value: float) -> str:
    return "None" if np.isnan(value) else repr(value)


def _open_text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _zip_folder(folder: Path, file: HashedFile) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16  # the upper 16 bits are the mode of a Unix file
            with archive.open(info, "w", force_zip64=True) as member, path.open("rb") as source:
                shutil.copyfileobj(source, member, 1 << 20)  # a mebibyte at a time
