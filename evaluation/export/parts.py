"""Long files in parts, so that an export that was stopped goes on where it was.

A part holds the judgments of some ten thousand units, in the order of the file, as they stood when the export began
(``Held``): what comes meanwhile, or before a stopped export goes on, is not in the file. It is written beside the
file, in a hidden folder, and stands there whole or not at all; the finished file is made of the parts alone, so that
it is the same however often the work was stopped. Memory holds a batch of rows, whatever the file's length.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from django.db.models import Q

from evaluation.errors import ExportError
from evaluation.export.held import Held, held_from, hold
from evaluation.export.rows import JudgmentRows
from evaluation.provenance import quorum_version
from judgments.files import FileProblem, HashedFile, whole_file
from judgments.models import Study, Unit

UNITS_A_PART = 20_000
STATE = "state.json"


class Encoding(Protocol):
    """How the rows of some units become a part, and parts the file.

    Attributes:
        suffix: of a part.
        counts: what is counted, from 0.
        tallies: whether every judgment passes by, so that ``JudgmentRows.tally`` is complete when no part was skipped.
    """

    suffix: str
    tallies: bool
    counts: dict[str, int]

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


def asked_for(study: Study, *, format: str, task: str, revisions: bool) -> dict[str, Any]:
    """What parts were made for: as long as it is the same, the next part belongs to them."""
    return {
        "study": study.slug,
        "created_at": study.created_at.isoformat(),  # another study may get the name of one that was deleted
        "format": format,
        "task": task,
        "revisions": revisions,
        "version": quorum_version(),
    }


@dataclass(frozen=True, slots=True)
class Begun:
    """An export that is under way: what it holds, and its last part where there is one already."""

    held: Held
    last: Part | None


def begin_parts(study: Study, output: Path, *, asked: dict[str, Any], resume: bool) -> Begun:
    """Go on with the moment of a stopped export, or begin with the study as it stands now.

    Raises:
        ExportError: ``resume``, and what is there was made for something else; or judgments are being stored in one
            long transaction.
        FileProblem: the folder cannot be written to.
    """
    folder = parts_folder(output)
    with _told(folder):
        found = _stopped(study, folder, asked) if resume else None
        if found is not None:
            return found
        held = hold(study)
        drop_parts(output)
        folder.mkdir()
        with whole_file(folder / STATE) as file:
            file.write_text(json.dumps({"asked": asked, "held": held.as_json()}))
        return Begun(held, None)


def write_in_parts(
    begun: Begun,
    rows: JudgmentRows,
    output: Path,
    encoding: Encoding,
    *,
    progress: Callable[[float, str], None],
) -> None:
    """Write the parts that are missing; ``rows.counts`` are then those of all of them.

    Raises:
        FileProblem: the folder cannot be written to.
    """
    folder, last = parts_folder(output), begun.last
    with _told(folder):
        total = max(1, Unit.objects.filter(study=rows.study).count())
        number, after = (last.number, last.after) if last else (0, None)
        rows.counts = dict(last.counts if last else encoding.counts)
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
            what, count = next(iter(rows.counts.items()))
            progress(0.05 + 0.85 * share, f"{count:,} {what}")


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileProblem(f"{folder} cannot be written: {error.strerror or error}.") from None


def written_parts(output: Path, suffix: str) -> Iterator[Path]:
    """The parts in their order."""
    return iter(sorted(parts_folder(output).glob(f"*.{suffix}")))


def _stopped(study: Study, folder: Path, asked: dict[str, Any]) -> Begun | None:
    """What an export of the same left; None where there is nothing to go on with."""
    if not (folder / STATE).is_file():
        return None
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except ValueError:
        found = {}
    if found.get("asked") != asked:
        raise ExportError(
            f"The export in {folder} was made of another study, format or version; export without --resume."
        )
    said = sorted(path for path in folder.glob("*.json") if path.name != STATE)
    if not said:
        return None
    last = json.loads(said[-1].read_text(encoding="utf-8"))
    position, pk = last["after"]
    return Begun(held_from(study, found["held"]), Part(int(said[-1].stem), (position, pk), last["counts"]))


def _next_units(study: Study, after: tuple[int, int] | None) -> list[tuple[int, int]]:
    """(position, row id) of the next units in the order of the study."""
    units = Unit.objects.filter(study=study)
    if after is not None:
        position, pk = after
        units = units.filter(Q(position__gt=position) | Q(position=position, pk__gt=pk))
    return list(units.order_by("position", "pk").values_list("position", "pk")[:UNITS_A_PART])
