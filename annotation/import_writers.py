"""Write the rows of a file of judgments.

Each writer writes the rows of one table, in batches, and holds their ids by name: memory holds no rows of the file.
``JudgmentWriter`` calls them in the order in which the tables refer to each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from annotation.models import Assignment, Exclusion, Judgment, Worker
from annotation.models.assignments import BY_A_PERSON, IMPORTED_REVISION
from common.audit import acting_person
from common.errors import DataConflict
from common.incoming import compose_name
from common.rows import batched, insert_rows
from common.texts import one_text, parting
from judgments.datasets.importing import (
    check_owner,
    known_lists,
    renumber_ranks,
    store_candidates,
)
from judgments.design.tables import SIDES
from judgments.drawing.material import content_key, text_key
from judgments.importers.records import (
    HUMAN,
    HUMAN_OTHER,
    Credit,
    CreditedRow,
    JudgmentRow,
    WinnerRow,
)
from judgments.kinds import KINDS, Kind
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
from judgments.models.studies import NOBODY

JUDGMENT_FIELDS = (
    "assignment_id", "unit_id", "value", "answer", "presented", "seconds", "wall_seconds", "comment", "set_aside",
)  # fmt: skip
UNIT_FIELDS = (
    "study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "pair_id", "kind",
    "control", "expected", "filtered", "withdrawn", "content", "systems",
)  # fmt: skip
UNKNOWN_SLOT = 0
ROWS_AT_ONCE = 2_000


class CreditedCaption(NamedTuple):
    credit: Credit
    item: int
    caption: int


class SystemWriter:
    """Add missing systems and outputs in batches; refuse contradictions.

    A file has only judged captions, so the dataset marks these systems as partly known until their own files are
    imported.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        existing = {system.name: system for system in System.objects.filter(dataset=dataset)}
        self.by_name = {compose_name(name): system for name, system in existing.items()} | existing
        self.partly_known = {task: set(names) for task, names in self.dataset.known_in_part.items()}
        self.seen: set[CreditedCaption] = set()
        self.without_rank: dict[CreditedCaption, None] = {}
        self.systems_added = self.outputs_added = 0

    def add(self, rows: Iterable[CreditedRow]) -> None:
        names = {credit.system for row in rows for credits in row.credits.values() for credit in credits}
        user = acting_person()
        for name in sorted(names & self.by_name.keys()):
            check_owner(self.by_name[name], user)
        new_systems = System.objects.bulk_create(
            System(
                dataset=self.dataset,
                name=name,
                human=name in (HUMAN, HUMAN_OTHER),
                owner=user,  # published: the next file of judgments may name it too
            )
            for name in sorted(names - self.by_name.keys())
        )
        self.by_name.update({system.name: system for system in new_systems})
        self.systems_added += len(new_systems)

    def add_outputs(self, credited: Iterable[CreditedCaption]) -> None:
        """Add the outputs of credits; those without a rank come last, when all others are known."""
        new = dict.fromkeys(caption for caption in credited if caption not in self.seen)
        self.seen.update(new)
        self.without_rank |= dict.fromkeys(caption for caption in new if caption.credit.rank is None)
        self._add_ranked([caption for caption in new if caption.credit.rank is not None])

    def _add_ranked(self, credited: Sequence[CreditedCaption]) -> None:
        for task in Output.Task:
            of_task = [caption for caption in credited if caption.credit.task == task]
            if of_task:
                self._add_outputs(task, of_task)

    def _add_outputs(self, task: Output.Task, credited: list[CreditedCaption]) -> None:
        partly_known = self.partly_known.setdefault(task, set())
        for name in {caption.credit.system for caption in credited} - partly_known:
            system = self.by_name[name]
            if not (system.fingerprint if task == Output.Task.ANNOTATION else system.search_fingerprint):
                renumber_ranks(system, task)
                partly_known.add(name)
        lists = known_lists(
            task,
            systems={self.by_name[caption.credit.system].pk for caption in credited},
            queries={_query_id(task, caption) for caption in credited},
            placed={self.by_name[name].pk for name in partly_known},
        )
        texts = dict(
            Caption.objects.filter(pk__in={caption.caption for caption in credited}).values_list("pk", "text")
        )
        outputs = []
        for caption in credited:
            system, rank = self.by_name[caption.credit.system], caption.credit.rank
            answer = one_text(texts[caption.caption]) if task == Output.Task.ANNOTATION else caption.item
            ranking = lists[system.pk, _query_id(task, caption)]
            if rank is None and answer in ranking.values():
                continue
            rank = rank or max(ranking, default=0) + 1
            if ranking.get(rank) == answer:
                continue
            if rank in ranking or answer in ranking.values() or system.name not in partly_known:
                raise self._conflict(task, caption, texts[caption.caption], ranking)
            ranking[rank] = answer
            outputs.append(
                Output(system=system, item_id=caption.item, caption_id=caption.caption, task=task, rank=rank)
            )
        Output.objects.bulk_create(outputs, batch_size=ROWS_AT_ONCE)
        self.outputs_added += len(outputs)

    def _conflict(
        self, task: Output.Task, caption: CreditedCaption, text: str, ranking: Mapping[int, str | int]
    ) -> DataConflict:
        image = Item.objects.get(pk=caption.item).name
        answer = ranking.get(caption.credit.rank or 0)
        where = f"at rank {caption.credit.rank}" if caption.credit.rank else "at some rank"
        if task == Output.Task.ANNOTATION:
            ours, theirs = parting(text, str(answer or ""))
            claim = f"caption {ours} {where} for image {image!r}"
            other = None if answer is None else theirs
        else:
            claim = f"image {image!r} {where} for caption {text[:80]!r}"
            other = None if answer is None else repr(Item.objects.get(pk=answer).name)
        knows = f"has {other} there" if other else "does not have it there"
        return DataConflict(
            f"The file says that system {caption.credit.system!r} has {claim}; "
            f"in dataset {self.dataset.name!r} it {knows}."
        )

    def finish(self) -> None:
        texts: dict[int, str] = {}
        for some in batched({caption.caption for caption in self.without_rank}, 500):
            texts.update(Caption.objects.filter(pk__in=some).values_list("pk", "text"))
        # in an order that does not depend on that of the rows
        in_order = sorted(self.without_rank, key=lambda caption: texts[caption.caption])
        for batch in batched(in_order, ROWS_AT_ONCE):
            self._add_ranked(batch)
        known = {str(task): sorted(names) for task, names in sorted(self.partly_known.items()) if names}
        if known != self.dataset.known_in_part:
            self.dataset.notes = {**self.dataset.notes, "known_in_part": known}
            self.dataset.save(update_fields=["notes"])

    def counts(self) -> dict[str, int]:
        counts = {"systems added": self.systems_added, "systems' captions added": self.outputs_added}
        return counts if any(counts.values()) else {}


