"""Import the ranked lists of systems from a TREC run."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import DataConflict
from common.rows.fingerprints import fingerprint_of
from common.rows.loads import refresh_statistics
from common.rows.writing import insert_rows
from judgments.datasets.importing.base import ImportSummary, duplicates_as_conflict
from judgments.datasets.importing.candidates import check_system_owner
from judgments.datasets.importing.ranked_lists import mark_lists_complete
from judgments.importers.notes import ImportNotes
from judgments.importers.records.rows import HUMAN_OTHER, HUMAN_SYSTEM
from judgments.importers.records.values import ids_by_name
from judgments.importers.trec import read_runs
from judgments.models import Caption, Dataset, Item, Output, System
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_dataset

# row ids of query and item, rank from 1, score; no class, since the fingerprint of a run is a hash of these tuples
RankedItem = tuple[int, int, int, float]


def import_rankings(
    *,
    path: Path,
    dataset: str,
    task: str,
    depth: int | None = None,
    encoding: str | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Store ranked lists from a TREC run of any number of systems.

    Args:
        task: ``annotation``: each query is an image and captions are ranked; ``search``: each query is a caption
            and images are ranked (Hodosh et al. 2013, section 4).
        depth: length to which lists are cut.
        user: the owner of new systems, which are unpublished; None for a command.

    Raises:
        ObjectNotFound: there is no such dataset.
        ImportProblem: the file cannot be read, or has unknown names.
        DataConflict: a system exists with other lists for this task.
    """
    items = ids_by_name(Item.objects.filter(dataset=find_dataset(dataset)).values_list("name", "pk"))
    captions = ids_by_name(Caption.objects.filter(dataset__name=dataset).values_list("key", "pk"))
    queries, ranked_ids = (items, captions) if task == Output.Task.ANNOTATION else (captions, items)
    notes = ImportNotes()
    runs = read_runs(path, queries=queries, items=ranked_ids, encoding=encoding, progress=progress)
    list_count = stored_count = 0
    with duplicates_as_conflict(str(path), "the same systems"), transaction.atomic():
        # The lock serialises imports that change ``known_in_part`` of the dataset.
        dataset_row = Dataset.objects.select_for_update(no_key=True).get(name=dataset)
        for name, run in sorted(runs.items()):
            rows = run.entries_in_order(depth, notes)
            list_count += sum(rank == 1 for _, _, rank, _ in rows)
            stored_count += _store_run(dataset_row, name, task, rows, user)
            progress(0.9, f"{stored_count:,} ranked items")
        refresh_statistics(Output)  # those of the database's query planner
    counts = {"systems": len(runs), "lists": list_count, "ranked items": stored_count}
    return ImportSummary(", ".join(sorted(runs)), stored_count > 0, counts, notes.sentences())


def _store_run(dataset: Dataset, name: str, task: str, rows: list[RankedItem], user: User | None) -> int:
    """Store a system's ranked lists, except the rows that are stored already. Return the number of new rows.

    Raises:
        DataConflict: the stored rows contradict the lists, or the system stands for people or is another person's.
    """
    is_annotation = task == Output.Task.ANNOTATION
    fingerprint_field = "fingerprint" if is_annotation else "search_fingerprint"
    query_column, item_column = ("item_id", "caption_id") if is_annotation else ("caption_id", "item_id")
    digest = fingerprint_of(rows)
    system = System.objects.filter(dataset=dataset, name=name).first() or System(
        dataset=dataset, name=name, owner=user, private=user is not None
    )
    check_system_owner(system, user)
    if system.human or name in (HUMAN_SYSTEM, HUMAN_OTHER):
        raise DataConflict(
            f"The run names the system {name!r}, which stands for people's captions; choose another name."
        )
    stored_rows: set[tuple[int, int, int]] = set()  # query, item and rank
    if system.pk:
        if getattr(system, fingerprint_field) == digest:
            return 0
        stored_rows = set(system.outputs.filter(task=task).values_list(query_column, item_column, "rank"))
    # an import of judgments may have stored some rows of the lists; a run that has all of these completes the lists
    is_partly_known = name in dataset.known_in_part.get(task, ())
    can_be_completed = is_partly_known and stored_rows <= {
        (query, item, rank) for query, item, rank, _ in rows
    }
    if stored_rows and not can_be_completed:
        raise DataConflict(
            f"Dataset {dataset.name!r} has a system {name!r} with other lists for {task}; choose another name."
        )
    setattr(system, fingerprint_field, digest)
    system.save()
    mark_lists_complete(dataset, name, task)
    columns = ("system_id", query_column, item_column, "task", "rank", "score")
    missing_rows = (
        (system.pk, query, item, task, rank, score)
        for query, item, rank, score in rows
        if (query, item, rank) not in stored_rows
    )
    return insert_rows(Output, columns, missing_rows)
