"""Long files in parts, so that an export that was stopped goes on where it was.

A part holds the judgments of some ten thousand units, in the order of the file. It is written beside the file, in a
hidden folder, and stands there whole or not at all; the finished file is made of the parts alone, so that it is the
same however often the work was stopped. Memory holds a batch of rows, whatever the file's length.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from django.db.models import Count, Max, Q

from annotation.models import Assignment, Judgment
from evaluation.errors import ExportError
from evaluation.export.rows import JudgmentRows
from evaluation.loaders import unused_workers
from evaluation.provenance import quorum_version
from judgments.files import FileProblem, HashedFile, whole_file
from judgments.models import Study, Unit

UNITS_A_PART = 20_000
STATE = "state.json"


class Encoding(Protocol):
    """How rows become a part, and parts the file."""

    suffix: str

    def write_part(self, rows: JudgmentRows, file: HashedFile, *, first: bool) -> None: ...

    def join(self, study: Study, parts: Iterable[Path], file: HashedFile) -> None: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A written part: where the next one begins, and the counts so far."""

    number: int
    after: tuple[int, int]
    counts: dict[str, int]


def parts_folder(output: Path) -> Path:
    """The hidden folder beside the file."""
    return output.with_name(f".{output.name}.parts")


def drop_parts(output: Path) -> None:
    """What an earlier, stopped export of this file left."""
    shutil.rmtree(parts_folder(output), ignore_errors=True)


def state_of(study: Study, *, format: str, revisions: bool) -> dict[str, Any]:
    """What parts were made from: as long as it is the same, the next part belongs to them."""
    judgments = Judgment.objects.filter(assignment__study=study).aggregate(
        last=Max("pk"), rows=Count("pk"), set_aside=Count("pk", filter=Q(set_aside=True))
    )
    gone = Q(state__in=[Assignment.State.INVALIDATED, Assignment.State.APART])
    return {
        "study": study.slug,
        "format": format,
        "revisions": revisions,
        "version": quorum_version(),
        "judgments": judgments,
        "invalidated": Assignment.objects.filter(gone, study=study).count(),
        "unused": sorted(unused_workers(study)),
        "struck": Unit.objects.filter(study=study, struck=True).count(),
    }


def write_in_parts(
    rows: JudgmentRows,
    output: Path,
    encoding: Encoding,
    *,
    state: dict[str, Any],
    resume: bool,
    progress: Callable[[float, str], None],
) -> tuple[dict[str, int], str]:
    """Write the parts that are missing.

    Returns:
        counts over all of them, and the hash of the judgments where all of them passed by, else "".

    Raises:
        ExportError: ``resume``, and what is there was made from other judgments.
        FileProblem: the folder cannot be written to.
    """
    folder = parts_folder(output)
    try:
        last = _last_part(folder, state) if resume else None
        if last is None:
            drop_parts(output)
            folder.mkdir()
            (folder / STATE).write_text(json.dumps(state), encoding="utf-8")
        total = max(1, Unit.objects.filter(study=rows.study).count())
        number, after = (last.number, last.after) if last else (0, None)
        if last:
            rows.counts = dict(last.counts)
        while block := _next_units(rows.study, after):
            number, after = number + 1, block[-1]
            rows.only = [pk for _, pk in block]
            path = folder / f"{number:06}.{encoding.suffix}"
            with whole_file(path) as file:
                encoding.write_part(rows, file, first=number == 1)
            # the part is there before the line that says so; written again after a kill in between
            with whole_file(folder / f"{number:06}.json") as said:
                said.write_text(json.dumps({"after": after, "counts": rows.counts}))
            share = min(1.0, number * UNITS_A_PART / total)
            progress(0.05 + 0.85 * share, f"{rows.counts['judgments']:,} judgments")
    except OSError as error:
        raise FileProblem(f"{folder} cannot be written: {error.strerror or error}.") from None
    return rows.counts, "" if last else rows.data_hash.hexdigest()


def written_parts(output: Path, suffix: str) -> Iterator[Path]:
    """The parts in their order."""
    return iter(sorted(parts_folder(output).glob(f"*.{suffix}")))


def _last_part(folder: Path, state: dict[str, Any]) -> Part | None:
    """The last whole part of an export of the same rows; None where there is nothing to go on with."""
    if not (folder / STATE).is_file():
        return None
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except ValueError:
        return None  # killed while it was written: no part is there yet
    if found != json.loads(json.dumps(state)):
        raise ExportError(
            f"The export in {folder} was made from other judgments or another version; export without --resume."
        )
    said = sorted(path for path in folder.glob("*.json") if path.name != STATE)
    if not said:
        return None
    last = json.loads(said[-1].read_text(encoding="utf-8"))
    position, pk = last["after"]
    return Part(int(said[-1].stem), (position, pk), last["counts"])


def _next_units(study: Study, after: tuple[int, int] | None) -> list[tuple[int, int]]:
    """(position, row id) of the next units in the order of the study."""
    units = Unit.objects.filter(study=study)
    if after is not None:
        position, pk = after
        units = units.filter(Q(position__gt=position) | Q(position=position, pk__gt=pk))
    return list(units.order_by("position", "pk").values_list("position", "pk")[:UNITS_A_PART])