def _query_id(task: Output.Task, caption: CreditedCaption) -> int:
    return caption.item if task == Output.Task.ANNOTATION else caption.caption


class CaptionWriter:
    """Add candidates as captions of the dataset; ``ids`` by caption id, or by the id that a text has."""

    def __init__(self, dataset: Dataset, references: set[str]) -> None:
        self.dataset = dataset
        self.references = references
        self.ids: dict[str, int] = {}
        self.texts: dict[int, str] = {}  # of marked captions

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        shown = [
            pair
            for row in rows
            for pair in (
                (row.reference, row.reference_text),
                (row.first, row.first_text),
                (row.second, row.second_text),
            )
        ]
        self.add_texts(text for key, text in shown if text is not None and key not in self.references)
        self.load({key for key, _text in shown if key is not None and key not in self.ids})

    def add_texts(self, texts: Iterable[str]) -> None:
        new = {text: key for text in texts if (key := text_key(text)) not in self.ids}
        stored = store_candidates(self.dataset, new)
        self.ids.update({key: stored[text] for text, key in new.items()})

    def add_options(self, rows: Iterable[CreditedRow]) -> None:
        """Add the texts of options that the file credits to systems; the same ids may stand in several units."""
        options = [option for row in rows for option in _credited_options(row)]
        self.add_texts(option["text"] for option in options if option["key"] not in self.references)
        self.load({option["key"] for option in options} & self.references - self.ids.keys())

    def reference(self, key: str) -> str | None:
        """Return the id if it is that of a reference."""
        return key if key in self.references else None

    def load(self, keys: Iterable[str]) -> None:
        for batch in batched(sorted(keys), 500):
            captions = Caption.objects.filter(dataset=self.dataset, key__in=batch)
            self.ids.update(captions.values_list("key", "pk"))

    def load_texts(self, rows: Iterable[JudgmentRow]) -> None:
        """Read the writings that the dataset keeps of texts that people marked."""
        captions = {self.id_of(row.first, row.first_text, row.unit) for row in rows}
        for batch in batched(sorted({pk for pk in captions if pk is not None} - self.texts.keys()), 500):
            self.texts.update(Caption.objects.filter(pk__in=batch).values_list("pk", "text"))

    def id_of(self, key: str | None, text: str | None, unit: str) -> int | None:
        if key is None and text is None:
            return None
        if key is not None and key in self.ids:
            return self.ids[key]
        if text is not None:
            return self.ids[text_key(text)]
        raise DataConflict(
            f"Unit {unit!r} names the caption {key!r}, which dataset {self.dataset.name!r} does not have."
        )


