"""Import ranked lists from TREC runs: atomic and idempotent."""

from __future__ import annotations

from pathlib import Path

from django.db import IntegrityError, transaction

from common.errors import DataConflict
from common.rows import insert_rows, refresh_statistics
from common.streams import fingerprint_of
from judgments.datasets.importing import ImportSummary, know_whole
from judgments.importers import read_runs
from judgments.importers.errors import ImportNotes
from judgments.importers.records import HUMAN, HUMAN_OTHER
from judgments.models import Caption, Dataset, Item, Output, System
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import find_dataset

RankedRow = tuple[int, int, int, float]  # row ids of query and item, rank from 1, score


def import_rankings(
    *,
    path: Path,
    dataset: str,
    task: str,
    depth: int | None = None,
    encoding: str | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Store ranked lists from a TREC run of any number of systems.

    Args:
        task: ``annotation``: an image is the query, caption ids are ranked; ``search``: a caption id is
            the query, images are ranked (H13 §4).
        depth: length to which lists are cut; None: all.

    Raises:
        NotThere: no such dataset. ImportProblem: an unreadable file, or unknown names. DataConflict: a
            system exists with other lists for this task.
    """
    items = dict(Item.objects.filter(dataset=find_dataset(dataset)).values_list("name", "pk"))
    captions = dict(Caption.objects.filter(dataset__name=dataset).values_list("key", "pk"))
    queries, ranked = (items, captions) if task == Output.Task.ANNOTATION else (captions, items)
    notes = ImportNotes()
    runs = read_runs(path, queries=queries, ranked=ranked, encoding=encoding, progress=progress)
    lists = stored = 0
    try:
        with transaction.atomic():
            # Serialise imports that change what is known of a dataset's systems.
            held = Dataset.objects.select_for_update(no_key=True).get(name=dataset)
            for name, run in sorted(runs.items()):
                rows = run.in_order(depth, notes)
                lists += sum(rank == 1 for _, _, rank, _ in rows)
                stored += _store_run(held, name, task, rows)
                progress(0.9, f"{stored:,} ranked items")
            refresh_statistics(Output)
    except IntegrityError as error:
        raise DataConflict(
            f"{path} was not imported: another import stored the same systems at the same time; look at what is there."
        ) from error
    counts = {"systems": len(runs), "lists": lists, "ranked items": stored}
    return ImportSummary(", ".join(sorted(runs)), stored > 0, counts, notes.sentences())


def _store_run(dataset: Dataset, name: str, task: str, rows: list[RankedRow]) -> int:
    """Store the missing rows of a system's lists; return their number.

    A system known in part from a judgments file is completed if the lists agree.

    Raises:
        DataConflict: the system exists with other lists for this task.
    """
    kept = "fingerprint" if task == Output.Task.ANNOTATION else "search_fingerprint"
    query, item = ("item_id", "caption_id") if task == Output.Task.ANNOTATION else ("caption_id", "item_id")
    digest = fingerprint_of(rows)
    system = System.objects.filter(dataset=dataset, name=name).first() or System(dataset=dataset, name=name)
    if system.human or name in (HUMAN, HUMAN_OTHER):
        raise DataConflict(
            f"The run names the system {name!r}, which stands for people's captions; choose another name."
        )
    known: set[tuple[int, int, int]] = set()
    if system.pk:
        if getattr(system, kept) == digest:
            return 0
        known = set(system.outputs.filter(task=task).values_list(query, item, "rank"))
    in_part = name in dataset.known_in_part.get(task, ())
    if known and (not in_part or not known <= {row[:3] for row in rows}):
        raise DataConflict(
            f"Dataset {dataset.name!r} has a system {name!r} with other lists for {task}; choose another name."
        )
    setattr(system, kept, digest)
    system.save()
    know_whole(dataset, name, task)
    return insert_rows(
        Output,
        ("system_id", query, item, "task", "rank", "score"),
        ((system.pk, *row[:2], task, *row[2:]) for row in rows if row[:3] not in known),
    )
