"""Export judgments one a row, with the systems behind their captions, as JSON lines, CSV or Parquet; and demographics.

Each look-up of systems reads an image's outputs once for all its units: look up many units at a time.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from django.db.models import Exists, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL

from annotation.models import Assignment, Demographics
from annotation.models.assignments import IMPORTED_REVISION
from annotation.snapshots import Snapshot
from common.files import HashedFile, guard_formula
from common.rows import batched, columns_of, converted_rows, plain_rows
from common.texts import one_text
from evaluation.data.export.parts import UNITS_AT_ONCE, Encoding, ExportWork, Stage
from evaluation.data.judgment_sets.loaders import by_unit_and_name
from evaluation.data.judgment_sets.records import JudgmentTally
from evaluation.data.ranked_lists import ANNOTATION, SEARCH, JudgedUnits, ListRows, sort_into_lists
from judgments.design.tables import SIDES
from judgments.drawing.material import document_in
from judgments.kinds import KINDS
from judgments.kinds.base import JUDGMENT_COLUMNS, answer_cell
from judgments.models import Caption, HITUnit, Item, Output, Study, System, Unit
from judgments.models.studies import credited
from judgments.studies.studies import design_of, has_chances
from quorum.numeric.arrays import Ints
from quorum.numeric.signatures import quorum_version

if TYPE_CHECKING:
    import pyarrow as pa

IN_ONE_QUERY = 500

CREDITS_AT_ONCE = 20_000  # units in one look-up

MOST_CACHED = 100_000  # captions whose hashes are cached between look-ups
ImageText = tuple[int, str]  # an image and a text

# caption id, image and text, the system for a pair, and those that a file credits
Shown = tuple[str, ImageText, str | None, Sequence[int]]
Systems = dict[str, list[dict[str, Any]]]
Lists = dict[ImageText, list[tuple[str, int, int]]]  # task, system and rank of each output


@dataclass(slots=True)
class Credits:
    study: Study
    moment: Snapshot
    _systems: dict[int, str] = field(default_factory=dict)
    _hashes: dict[int, int] = field(default_factory=dict)
    _credits: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def of(self, units: Sequence[int]) -> dict[int, Systems]:
        """Return unit row id -> caption id -> systems and ranks for the unit's image.

        Captions are compared by their words. Pairs name only the compared systems.
        """
        shown: dict[int, list[Shown]] = {}
        for some in batched(units, IN_ONE_QUERY):
            shown |= _shown_captions(some)
        if not shown:
            return {}
        self._systems = self._systems or self._fixed_systems()
        self._credits.clear()
        lists = self._lists_with(
            {image_text for captions in shown.values() for _, image_text, *_ in captions}
        )
        of_units: dict[int, Systems] = {}
        for pk, captions in shown.items():
            systems: Systems = {}
            for key, image_text, system, of_file in captions:
                entries = [
                    (task, self._systems[pk], rank)
                    for task, pk, rank in lists.get(image_text, ())
                    if pk in credited(of_file, (pk,))
                ]
                if of_file:
                    systems.setdefault(key, [])
                if system is not None:
                    entries = [entry for entry in entries if entry[:2] == (ANNOTATION, system)]
                credits = [self._credit(*entry) for entry in entries]
                named = {entry[1] for entry in entries}
                of_row = (
                    [self._systems.get(pk) for pk in credited(of_file, ())] if system is None else [system]
                )
                credits += [{"system": name} for name in of_row if name is not None and name not in named]
                for credit in credits:
                    if credit not in systems.setdefault(key, []):
                        systems[key].append(credit)
            if systems:
                of_units[pk] = systems
        return of_units

    def _fixed_systems(self) -> dict[int, str]:
        """Return row id -> name of the snapshot's systems; others may be published meanwhile."""
        rows = System.objects.of_study(self.study).values_list("pk", "name")
        fixed = self.moment.systems
        return {pk: name for pk, name in rows if fixed is None or pk in fixed}

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Share equal credits, which thousands of captions repeat."""
        credit = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), credit)

    def _lists_with(self, wanted: set[ImageText]) -> Lists:
        # Filter by image only, unsorted: otherwise SQLite scans the whole index.
        outputs = Output.objects.order_by()
        lists: defaultdict[ImageText, list[tuple[str, int, int]]] = defaultdict(list)
        hashes = [hash(one_text(text)) for _, text in wanted]
        askers: set[int] = set()
        by_hash: defaultdict[tuple[int, int], list[ImageText]] = defaultdict(list)
        for image, text in wanted:
            by_hash[image, hash(one_text(text))].append((image, text))
        for images in batched(sorted({item for item, _ in wanted}), IN_ONE_QUERY):
            self._take(ANNOTATION, outputs.annotations().filter(item__in=images), by_hash, lists)
            if self.moment.searched:
                rows = outputs.searches().filter(item__in=images).values_list("caption", flat=True)
                captions = np.array(list(rows), dtype=np.int64)
                askers.update(captions[np.isin(self._hashes_of(captions), hashes)].tolist())
        # A constant, not a parameter: otherwise SQLite ignores the partial index of searches.
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for some in batched(sorted(askers), IN_ONE_QUERY):
            self._take(SEARCH, searches.filter(caption__in=some), by_hash, lists)
        return {
            image_text: sorted(_best_ranks(ranks), key=lambda entry: (entry[0], self._systems[entry[1]]))
            for image_text, ranks in lists.items()
        }

    def _take(
        self,
        task: str,
        outputs: QuerySet[Output],
        wanted: Mapping[tuple[int, int], Sequence[ImageText]],
        ranks: defaultdict[ImageText, list[Any]],
    ) -> None:
        """Collect wanted ranks from whole lists, as a rank depends on all before it."""
        columns = columns_of(outputs.values_list("pk", "system_id", "item_id", "caption_id", "rank"), 5)
        there = (columns[0] <= self.moment.outputs) & np.isin(columns[1], list(self._systems))
        system, item, caption, rank = columns[1:, there].astype(np.int64)
        in_part = [pk for pk, name in self._systems.items() if name in self.moment.in_part.get(task, ())]
        hashes = self._hashes_of(caption)
        texts, text = np.unique(hashes, return_inverse=True)
        proposals = sort_into_lists(
            ListRows(
                system=system,
                image=item,
                text=text,
                asker=caption if task == SEARCH else np.full(len(caption), -1),
                rank=rank,
                original=np.zeros_like(rank),
                placed=np.isin(system, in_part),
            ),
            (), (), (), (), {}, JudgedUnits.of([]),
        )  # fmt: skip
        keys = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
        rows = np.flatnonzero(
            np.isin(_hash_pairs(proposals.image, texts[proposals.text]), _hash_pairs(keys[:, 0], keys[:, 1]))
        )
        here = zip(
            proposals.system[rows].tolist(), proposals.image[rows].tolist(), texts[proposals.text[rows]].tolist(),
            proposals.position[rows].tolist(), strict=True,
        )  # fmt: skip
        for number, image, text_hash, position in here:
            for there in wanted.get((image, text_hash), ()):
                ranks[there].append((task, number, position))

    def _hashes_of(self, captions: Ints) -> Ints:
        known = np.unique(captions)
        if len(self._hashes) > MOST_CACHED:
            self._hashes.clear()
        for some in batched((pk for pk in known.tolist() if pk not in self._hashes), IN_ONE_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=some).order_by().values_list("pk", "text"))
            self._hashes.update((pk, hash(one_text(text))) for pk, text in rows)
        numbers = np.array([self._hashes[pk] for pk in known.tolist()], dtype=np.int64)
        return numbers[np.searchsorted(known, captions)]


def _shown_captions(units: Sequence[int]) -> dict[int, list[Shown]]:
    """Return unit row id -> id, image, text and, for pairs, system of its captions."""
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id", "systems",
    )  # fmt: skip
    shown: dict[int, list[Shown]] = {}
    for (
        pk,
        item,
        first,
        first_text,
        content,
        second,
        second_text,
        first_system,
        second_system,
        pair,
        of_file,
    ) in converted_rows(rows):
        if pair is not None:
            keys = SIDES if first == second else (first, second)
            sides = zip(keys, (first_text, second_text), (first_system, second_system), strict=True)
            shown[pk] = [(key, (item, text), system, ()) for key, text, system in sides if system]
        elif first is not None:
            shown[pk] = [(first, (item, first_text), None, of_file)]
        else:
            options = content.get("options", ())
            shown[pk] = [
                (option["key"], (item, option["text"]), None, of_option)
                for option, of_option in zip(options, of_file or [()] * len(options), strict=True)
            ]
    return {pk: captions for pk, captions in shown.items() if captions}


def _hash_pairs(image: Ints, word: Ints) -> Ints:
    """Hash both; a collision only costs another look-up."""
    return (image * 2_654_435_761) ^ word


def _best_ranks(ranks: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    best: dict[tuple[str, int], int] = {}
    for task, system, rank in sorted(ranks):
        best.setdefault((task, system), rank)
    return [(task, system, rank) for (task, system), rank in best.items()]


WORK_AT_ONCE = 4_096  # an assignment's rows are close together

# Column of the file -> where the captions of a unit are stored.
CAPTIONS = {
    "reference": "reference__key",
    "first": "first__key",
    "second": "second__key",
    "reference_text": "reference__text",
    "first_text": "first__text",
    "second_text": "second__text",
}
STORED = (
    "unit_id", "pk", "assignment_id", "assignment__external_id", "assignment__worker_id", "assignment__worker__name",
    "set_aside", "signals", "unit__key", "unit__item__name", *(f"unit__{path}" for path in CAPTIONS.values()),
    "unit__kind", "unit__pair__key", "assignment__hit__key", "value", "answer", "unit__control", "unit__expected",
    "presented", "assignment__simulated", "assignment__accepted_at", "assignment__submitted_at", "seconds",
    "wall_seconds", "comment",
)  # fmt: skip
OPEN_COLUMNS = ("answer", "content")  # only where answers are open
ANSWERS = "answers"  # only where two candidates can be answered otherwise than by one of them
SCALE = "scale"  # only where a study has one of its own
CHANCE = "chance"  # only where what is asked was drawn with unequal chances
DOCUMENT = "document"  # only where items are parts of documents
DRAWN_BY = HITUnit.objects.filter(hit=OuterRef("assignment__hit"), unit=OuterRef("unit")).values("chance")


def file_columns(study: Study) -> tuple[str, ...]:
    left_out = _columns_left_out(study)
    return tuple(name for name in JUDGMENT_COLUMNS if name not in left_out)


def _question_setting(study: Study) -> str:
    kind = KINDS[study.protocol]
    return kind.setting(design_of(study)) if kind.two_sided else ""


def _study_scale(study: Study) -> str:
    kind = KINDS[study.protocol]
    return kind.setting(design_of(study)) if kind.scale else ""


def _has_documents(study: Study) -> bool:
    fields = Item.objects.filter(dataset=study.dataset_id).exclude(fields=[]).values_list("fields", flat=True)
    return any(map(document_in, fields.iterator()))


def _columns_left_out(study: Study) -> tuple[str, ...]:
    return (
        *(() if KINDS[study.protocol].is_open else OPEN_COLUMNS),
        *(() if _question_setting(study) else (ANSWERS,)),
        *(() if _study_scale(study) else (SCALE,)),
        *(() if design_of(study).chosen or has_chances(study) else (CHANCE,)),
        *(() if _has_documents(study) else (DOCUMENT,)),
    )


@lru_cache(WORK_AT_ONCE)
def timestamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def zero_counts() -> dict[str, int]:
    counted = ("judgments", "used", "unused", "control", "simulated", "revised", "invalidated")
    return dict.fromkeys(counted, 0)


@dataclass(slots=True)
class JudgmentRows:
    """A study's judgments as dicts, by unit and then worker name; iterate once.

    Invalidated answers are included, marked as unused.

    Attributes:
        revisions: whether revised answers are included, before their revisions.
        only: ordered row ids of the units to read; their rows name the captions' systems.
        counts, tally: complete after the last row; the tally covers current judgments.
    """

    study: Study
    moment: Snapshot
    revisions: bool = False
    only: Sequence[int] | None = None
    counts: dict[str, int] = field(default_factory=zero_counts)
    tally: JudgmentTally = field(default_factory=JudgmentTally)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        credits = Credits(self.study, self.moment)
        if self.only is None:
            yield from self._rows(None, {})
            return
        for many in batched(self.only, CREDITS_AT_ONCE):
            credited = credits.of(many)
            for units in batched(many, UNITS_AT_ONCE):
                yield from self._rows(units, credited)

    def _rows(self, units: Sequence[int] | None, credits: Mapping[int, Any]) -> Iterator[dict[str, Any]]:
        study, counts, kind, moment = self.study, self.counts, KINDS[self.study.protocol], self.moment
        imported = study.source == Study.Source.IMPORTED
        left_out, question, scale = _columns_left_out(study), _question_setting(study), _study_scale(study)
        live, chosen, documents = has_chances(study), design_of(study).chosen, DOCUMENT not in left_out
        chances: Mapping[str, float] = chosen.chances if chosen else {}
        replaces = self._replaced(units)
        work = lru_cache(WORK_AT_ONCE)(self._work)
        numbers, replaced = _revision_numbers(replaces), set(replaces.values())
        for (
            unit_id, pk, assignment, external_id, worker_id, worker, set_aside, signals, unit, image, reference, first,
            second, reference_text, first_text, second_text, pair_kind, pair, hit, value, answer, control, expected,
            presented, simulated, accepted_at, submitted_at, seconds, wall_seconds, comment, *shown,
        ) in self._stored(units, documents=documents, live=live):  # fmt: skip
            fields = shown.pop(0) if documents else ()
            content = shown[0] if kind.is_open else {}
            named, invalidated, counted = work(assignment, worker_id)
            current = pk not in replaced and invalidated is None
            fit = not set_aside and unit_id not in moment.withdrawn
            used = current and fit and counted
            if current:
                rating = value if answer is None else answer
                self.tally.add(unit, worker, rating, used=used, control=control, presented=presented)
            counts["judgments"] += 1
            counts["used" if used else "unused"] += 1
            counts["control"] += control
            counts["simulated"] += simulated
            counts["revised"] += pk in replaced
            counts["invalidated"] += invalidated is not None
            row = {  # in the order of JUDGMENT_COLUMNS
                "study": study.slug,
                "unit": unit,
                "protocol": study.protocol,
                "image": image,
                "reference": reference,
                "first": first,
                "second": second,
                "reference_text": reference_text,
                "first_text": first_text,
                "second_text": second_text,
                "kind": pair_kind or None,
                "pair": pair,
                "worker": worker,
                # Imported units keep their original ids.
                "assignment": external_id if imported and external_id else named,
                "hit": hit,
                "value": value,
                "answer": None if answer is None else kind.exchange.to_file(answer, content=content),
                "control": control,
                "expected": None if expected is None else kind.exchange.to_file(expected, content=content),
                "used": used,
                "presented": presented or None,
                "simulated": simulated,
                "accepted_at": timestamp(accepted_at),
                "submitted_at": timestamp(submitted_at),
                "seconds": seconds,
                "wall_seconds": wall_seconds,
                "comment": comment or None,
                "revision": numbers.get(pk, 0) + signals.get(IMPORTED_REVISION, 0),
                "invalidated": invalidated,
                "content": content or None,
                "systems": credits.get(unit_id),
                ANSWERS: question,
                CHANCE: shown[-1] if live else chances.get(pair or unit),
                SCALE: scale,
                DOCUMENT: document_in(fields) or None,
            }
            for name in left_out:
                del row[name]
            yield row

    def _stored(
        self, units: Sequence[int] | None, *, documents: bool, live: bool
    ) -> Iterator[tuple[Any, ...]]:
        moment = self.moment
        judgments = (moment.all_judgments if self.revisions else moment.judgments)(self.study, units=units)
        stored = judgments.order_by("unit__position", "unit_id", "pk").values_list(
            *STORED,
            *(("unit__item__fields",) if documents else ()),
            *(("unit__content",) if KINDS[self.study.protocol].is_open else ()),
            *((Subquery(DRAWN_BY),) if live else ()),
        )
        return by_unit_and_name(
            converted_rows(stored),
            unit=STORED.index("unit_id"),
            worker=STORED.index("assignment__worker__name"),
        )

    def _work(self, assignment: UUID, worker: int) -> tuple[str, str | None, bool]:
        return (
            str(assignment),
            self.moment.invalidated.get(assignment),
            self.moment.includes(assignment, worker),
        )

    def _replaced(self, units: Sequence[int] | None) -> dict[int, int]:
        revisions = self.moment.all_judgments(self.study, units=units).filter(replaces__isnull=False)
        return dict(revisions.values_list("pk", "replaces_id"))


def _revision_numbers(replaced: Mapping[int, int]) -> dict[int, int]:
    numbers: dict[int, int] = {}
    for pk in sorted(replaced):  # what is replaced was stored before
        numbers[pk] = numbers.get(replaced[pk], 0) + 1
    return numbers


LINES_AT_ONCE = 500
JSON_COLUMNS = {"answer", "content", "systems"}
ROW_GROUP = 8_192


def _rows_of(work: ExportWork) -> JudgmentRows:
    """Return the rows of a part."""
    return JudgmentRows(
        work.study, work.moment, work.revisions, only=work.pieces, counts=work.counts, tally=work.tally
    )


def write_jsonl(rows: JudgmentRows, file: HashedFile) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for batch in batched(rows, LINES_AT_ONCE):
        file.write_text("".join(f"{encode(row)}\n" for row in batch))


class UTF8Lines:
    """Let ``csv.writer`` write UTF-8."""

    def __init__(self, file: HashedFile) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.encode())


def csv_writer(file: HashedFile) -> Any:
    return csv.writer(UTF8Lines(file), lineterminator="\r\n")


def write_csv(rows: JudgmentRows, file: HashedFile) -> None:
    """Write a line per judgment, guarded against spreadsheet formulas, without the header."""
    columns = file_columns(rows.study)
    writer = csv_writer(file)
    for row in rows:
        for name in JSON_COLUMNS & row.keys():
            row[name] = answer_cell(row[name])
        row["expected"] = expected_cell(row["expected"])
        writer.writerow([_cell(row[name]) for name in columns])


def expected_cell(expected: Any) -> Any:
    return json.dumps(expected, ensure_ascii=False) if isinstance(expected, (list, dict)) else expected


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return guard_formula(value) if isinstance(value, str) else value


class JsonLines(Encoding):
    suffix = "jsonl"
    tallies = True
    progress_count = "judgments"
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_jsonl(_rows_of(work), file)


class CsvLines(JsonLines):
    suffix = "csv"

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        write_csv(_rows_of(work), file)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        csv_writer(file).writerow(file_columns(work.study))
        super().join(work, file, parts)


def parquet_schema(study: Study) -> pa.Schema:
    import pyarrow as pa  # loaded when it is first used, as most web processes never need its 40 MB

    types = {
        "value": pa.float64() if _study_scale(study) else pa.int16(),
        "control": pa.bool_(),
        "used": pa.bool_(),
        "simulated": pa.bool_(),
        "accepted_at": pa.timestamp("us", tz="UTC"),
        "submitted_at": pa.timestamp("us", tz="UTC"),
        "seconds": pa.float64(),
        "wall_seconds": pa.float64(),
        "revision": pa.int32(),
        "chance": pa.float64(),
    }
    return pa.schema(
        [pa.field(name, types.get(name, pa.string())) for name in file_columns(study)],
        metadata={"quorum.study": study.slug, "quorum.version": quorum_version()},
    )


class ParquetParts(Encoding):
    """Write parts as Arrow streams, since Parquet files cannot be appended to."""

    suffix = "arrow"
    tallies = True
    progress_count = "judgments"
    counts = zero_counts()

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        import pyarrow as pa

        schema = parquet_schema(work.study)
        with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as writer:
            for batch in batched(_rows_of(work), ROW_GROUP):
                writer.write_batch(
                    pa.RecordBatch.from_pylist([_parquet_row(row) for row in batch], schema=schema)
                )

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = parquet_schema(work.study)
        with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd") as writer:
            for path in parts:
                with path.open("rb") as part, pa.ipc.open_stream(part) as reader:
                    for batch in reader:
                        writer.write_batch(batch)


def _parquet_row(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("accepted_at", "submitted_at"):
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    if row["expected"] is not None:
        row["expected"] = str(expected_cell(row["expected"]))
    for name in JSON_COLUMNS & row.keys():
        row[name] = answer_cell(row[name]) or None
    return row


def why_no_demographics(study: Study) -> str:
    return "" if design_of(study).crowd.demographics else "its design names demographics (crowd.demographics)"


def _workers_with_demographics(study: Study) -> QuerySet[Any]:
    judged = Assignment.objects.filter(study=study, worker=OuterRef("worker"), submitted_at__isnull=False)
    rows = Demographics.objects.filter(Exists(judged), study=study)
    return rows.annotate(position=Value(0, IntegerField()))  # the parts of an export go by it


class DemographicLines(Encoding):
    """Write a line per described worker: pseudonym, and the design's demographics."""

    suffix = "people"
    progress_count = "people"
    counts = {"people": 0}

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (Stage(self.suffix, _workers_with_demographics, "people"),)

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        names = design_of(work.study).crowd.demographics
        rows = Demographics.objects.filter(pk__in=work.pieces).select_related("worker").order_by("pk")
        for row in rows:
            _write(file, [row.worker.name, *(row.answers.get(name, "") for name in names)])
            work.counts["people"] += 1

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        _write(file, ["worker", *design_of(work.study).crowd.demographics])
        super().join(work, file, parts)


def _write(file: HashedFile, cells: Sequence[str]) -> None:
    csv_writer(file).writerow(guard_formula(cell) for cell in cells)
