"""Write long files in parts, so that a stopped export can be resumed: encode each part, and join them.

A part holds the judgments of thousands of units at the export's snapshot. Parts are written atomically to a
hidden folder beside the file, which is joined from them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import Q, QuerySet

from annotation.snapshots import Snapshot
from common.downloads import batched
from common.errors import Busy
from common.files import FileProblem, HashedFile, whole_file
from evaluation.errors import ExportError
from evaluation.export.rows import UNITS_AT_ONCE, JudgmentRows
from evaluation.export.snapshot import ExportSnapshot, export_snapshot_from, take_export_snapshot
from evaluation.judgment_sets.records import JudgmentTally, Votes
from evaluation.judgment_sets.signature import included_votes
from evaluation.provenance import quorum_version
from judgments.models import Study, Unit


@dataclass(slots=True)
class ExportWork:
    """An export in progress.

    Attributes:
        task: for qrels, whether an image asks for captions, or a caption for images.
        prepared: the result of ``Encoding.prepare``.
        counts: rows written, for the manifest.
        tally: collects judgments for the judgment signature.
        stage: number, from 0.
        pieces: row ids of the next part, in order.
    """

    study: Study
    moment: Snapshot
    folder: Path
    task: str
    revisions: bool = False
    prepared: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tally: JudgmentTally = field(default_factory=JudgmentTally)
    stage: int = 0
    pieces: Sequence[int] = ()

    def rows(self) -> JudgmentRows:
        return JudgmentRows(
            self.study, self.moment, self.revisions, only=self.pieces, counts=self.counts, tally=self.tally
        )

    def votes(self) -> Iterator[tuple[list[int], dict[int, list[tuple[int, Any]]]]]:
        """Yield (next units, unit -> (worker's row id, answer) of included judgments by worker name)."""
        for some in batched(self.pieces, UNITS_AT_ONCE):
            found: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
            for unit, worker, _, given in included_votes(self.study, self.moment, self.tally, units=some):
                found[unit].append((worker, given))
            yield some, dict(found)

    def answers(self) -> Iterator[tuple[list[int], dict[int, list[Any]]]]:
        for some, votes in self.votes():
            yield some, {unit: [given for _, given in own] for unit, own in votes.items()}

    def parts(self, suffix: str) -> list[Path]:
        return sorted(self.folder.glob(f"*.{suffix}"))

    def lines(self, suffix: str) -> Iterator[Any]:
        for path in self.parts(suffix):
            with path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def units_of(study: Study) -> QuerySet[Any]:
    return Unit.objects.filter(study=study)


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass over pieces by ``position`` and row id; ``each`` is the work per piece, in units."""

    suffix: str
    pieces: Callable[[Study], QuerySet[Any]] = units_of
    name: str = "units"
    each: int = 1


class Encoding(ABC):
    """Encode pieces as parts, and parts as a file.

    Both depend only on the study at the snapshot, so rewriting after a kill gives the same bytes.

    Attributes:
        tallies: whether every judgment passes ``Work.tally``, which is complete unless parts were skipped.
        progress_count: the count to show; "" for the number of pieces.
    """

    suffix = "lines"
    counts: Mapping[str, int]
    tallies = False
    progress_count = ""

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return JSON about the whole study, stored beside the parts."""
        return {}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix),)

    @abstractmethod
    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        """Write ``work.pieces`` of ``work.stage``, and update ``work.counts``."""

    def join(self, work: ExportWork, file: HashedFile) -> None:
        append_files(work.parts(self.suffix), file)


def write_line(file: HashedFile, row: Mapping[str, Any]) -> None:
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\n")


def append_files(parts: Sequence[Path], file: HashedFile) -> None:
    for path in parts:
        with path.open("rb") as part:
            while block := part.read(1 << 20):
                file.write(block)


UNITS_A_PART = 20_000
STATE = "state.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time in an archive: equal files give equal archives
LAYOUT = 4  # format version of the folder; other versions are not resumed


@dataclass(frozen=True, slots=True)
class Part:
    number: int
    stage: int
    after: tuple[int, int]
    done: int
    counts: dict[str, int]


def parts_folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.parts")


@contextmanager
def lock_output(output: Path) -> Iterator[None]:
    """Lock out concurrent exports of this file, which would mix snapshots. Raise Busy.

    The lock is on the folder itself, so a kill releases it.
    """
    folder = parts_folder(output)
    with _folder_problems(folder):
        lock = _lock_folder(folder, output)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()  # remove the folder if empty; with parts in it, it stays
        os.close(lock)


def _lock_folder(folder: Path, output: Path) -> int:
    while True:
        folder.mkdir(exist_ok=True)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), folder.stat()):
                return lock
        except BlockingIOError:
            os.close(lock)
            raise Busy(f"{output} is being written by another export; wait until it is done.") from None
        except FileNotFoundError:
            pass
        os.close(lock)  # another export replaced the folder in between


def remove_parts(output: Path) -> None:
    folder = parts_folder(output)
    with suppress(OSError):
        _empty_folder(folder)
        folder.rmdir()


