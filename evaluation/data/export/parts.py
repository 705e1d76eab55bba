"""Write the file of an export in parts, so that a stopped export can be resumed.

A part has the judgments of thousands of units. Its content depends only on the snapshot, so several processes may write
parts, in any order and at any time. Parts are written atomically to a hidden folder next to the file, and then joined
into the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from common.errors import ServiceBusy
from common.files import FileProblem, HashedFile, atomic_write
from evaluation.data.export.encodings import Encoding, ExportWork, Stage
from evaluation.data.export.snapshots import ExportSnapshot, export_snapshot_from_json, take_export_snapshot
from evaluation.data.judgment_sets.data_hash import hash_of_files
from evaluation.data.judgment_sets.tallies import JudgmentTally, VoteCounts, sum_of_counts
from evaluation.errors import ExportError
from judgments.models import Study
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.numeric.signatures import quorum_version

UNITS_PER_PART = 20_000
STATE_FILE = "state.json"  # name of the file with the state of the export, as ``begin_parts`` writes it
FOLDER_FORMAT = 5  # version of the format of the folder; exports with another version are not resumed
VOTES_SUFFIX = ".votes"  # suffix of a part's file with lines about its judgments, which are hashed
JOINED_NAME = "joined"  # name of the joined file before it is moved to its place

# A stage is a pass over pieces. This first one reads judgments for the signature if the encoding does not tally them.
READING_STAGE = Stage(suffix="none")  # its parts are empty files
READING_STAGE_NUMBER = -1


@declare  # so that it can be sent to the processes that write parts
@dataclass(frozen=True, slots=True)
class ExportPart:
    """A part of a stage: the ``size`` pieces after the piece ``after``, up to the piece ``last``.

    A piece is a row such as a unit, given as (position, row id); ``after`` is None for the first part of a stage.
    ``number`` counts the parts of all stages, from 1.
    """

    number: int
    stage: int
    after: tuple[int, int] | None
    last: tuple[int, int]
    size: int


def parts_folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.parts")


@contextmanager
def lock_output(output: Path) -> Iterator[None]:
    """Hold a lock that excludes other exports of this file, which would mix snapshots.

    Raise ServiceBusy if another export holds the lock. The lock is on the open folder, so the system releases it if the
    process is killed.
    """
    folder = parts_folder(output)
    with _raise_file_problems(folder):
        lock = _lock_folder(folder, output)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()  # fails, as intended, if parts are in the folder
        os.close(lock)


def _lock_folder(folder: Path, output: Path) -> int:
    """Make and lock the folder, and return its file descriptor.

    Another export may remove the folder before it is locked. Then the lock is on a folder without a name, and another
    try is made.
    """
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
            raise ServiceBusy(
                f"{output} is being written by another export; wait until it is done."
            ) from None
        except FileNotFoundError:
            pass
        os.close(lock)  # another export has replaced the folder


def remove_parts(output: Path) -> None:
    folder = parts_folder(output)
    with suppress(OSError):
        _empty_folder(folder)
        folder.rmdir()


def _empty_folder(folder: Path) -> None:
    # Remove the state first: if the process is then killed, the remaining files are not resumed.
    (folder / STATE_FILE).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def make_request(study: Study, *, format: str, task: str, revisions: bool) -> dict[str, Any]:
    """Return the request that is stored with the parts. Only an equal request resumes them."""
    return {
        "study": study.slug,
        "created_at": study.created_at.isoformat(),  # distinguishes the study from a deleted one with the same slug
        "format": format,
        "task": task,
        "revisions": revisions,
        "version": quorum_version(),
        "layout": FOLDER_FORMAT,
    }


@dataclass(frozen=True, slots=True)
class StartedExport:
    snapshot: ExportSnapshot
    work: ExportWork
    parts: Sequence[ExportPart]


def begin_parts(
    study: Study, output: Path, encoding: Encoding, *, request: dict[str, Any], resume: bool
) -> StartedExport:
    """Resume a stopped export, or take a new snapshot and divide the export into parts.

    Call this within ``lock_output``. The state of the export is stored as JSON: ``asked`` is the request, ``held`` the
    snapshot, ``kept`` the result of ``Encoding.prepare``, ``folder`` the name of the folder of the parts' files, and
    ``parts`` has the fields of each ``ExportPart`` as a list.

    Raises:
        ExportError: with ``resume``, the parts belong to another request; or a long transaction is storing judgments.
    """
    folder = parts_folder(output)

    def make_work(snapshot: ExportSnapshot, name: str, preparation: Mapping[str, Any]) -> ExportWork:
        return ExportWork(
            study,
            snapshot.moment,
            folder / name,
            task=request["task"],
            revisions=request["revisions"],
            preparation=preparation,
        )

    with _raise_file_problems(folder):
        stopped_state = _find_stopped_export(folder, request) if resume else None
        if stopped_state is not None:
            snapshot = export_snapshot_from_json(study, stopped_state["held"])
            work = make_work(snapshot, stopped_state["folder"], stopped_state["kept"])
            for path in work.folder.glob(f".{JOINED_NAME}.*"):  # temporary files of a killed process
                path.unlink()
            return StartedExport(snapshot, work, [ExportPart(*part) for part in stopped_state["parts"]])
        snapshot = take_export_snapshot(study)
        _empty_folder(folder)
        # The token names only this snapshot's parts. Another process may still be writing parts of an earlier one.
        work = make_work(snapshot, secrets.token_hex(8), encoding.prepare(study, snapshot.moment))
        work.folder.mkdir()
        parts = list(_divide_into_parts(work, encoding))
        state = {
            "asked": request,
            "held": snapshot.as_json(),
            "kept": work.preparation,
            "folder": work.folder.name,
            "parts": [astuple(part) for part in parts],
        }
        with atomic_write(folder / STATE_FILE) as file:
            file.write_text(json.dumps(state))
        return StartedExport(snapshot, work, parts)


def _divide_into_parts(work: ExportWork, encoding: Encoding) -> Iterator[ExportPart]:
    part_number = 0
    for stage_number, stage in _stages(work, encoding).items():
        pieces = stage.pieces(work.study)
        remaining_count = pieces.count()
        size = max(1, UNITS_PER_PART // stage.units_per_piece)
        after = None
        while remaining_count > 0:
            part_number += 1
            size = min(size, remaining_count)
            last = _pieces_between(pieces, after).values_list("position", "pk")[size - 1]
            yield ExportPart(part_number, stage_number, after, last, size)
            remaining_count -= size
            after = last


def _stages(work: ExportWork, encoding: Encoding) -> dict[int, Stage]:
    """Return the stages by number, with READING_STAGE if it is needed."""
    reading_stages = {} if encoding.tallies else {READING_STAGE_NUMBER: READING_STAGE}
    return reading_stages | dict(enumerate(encoding.stages(work)))


def _pieces_between(
    pieces: QuerySet[Any], after: Sequence[int] | None, last: Sequence[int] | None = None
) -> QuerySet[Any]:
    """Return the pieces after ``after``, up to ``last``, which are both (position, row id) or None."""
    # The conditions in `filter` follow from those in `exclude`, but let the database use an index.
    if after is not None:
        position, pk = after
        pieces = pieces.filter(position__gte=position).exclude(position=position, pk__lte=pk)
    if last is not None:
        position, pk = last
        pieces = pieces.filter(position__lte=position).exclude(position=position, pk__gt=pk)
    return pieces.order_by("position", "pk")


def write_in_parts(
    started_export: StartedExport, encoding: Encoding, output: Path, *, progress: Callable[[float, str], None]
) -> tuple[HashedFile, VoteCounts]:
    """Write the missing parts, and then the file.

    Return the hashed file, and the counts of all votes. After that, ``started_export.work.counts`` covers all parts.
    """
    work = started_export.work
    stages = _stages(work, encoding)
    writer = _PartWriter(started_export, encoding, stages, progress)
    *earlier_stages, last_stage = stages
    with _raise_file_problems(parts_folder(output)):
        for stage_number in earlier_stages:
            for _ in writer.write_stage(stage_number):
                continue  # only the parts of the last stage are joined
        joined_path = work.folder / JOINED_NAME
        with atomic_write(joined_path) as file, closing(writer.write_stage(last_stage)) as paths:
            encoding.join(work, file, paths)
        data_hash = hash_of_files(sorted(work.folder.glob(f"*{VOTES_SUFFIX}")))
        joined_path.replace(output)
    return file, sum_of_counts(writer.vote_counts, data_hash)


class _PartWriter:
    """Writes the parts of an export, stage by stage, in several processes, and adds up their counts."""

    def __init__(
        self,
        started_export: StartedExport,
        encoding: Encoding,
        stages: Mapping[int, Stage],
        progress: Callable[[float, str], None],
    ) -> None:
        self._parts, self._work = started_export.parts, started_export.work
        self._encoding, self._stages, self._progress = encoding, stages, progress
        self._work.counts = dict(encoding.counts)
        self.vote_counts: list[VoteCounts] = []

    def write_stage(self, stage_number: int) -> Generator[Path, None, None]:
        """Write the missing parts of a stage, and yield the files of all its parts in order, as soon as possible."""
        work, stage = self._work, self._stages[stage_number]
        work.stage = stage_number
        parts = [part for part in self._parts if part.stage == stage_number]
        missing_parts = [part for part in parts if not _status_path(work, part).exists()]
        piece_count = sum(part.size for part in parts)
        done_count = piece_count - sum(part.size for part in missing_parts)
        for part in parts:
            if part not in missing_parts:
                self._add_status(json.loads(_status_path(work, part).read_text(encoding="utf-8")))
        if missing_parts and stage is not READING_STAGE:
            self._encoding.load(work)
        count_name = "" if stage is READING_STAGE else self._encoding.progress_count
        done_stages = list(self._stages).index(stage_number)
        messages = _ProgressMessages(work, stage, count_name, done_count)
        # Close the generator before an error propagates, so that no process continues to write.
        with closing(map_parts(_write_part, (work, self._encoding), missing_parts)) as statuses:
            for part in parts:
                if part in missing_parts:
                    self._add_status(next(statuses))
                    done_count += part.size
                    # Each stage is an equal share of the progress.
                    share = (done_stages + done_count / piece_count) / len(self._stages)
                    self._progress(share, messages.message(done_count, piece_count))
                yield _status_path(work, part).with_suffix(f".{stage.suffix}")
        if done_stages == len(self._stages) - 1:
            self._progress(1.0, "joining")

    def _add_status(self, status: dict[str, Any]) -> None:
        self.vote_counts.append(VoteCounts(**status["votes"]))
        counts = self._work.counts
        for name, count in status["counts"].items():
            counts[name] = counts.get(name, 0) + count


@declare
def _write_part(work_and_encoding: tuple[ExportWork, Encoding], part: ExportPart) -> dict[str, Any]:
    """Write a part, and then its status, which are its counts. Return the status.

    A part without a file of its status is regarded as missing.
    """
    work, encoding = work_and_encoding
    stage = _stages(work, encoding)[part.stage]
    pieces = _pieces_between(stage.pieces(work.study), part.after, part.last).values_list("pk", flat=True)
    work = replace(work, stage=part.stage, pieces=list(pieces), counts=dict(encoding.counts))
    path = _status_path(work, part)
    with (
        atomic_write(path.with_suffix(f".{stage.suffix}")) as file,
        atomic_write(path.with_suffix(VOTES_SUFFIX)) as lines,
    ):
        work.tally = JudgmentTally.writing_to(lines.write)
        if stage is READING_STAGE:
            for _ in work.votes():
                continue  # reading a judgment adds it to the tally
        else:
            encoding.write_part(work, file)
    status = {"counts": work.counts, "votes": asdict(work.tally.finish())}
    with atomic_write(path) as file:
        file.write_text(json.dumps(status))
    return status


def _status_path(work: ExportWork, part: ExportPart) -> Path:
    return work.folder / f"{part.number:06}.json"


class _ProgressMessages:
    """Messages about the progress of a stage and its speed since this object was made.

    A message has the entry ``count_name`` of ``ExportWork.counts``, or the number of finished pieces if ``count_name``
    is "".
    """

    def __init__(self, work: ExportWork, stage: Stage, count_name: str, done_count: int) -> None:
        self._work, self._stage, self._count_name = work, stage, count_name
        self._start_count = work.counts[count_name] if count_name else done_count
        self._start_time = time.monotonic()

    def message(self, done_count: int, piece_count: int) -> str:
        name = self._count_name
        count = self._work.counts[name] if name else done_count
        rate = (count - self._start_count) / max(1e-3, time.monotonic() - self._start_time)
        status = f"{count:,} {name}" if name else f"{count:,} of {piece_count:,} {self._stage.pieces_noun}"
        return f"{status}, {rate:,.0f} a second"


@contextmanager
def _raise_file_problems(folder: Path) -> Iterator[None]:
    """Raise FileProblem instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise FileProblem(f"{folder} cannot be written: {error.strerror or error}.") from None


def _find_stopped_export(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state of a stopped export, or None. Raise ExportError if another request made the parts."""
    if not (folder / STATE_FILE).is_file():
        return None
    try:
        state: dict[str, Any] = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
    except ValueError:
        state = {}
    if state.get("asked") != request:
        raise ExportError(
            f"The export in {folder} was made of another study, format or version; export without --resume."
        )
    return state
