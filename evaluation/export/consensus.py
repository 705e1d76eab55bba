"""What the judgments say together, in the formats of other programs: qrels, Flickr8k's two, reliability data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from annotation.models import Judgment
from evaluation import loaders
from evaluation.errors import ExportError
from evaluation.export.tables import csv_writer
from evaluation.records import JudgmentTable
from judgments.files import HashedFile
from judgments.importers.formulas import guard_formula
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.streams import batched

ROWS_AT_ONCE = 2_000
GRADES_A_LINE = 3  # the expert file has three columns of grades


@dataclass(frozen=True, slots=True)
class UnitAnswers:
    """The used answers on one image-caption unit; ``values`` are empty where there is none."""

    pk: int
    image: str
    caption: str
    values: tuple[int, ...]


def unit_answers(study: Study) -> Iterator[UnitAnswers]:
    """The image-caption units in their order with their used answers; control items are left out."""
    unused = loaders.unused_workers(study)
    answers = (
        Judgment.objects.current()
        .filter(assignment__study=study, unit__control=False, set_aside=False)
        .exclude(assignment__in=loaders.unnamed_work(study))
        .order_by("unit__position", "unit_id", "pk")
        .values_list("unit_id", "assignment__worker_id", "value")
    )
    grouped = groupby(answers.iterator(ROWS_AT_ONCE), key=itemgetter(0))
    unit, group = next(grouped, (None, iter(())))
    names = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    for pk, image, caption in names.values_list("pk", "item__name", "first__key").iterator(ROWS_AT_ONCE):
        values: tuple[int, ...] = ()
        if pk == unit:
            values = tuple(value for _, worker, value in group if worker not in unused and value is not None)
            unit, group = next(grouped, (None, iter(())))
        yield UnitAnswers(pk, image, caption, values)


def _name(text: str, *, what: str) -> str:
    """``text`` as a field of a blank-separated line."""
    if not text or text.split() != [text]:
        raise ExportError(f"The {what} {text!r} holds a blank; qrels separates its fields by blanks.")
    return text


def write_qrels(study: Study, file: HashedFile, *, task: str) -> dict[str, int]:
    """TREC relevance judgments: ``query 0 document relevance``.

    ``task`` annotation asks with an image for captions, search with a caption for images. Relevance is the
    consensus as a whole number, as the kind has it (``Kind.relevance``), or what an adjudicator decided. Units
    without either are left out.
    """
    kind = KINDS[study.protocol]
    decisions = loaders.decisions_of(study)
    counts = {"lines": 0, "left_out": 0} | ({"adjudicated": 0} if decisions else {})
    for batch in batched(unit_answers(study), ROWS_AT_ONCE):
        places = [place for place, unit in enumerate(batch) for _ in unit.values]
        values = [value for unit in batch for value in unit.values]
        found = kind.consensus(places, values) if values else {}
        for place, unit in enumerate(batch):
            decision = decisions.get(unit.pk)
            if place not in found and decision is None:
                counts["left_out"] += 1
                continue
            if decision is not None:
                counts["adjudicated"] += 1
            value = found[place].value if decision is None else float(decision.value)
            assert value is not None  # these kinds have no ties
            relevance = kind.relevance(value)
            image, caption = _name(unit.image, what="image"), _name(unit.caption, what="caption id")
            query, document = (image, caption) if task == "annotation" else (caption, image)
            file.write_text(f"{query} 0 {document} {relevance}\n")
            counts["lines"] += 1
    return counts


def write_flickr8k_crowd(study: Study, file: HashedFile) -> dict[str, int]:
    """CrowdFlowerAnnotations.txt: image, caption id, share of yes, number of yes, number of no."""
    counts = {"lines": 0, "left_out": 0}
    for unit in unit_answers(study):
        n, yes = len(unit.values), sum(unit.values)
        if not n:
            counts["left_out"] += 1
            continue
        file.write_text(f"{unit.image}\t{unit.caption}\t{yes / n:.15g}\t{yes}\t{n - yes}\n")
        counts["lines"] += 1
    return counts


def write_flickr8k_expert(study: Study, file: HashedFile) -> dict[str, int]:
    """ExpertAnnotations.txt: image, caption id, three grades sorted ascending.

    Units without exactly three used grades cannot be written; they are left out and counted.
    """
    counts = {"lines": 0, "left_out": 0}
    for unit in unit_answers(study):
        if len(unit.values) != GRADES_A_LINE:
            counts["left_out"] += 1
            continue
        grades = "\t".join(str(grade) for grade in sorted(unit.values))
        file.write_text(f"{unit.image}\t{unit.caption}\t{grades}\n")
        counts["lines"] += 1
    return counts


def write_reliability(study: Study, file: HashedFile) -> dict[str, int]:
    """Workers x units: a header of unit ids, then a line a worker, empty where they did not judge.

    Holds what agreement is computed from: used judgments, no control items.
    """
    table: JudgmentTable = loaders.load_judgments(study)
    counted = table.counted
    units = loaders.unit_rows(study)
    column = {unit.pk: index for index, unit in enumerate(units)}
    places = np.array([column[unit] for unit in table.unit[counted].tolist()], dtype=np.int64)
    raters, values = table.worker[counted], table.value[counted].astype(np.int64)
    writer = csv_writer(file)
    writer.writerow(["worker", *(guard_formula(unit.key) for unit in units)])
    lines = 0
    for worker in loaders.worker_rows(study):
        own = raters == worker.pk
        if own.any():
            cells = np.full(len(units), "", dtype="<U6")
            cells[places[own]] = values[own].astype(str)
            writer.writerow([guard_formula(worker.name), *cells.tolist()])
            lines += 1
    return {"lines": lines, "units": len(units), "values": int(counted.sum())}