class PairWriter:
    """Add candidate pairs: of units, and with a winner that was published without votes."""

    def __init__(
        self, study: Study, captions: CaptionWriter, systems: SystemWriter, items: Mapping[str, int]
    ) -> None:
        self.study = study
        self.compares_pairs = KINDS[study.protocol].compares_pairs
        self.dataset = captions.dataset
        self.captions = captions
        self.systems = systems
        self.items = items
        self.ids: dict[str, int] = {}
        self.references: defaultdict[str, list[str]] = defaultdict(list)
        self.published = {
            pair.key: pair for pair in PublishedPair.objects.filter(dataset=self.dataset).select_related()
        }

    def key_of(self, row: JudgmentRow) -> str | None:
        """Return the pair's id; without one in the file, that of the two captions, and their systems, for the image."""
        if row.pair is not None or row.control or not self.compares_pairs:
            return row.pair
        first, second = (
            getattr(row, f"{side}_text") if getattr(row, side) is None else getattr(row, side)
            for side in SIDES
        )
        systems = row.systems()[: len(SIDES)] if isinstance(row, CreditedRow) else ()
        by_systems = systems if any(systems) else ()
        if first is None or second is None:
            return None
        return content_key("pair", row.image, first, second, *by_systems)

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        """Add the pairs of rows whose units are new."""
        new: dict[str, JudgmentRow] = {}
        for row in rows:
            key = self.key_of(row)
            if not key:
                continue
            if key not in self.ids:
                new.setdefault(key, row)
            if row.reference is not None:
                self.references[key].append(row.reference)
        pairs = []
        for key, row in new.items():
            first = self.captions.id_of(row.first, row.first_text, row.unit)
            second = self.captions.id_of(row.second, row.second_text, row.unit)
            pairs.append(
                self._build(key, row.kind or "", _image_of(row, self.dataset), first, second, row=row)
            )
        self._store(pairs)

    def add_winners(self, rows: Iterable[WinnerRow]) -> None:
        pairs = []
        for row in rows:
            first = self.captions.ids[text_key(row.first_text)]
            second = self.captions.ids[text_key(row.second_text)]
            pairs.append(self._build(row.pair, row.kind, row.image, first, second, winner=row.winner))
        self._store(pairs)

    def finish(self) -> None:
        """Store the references with which the units of each pair showed it."""
        pairs = []
        for pair in CandidatePair.objects.filter(study=self.study, key__in=list(self.references)):
            pair.references = list(dict.fromkeys(self.references[pair.key]))
            pairs.append(pair)
        CandidatePair.objects.bulk_update(pairs, ["references"], batch_size=500)

    def _build(
        self,
        key: str,
        kind: str,
        image: str,
        first: int | None,
        second: int | None,
        *,
        row: JudgmentRow | None = None,
        winner: int | None = None,
    ) -> CandidatePair:
        sides = self._systems_by_side(row) if row is not None else {}
        if first is None or second is None:
            raise DataConflict(f"Pair {key!r} names fewer than two captions; expected first and second.")
        published = self.published.get(key)
        by_people = _texts_without_system(row, sides) if row is not None else frozenset()
        return CandidatePair(
            study=self.study,
            key=key,
            kind=kind,
            item_id=self.items[image],
            first_id=first,
            second_id=second,
            first_system_id=published.first_system_id if published else sides.get("first"),
            second_system_id=published.second_system_id if published else sides.get("second"),
            references=self._references_of(image, published, (first, second), by_people),
            published_winner=winner,
        )

    def _store(self, pairs: list[CandidatePair]) -> None:
        for position, pair in enumerate(pairs, start=len(self.ids)):
            pair.position = position
        stored = CandidatePair.objects.bulk_create(pairs, batch_size=ROWS_AT_ONCE)
        self.ids.update({pair.key: pair.pk for pair in stored})

    def _systems_by_side(self, row: JudgmentRow) -> dict[str, int]:
        sides: dict[str, int] = {}
        if not isinstance(row, CreditedRow):
            return sides
        for side in SIDES:
            if not (credits := row.of_side(side)):
                continue
            system = self.systems.by_name[credits[0].system]
            published = self.published.get(row.pair or "")
            if published and getattr(published, f"{side}_system_id") != system.pk:
                known_name = getattr(published, f"{side}_system").name
                raise DataConflict(
                    f"The file says that caption {getattr(row, side)!r} of pair {row.pair!r} is by system "
                    f"{system.name!r}; in dataset {self.dataset.name!r} it is by {known_name!r}."
                )
            sides[side] = system.pk
        return sides

    def _references_of(
        self,
        image: str,
        published: PublishedPair | None,
        candidates: tuple[int, int],
        by_people: frozenset[str],
    ) -> list[str]:
        """Return the published pair's leading references, else the image's.

        As when pairs are drawn, leave out the candidates, and references with the words of a person's candidate.
        """
        references = self._references_by_item[self.items[image]]
        if published is not None:
            return [key for key, _, _ in references[: published.references]]
        return [key for key, pk, text in references if pk not in candidates and text not in by_people]

    @cached_property
    def _references_by_item(self) -> defaultdict[int, list[tuple[str, int, str]]]:
        by_item: defaultdict[int, list[tuple[str, int, str]]] = defaultdict(list)
        rows = Caption.objects.filter(dataset=self.dataset, role=Caption.Role.REFERENCE, item__isnull=False)
        in_order = rows.order_by("item_id", "position", "id")
        for item, key, pk, text in in_order.values_list("item_id", "key", "pk", "text"):
            assert item is not None  # guaranteed by the query
            by_item[item].append((key, pk, one_text(text)))
        return by_item


