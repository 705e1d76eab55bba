"""Store the systems that a file of judgments credits, and the systems' outputs.

A system has a ranked list for each query: for the task "annotation" the captions of an image, for "search" the images
of a caption. A file of judgments has only the judged part of these lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from common.audit import acting_person
from common.errors import DataConflict
from common.incoming import compose_name
from common.rows.batches import KEYS_PER_QUERY, batched
from common.texts import one_text, quote_difference
from judgments.datasets.importing.base import ROWS_PER_BATCH
from judgments.datasets.importing.candidates import check_system_owner
from judgments.datasets.importing.ranked_lists import renumber_ranks, stored_lists
from judgments.importers.records.rows import HUMAN_OTHER, HUMAN_SYSTEM, Credit, CreditedRow
from judgments.models import Caption, Dataset, Item, Output, System


class CreditedCaption(NamedTuple):
    """A caption that an imported file attributes to a system, with the row ids of its image and of the caption."""

    credit: Credit
    item: int
    caption: int


class SystemWriter:
    """A writer that adds missing systems and outputs in batches, and refuses contradictions.

    Since a file of judgments has only a part of a system's lists, the dataset stores which systems are partly known.
    The import of a system's own file ends this.

    Attributes:
        by_name: the systems of the dataset, by their names, also in Unicode's composed form (NFC).
        partly_known: the names of systems whose lists are partly known, by task.
        added_captions: the captions that earlier batches credited.
        without_rank: captions that have no rank, in the order of the file. ``finish`` stores their outputs.
    """

    def __init__(self, dataset: Dataset) -> None:
        # Locked, since ``finish`` replaces the notes of the dataset.
        self.dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        systems = {system.name: system for system in System.objects.filter(dataset=dataset)}
        self.by_name = {compose_name(name): system for name, system in systems.items()} | systems
        self.partly_known = {task: set(names) for task, names in self.dataset.known_in_part.items()}
        self.added_captions: set[CreditedCaption] = set()
        self.without_rank: dict[CreditedCaption, None] = {}  # an ordered set
        self.systems_added = self.outputs_added = 0

    def add(self, rows: Iterable[CreditedRow]) -> None:
        names: set[str] = set()
        for row in rows:
            for credits in row.credits.values():
                names.update(credit.system for credit in credits)
        user = acting_person()
        for name in sorted(names & self.by_name.keys()):
            check_system_owner(self.by_name[name], user)
        new_systems = System.objects.bulk_create(
            System(
                dataset=self.dataset,
                name=name,
                human=name in (HUMAN_SYSTEM, HUMAN_OTHER),
                owner=user,  # and not private, since the next file of judgments may name the system, too
            )
            for name in sorted(names - self.by_name.keys())
        )
        self.by_name.update({system.name: system for system in new_systems})
        self.systems_added += len(new_systems)

    def add_outputs(self, captions: Iterable[CreditedCaption]) -> None:
        """Add the outputs with a rank. ``finish`` adds those without a rank, after all outputs with one."""
        new_captions = dict.fromkeys(caption for caption in captions if caption not in self.added_captions)
        self.added_captions.update(new_captions)
        self.without_rank |= dict.fromkeys(caption for caption in new_captions if caption.credit.rank is None)
        self._add_by_task([caption for caption in new_captions if caption.credit.rank is not None])

    def finish(self) -> None:
        """Add the outputs without a rank, and note which systems are partly known."""
        texts: dict[int, str] = {}
        for pks in batched({caption.caption for caption in self.without_rank}, KEYS_PER_QUERY):
            texts.update(Caption.objects.filter(pk__in=pks).values_list("pk", "text"))
        # By text, so that the ranks of an image's captions do not depend on the order of the rows.
        ordered_captions = sorted(self.without_rank, key=lambda caption: texts[caption.caption])
        for batch in batched(ordered_captions, ROWS_PER_BATCH):
            self._add_by_task(batch)
        names_by_task = {
            str(task): sorted(names) for task, names in sorted(self.partly_known.items()) if names
        }
        if names_by_task != self.dataset.known_in_part:
            self.dataset.notes = {**self.dataset.notes, "known_in_part": names_by_task}
            self.dataset.save(update_fields=["notes"])

    def counts(self) -> dict[str, int]:
        counts = {"systems added": self.systems_added, "systems' captions added": self.outputs_added}
        return counts if any(counts.values()) else {}

    def _add_by_task(self, captions: Sequence[CreditedCaption]) -> None:
        for task in Output.Task:
            task_captions = [caption for caption in captions if caption.credit.task == task]
            if task_captions:
                self._add_outputs(task, task_captions)

    def _add_outputs(self, task: Output.Task, captions: list[CreditedCaption]) -> None:
        """Add the outputs of one task that the dataset lacks. Raise DataConflict if they contradict its outputs."""
        partly_known_names = self._mark_partly_known(task, {caption.credit.system for caption in captions})
        lists = stored_lists(
            task,
            systems={self.by_name[caption.credit.system].pk for caption in captions},
            queries={_query_id(task, caption) for caption in captions},
            partly_known={self.by_name[name].pk for name in partly_known_names},
        )
        texts = dict(
            Caption.objects.filter(pk__in={caption.caption for caption in captions}).values_list("pk", "text")
        )
        outputs = []
        for caption in captions:
            system, rank = self.by_name[caption.credit.system], caption.credit.rank
            answer = one_text(texts[caption.caption]) if task == Output.Task.ANNOTATION else caption.item
            ranking = lists[system.pk, _query_id(task, caption)]  # the system's answers to the query, by rank
            if rank is None and answer in ranking.values():
                continue
            rank = rank or max(ranking, default=0) + 1  # without a rank, it comes last
            if ranking.get(rank) == answer:
                continue
            if rank in ranking or answer in ranking.values() or system.name not in partly_known_names:
                raise self._conflict(task, caption, texts[caption.caption], ranking)
            ranking[rank] = answer
            outputs.append(
                Output(system=system, item_id=caption.item, caption_id=caption.caption, task=task, rank=rank)
            )
        Output.objects.bulk_create(outputs, batch_size=ROWS_PER_BATCH)
        self.outputs_added += len(outputs)

    def _mark_partly_known(self, task: Output.Task, names: Iterable[str]) -> set[str]:
        """Mark systems as partly known unless their own file was imported, and return all that are partly known.

        Only the lists of these systems can get further outputs. Their ranks are made consecutive once, when the first
        file of judgments names them.
        """
        partly_known_names = self.partly_known.setdefault(task, set())
        for name in set(names) - partly_known_names:
            system = self.by_name[name]
            own_file = system.fingerprint if task == Output.Task.ANNOTATION else system.search_fingerprint
            if not own_file:
                renumber_ranks(system, task)
                partly_known_names.add(name)
        return partly_known_names

    def _conflict(
        self, task: Output.Task, caption: CreditedCaption, text: str, ranking: Mapping[int, str | int]
    ) -> DataConflict:
        image = Item.objects.get(pk=caption.item).name
        answer = ranking.get(caption.credit.rank or 0)
        rank_in_words = f"at rank {caption.credit.rank}" if caption.credit.rank else "at some rank"
        if task == Output.Task.ANNOTATION:
            quoted_text, dataset_text = quote_difference(text, str(answer or ""))
            claim = f"caption {quoted_text} {rank_in_words} for image {image!r}"
            dataset_answer = None if answer is None else dataset_text
        else:
            claim = f"image {image!r} {rank_in_words} for caption {text[:80]!r}"
            dataset_answer = None if answer is None else repr(Item.objects.get(pk=answer).name)
        fact = f"has {dataset_answer} there" if dataset_answer else "does not have it there"
        return DataConflict(
            f"The file says that system {caption.credit.system!r} has {claim}; "
            f"in dataset {self.dataset.name!r} it {fact}."
        )


def _query_id(task: Output.Task, caption: CreditedCaption) -> int:
    """Return the row id of the image or caption whose list has the credited answer."""
    return caption.item if task == Output.Task.ANNOTATION else caption.caption