def _empty_folder(folder: Path) -> None:
    # Remove the state first: without it, nothing left by a kill is resumed.
    (folder / STATE).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def request_of(study: Study, *, format: str, task: str, revisions: bool) -> dict[str, Any]:
    """Return the request that identifies parts; only an equal one resumes them."""
    return {
        "study": study.slug,
        "created_at": study.created_at.isoformat(),  # the key, as another study may reuse a deleted study's slug
        "format": format,
        "task": task,
        "revisions": revisions,
        "version": quorum_version(),
        "layout": LAYOUT,
    }


@dataclass(frozen=True, slots=True)
class StartedExport:
    snapshot: ExportSnapshot
    prepared: dict[str, Any]
    last: Part | None


def begin_parts(
    study: Study, output: Path, encoding: Encoding, *, asked: dict[str, Any], resume: bool
) -> StartedExport:
    """Resume a stopped export, or take a new snapshot; call it inside ``lock_output``.

    Raises:
        ExportError: ``resume`` with parts of another request; or a long transaction is storing judgments.
    """
    folder = parts_folder(output)
    with _folder_problems(folder):
        found = _find_stopped_export(study, folder, asked) if resume else None
        if found is not None:
            return found
        snapshot = take_export_snapshot(study)
        prepared = encoding.prepare(study, snapshot.moment)
        _empty_folder(folder)
        with whole_file(folder / STATE) as file:
            file.write_text(json.dumps({"asked": asked, "held": snapshot.as_json(), "kept": prepared}))
        return StartedExport(snapshot, prepared, None)


def write_in_parts(
    begun: StartedExport, work: ExportWork, encoding: Encoding, *, progress: Callable[[float, str], None]
) -> None:
    """Write the missing parts; ``work.counts`` then covers all parts."""
    folder, last = work.folder, begun.last
    work.counts = dict(last.counts if last else encoding.counts)
    number = last.number if last else 0
    clock = _Clock(work, encoding)
    with _folder_problems(folder):
        stages = encoding.stages(work)
        for work.stage, stage in enumerate(stages):
            if last and work.stage < last.stage:
                continue
            here = last if last and work.stage == last.stage else None
            after, done = (here.after, here.done) if here else (None, 0)
            queue = stage.pieces(work.study)
            total = max(1, queue.count())
            clock.starts(done)
            while block := _next_pieces(queue, after, max(1, UNITS_A_PART // stage.each)):
                number, after, done = number + 1, block[-1], done + len(block)
                work.pieces = [pk for _, pk in block]
                with whole_file(folder / f"{number:06}.{stage.suffix}") as file:
                    encoding.write_part(work, file)
                # The part precedes its line in the state; a kill in between rewrites it.
                with whole_file(folder / f"{number:06}.json") as status:
                    part = {"stage": work.stage, "after": after, "done": done, "counts": work.counts}
                    status.write_text(json.dumps(part))
                share = (work.stage + min(1.0, done / total)) / len(stages)
                progress(share, clock.words(stage, done, total))


class _Clock:
    def __init__(self, work: ExportWork, encoding: Encoding) -> None:
        self._work, self._count = work, encoding.progress_count
        self.starts(0)

    def starts(self, done: int) -> None:
        self._before = self._work.counts[self._count] if self._count else done
        self._since = time.monotonic()

    def words(self, stage: Stage, done: int, total: int) -> str:
        count = self._work.counts[self._count] if self._count else done
        rate = (count - self._before) / max(1e-3, time.monotonic() - self._since)
        status = f"{count:,} {self._count}" if self._count else f"{done:,} of {total:,} {stage.name}"
        return f"{status}, {rate:,.0f} a second"


def read_votes(work: ExportWork, *, progress: Callable[[float, str], None]) -> Votes:
    tally = JudgmentTally()
    queue, after, done = units_of(work.study), None, 0
    total = max(1, queue.count())
    while block := _next_pieces(queue, after, UNITS_A_PART):
        for some in batched((pk for _, pk in block), UNITS_AT_ONCE):
            for _ in included_votes(work.study, work.moment, tally, units=some):
                continue
        after, done = block[-1], done + len(block)
        progress(min(1.0, done / total), f"signing: {done:,} of {total:,} units")
    return tally.facts()


@contextmanager
def _folder_problems(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileProblem(f"{folder} cannot be written: {error.strerror or error}.") from None


def _find_stopped_export(study: Study, folder: Path, asked: dict[str, Any]) -> StartedExport | None:
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
    status = sorted(path for path in folder.glob("*.json") if path.name != STATE)
    if not status:
        return None
    last = json.loads(status[-1].read_text(encoding="utf-8"))
    position, pk = last["after"]
    part = Part(int(status[-1].stem), last["stage"], (position, pk), last["done"], last["counts"])
    return StartedExport(export_snapshot_from(study, found["held"]), found["kept"], part)


def _next_pieces(queue: QuerySet[Any], after: tuple[int, int] | None, count: int) -> list[tuple[int, int]]:
    if after is not None:
        position, pk = after
        queue = queue.filter(Q(position__gt=position) | Q(position=position, pk__gt=pk))
    return list(queue.order_by("position", "pk").values_list("position", "pk")[:count])
