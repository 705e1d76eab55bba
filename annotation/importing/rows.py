"""Write imported judgments as rows, and the systems that they credit as rows of the dataset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from annotation.models import Assignment, Exclusion, Judgment, Worker
from common.audit import acting_person
from common.errors import DataConflict
from common.rows import batched, insert_rows
from judgments.datasets.importing import check_owner, known_lists, renumber_ranks, store_candidates
from judgments.drawing.material import candidate_key, content_key
from judgments.importers.records import (
    HUMAN,
    HUMAN_OTHER,
    Credit,
    CreditedRow,
    JudgmentRow,
    WinnerRow,
    compose_name,
)
from judgments.kinds import KINDS
from judgments.models import (
    HIT,
    CandidatePair,
    Caption,
    Dataset,
    HITUnit,
    Item,
    Output,
    PublishedPair,
    Study,
    System,
    Unit,
)

ROWS_AT_ONCE = 2_000
JUDGMENT_FIELDS = (
    "assignment_id", "unit_id", "value", "answer", "presented", "seconds", "wall_seconds", "comment", "set_aside",
)  # fmt: skip
UNKNOWN_SLOT = 0
IMPORTED_REVISION = "revision"  # signal: the number of earlier answers that the file lacks
BY_A_PERSON = "person"  # in files, the reason of an exclusion without a rule
UNKNOWN_TO_CROWD = "unknown-to-crowd"  # likewise, if the crowd does not know the work


class CreditedCaption(NamedTuple):
    credit: Credit
    item: int
    caption: int


class SystemsWriter:
    """Add missing systems and outputs in batches; refuse contradictions.

    A file has only judged captions, so the dataset marks these systems as partly known until their own files are
    imported.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        existing = {system.name: system for system in System.objects.filter(dataset=dataset)}
        self.systems = {compose_name(name): system for name, system in existing.items()} | existing
        self.partly_known = {task: set(names) for task, names in self.dataset.known_in_part.items()}
        self.added: set[CreditedCaption] = set()
        self.systems_added = self.outputs_added = 0

    def make_systems(self, credits: Iterable[Credit]) -> None:
        named, user = {credit.system for credit in credits}, acting_person()
        for name in sorted(named & self.systems.keys()):
            check_owner(self.systems[name], user)
        fresh = sorted(named - self.systems.keys())
        made = System.objects.bulk_create(
            System(
                dataset=self.dataset,
                name=name,
                human=name in (HUMAN, HUMAN_OTHER),
                owner=user,  # published: the next file of judgments may name it too
            )
            for name in fresh
        )
        self.systems.update({system.name: system for system in made})
        self.systems_added += len(made)

    def add(self, credited: Iterable[CreditedCaption]) -> None:
        """Add the outputs of credits; those without a rank are in no list."""
        fresh = dict.fromkeys(
            one for one in credited if one.credit.rank is not None and one not in self.added
        )
        self.added.update(fresh)
        for task in Output.Task:
            own = [one for one in fresh if one.credit.task == task]
            if own:
                self._add_outputs(task, own)

    def _add_outputs(self, task: Output.Task, credited: list[CreditedCaption]) -> None:
        for name in {one.credit.system for one in credited} - self.partly_known.setdefault(task, set()):
            system = self.systems[name]
            if not _is_fully_known(system, task):
                renumber_ranks(system, task)
                self.partly_known[task].add(name)
        lists = known_lists(
            task,
            systems={self.systems[one.credit.system].pk for one in credited},
            queries={_query_id(task, one) for one in credited},
            placed={self.systems[name].pk for name in self.partly_known[task]},
        )
        words = dict(
            Caption.objects.filter(pk__in={one.caption for one in credited}).values_list("pk", "text")
        )
        made = []
        for one in credited:
            system, rank = self.systems[one.credit.system], one.credit.rank
            assert rank is not None
            item = words[one.caption] if task == Output.Task.ANNOTATION else one.item
            known = lists[system.pk, _query_id(task, one)]
            if known.get(rank) == item:
                continue
            if rank in known or item in known.values() or system.name not in self.partly_known[task]:
                raise self._conflict(task, one, words[one.caption], known)
            known[rank] = item
            made.append(Output(system=system, item_id=one.item, caption_id=one.caption, task=task, rank=rank))
        Output.objects.bulk_create(made, batch_size=ROWS_AT_ONCE)
        self.outputs_added += len(made)

    def _conflict(
        self, task: Output.Task, one: CreditedCaption, text: str, known: Mapping[int, str | int]
    ) -> DataConflict:
        image = Item.objects.get(pk=one.item).name
        rank, known_item = one.credit.rank, known.get(one.credit.rank or 0)
        if task == Output.Task.ANNOTATION:
            claim = f"caption {text[:80]!r} at rank {rank} for image {image!r}"
            other = None if known_item is None else f"{str(known_item)[:80]!r}"
        else:
            claim = f"image {image!r} at rank {rank} for caption {text[:80]!r}"
            other = None if known_item is None else repr(Item.objects.get(pk=known_item).name)
        knows = f"has {other} there" if other else "does not have it there"
        return DataConflict(
            f"The file says that system {one.credit.system!r} has {claim}; in dataset {self.dataset.name!r} it {knows}."
        )

    def finish(self) -> None:
        found = {str(task): sorted(names) for task, names in sorted(self.partly_known.items()) if names}
        if found != self.dataset.known_in_part:
            self.dataset.notes = {**self.dataset.notes, "known_in_part": found}
            self.dataset.save(update_fields=["notes"])

    def counts(self) -> dict[str, int]:
        found = {"systems added": self.systems_added, "systems' captions added": self.outputs_added}
        return found if any(found.values()) else {}


