"""Take a snapshot of a study, and write long files in parts, so that a stopped export can be resumed.

A part has the judgments of thousands of units. Its content depends only on the snapshot, which consists of row ids and
sets of ids, so several processes may write parts, in any order and at any time. Parts are written atomically to a
hidden folder next to the file, and then joined into the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Judgment
from annotation.models.assignments import EXCLUDED_BY_PERSON, EXCLUDED_STATES, UNKNOWN_TO_CROWD
from annotation.snapshots import Snapshot, snapshot_from_json
from common.errors import ServiceBusy
from common.files import FileProblem, HashedFile, atomic_write
from common.rows.batches import batched
from common.rows.loads import last_row
from evaluation.data.judgment_sets.data_hash import hash_of_files
from evaluation.data.judgment_sets.loaders import (
    decisions_of,
    excluded_workers,
    included_votes,
    unconfirmed_work,
)
from evaluation.data.judgment_sets.signatures import MaterialCounts
from evaluation.data.judgment_sets.study_signatures import material_of, signature_from, uncommon_fields
from evaluation.data.judgment_sets.tallies import JudgmentTally, VoteCounts, sum_of_counts
from evaluation.errors import ExportError
from judgments.models import Dataset, Output, Study, System, Unit
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.numeric.signatures import Signature, Value, quorum_version

# Number of tries to take a snapshot, and seconds between them. On PostgreSQL, a try fails while a long transaction
# writes judgments.
SNAPSHOT_TRIES, PAUSE_SECONDS = 60, 0.5
UNITS_PER_PART = 20_000
UNITS_PER_BATCH = 500  # units per query when only some units are requested
COPY_BYTES = 1 << 20  # bytes (1 MiB) copied at once
STATE_FILE = "state.json"  # name of the file with the request, the snapshot and the list of parts
EPOCH = (1980, 1, 1, 0, 0, 0)  # time of all files in a ZIP archive, so that equal files give equal archives
FOLDER_FORMAT = 5  # version of the format of the folder; exports with another version are not resumed
VOTES_SUFFIX = ".votes"  # suffix of a part's file with lines about its judgments, which are hashed
JOINED_NAME = "joined"  # name of the joined file before it is moved to its place


@dataclass(frozen=True, slots=True)
class ExportSnapshot:
    """The state of a study at the start of its export, stored with the parts.

    Attributes:
        moment: the snapshot of judgments, which says which of them exist and are included.
        material: counts of the judged material, for the judgment signature.
        uncommon_fields: the fields of the judgment signature that not every study has.
        texts_read: versions of the consent text and instructions that participants of finished work read.
    """

    study: Study
    moment: Snapshot
    material: MaterialCounts
    uncommon_fields: Mapping[str, Value]
    texts_read: list[dict[str, Any]]

    def signature(self, vote_counts: VoteCounts) -> Signature:
        return signature_from(self.study, self.material, vote_counts, self.uncommon_fields)

    def as_json(self) -> dict[str, Any]:
        return {
            "moment": self.moment.as_json(),
            "material": asdict(self.material),
            "circumstances": dict(self.uncommon_fields),
            "texts_read": self.texts_read,
        }


def take_export_snapshot(study: Study) -> ExportSnapshot:
    """Return a snapshot to export. Raise ExportError if a long transaction is storing judgments."""
    moment = take_snapshot(study)
    return ExportSnapshot(
        study, moment, material_of(study), uncommon_fields(study, moment=moment), _read_texts(study)
    )


def export_snapshot_from_json(study: Study, stored: Mapping[str, Any]) -> ExportSnapshot:
    material = stored["material"]
    return ExportSnapshot(
        study,
        moment=snapshot_from_json(stored["moment"]),
        material=MaterialCounts(**material | {"references": tuple(material["references"])}),
        uncommon_fields=stored["circumstances"],
        texts_read=stored["texts_read"],
    )


def _read_texts(study: Study) -> list[dict[str, Any]]:
    """Return the versions of the texts that participants read, with the number of finished assignments of each."""
    work = (
        Assignment.objects.filter(study=study).finished().order_by("consent_version", "instructions_version")
    )
    rows = work.values("consent_version", "instructions_version").annotate(assignments=Count("pk"))
    return [dict(row) for row in rows]


def take_snapshot(study: Study) -> Snapshot:
    """Return a snapshot of which judgments of ``study`` exist and are included, read in one transaction.

    Raises:
        ExportError: a long transaction that writes judgments does not end in time.
    """
    for _ in range(SNAPSHOT_TRIES):
        try:
            moment = _read_snapshot(study)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            # This uses only the values read above, without a lock, because it may take long.
            return replace(moment, excluded_workers=excluded_workers(study, moment=moment))
    raise ExportError(
        "Judgments or systems are being stored in one long step, such as an import; export again when it is over."
    )


def _read_snapshot(study: Study) -> Snapshot:
    # On PostgreSQL, the isolation level makes all queries see the same state; it cannot change within a transaction.
    # On SQLite, every transaction sees one state.
    sets_isolation_level = connection.vendor == "postgresql" and not connection.in_atomic_block
    with transaction.atomic():
        if sets_isolation_level:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        last_judgment, last_output = last_row(Judgment), last_row(Output)
        excluded_work = Assignment.objects.filter(study=study, state__in=EXCLUDED_STATES)
        rules: dict[UUID, str] = {
            pk: UNKNOWN_TO_CROWD if state == Assignment.State.APART else rule or EXCLUDED_BY_PERSON
            for pk, state, rule in excluded_work.values_list("pk", "state", "exclusion__rule")
        }
        return Snapshot(
            time=timezone.now(),
            last_judgment=last_judgment,
            invalidating_rules=rules,
            unconfirmed_assignments=frozenset(unconfirmed_work(study).values_list("pk", flat=True)),
            withdrawn_items=frozenset(
                Unit.objects.filter(study=study, withdrawn=True).values_list("pk", flat=True)
            ),
            decisions={unit: decision.value for unit, decision in decisions_of(study).items()},
            systems=frozenset(System.objects.of_study(study).values_list("pk", flat=True)),
            outputs=last_output,
            has_found_images=Output.objects.of_study(study).searches().exists(),
            in_part=Dataset.objects.get(pk=study.dataset_id).known_in_part,
        )


@declare
@dataclass(slots=True)
class ExportWork:
    """An export in progress, or a part of it: what an encoding reads, and the counts and tally that it updates.

    Attributes:
        folder: the folder of the parts.
        revisions: whether to include answers that were revised later.
        task: for qrels, whether the query is an image ("annotation") or a caption ("search").
        preparation: data about the whole study, from ``Encoding.prepare``.
        counts: numbers of written rows, for the manifest.
        stage: number of the encoding's stage, from 0.
        pieces: row ids of the part's pieces, in order.
        tally: counts and hashes of the part's judgments, for the judgment signature.
    """

    study: Study
    moment: Snapshot
    folder: Path
    task: str
    revisions: bool = False
    preparation: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    stage: int = 0
    pieces: Sequence[int] = ()
    tally: JudgmentTally = field(init=False)

    def votes(self) -> Iterator[tuple[list[int], dict[int, list[tuple[int, Any]]]]]:
        """Yield batches of units: their row ids, and by unit the included judgments as (worker's row id, answer).

        Judgments are sorted by worker name.
        """
        for ids in batched(self.pieces, UNITS_PER_BATCH):
            votes: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
            for unit, worker, _, answer in included_votes(self.study, self.moment, self.tally, units=ids):
                votes[unit].append((worker, answer))
            yield ids, dict(votes)

    def answers(self) -> Iterator[tuple[list[int], dict[int, list[Any]]]]:
        """Yield batches of units: their row ids, and by unit the included answers, sorted by worker name."""
        for unit_ids, votes in self.votes():
            yield unit_ids, {unit: [answer for _, answer in unit_votes] for unit, unit_votes in votes.items()}


def all_units(study: Study) -> QuerySet[Any]:
    return Unit.objects.filter(study=study)


@dataclass(frozen=True, slots=True)
class Stage:
    """A pass over pieces (rows such as units), ordered by ``position`` and row id.

    Most encodings have one stage. The file is joined from the parts of the last stage.

    Attributes:
        suffix: suffix of a part's file.
        pieces: function that returns the queryset of the pieces.
        pieces_noun: noun for the pieces in the progress message.
        units_per_piece: time that a piece takes, as a multiple of the time for a unit.
    """

    suffix: str
    pieces: Callable[[Study], QuerySet[Any]] = all_units
    pieces_noun: str = "units"
    units_per_piece: int = 1


# A pass that reads the judgments for the signature. It is added as the first pass if the encoding does not tally them.
READING_STAGE, READING_STAGE_NUMBER = Stage("none"), -1


class Encoding(ABC):
    """Base class of the formats' encodings, which encode pieces as parts, and join parts to a file.

    Both steps depend only on the snapshot, so an export that is repeated after a kill writes the same bytes.

    Attributes:
        suffix: suffix of a part's file.
        counts: counts before the first row, usually 0, by their names in the manifest.
        tallies: whether ``write_part`` adds every judgment to ``ExportWork.tally``.
        progress_count: name of the count to show as progress; "" for the number of pieces.
    """

    suffix = "lines"
    counts: Mapping[str, int]
    tallies = False
    progress_count = ""

    def __init_subclass__(cls) -> None:
        declare(cls)

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        """Return data about the whole study, which must be serialisable as JSON and are stored with the parts."""
        return {}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix),)

    def load(self, work: ExportWork) -> None:  # noqa: B027 - most load nothing
        """Load the data that all parts of ``work.stage`` share."""

    @abstractmethod
    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        """Write ``work.pieces`` to the part's file, and update ``work.counts``."""

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        """Write the file from the parts of the last stage. ``parts`` yields each part as soon as it is written."""
        for path in parts:
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, COPY_BYTES)