class UnitWriter:
    def __init__(self, study: Study, captions: CaptionWriter, pairs: PairWriter) -> None:
        self.study = study
        self.from_file = KINDS[study.protocol].exchange.from_file
        self.captions = captions
        self.pairs = pairs
        self.ids: dict[str, int] = {}

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        """Add units, each as its first row has it."""
        new: dict[str, JudgmentRow] = {}
        for row in rows:
            if row.unit not in self.ids:
                new.setdefault(row.unit, row)
        before = len(self.ids)
        values = (self._values(row, position) for position, row in enumerate(new.values(), start=before))
        insert_rows(Unit, UNIT_FIELDS, values)
        stored = Unit.objects.filter(study=self.study, position__gte=before)
        self.ids.update(stored.values_list("key", "pk"))

    def _values(self, row: JudgmentRow, position: int) -> tuple[Any, ...]:
        """Return the values of ``UNIT_FIELDS``."""
        pair = self.pairs.key_of(row)
        return (
            self.study.pk,
            row.unit,
            position,
            self.pairs.items[_image_of(row, self.captions.dataset)],
            self.captions.id_of(row.reference, row.reference_text, row.unit),
            self.captions.id_of(row.first, row.first_text, row.unit),
            self.captions.id_of(row.second, row.second_text, row.unit),
            self.pairs.ids[pair] if pair else None,
            row.kind or "",
            row.control,
            row.expected and self.from_file(row.expected, content=row.content or {}),
            False,
            False,
            dict(row.content or {}),
            self._systems(row),
        )

    def _systems(self, row: JudgmentRow) -> list[Any]:
        """Return ``Unit.systems``: those of the text that is judged alone, or of each option."""
        alone = row.second is None and row.second_text is None
        if not alone or not isinstance(row, CreditedRow):
            return []
        by_name = self.pairs.systems.by_name
        first, _second, *options = (sorted(by_name[name].pk for name in names) for names in row.systems())
        if any(options):
            return options
        return first or ([NOBODY] if row.first in row.credits else [])


