"""Import one system's captions, boxes and keywords."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.functional import SimpleLazyObject

from common.errors import DataConflict
from common.incoming import compose_name
from common.rows.batches import KEYS_PER_QUERY, batched
from common.rows.fingerprints import Fingerprint, fingerprint_of
from common.rows.writing import insert_rows
from common.texts import one_text
from judgments.datasets.importing.base import (
    ROWS_PER_BATCH,
    ImportSummary,
    duplicates_as_conflict,
    estimated_share,
)
from judgments.datasets.importing.column_mappings import remember_mapping
from judgments.datasets.importing.ranked_lists import mark_lists_complete, renumber_ranks, stored_lists
from judgments.drawing.keys import candidate_key, text_key
from judgments.importers import ColumnMapping, open_candidates
from judgments.importers.notes import ImportNotes
from judgments.importers.records.rows import CandidateRow
from judgments.importers.records.sources import CandidateSource
from judgments.importers.records.values import ids_by_name
from judgments.importers.tables.candidates import TableCandidates
from judgments.importers.tables.parts import WHOLE_TABLE, TablePart
from judgments.models import Caption, Dataset, Item, Output, System, SystemContent
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_dataset


class _RankedRow(NamedTuple):
    """A caption to store, with the row id of its item and its rank among the system's captions for the item."""

    item: int
    rank: int
    row: CandidateRow