def write_line(file: HashedFile, row: Mapping[str, Any]) -> None:
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\n")


def read_part_lines(parts: Iterable[Path]) -> Iterator[Any]:
    for path in parts:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@declare
@dataclass(frozen=True, slots=True)
class ExportPart:
    """A part of a stage: the ``size`` pieces after the piece ``after``, up to the piece ``last``.

    Pieces are given as (position, row id); ``after`` is None for the first part of a stage. ``number`` counts the parts
    of all stages, from 1.
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

    Call this within ``lock_output``.

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
            for path in work.folder.glob(f".{JOINED_NAME}.*"):
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
        pieces, after = stage.pieces(work.study), None
        remaining, size = pieces.count(), max(1, UNITS_PER_PART // stage.units_per_piece)
        while remaining > 0:
            part_number, size = part_number + 1, min(size, remaining)
            last = _pieces_between(pieces, after).values_list("position", "pk")[size - 1]
            yield ExportPart(part_number, stage_number, after, last, size)
            remaining, after = remaining - size, last


def _stages(work: ExportWork, encoding: Encoding) -> dict[int, Stage]:
    """Return the stages by number, with READING_STAGE if it is needed."""
    reading = {} if encoding.tallies else {READING_STAGE_NUMBER: READING_STAGE}
    return reading | dict(enumerate(encoding.stages(work)))


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
                continue
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
def _write_part(shared: tuple[ExportWork, Encoding], part: ExportPart) -> dict[str, Any]:
    """Write a part, and then its status, which are its counts. Return the status.

    A part without a file of its status is regarded as missing.
    """
    work, encoding = shared
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

    They say the count of ``ExportWork.counts`` that is named ``count_name``, or the number of finished pieces if the
    name is "".
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
