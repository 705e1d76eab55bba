"""The ranked lists that systems' outputs form: all outputs of a system for one query, in the order of their ranks.

For the task "annotation" a query is an image, for which captions are ranked. For "search" a query is a caption, for
which images are ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from operator import attrgetter
from typing import Any

from common.rows.batches import KEYS_PER_QUERY, batched
from common.texts import one_text
from judgments.datasets.importing.base import ROWS_PER_BATCH
from judgments.models import Dataset, Output, System

# by row ids of system and query: the item at each rank
StoredLists = defaultdict[tuple[int, int], dict[int, Any]]


def stored_lists(
    task: Output.Task, *, systems: Collection[int], queries: Collection[int], partly_known: Collection[int]
) -> StoredLists:
    """Return the stored ranked lists: by system and query, the item at each rank.

    Systems, queries and images are row ids. The items of task "annotation" are caption texts in normal form. An item
    that a list repeats counts at its best rank. Ranks are made consecutive, except those of the systems in
    ``partly_known``: only judged outputs of these systems are stored, so gaps are other outputs
    (`Dataset.known_in_part`).
    """
    is_annotation = task == Output.Task.ANNOTATION
    query_column, item_column = ("item_id", "caption__text") if is_annotation else ("caption_id", "item_id")
    lists: StoredLists = defaultdict(dict)
    for batch in batched(sorted(queries), KEYS_PER_QUERY):
        rows = Output.objects.filter(task=task, system__in=systems, **{f"{query_column}__in": batch})
        ordered_rows = rows.order_by("system_id", query_column, "rank")
        values = ordered_rows.values_list("system_id", query_column, item_column, "rank")
        for system, query, item, rank in values.iterator(ROWS_PER_BATCH):
            ranked_items = lists[system, query]
            item = one_text(item) if is_annotation else item
            if item not in ranked_items.values():
                ranked_items[rank if system in partly_known else len(ranked_items) + 1] = item
    return lists


def renumber_ranks(system: System, task: Output.Task) -> None:
    """Make the ranks of a system's lists consecutive. An item that a list repeats gets a rank after all others."""
    rows = list(Output.objects.filter(system=system, task=task).select_related("caption"))
    is_annotation = task == Output.Task.ANNOTATION
    lists: defaultdict[int, list[Any]] = defaultdict(list)
    new_ranks: dict[int, int] = {}
    # above all present ranks, and above the new ranks of items that are not repeated, which are at most len(rows)
    first_unused_rank = max((row.rank for row in rows), default=0) + len(rows) + 1
    for row_index, row in enumerate(sorted(rows, key=attrgetter("rank", "pk"))):
        ranked_items = lists[row.item_id if is_annotation else row.caption_id]
        item = one_text(row.caption.text) if is_annotation else row.item_id
        if item in ranked_items:
            new_ranks[row.pk] = first_unused_rank + len(rows) + row_index  # above the temporary ranks below
        else:
            ranked_items.append(item)
            new_ranks[row.pk] = len(ranked_items)
    changed_rows = [row for row in rows if row.rank != new_ranks[row.pk]]
    # The database requires distinct ranks within a list at every step, so first give each row an unused rank.
    for row_index, row in enumerate(changed_rows):
        row.rank = first_unused_rank + row_index
    Output.objects.bulk_update(changed_rows, ["rank"], batch_size=KEYS_PER_QUERY)
    for row in changed_rows:
        row.rank = new_ranks[row.pk]
    Output.objects.bulk_update(changed_rows, ["rank"], batch_size=KEYS_PER_QUERY)


def mark_lists_complete(dataset: Dataset, system: str, task: str) -> None:
    """Remove a system from `Dataset.known_in_part`, since its lists of this task are now stored completely.

    The caller opens the transaction.
    """
    known_in_part = dataset.known_in_part
    if task in known_in_part:
        known_in_part[task] = [name for name in known_in_part[task] if name != system]
    known_in_part = {name: systems for name, systems in known_in_part.items() if systems}  # by task
    if known_in_part != dataset.known_in_part:
        dataset.notes = {**dataset.notes, "known_in_part": known_in_part}
        dataset.save(update_fields=["notes"])
