"""The lists of systems as the dataset knows them: captions of an image, or images for a caption, by place from 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from judgments.models import Dataset, Output, System
from judgments.streams import batched

ROWS_AT_ONCE = 2_000
IN_ONE_QUERY = 500
Lists = defaultdict[tuple[int, int], dict[int, Any]]


def known_lists(
    task: Output.Task, *, systems: Collection[int], queries: Collection[int], placed: Collection[int]
) -> Lists:
    """(system, image or asking caption) -> place -> text of the caption, or image; what comes twice stands at its best.

    Args:
        placed: systems whose ranks are places.
    """
    by_image = task == Output.Task.ANNOTATION
    query, item = ("item_id", "caption__text") if by_image else ("caption_id", "item_id")
    found: Lists = defaultdict(dict)
    for some in batched(sorted(queries), IN_ONE_QUERY):
        rows = Output.objects.filter(task=task, system__in=systems, **{f"{query}__in": some})
        columns = rows.order_by("system_id", query, "rank").values_list("system_id", query, item, "rank")
        for system, asked, value, rank in columns.iterator(ROWS_AT_ONCE):
            own = found[system, asked]
            if value not in own.values():
                own[rank if system in placed else len(own) + 1] = value
    return found


def rank_by_place(system: System, task: Output.Task) -> None:
    """Let the ranks of a system's outputs be their places, which they may have been all the time."""
    rows = list(Output.objects.filter(system=system, task=task).select_related("caption"))
    by_image = task == Output.Task.ANNOTATION
    lists: defaultdict[int, list[Any]] = defaultdict(list)
    places: dict[int, int] = {}
    beyond = max((row.rank for row in rows), default=0) + len(rows) + 1
    for number, row in enumerate(sorted(rows, key=lambda one: (one.rank, one.pk))):
        own = lists[row.item_id if by_image else row.caption_id]
        value = row.caption.text if by_image else row.item_id
        if value in own:  # it stands in the list already, and takes nobody's place
            places[row.pk] = beyond + len(rows) + number
        else:
            own.append(value)
            places[row.pk] = len(own)
    changed = [row for row in rows if row.rank != places[row.pk]]
    for number, row in enumerate(changed):
        row.rank = (
            beyond + number
        )  # out of the way first: no two rows of a list have one rank, not even in between
    Output.objects.bulk_update(changed, ["rank"], batch_size=IN_ONE_QUERY)
    for row in changed:
        row.rank = places[row.pk]
    Output.objects.bulk_update(changed, ["rank"], batch_size=IN_ONE_QUERY)


def know_whole(dataset: Dataset, system: str, task: str) -> None:
    """Note that the system's lists of this task are known in part no longer; within the caller's transaction."""
    left = {
        name: [one for one in own if (name, one) != (task, system)]
        for name, own in dataset.known_in_part.items()
    }
    known_in_part = {name: own for name, own in left.items() if own}
    if known_in_part != dataset.known_in_part:
        dataset.notes = {**dataset.notes, "known_in_part": known_in_part}
        dataset.save(update_fields=["notes"])