def import_candidates(
    *,
    format: str,
    path: Path,
    dataset: str,
    system: str,
    encoding: str | None = None,
    table_part: TablePart = WHOLE_TABLE,
    mapping: ColumnMapping | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import one system's captions, boxes and keywords.

    Args:
        table_part: the part of the table that has the system's captions.
        user: the owner of a new system, which is unpublished; None for a command.

    Raises:
        ObjectNotFound: there is no such dataset.
        ImportProblem: the file cannot be read, or names an unknown image or box.
        DataConflict: the system exists with other captions, boxes or keywords.
    """
    dataset_row = find_dataset(dataset)
    items = ids_by_name(Item.objects.filter(dataset=dataset_row).values_list("name", "pk"))
    system = compose_name(system)
    check_system_name(system)
    stored_system = System.objects.filter(dataset=dataset_row, name=system).first()
    check_system_owner(stored_system, user)
    source = open_candidates(format, path, encoding=encoding, table_part=table_part, mapping=mapping)
    if isinstance(source, TableCandidates):
        # lazy, since only some tables name items by their text or have boxes
        item_names = SimpleLazyObject(partial(names_by_text, dataset_row))
        image_boxes = SimpleLazyObject(partial(boxes_by_image, dataset_row, path))
        source.items_of = lambda text: item_names.get(text, ())
        source.boxes_of = lambda image: image_boxes.get(image, ())
    rows = source.candidates(items)
    # None if the file has only boxes and keywords; all of them are then read, and in ``source.contents``
    first_row = next(rows, None)
    with duplicates_as_conflict(f"System {system!r}"), transaction.atomic():
        system_row = stored_system or System.objects.create(
            dataset=dataset_row, name=system, owner=user, private=user is not None
        )
        if first_row is None:
            summary = ImportSummary(system, False, {"captions": 0}, source.notes.sentences())
        else:
            rows = chain((first_row,), rows)
            summary = _import_captions(
                system_row, rows, items, source, is_new=stored_system is None, progress=progress
            )
        new_counts = _store_contents(system_row, source.contents, items)
        if stored_system is None:
            remember_mapping(dataset_row, "import_candidates", mapping)
    counts = summary.counts | {f"images with {kind}": count for kind, count in new_counts.items() if count}
    return replace(summary, created=summary.created or any(new_counts.values()), counts=counts)


def check_system_name(name: str) -> None:
    if not name.strip() or len(name) > 80 or not name.isprintable():
        raise DataConflict(f"The system's name is {name!r}; expected 1 to 80 visible characters.")


def check_system_owner(system: System | None, user: User | None) -> None:
    """Raise DataConflict for another person's unpublished system, without revealing its contents."""
    if system is not None and system.private and user is not None and system.owner_id != user.pk:
        raise DataConflict(f"There is a system {system.name!r} already; choose another name.")


def names_by_text(dataset: Dataset) -> dict[str, list[str]]:
    """Return the names of the items with each source text, by the text in normal form."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    items = Item.objects.filter(dataset=dataset).exclude(text="").order_by("position")
    for name, text in items.values_list("name", "text").iterator(ROWS_PER_BATCH):
        names[one_text(text)].append(name)
    return names


def boxes_by_image(dataset: Dataset, path: Path) -> dict[str, list[str]]:
    """Return the ids of each image's boxes, by the image's name. Raise DataConflict if no image has boxes."""
    rows = Item.objects.filter(dataset=dataset).exclude(boxes=[]).values_list("name", "boxes")
    boxes = {name: [box["id"] for box in item_boxes] for name, item_boxes in rows.iterator(ROWS_PER_BATCH)}
    if not boxes:
        raise DataConflict(
            f"{path} names boxes, but no image of dataset {dataset.name!r} has any; expected a dataset that was "
            "imported with a column boxes."
        )
    return boxes


def store_candidates(dataset: Dataset, texts: Iterable[str]) -> dict[str, int]:
    """Store candidate captions that the dataset does not have yet. Return the row ids of all, by text.

    Texts with the same normal form share one caption, which keeps the spelling that was stored first. If several
    spellings are new, the caption gets the normal form if that is one of them.
    """
    key_by_text = {text: text_key(text) for text in texts}
    text_by_key: dict[str, str] = {}
    for text in sorted(key_by_text, key=lambda text: (text != one_text(text), text)):  # normal forms first
        text_by_key.setdefault(key_by_text[text], text)
    id_by_key: dict[str, int] = {}
    for batch in batched(sorted(text_by_key), KEYS_PER_QUERY):
        captions = Caption.objects.filter(dataset=dataset, text_key__in=batch, role=Caption.Role.CANDIDATE)
        # A dataset may have several spellings of a text. With the newest first, update() keeps the id of the oldest.
        stored_ids = captions.order_by("-pk").values_list("text_key", "pk")
        id_by_key.update(stored_ids)
        new_texts = [text_by_key[key] for key in batch if key not in id_by_key]
        if new_texts:
            Caption.objects.bulk_create(
                (
                    Caption(dataset=dataset, key=candidate_key(text), text=text, role=Caption.Role.CANDIDATE)
                    for text in new_texts
                ),
                ignore_conflicts=True,
            )
            # with ignore_conflicts, which spares captions of another import, no ids are returned
            id_by_key.update(stored_ids.all())
    return {text: id_by_key[key] for text, key in key_by_text.items()}


def _import_captions(
    system: System,
    rows: Iterable[CandidateRow],
    items: dict[str, int],
    source: CandidateSource,
    *,
    is_new: bool,
    progress: Progress,
) -> ImportSummary:
    """Store a new system's captions.

    If only some captions of the system are stored, store the others. If all are stored, compare them with the file.
    """
    if not is_new and not system.fingerprint:  # published pairs or an import of judgments made it
        return _complete_captions(system, rows, items, source.notes)
    if not is_new:
        outputs = system.outputs.annotations().values_list("item__name", "caption__text", "rank", "score")
        # the fingerprint also differs if the file has the same rows in another order, so compare the rows, too
        if fingerprint_of(rows) != system.fingerprint and not _has_same_rows(
            source.candidates(items), outputs
        ):
            raise _content_conflict(system, "captions")
        return ImportSummary(system.name, False, {"captions": system.outputs.annotations().count()})
    fingerprint = Fingerprint()
    # rank 0 means that the file states none; the row is then the only one of its item
    ranked_rows = (_RankedRow(items[row.image], row.rank or 1, row) for row in fingerprint.hash_rows(rows))
    stored_count = _store_outputs(system, ranked_rows, progress)
    system.fingerprint = fingerprint.hexdigest()
    system.save(update_fields=["fingerprint"])
    return ImportSummary(system.name, True, {"captions": stored_count}, source.notes.sentences())


def _store_outputs(
    system: System, ranked_rows: Iterable[_RankedRow], progress: Progress = no_progress
) -> int:
    stored_count = 0
    for batch in batched(ranked_rows, ROWS_PER_BATCH):
        captions = store_candidates(system.dataset, {row.text for _, _, row in batch})
        Output.objects.bulk_create(
            Output(system=system, item_id=item, caption_id=captions[row.text], rank=rank, score=row.score)
            for item, rank, row in batch
        )
        stored_count += len(batch)
        progress(estimated_share(stored_count), f"{stored_count:,} captions")
    return stored_count


def _content_conflict(system: System, noun: str) -> DataConflict:
    return DataConflict(
        f"Dataset {system.dataset.name!r} has a system {system.name!r} with other {noun}; choose another name."
    )


def _store_contents(
    system: System, contents: Mapping[tuple[str, str], Sequence[str]], items: dict[str, int]
) -> dict[str, int]:
    """Store a system's boxes and keywords. Return the number of new rows by kind.

    ``contents`` has the ids or words by image and kind, such as ``{("1.jpg", "keywords"): ("dog", "park")}``.

    Raises:
        DataConflict: the system has other boxes or keywords.
    """
    new_counts = {}
    for kind in SystemContent.Kind.values:
        names_by_image = {image: names for (image, row_kind), names in contents.items() if row_kind == kind}
        names_by_item = {items[image]: list(names) for image, names in names_by_image.items()}
        old_rows = system.contents.filter(kind=kind).values_list("item", "names")
        stored_names = dict(old_rows) if names_by_item else {}  # a file without this kind contradicts nothing
        if stored_names and stored_names != names_by_item:
            raise _content_conflict(system, kind)
        new_items = [] if stored_names else names_by_item.items()
        rows = [(system.pk, item, kind, names) for item, names in new_items]
        new_counts[kind] = insert_rows(SystemContent, ("system_id", "item_id", "kind", "names"), rows)
    return new_counts


def _has_same_rows(
    rows: Iterable[CandidateRow], stored_outputs: Iterable[tuple[str, str, int, float | None]]
) -> bool:
    """Return whether rows and stored outputs have equal items, texts (in normal form), ranks and scores."""
    stored_rows = {(item, one_text(text), rank, score) for item, text, rank, score in stored_outputs}
    file_outputs = {(row.image, one_text(row.text), row.rank or 1, row.score) for row in rows}
    return file_outputs == stored_rows


@transaction.atomic
def _complete_captions(
    system: System, rows: Iterable[CandidateRow], items: dict[str, int], notes: ImportNotes
) -> ImportSummary:
    """Store the missing captions of a system, of which published pairs or an import of judgments had some.

    Raises:
        DataConflict: the file contradicts the stored captions.
    """
    # the lock serialises imports that change ``known_in_part`` of the dataset
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=system.dataset_id)
    task = Output.Task.ANNOTATION  # lists of captions for images, not of images for captions
    # The ranks of a system that is known in part are positions in its whole list. Those of another system may have gaps
    # without a meaning, which are closed before ranks are compared with those of the file.
    if system.name not in dataset.known_in_part.get(task, ()):
        renumber_ranks(system, task)
    fingerprint = Fingerprint()
    rows_by_item = _distinct_rows(fingerprint.hash_rows(rows), items)
    if not rows_by_item:
        raise DataConflict(f"The file holds no captions; system {system.name!r} was left as it is.")
    # ``partly_known`` keeps the stored ranks as they are; items without stored captions have empty lists
    old_lists = stored_lists(task, systems={system.pk}, queries=set(items.values()), partly_known={system.pk})
    for (_, item), old_texts in old_lists.items():
        text_by_rank = dict(enumerate((one_text(row.text) for row in rows_by_item.get(item, ())), start=1))
        if any(text_by_rank.get(rank) != text for rank, text in old_texts.items()):
            raise _content_conflict(system, "captions")
    _update_scores(system, rows_by_item)
    ranked_rows = _ranked_rows(rows_by_item)
    _store_outputs(system, (row for row in ranked_rows if row.rank not in old_lists[system.pk, row.item]))
    system.fingerprint = fingerprint.hexdigest()
    system.save(update_fields=["fingerprint"])
    mark_lists_complete(dataset, system.name, task)
    caption_count = system.outputs.annotations().count()
    return ImportSummary(system.name, True, {"captions": caption_count}, notes.sentences())


def _distinct_rows(rows: Iterable[CandidateRow], items: Mapping[str, int]) -> dict[int, list[CandidateRow]]:
    """Return the rows of each item by rank, without texts that a better rank has. ``items`` has row ids by name."""
    rows_by_item: defaultdict[int, list[CandidateRow]] = defaultdict(list)
    for row in rows:
        rows_by_item[items[row.image]].append(row)
    distinct_rows: dict[int, list[CandidateRow]] = {}
    for item, item_rows in rows_by_item.items():
        best_rows: dict[str, CandidateRow] = {}
        for row in sorted(item_rows, key=attrgetter("rank")):
            best_rows.setdefault(one_text(row.text), row)
        distinct_rows[item] = list(best_rows.values())
    return distinct_rows


def _update_scores(system: System, rows_by_item: Mapping[int, Sequence[CandidateRow]]) -> None:
    """Set the scores of a system's stored outputs to those of the file, whose rows of each item are in rank order."""
    outputs = list(system.outputs.annotations())
    for output in outputs:
        item_rows = rows_by_item.get(output.item_id, ())
        if output.rank <= len(item_rows):
            output.score = item_rows[output.rank - 1].score
    Output.objects.bulk_update(outputs, ["score"], batch_size=KEYS_PER_QUERY)


def _ranked_rows(rows_by_item: Mapping[int, Sequence[CandidateRow]]) -> Iterator[_RankedRow]:
    """Yield the rows of each item with their ranks, counted from 1."""
    for item, item_rows in rows_by_item.items():
        for rank, row in enumerate(item_rows, start=1):
            yield _RankedRow(item, rank, row)
