"""Import the systems that a judgments file credits, as rows of the dataset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from common.audit import acting_person
from common.errors import DataConflict
from judgments.datasets.importing import check_own, known_lists, rank_by_place
from judgments.importers.records import HUMAN, HUMAN_OTHER, Credit, composed
from judgments.models import Caption, Dataset, Item, Output, System

ROWS_AT_ONCE = 2_000


class Credited(NamedTuple):
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
        there = {system.name: system for system in System.objects.filter(dataset=dataset)}
        self.systems = {composed(name): system for name, system in there.items()} | there
        self.in_part = {task: set(names) for task, names in self.dataset.known_in_part.items()}
        self.seen: set[Credited] = set()
        self.systems_added = self.outputs_added = 0

    def make_systems(self, credits: Iterable[Credit]) -> None:
        named, user = {credit.system for credit in credits}, acting_person()
        for name in sorted(named & self.systems.keys()):
            check_own(self.systems[name], user)
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

    def add(self, credited: Iterable[Credited]) -> None:
        """Add the outputs of credits; those without a rank are in no list."""
        fresh = dict.fromkeys(one for one in credited if one.credit.rank is not None and one not in self.seen)
        self.seen.update(fresh)
        for task in Output.Task:
            own = [one for one in fresh if one.credit.task == task]
            if own:
                self._add(task, own)

    def _add(self, task: Output.Task, credited: list[Credited]) -> None:
        for name in {one.credit.system for one in credited} - self.in_part.setdefault(task, set()):
            system = self.systems[name]
            if not _is_whole(system, task):
                rank_by_place(system, task)
                self.in_part[task].add(name)
        lists = known_lists(
            task,
            systems={self.systems[one.credit.system].pk for one in credited},
            queries={_query(task, one) for one in credited},
            placed={self.systems[name].pk for name in self.in_part[task]},
        )
        words = dict(
            Caption.objects.filter(pk__in={one.caption for one in credited}).values_list("pk", "text")
        )
        made = []
        for one in credited:
            system, rank = self.systems[one.credit.system], one.credit.rank
            assert rank is not None
            item = words[one.caption] if task == Output.Task.ANNOTATION else one.item
            known = lists[system.pk, _query(task, one)]
            if known.get(rank) == item:
                continue
            if rank in known or item in known.values() or system.name not in self.in_part[task]:
                raise self._contradiction(task, one, words[one.caption], known)
            known[rank] = item
            made.append(Output(system=system, item_id=one.item, caption_id=one.caption, task=task, rank=rank))
        Output.objects.bulk_create(made, batch_size=ROWS_AT_ONCE)
        self.outputs_added += len(made)

    def _contradiction(
        self, task: Output.Task, one: Credited, text: str, known: Mapping[int, str | int]
    ) -> DataConflict:
        image = Item.objects.get(pk=one.item).name
        rank, there = one.credit.rank, known.get(one.credit.rank or 0)
        if task == Output.Task.ANNOTATION:
            said = f"caption {text[:80]!r} at rank {rank} for image {image!r}"
            other = None if there is None else f"{str(there)[:80]!r}"
        else:
            said = f"image {image!r} at rank {rank} for caption {text[:80]!r}"
            other = None if there is None else repr(Item.objects.get(pk=there).name)
        knows = f"has {other} there" if other else "does not have it there"
        return DataConflict(
            f"The file says that system {one.credit.system!r} has {said}; in dataset {self.dataset.name!r} it {knows}."
        )

    def finish(self) -> None:
        found = {str(task): sorted(names) for task, names in sorted(self.in_part.items()) if names}
        if found != self.dataset.known_in_part:
            self.dataset.notes = {**self.dataset.notes, "known_in_part": found}
            self.dataset.save(update_fields=["notes"])

    def counts(self) -> dict[str, int]:
        found = {"systems added": self.systems_added, "systems' captions added": self.outputs_added}
        return found if any(found.values()) else {}


def _is_whole(system: System, task: Output.Task) -> bool:
    return bool(system.fingerprint if task == Output.Task.ANNOTATION else system.search_fingerprint)


def _query(task: Output.Task, one: Credited) -> int:
    return one.item if task == Output.Task.ANNOTATION else one.caption


def systems_of_credits(credits: Mapping[str, tuple[Credit, ...]]) -> dict[str, str]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, own in credits.items():
        found[key] += [credit.system for credit in own]
    return {key: names[0] for key, names in found.items() if names}
