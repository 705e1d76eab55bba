"""Write the list of erasures to a file, and repeat them after a backup was restored. The list names nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from annotation.models import Erasure, Worker
from annotation.privacy.erasing import erase_person
from annotation.privacy.erasure_chain import append_erasure
from annotation.privacy.people import erasure_mark_of, people_of
from common.errors import QuorumError, WrongState
from judgments.models import Study

# mark: a keyed hash of the person; way: how much was erased (`Erasure.Extent`); content: a record of it (`Erasure`)
ENTRY_KEYS = ("mark", "way", "content", "at", "previous", "digest")


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of repeating a list of erasures.

    Attributes:
        replay_count: number of erasures that were repeated, since the person was in the database again.
        new_count: number of erasures whose person is not in the database, and that were only added to the records.
        known_count: number of erasures that were recorded here before.
        missing_studies: the slugs of studies that are not in this database.
        refusals: why some people cannot be erased yet. Repeat the call later for them.
    """

    replay_count: int
    new_count: int
    known_count: int
    missing_studies: list[str]
    refusals: list[str] = field(default_factory=list)


def erasure_list() -> Iterator[dict[str, Any]]:
    """Yield every erasure, oldest first, in the form that ``replay_erasures`` reads."""
    for row in Erasure.objects.select_related("study").order_by("pk"):
        yield {
            "study": row.study.slug,
            **{name: getattr(row, name) for name in ENTRY_KEYS},
            "at": row.at.isoformat(),
        }


def restored_after_erasure() -> Iterator[tuple[Erasure, Worker]]:
    """Yield each erasure whose person is in the study again, because a backup was restored, and this person.

    A worker who joined after the erasure under the same name is left out: it is another person, or the person wants to
    take part again.
    """
    studies = Study.objects.filter(pk__in=Erasure.objects.values("study"))
    for study in studies:
        rows_by_mark = {row.mark: row for row in Erasure.objects.filter(study=study).select_related("study")}
        for worker in people_of(study).iterator():
            row = rows_by_mark.get(erasure_mark_of(worker))
            if row is not None and worker.created_at <= row.at:
                yield row, worker


def replay_erasures(path: Path) -> ReplayResult:
    """Repeat the erasures of a list, each in its own transaction. An interrupted call can be repeated.

    Raises:
        QuorumError: the file is not a list of erasures; nothing is changed.
    """
    rows = _read_entries(path)
    replay_count = new_count = known_count = 0
    missing_studies: list[str] = []
    refusals: list[str] = []
    ids_by_study_and_mark: dict[int, dict[str, list[int]]] = {}  # row ids of workers
    for row in rows:
        study = Study.objects.filter(slug=row["study"]).first()
        if study is None:
            missing_studies.append(row["study"])
            continue
        erased_at = datetime.fromisoformat(row["at"])
        is_stored = Erasure.objects.filter(study=study, mark=row["mark"], at=erased_at).exists()
        if study.pk not in ids_by_study_and_mark:
            ids_by_study_and_mark[study.pk] = _worker_ids_by_mark(study)
        worker_ids = ids_by_study_and_mark[study.pk].get(row["mark"], ())
        # workers who joined after the erasure are other people
        restored_people = people_of(study).filter(pk__in=worker_ids, created_at__lte=erased_at)
        people = list(restored_people) if worker_ids else []
        try:
            for person in people:
                erase_person(
                    study=study,
                    worker=person,
                    way=row["way"],
                    withdraw=row["content"].get("withdrawn", False),  # whether files of releases were deleted
                    # if the row is stored although the person is here again, this is one more erasure
                    listed_row=None if is_stored else row,
                    # "retention" marks the scheduled removal of names, which keeps texts
                    with_texts=not row["content"].get("retention", False),
                )
        except WrongState as error:
            refusals.append(f"{study.slug}: {error}")
            continue
        if people:
            replay_count += 1
        elif is_stored:
            known_count += 1
        else:
            append_erasure(study=study, row=row)
            new_count += 1
    return ReplayResult(replay_count, new_count, known_count, missing_studies, refusals)


def _worker_ids_by_mark(study: Study) -> dict[str, list[int]]:
    ids_by_mark: dict[str, list[int]] = {}
    for worker in people_of(study):
        ids_by_mark.setdefault(erasure_mark_of(worker), []).append(worker.pk)
    return ids_by_mark


def _read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a list of erasures (JSON Lines). Raise QuorumError if the file is no such list."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        is_list = all(isinstance(row, dict) and {"study", *ENTRY_KEYS} <= row.keys() for row in rows)
    except (OSError, ValueError):
        is_list = False
    if not is_list:
        raise QuorumError(
            f"{path} is no list of erasures; expected lines of `erase_person --list`. Nothing was changed."
        )
    return rows
