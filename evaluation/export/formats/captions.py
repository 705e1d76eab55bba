"""Captions written by workers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from annotation.models import Worker
from annotation.snapshots import Moment
from common.files import HashedFile
from common.streams import batched
from evaluation.errors import EvaluationError
from evaluation.export.encoding import Encoding, Work, write_line
from evaluation.export.rows import UNITS_AT_ONCE
from evaluation.judgment_sets.loaders import in_order
from judgments.drawing.draws import content_key
from judgments.kinds import KINDS
from judgments.models import Study

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class CollectedCaption:
    """An included caption; ``key`` is equal on every database, and different for a revision."""

    key: str
    text: str
    image: str
    split: str
    item_id: int
    worker_id: int
    worker: str
    judgment_id: int


def check_writes(study: Study) -> None:
    """Raise EvaluationError for a study that does not collect captions."""
    if not KINDS[study.protocol].writes_captions:
        raise EvaluationError(
            f"Study {study.slug!r} is {study.protocol}; captions are written in studies of protocol caption alone."
        )


def written_captions(
    study: Study, moment: Moment, *, units: Sequence[int] | None = None
) -> Iterator[CollectedCaption]:
    """Yield the captions included at ``moment``, by unit, then worker name."""
    rows = (
        moment.judgments(study, units=units)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "pk", "answer", "unit__key",
            "unit__item_id", "unit__item__name", "unit__item__split", "assignment_id",
        )
    )  # fmt: skip
    for row in in_order(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1):
        _, worker, worker_id, judgment, text, unit, item, image, split, assignment = row
        if moment.counts(assignment, worker_id):
            key = f"w-{content_key('written', study.slug, unit, worker, text)}"
            yield CollectedCaption(key, text, image, split, item, worker_id, worker, judgment)


def pseudonyms(workers: Collection[int]) -> dict[int, str]:
    names: dict[int, str] = {}
    for some in batched(workers, ROWS_AT_ONCE):
        names |= dict(Worker.objects.filter(pk__in=some).values_list("pk", "name"))
    ordered = sorted(names, key=lambda worker: (names[worker], worker))
    return {worker: f"writer-{number:04d}" for number, worker in enumerate(ordered, start=1)}


class WrittenCaptions(Encoding):
    """Write JSON lines: image, caption, caption_id, split if any, and the writer's pseudonym.

    Parts hold the writers' row ids, as pseudonyms need all of them.
    """

    suffix = "rows"
    progress_count = "captions"
    counts = {"captions": 0, "writers": 0}

    def write_part(self, work: Work, file: HashedFile) -> None:
        for some in batched(work.pieces, UNITS_AT_ONCE):
            for one in written_captions(work.study, work.moment, units=some):
                row = {
                    "image": one.image,
                    "caption": one.text,
                    "caption_id": one.key,
                    **({"split": one.split} if one.split else {}),
                    "worker": one.worker_id,
                }
                write_line(file, row)
                work.counts["captions"] += 1

    def join(self, work: Work, file: HashedFile) -> None:
        names = pseudonyms({row["worker"] for row in work.lines(self.suffix)})
        for row in work.lines(self.suffix):
            write_line(file, row | {"worker": names[row["worker"]]})
        work.counts["writers"] = len(names)
