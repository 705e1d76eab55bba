"""Export the captions that workers wrote, under pseudonyms, as a file that can be imported into a dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotation.models import Worker
from annotation.snapshots import Snapshot
from common.files import HashedFile
from common.rows.batches import batched
from evaluation.data.export.encodings import (
    UNITS_PER_BATCH,
    Encoding,
    ExportWork,
    read_part_lines,
    write_line,
)
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH, sorted_by_unit_and_name
from judgments.drawing.keys import content_key
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class CollectedCaption:
    """A caption that a worker wrote.

    ``key`` is its id in files, which does not depend on the database; a revised caption gets a new key. ``image`` and
    ``worker`` are names.
    """

    key: str
    text: str
    image: str
    split: str
    item_id: int
    worker_id: int
    worker: str
    judgment_id: int


def written_captions(
    study: Study, moment: Snapshot, *, units: Sequence[int] | None = None
) -> Iterator[CollectedCaption]:
    """Yield the captions that were included at ``moment``, ordered by unit, then worker name."""
    rows = (
        moment.judgments(study, units=units)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "pk", "answer", "unit__key",
            "unit__item_id", "unit__item__name", "unit__item__split", "assignment_id",
        )
    )  # fmt: skip
    for row in sorted_by_unit_and_name(rows.iterator(ROWS_PER_BATCH), unit=0, worker=1):
        _, worker, worker_id, judgment, text, unit, item, image, split, assignment = row
        if moment.includes(assignment, worker_id):
            key = f"w-{content_key('written', study.slug, unit, worker, text)}"
            yield CollectedCaption(key, text, image, split, item, worker_id, worker, judgment)


def pseudonyms(worker_ids: Collection[int]) -> dict[int, str]:
    """Return pseudonyms by the workers' row ids, numbered in the order of the workers' names."""
    workers = enumerate(names_in_order(worker_ids), start=1)
    return {worker_id: f"writer-{number:04d}" for number, worker_id in workers}


def names_in_order(worker_ids: Collection[int]) -> dict[int, str]:
    """Return the workers' names by row id, sorted by name."""
    names: dict[int, str] = {}
    for batch in batched(worker_ids, ROWS_PER_BATCH):
        names |= dict(Worker.objects.filter(pk__in=batch).values_list("pk", "name"))
    return dict(sorted(names.items(), key=lambda entry: (entry[1], entry[0])))


class WrittenCaptions(Encoding):
    """Write JSON lines with image, caption, caption_id, split (if any), and the writer's pseudonym.

    Parts have row ids instead of pseudonyms, which cannot be numbered before all writers are known.
    """

    suffix = "rows"
    progress_count = "captions"
    counts = {"captions": 0, "writers": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for batch in batched(work.pieces, UNITS_PER_BATCH):
            for caption in written_captions(work.study, work.moment, units=batch):
                row = {
                    "image": caption.image,
                    "caption": caption.text,
                    "caption_id": caption.key,
                    **({"split": caption.split} if caption.split else {}),
                    "worker": caption.worker_id,
                }
                write_line(file, row)
                work.counts["captions"] += 1

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        paths = list(parts)
        names = pseudonyms({row["worker"] for row in read_part_lines(paths)})
        for row in read_part_lines(paths):
            write_line(file, row | {"worker": names[row["worker"]]})
        work.counts["writers"] = len(names)