class HitWriter:
    """Add HITs; their units, sizes and numbers of workers are known at the end of the file."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.ids: dict[str, int] = {}
        self.slots: Counter[str] = Counter()
        self.chances: dict[tuple[str, str], float | None] = {}  # by HIT and unit
        self.unit_without_chance = ""

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        new = dict.fromkeys(row.hit for row in rows if row.hit is not None and row.hit not in self.ids)
        stored = HIT.objects.bulk_create(
            HIT(study=self.study, key=key, position=position, required=0, open_slots=0)
            for position, key in enumerate(new, start=len(self.ids))
        )
        self.ids.update({hit.key: hit.pk for hit in stored})
        for row in rows:
            if row.hit is not None:
                self.chances.setdefault((row.hit, row.unit), row.chance)
            if row.chance is None and not row.control:
                self.unit_without_chance = row.unit

    def take_slot(self, hit: str) -> int:
        slot = self.slots[hit]
        self.slots[hit] += 1
        return slot

    def finish(self, units: Mapping[str, int]) -> None:
        by_slots: defaultdict[int, list[int]] = defaultdict(list)
        for key, hit in self.ids.items():
            by_slots[self.slots[key]].append(hit)
        for required, hits in by_slots.items():
            for batch in batched(hits, 500):
                HIT.objects.filter(pk__in=batch).update(required=required)
        if self.unit_without_chance and any(chance is not None for chance in self.chances.values()):
            raise DataConflict(
                f"Unit {self.unit_without_chance!r} has a row without a chance, and other rows have one; "
                "expected it in all rows but those of control items."
            )
        insert_rows(HITUnit, ("hit_id", "unit_id", "position", "chance"), self._units(units))

    def _units(self, units: Mapping[str, int]) -> Iterator[tuple[int, int, int, float | None]]:
        sizes: Counter[str] = Counter()
        for (hit, unit), chance in self.chances.items():
            sizes[hit] += 1
            yield self.ids[hit], units[unit], sizes[hit], chance


class AssignmentWriter:
    """Add workers, their assignments, and the exclusions that invalidated these."""

    def __init__(self, study: Study, hits: HitWriter) -> None:
        self.study = study
        self.hits = hits
        self.now = timezone.now()
        self.workers: dict[str, int] = {}
        self.exclusions: dict[str, Exclusion] = {}
        self.ids: dict[tuple[str, str], UUID] = {}
        self.names: dict[tuple[str, str], str | None] = {}  # of assignments, by HIT and worker

    def id_of(self, row: JudgmentRow) -> UUID:
        return self.ids[_assignment_key(row)]

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        new_workers = {row.worker: row for row in rows if row.worker not in self.workers}
        workers = Worker.objects.bulk_create(
            Worker(name=name, source=Worker.Source.IMPORTED, study=self.study, anonymous=row.anonymous)
            for name, row in new_workers.items()
        )
        self.workers.update({worker.name: worker.pk for worker in workers})
        new: dict[tuple[str, str], JudgmentRow] = {}
        for row in rows:
            if _assignment_key(row) not in self.ids:
                new.setdefault(_assignment_key(row), row)
        assignments = Assignment.objects.bulk_create([self._build(row) for row in new.values()])
        self.ids.update(zip(new, (assignment.pk for assignment in assignments), strict=True))

    def _build(self, row: JudgmentRow) -> Assignment:
        submitted = row.submitted_at or self.now
        exclusion = self._exclusion_of(row)
        slot = UNKNOWN_SLOT
        if row.hit is not None and exclusion is None:
            name = self.names.setdefault((row.hit, row.worker), row.assignment)
            if name != row.assignment:
                raise DataConflict(
                    f"Worker {row.worker!r} has two assignments of HIT {row.hit!r}, "
                    f"{name!r} and {row.assignment!r}; expected one."
                )
            slot = self.hits.take_slot(row.hit)
        return Assignment(
            study=self.study,
            hit_id=self.hits.ids[row.hit] if row.hit is not None else None,
            worker_id=self.workers[row.worker],
            state=Assignment.State.SUBMITTED if exclusion is None else Assignment.State.INVALIDATED,
            exclusion=exclusion,
            before_exclusion="" if exclusion is None else Assignment.State.SUBMITTED,
            slot=slot,
            external_id=row.assignment or "",
            accepted_at=min(row.accepted_at or submitted, submitted),
            submitted_at=submitted,
            simulated=row.simulated,
        )

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


class JudgmentWriter:
    """Write the rows of a file as judgments, and everything that they refer to before them."""

    def __init__(self, study: Study, dataset: Dataset, items: dict[str, int], references: set[str]) -> None:
        self.study = study
        self.kind: Kind = KINDS[study.protocol]
        self.items = items
        self.systems = SystemWriter(dataset)
        self.captions = CaptionWriter(dataset, references)
        self.pairs = PairWriter(study, self.captions, self.systems, items)
        self.units = UnitWriter(study, self.captions, self.pairs)
        self.hits = HitWriter(study)
        self.assignments = AssignmentWriter(study, self.hits)
        self.judgments = 0
        self.simulated = False

    def add(self, rows: list[JudgmentRow]) -> None:
        credited = [row for row in rows if isinstance(row, CreditedRow)]
        self.captions.add(rows)
        self.systems.add(credited)
        self.pairs.add(row for row in rows if row.unit not in self.units.ids)
        self.units.add(rows)
        self.systems.add_outputs(self._credited_captions(credited))
        self.hits.add(rows)
        self.assignments.add(rows)
        if self.kind.marks is not None:
            self.captions.load_texts(rows)
        insert_rows(Judgment, JUDGMENT_FIELDS, (self._values(row) for row in rows if not row.revision))
        for row in rows:
            if row.revision:
                self._add_revision(row)
        self.judgments += len(rows)
        self.simulated = self.simulated or any(row.simulated for row in rows)

    def add_winners(self, rows: list[WinnerRow]) -> None:
        """Add pairs whose winner was published without votes."""
        self.captions.add_texts(text for row in rows for text in (row.first_text, row.second_text))
        self.pairs.add_winners(rows)

    def finish(self) -> None:
        self.systems.finish()
        self.hits.finish(self.units.ids)
        self.pairs.finish()

    def _credited_captions(self, rows: list[CreditedRow]) -> Iterator[CreditedCaption]:
        last_rows = {row.unit: row for row in rows}.values()
        self.captions.add_options(last_rows)
        for row in last_rows:
            item = self.items[_image_of(row, self.captions.dataset)]
            credited = [
                (row.of_side(side), getattr(row, side), getattr(row, f"{side}_text")) for side in SIDES
            ]
            credited += [
                (row.credits[option["key"]], self.captions.reference(option["key"]), option["text"])
                for option in _credited_options(row)
            ]
            for credits, key, text in credited:
                for credit in credits:
                    if credit.rank is None and not (row.second is None and row.second_text is None):
                        continue  # its pair says whose it is
                    yield CreditedCaption(credit, item, self.captions.id_of(key, text, row.unit) or 0)

    def _add_revision(self, row: JudgmentRow) -> None:
        """Replace the former answer if the file has it, else count the revision."""
        values = dict(zip(JUDGMENT_FIELDS, self._values(row), strict=True))
        former = Judgment.objects.filter(
            assignment_id=values["assignment_id"], unit_id=values["unit_id"], replaced_by__isnull=True
        ).first()
        signals = {} if former else {IMPORTED_REVISION: row.revision}
        Judgment.objects.create(**values, signals=signals, replaces=former)

    def _moved(self, row: JudgmentRow) -> Any:
        """Return the stored answer, with its marks where they are in the writing of the text that is kept."""
        answer, marks = row.stored, self.kind.marks
        if marks is None or row.first_text is None:
            return answer
        stored = self.captions.texts[self.captions.id_of(row.first, row.first_text, row.unit) or 0]
        return (
            answer if stored == row.first_text else marks.move(answer, written=row.first_text, stored=stored)
        )

    def _values(self, row: JudgmentRow) -> tuple[Any, ...]:
        """Return the values of ``JUDGMENT_FIELDS``."""
        return (
            self.assignments.id_of(row),
            self.units.ids[row.unit],
            row.value if row.stored is None else None,
            self._moved(row),
            row.presented or "",
            row.seconds,
            row.wall_seconds,
            row.comment,
            not row.used,
        )


def _assignment_key(row: JudgmentRow) -> tuple[str, str]:
    return row.worker, row.assignment or row.hit or ""


def _image_of(row: JudgmentRow, dataset: Dataset) -> str:
    if row.image is None:
        raise DataConflict(
            f"Unit {row.unit!r} names no image; expected one of dataset {dataset.name!r} "
            "(the command `agreement` takes files without images)."
        )
    return row.image


def _credited_options(row: CreditedRow) -> list[Mapping[str, str]]:
    return [option for option in row.options() if option.get("key") in row.credits]


def _texts_without_system(row: JudgmentRow, sides: Collection[str]) -> frozenset[str]:
    """Return the candidates that people wrote."""
    texts = {"first": row.first_text, "second": row.second_text}
    return frozenset(one_text(text) for side, text in texts.items() if text is not None and side not in sides)