def _is_fully_known(system: System, task: Output.Task) -> bool:
    return bool(system.fingerprint if task == Output.Task.ANNOTATION else system.search_fingerprint)


def _query_id(task: Output.Task, one: CreditedCaption) -> int:
    return one.item if task == Output.Task.ANNOTATION else one.caption


class JudgmentWriter:
    """Write rows as units, pairs, HITs, workers, assignments and judgments, in batches.

    Memory holds names and row ids, not the rows.
    """

    def __init__(self, study: Study, dataset: Dataset, items: dict[str, int], references: set[str]) -> None:
        self.study = study
        self.kind = KINDS[study.protocol]
        self.dataset = dataset
        self.items = items
        self.references = references
        self.now = timezone.now()
        self.captions: dict[str, int] = {}
        self.units: dict[str, int] = {}
        self.pairs: dict[str, int] = {}
        self.hits: dict[str, int] = {}
        self.workers: dict[str, int] = {}
        self.exclusions: dict[str, Exclusion] = {}
        self.assignments: dict[tuple[str, str], UUID] = {}
        self.assignment_of: dict[tuple[str, str], str | None] = {}
        self.slots: defaultdict[str, int] = defaultdict(int)
        self.chances: dict[tuple[str, str], float | None] = {}
        self.unit_without_chance = ""
        self.pair_references: defaultdict[str, list[str]] = defaultdict(list)
        self.published = {
            pair.key: pair for pair in PublishedPair.objects.filter(dataset=dataset).select_related()
        }
        self.systems = SystemsWriter(dataset)
        self.judgments = 0
        self.simulated = False

    def add(self, rows: list[JudgmentRow]) -> None:
        self._make_captions(rows)
        credited = [row for row in rows if isinstance(row, CreditedRow)]
        self.systems.make_systems(
            credit for row in credited for own in row.credits.values() for credit in own
        )
        self._make_pairs(rows)
        self._make_units(rows)
        self.systems.add(self._credited_captions(credited))
        self._make_hits(rows)
        self._make_workers(rows)
        self._make_assignments(rows)
        first = (row for row in rows if not row.revision)
        insert_rows(Judgment, JUDGMENT_FIELDS, map(self._judgment, first))
        for row in rows:
            if row.revision:
                self._add_revision(row)
        self.judgments += len(rows)
        self.simulated = self.simulated or any(row.simulated for row in rows)

    def _credited_captions(self, rows: list[CreditedRow]) -> Iterator[CreditedCaption]:
        shown = {row.unit: row for row in rows}
        options = {
            one["key"]: one["text"]
            for row in shown.values()
            for one in _credited_options(row)
            if one["key"] not in self.captions
        }
        made = store_candidates(
            self.dataset, {text for key, text in options.items() if key not in self.references}
        )
        self._load_captions(options.keys() & self.references)
        self.captions.update({key: made[text] for key, text in options.items() if text in made})
        for row in shown.values():
            texts = {row.first: row.first_text, row.second: row.second_text}
            for key, own in row.credits.items():
                caption = self._caption_id(key, texts.get(key), row.unit)
                for credit in own:
                    yield CreditedCaption(credit, self.items[self._image_of(row)], caption or 0)

    def _add_revision(self, row: JudgmentRow) -> None:
        """Replace the former answer if the file has it, else count the revision."""
        values = dict(zip(JUDGMENT_FIELDS, self._judgment(row), strict=True))
        same = {name: values[name] for name in ("assignment_id", "unit_id")}
        before = Judgment.objects.filter(**same, replaced_by__isnull=True).first()
        signals = {} if before else {IMPORTED_REVISION: row.revision}
        Judgment.objects.create(**values, signals=signals, replaces=before)

    def _judgment(self, row: JudgmentRow) -> tuple[Any, ...]:
        """Return the values of ``JUDGMENT_FIELDS``."""
        return (
            self.assignments[self._assignment_key(row)],
            self.units[row.unit],
            row.value if row.stored is None else None,
            row.stored,
            row.presented or "",
            row.seconds,
            row.wall_seconds,
            row.comment,
            not row.used,
        )

    def finish(self) -> None:
        self.systems.finish()
        of_size: defaultdict[int, list[int]] = defaultdict(list)
        for key, hit in self.hits.items():
            of_size[self.slots[key]].append(hit)
        for required, hits in of_size.items():
            for some in batched(hits, 500):
                HIT.objects.filter(pk__in=some).update(required=required)
        if self.unit_without_chance and any(chance is not None for chance in self.chances.values()):
            raise DataConflict(
                f"Unit {self.unit_without_chance!r} has a row without a chance, and other rows have one; "
                "expected it in all rows but those of control items."
            )
        insert_rows(HITUnit, ("hit_id", "unit_id", "position", "chance"), self._hit_unit_rows())
        pairs = []
        for pair in CandidatePair.objects.filter(study=self.study, key__in=list(self.pair_references)):
            pair.references = list(dict.fromkeys(self.pair_references[pair.key]))
            pairs.append(pair)
        CandidatePair.objects.bulk_update(pairs, ["references"], batch_size=500)

    def _hit_unit_rows(self) -> Iterator[tuple[int, int, int, float | None]]:
        places: defaultdict[str, int] = defaultdict(int)
        for (hit, unit), chance in self.chances.items():
            places[hit] += 1
            yield self.hits[hit], self.units[unit], places[hit], chance

    def add_winners(self, rows: list[WinnerRow]) -> None:
        """Add pairs whose winner was published without votes."""
        self._find_captions(
            {candidate_key(text): text for row in rows for text in (row.first_text, row.second_text)}
        )
        self._store_pairs(
            (
                row.pair,
                row.kind,
                row.image,
                self.captions[candidate_key(row.first_text)],
                self.captions[candidate_key(row.second_text)],
                row.winner,
                {},
                frozenset(),
            )
            for row in rows
        )

    def _make_captions(self, rows: list[JudgmentRow]) -> None:
        texts: dict[str, str] = {}
        for row in rows:
            for key, text in (
                (row.reference, row.reference_text),
                (row.first, row.first_text),
                (row.second, row.second_text),
            ):
                if text is not None and (key is None or key not in self.references):
                    texts[candidate_key(text)] = text
        self._find_captions(texts)
        named = {
            key
            for row in rows
            for key in (row.reference, row.first, row.second)
            if key is not None and key not in self.captions
        }
        self._load_captions(named)

    def _load_captions(self, keys: Iterable[str]) -> None:
        for some in batched(sorted(keys), 500):
            captions = Caption.objects.filter(dataset=self.dataset, key__in=some)
            self.captions.update(captions.values_list("key", "pk"))

    def _find_captions(self, texts: dict[str, str]) -> None:
        fresh = {key: text for key, text in texts.items() if key not in self.captions}
        made = store_candidates(self.dataset, fresh.values())
        self.captions.update({key: made[text] for key, text in fresh.items()})

    def _caption_id(self, key: str | None, text: str | None, unit: str) -> int | None:
        if key is None and text is None:
            return None
        if key is not None and key in self.captions:
            return self.captions[key]
        if text is not None:
            return self.captions[candidate_key(text)]
        raise DataConflict(
            f"Unit {unit!r} names the caption {key!r}, which dataset {self.dataset.name!r} does not have."
        )

    def _make_pairs(self, rows: list[JudgmentRow]) -> None:
        fresh: dict[str, JudgmentRow] = {}
        for row in rows:
            if row.unit not in self.units and (key := self._pair_key(row)) and key not in self.pairs:
                fresh[key] = row
        self._store_pairs(
            (
                key,
                row.kind or "",
                self._image_of(row),
                self._caption_id(row.first, row.first_text, row.unit),
                self._caption_id(row.second, row.second_text, row.unit),
                None,
                sides := self._systems_by_side(row),
                _texts_without_system(row, sides),
            )
            for key, row in fresh.items()
        )
        for row in rows:
            if row.reference is not None and row.unit not in self.units and (key := self._pair_key(row)):
                self.pair_references[key].append(row.reference)

    def _pair_key(self, row: JudgmentRow) -> str | None:
        """Return the pair's id; without one in the file, that of the two captions for the image."""
        if row.pair is not None or row.control or not self.kind.compares_pairs:
            return row.pair
        first, second = row.first or row.first_text, row.second or row.second_text
        return content_key("pair", row.image, first, second) if first and second else None

    def _systems_by_side(self, row: JudgmentRow) -> dict[str, int]:
        credits = row.credits if isinstance(row, CreditedRow) else {}
        named = {key: own[0].system for key, own in credits.items() if own}
        sides = {}
        for side, key in (("first", row.first), ("second", row.second)):
            if key in named:
                system = self.systems.systems[named[key]]
                published = self.published.get(row.pair or "")
                if published and getattr(published, f"{side}_system_id") != system.pk:
                    known_name = getattr(published, f"{side}_system").name
                    raise DataConflict(
                        f"The file says that caption {key!r} of pair {row.pair!r} is by system {system.name!r}; in "
                        f"dataset {self.dataset.name!r} it is by {known_name!r}."
                    )
                sides[side] = system.pk
        return sides

    def _store_pairs(
        self,
        rows: Iterable[
            tuple[str, str, str, int | None, int | None, int | None, dict[str, int], frozenset[str]]
        ],
    ) -> None:
        made: list[CandidatePair] = []
        for key, kind, image, first, second, winner, sides, people_texts in rows:
            if first is None or second is None:
                raise DataConflict(f"Pair {key!r} names fewer than two captions; expected first and second.")
            published = self.published.get(key)
            made.append(
                CandidatePair(
                    study=self.study,
                    key=key,
                    position=len(self.pairs) + len(made),
                    kind=kind,
                    item_id=self.items[image],
                    first_id=first,
                    second_id=second,
                    first_system_id=published.first_system_id if published else sides.get("first"),
                    second_system_id=published.second_system_id if published else sides.get("second"),
                    references=self._references_of(image, published, (first, second), people_texts),
                    published_winner=winner,
                )
            )
        stored = CandidatePair.objects.bulk_create(made, batch_size=ROWS_AT_ONCE)
        self.pairs.update({pair.key: pair.pk for pair in stored})

    def _references_of(
        self,
        image: str,
        published: PublishedPair | None,
        candidates: tuple[int, int],
        people_texts: frozenset[str],
    ) -> list[str]:
        """Return the published pair's leading references, else the image's.

        As when pairs are drawn, leave out the candidates, and references with the words of a person's candidate.
        """
        rows = self._references_by_item[self.items[image]]
        if published is not None:
            return [key for key, _, _ in rows[: published.references]]
        return [key for key, pk, words in rows if pk not in candidates and words not in people_texts]

    @cached_property
    def _references_by_item(self) -> defaultdict[int, list[tuple[str, int, str]]]:
        found: defaultdict[int, list[tuple[str, int, str]]] = defaultdict(list)
        rows = Caption.objects.filter(dataset=self.dataset, role=Caption.Role.REFERENCE, item__isnull=False)
        in_order = rows.order_by("item_id", "position", "id")
        for item, key, pk, text in in_order.values_list("item_id", "key", "pk", "text"):
            assert item is not None  # guaranteed by the query
            found[item].append((key, pk, text.strip()))
        return found

    def _image_of(self, row: JudgmentRow) -> str:
        if row.image is None:
            raise DataConflict(
                f"Unit {row.unit!r} names no image; expected one of dataset {self.dataset.name!r} "
                "(the command `agreement` takes files without images)."
            )
        return row.image

    def _make_units(self, rows: list[JudgmentRow]) -> None:
        fresh: dict[str, JudgmentRow] = {}
        for row in rows:
            if row.unit not in self.units:
                fresh.setdefault(row.unit, row)
        insert_rows(
            Unit,
            ("study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "pair_id", "kind",
             "control", "expected", "filtered", "withdrawn", "content"),
            (
                (
                    self.study.pk,
                    row.unit,
                    len(self.units) + index,
                    self.items[self._image_of(row)],
                    self._caption_id(row.reference, row.reference_text, row.unit),
                    self._caption_id(row.first, row.first_text, row.unit),
                    self._caption_id(row.second, row.second_text, row.unit),
                    self.pairs[key] if (key := self._pair_key(row)) else None,
                    row.kind or "",
                    row.control,
                    row.expected and self.kind.exchange.from_file(row.expected, content=row.content or {}),
                    False,
                    False,
                    dict(row.content or {}),
                )
                for index, row in enumerate(fresh.values())
            ),
        )  # fmt: skip
        made = Unit.objects.filter(study=self.study, position__gte=len(self.units))
        self.units.update(made.values_list("key", "pk"))

    def _make_hits(self, rows: list[JudgmentRow]) -> None:
        fresh = dict.fromkeys(row.hit for row in rows if row.hit is not None and row.hit not in self.hits)
        made = HIT.objects.bulk_create(
            HIT(study=self.study, key=key, position=len(self.hits) + index, required=0, open_slots=0)
            for index, key in enumerate(fresh)
        )
        self.hits.update({hit.key: hit.pk for hit in made})
        for row in rows:
            if row.hit is not None:
                self.chances.setdefault((row.hit, row.unit), row.chance)
            if row.chance is None and not row.control:
                self.unit_without_chance = row.unit

    def _make_workers(self, rows: list[JudgmentRow]) -> None:
        fresh = {row.worker: row for row in rows if row.worker not in self.workers}
        made = Worker.objects.bulk_create(
            Worker(name=name, source=Worker.Source.IMPORTED, study=self.study, anonymous=row.anonymous)
            for name, row in fresh.items()
        )
        self.workers.update({worker.name: worker.pk for worker in made})

    def _exclusion_of(self, row: JudgmentRow) -> Exclusion | None:
        if row.invalidated is None:
            return None
        if row.worker not in self.exclusions:
            self.exclusions[row.worker] = Exclusion.objects.create(
                study=self.study,
                worker_id=self.workers[row.worker],
                rule="" if row.invalidated == BY_A_PERSON else row.invalidated,
                why="Invalidated in the study that it comes from.",
            )
        return self.exclusions[row.worker]

    def _assignment_key(self, row: JudgmentRow) -> tuple[str, str]:
        return row.worker, row.assignment or row.hit or ""

    def _make_assignments(self, rows: list[JudgmentRow]) -> None:
        fresh: dict[tuple[str, str], JudgmentRow] = {}
        for row in rows:
            if self._assignment_key(row) not in self.assignments:
                fresh.setdefault(self._assignment_key(row), row)
        made = []
        for row in fresh.values():
            submitted = row.submitted_at or self.now
            slot = UNKNOWN_SLOT
            excluded = self._exclusion_of(row)
            if row.hit is not None and excluded is None:
                if self.assignment_of.setdefault((row.hit, row.worker), row.assignment) != row.assignment:
                    raise DataConflict(
                        f"Worker {row.worker!r} has two assignments of HIT {row.hit!r}, "
                        f"{self.assignment_of[row.hit, row.worker]!r} and {row.assignment!r}; expected one."
                    )
                slot = self.slots[row.hit]
                self.slots[row.hit] += 1
            made.append(
                Assignment(
                    study=self.study,
                    hit_id=self.hits[row.hit] if row.hit is not None else None,
                    worker_id=self.workers[row.worker],
                    state=Assignment.State.SUBMITTED if excluded is None else Assignment.State.INVALIDATED,
                    exclusion=excluded,
                    before_exclusion="" if excluded is None else Assignment.State.SUBMITTED,
                    slot=slot,
                    external_id=row.assignment or "",
                    accepted_at=min(row.accepted_at or submitted, submitted),
                    submitted_at=submitted,
                    simulated=row.simulated,
                )
            )
        Assignment.objects.bulk_create(made)
        self.assignments.update(zip(fresh, (assignment.pk for assignment in made), strict=True))


def _credited_options(row: JudgmentRow) -> list[Mapping[str, str]]:
    options: Any = (row.content or {}).get("options", ())
    credits = row.credits if isinstance(row, CreditedRow) else {}
    return [one for one in options if isinstance(one, Mapping) and one.get("key") in credits]


def _texts_without_system(row: JudgmentRow, sides: Mapping[str, int]) -> frozenset[str]:
    """Return the candidates that people wrote."""
    texts = {"first": row.first_text, "second": row.second_text}
    return frozenset(text.strip() for side, text in texts.items() if text and side not in sides)
