"""Systems' ranked lists of captions for an image, and of images for a caption, and which judged units score them.

``proposals_of`` reads them from the database. A release has them as rows, and ``sort_into_lists`` sorts both alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Case, Count, Max, Min, QuerySet, Value, When
from django.db.models.functions import Coalesce

from common.rows.batches import batched
from common.rows.reading import ROWS_PER_READ, columns_of, plain_rows
from evaluation.data.judgment_sets.loaders import documents_of
from judgments.kinds import KINDS
from judgments.models import Caption, Item, Output, Study, System, SystemContent, Unit
from quorum.numeric.arrays import Flags, Ints, pairs_of_equal, places_in
from quorum.statistics.inputs import encode

if TYPE_CHECKING:
    import pyarrow as pa

ANNOTATION, SEARCH = "annotation", "search"  # tasks of a list: captions for an image, images for a caption

NO_ORIGINAL = -1  # in ``Proposals.original``: the list has no original to find
NO_SYSTEM = -1  # in ``JudgedUnits.credits``: the system is unknown


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """U judged units in order.

    Attributes:
        pk: (U,) row ids.
        image, text: (U,) positions of the units' images and texts in ``Proposals``.
        credits: (C, 2) position of a unit, and position of a system that an imported file credits with the unit's text;
            NO_SYSTEM if the study has no such system.
    """

    pk: Ints
    image: Ints
    text: Ints
    credits: Ints

    @classmethod
    def from_rows(
        cls, rows: Sequence[tuple[int, int, int]], credits: Sequence[tuple[int, int]] = ()
    ) -> JudgedUnits:
        pk, image, text = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return cls(pk, image, text, np.array(credits, dtype=np.int64).reshape(-1, 2))


@dataclass(frozen=True, slots=True)
class Proposals:
    """N entries of systems' lists, ordered by system, task, query and position. A list has no item twice.

    Attributes:
        texts: for each text, the id of one of its captions; may be an Arrow array, as there can be millions.
        query_captions: ids of the captions that are queries.
        system, image, text: (N,) positions in `systems`, `images` and `texts`.
        query_caption: (N,) positions in `query_captions`; -1 if the image is the query.
        position: (N,) positions in the list, from 1; missing positions belong to unknown items.
        document: (images,) code of each image's document, or of the image itself.
        original: (N,) 1 if the caption was written for the image, 0 if not; -1 if the list has no original to find.
    """

    systems: Sequence[str]
    images: Sequence[str]
    texts: Sequence[str] | pa.Array
    query_captions: Sequence[str]
    system: Ints
    image: Ints
    text: Ints
    query_caption: Ints
    position: Ints
    original: Ints
    document: Ints
    units: JudgedUnits

    def __len__(self) -> int:
        return len(self.system)

    @property
    def is_search(self) -> Flags:
        """(N,) flags of entries of lists of images, whose query is a caption."""
        return self.query_caption >= 0

    @property
    def query(self) -> Ints:
        """(N,) positions of the query, in `query_captions` if it is a caption, else in `images`."""
        return np.where(self.is_search, self.query_caption, self.image)

    def text_keys(self, image: Ints, text: Ints) -> Ints:
        """Return a number for each pair of an image and a text."""
        keys: Ints = image * (len(self.texts) + 1) + text
        return keys

    def scored_entries(self) -> tuple[Ints, Ints]:
        """Return (K,) positions of entries, ascending, and (K,) positions of the units that score these entries.

        A unit scores the systems that its file credits, or else all systems that gave its text
        (``judgments.models.credits.credited_systems``).
        """
        units = self.units
        row, unit = pairs_of_equal(
            self.text_keys(self.image, self.text), self.text_keys(units.image, units.text)
        )
        if len(units.credits):
            has_credits = np.zeros(len(units.pk), dtype=np.bool_)
            has_credits[units.credits[:, 0]] = True
            # Compare pairs of a unit and a system as one number. NO_SYSTEM becomes 0.
            width = len(self.systems) + 1
            credit_keys = np.unique(units.credits[:, 0] * width + units.credits[:, 1] + 1)
            is_scored = ~has_credits[unit] | np.isin(unit * width + self.system[row] + 1, credit_keys)
            row, unit = row[is_scored], unit[is_scored]
        return row, unit


@dataclass(frozen=True, slots=True)
class ListRows:
    """Unsorted entries of lists, as in ``Proposals``.

    ``rank`` orders a list, and is the position if ``has_rank`` is true.
    """

    system: Ints
    image: Ints
    text: Ints
    query_caption: Ints
    rank: Ints
    original: Ints
    has_rank: Flags


def sort_into_lists(
    rows: ListRows,
    systems: Sequence[str],
    images: Sequence[str],
    texts: Sequence[str] | pa.Array,
    query_captions: Sequence[str],
    documents: Mapping[str, str],
    units: JudgedUnits,
) -> Proposals:
    """Return the rows sorted into lists. A repeated item is kept once, at its best position.

    ``documents`` has, by the name of each image of a document, the name of the document's first image.
    """
    is_search = rows.query_caption >= 0
    query = np.where(is_search, rows.query_caption, rows.image)
    # Sort by system, task, query and rank; equal ranks stay in their order.
    order = np.lexsort((np.arange(len(query)), rows.rank, query, is_search, rows.system))
    keys = np.stack([rows.system[order], is_search[order], query[order]])
    # Number the lists, and find the row with which the list of each row starts.
    starts_list = np.ones(len(order), dtype=bool)
    starts_list[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    list_number = np.cumsum(starts_list) - 1
    start = np.flatnonzero(starts_list)[list_number] if len(order) else list_number
    list_positions = np.arange(len(order)) - start + 1
    position = np.where(rows.has_rank[order], rows.rank[order], list_positions)
    # Keep the first row of each item in a list. Lists and items are compared as one number.
    item = np.where(is_search, rows.image, rows.text)[order]
    width = int(item.max(initial=0)) + 1
    _, first_rows = np.unique(list_number * width + item, return_index=True)
    is_first = np.zeros(len(order), dtype=bool)
    is_first[first_rows] = True
    # Positions are lower by the number of rows that were dropped before them in their list.
    drop_count = np.cumsum(~is_first)
    drop_count_at_start = np.concatenate([[0], drop_count])[start] if len(order) else drop_count
    kept_rows = order[is_first]
    return Proposals(
        systems, images, texts, query_captions,
        system=rows.system[kept_rows],
        image=rows.image[kept_rows],
        text=rows.text[kept_rows],
        query_caption=rows.query_caption[kept_rows],
        position=(position - (drop_count - drop_count_at_start))[is_first],
        original=rows.original[kept_rows],
        document=encode([documents.get(name, name) for name in images], "documents")[1],
        units=units,
    )  # fmt: skip


def _outputs_of(study: Study) -> QuerySet[Output]:
    return Output.objects.of_study(study)


def scored_rows(study: Study) -> QuerySet[Any]:
    """Return the rows of systems that the study's answers score: outputs, boxes or keywords.

    There are none for pairs.
    """
    kind = KINDS[study.protocol]
    if kind.system_content:
        return SystemContent.objects.of_study(study, kind.system_content)
    return _outputs_of(study) if kind.judges_one_caption else Output.objects.none()


def newest_output_id(study: Study) -> int:
    """Return the highest row id in ``scored_rows``, or 0 if there are none."""
    newest_row = scored_rows(study).aggregate(last=Max("pk"))
    return newest_row["last"] or 0


def proposals_of(study: Study) -> Proposals:
    """Return the entries of systems' lists: of captions for images of the judged splits, and of images for captions.

    A list of images is included if it has an image of the judged splits.
    """
    units = Unit.objects.filter(study=study, control=False, first__isnull=False).order_by("position", "pk")
    columns = columns_of(units.values_list("pk", "item_id", "first_id"), 3)
    unit, unit_image, unit_caption = columns.astype(np.int64)
    systems = dict(System.objects.of_study(study).values_list("pk", "name"))
    item_names: dict[int, str] = {}
    item_splits: dict[int, str] = {}
    item_rows = Item.objects.filter(dataset=study.dataset_id).order_by()
    for pk, name, split in plain_rows(item_rows.values_list("pk", "name", "split")):
        item_names[pk] = name
        item_splits[pk] = split
    judged_splits = {item_splits[item] for item in np.unique(unit_image).tolist()}
    split_items = np.array(
        [pk for pk, split in item_splits.items() if split in judged_splits], dtype=np.int64
    )
    system, item, caption, rank, task = _read_outputs(study, systems, split_items)
    is_search = task > 0
    if is_search.any():  # keep the whole list of a caption if it has an image of the splits
        is_in_split = np.isin(item, split_items)
        is_wanted = ~is_search | np.isin(caption, caption[is_search & is_in_split])
        system, item, caption, rank, is_search = (
            column[is_wanted] for column in (system, item, caption, rank, is_search)
        )
    if not len(system):
        return _no_proposals()
    captions = _read_captions(study, split_items, caption, unit_caption)
    query_captions = np.unique(caption[is_search])
    query_keys = captions.keys_of(query_captions)
    # Positions by name, in the order of names.
    system_positions = _positions_by_name(systems.values())
    image_positions = _positions_by_name(item_names.values())
    query_positions = _positions_by_name(query_keys)
    # Positions by row id.
    position_of_system = {pk: system_positions[name] for pk, name in systems.items()}
    position_of_item = {pk: image_positions[name] for pk, name in item_names.items()}
    position_of_query = {
        pk: query_positions[key] for pk, key in zip(query_captions.tolist(), query_keys, strict=True)
    }
    text = captions.text_of(caption)
    return sort_into_lists(
        ListRows(
            system=_map_values(system, position_of_system),
            image=_map_values(item, position_of_item),
            text=text,
            query_caption=np.where(is_search, _map_values(caption, position_of_query), -1),
            rank=rank,
            original=_originals_of(captions, item, caption, text, is_search),
            has_rank=_has_rank_as_position(study, systems, system, is_search),
        ),
        list(system_positions),
        list(image_positions),
        captions.texts,
        list(query_positions),
        {item_names[pk]: item_names[first] for pk, first in documents_of(study).items()},
        JudgedUnits(
            unit,
            image=_map_values(unit_image, position_of_item),
            text=captions.text_of(unit_caption),
            credits=_credits_of_file(study, unit, position_of_system),
        ),
    )


def _no_proposals() -> Proposals:
    no_entries = np.zeros(0, dtype=np.int64)
    return Proposals(
        systems=(),
        images=(),
        texts=(),
        query_captions=(),
        system=no_entries,
        image=no_entries,
        text=no_entries,
        query_caption=no_entries,
        position=no_entries,
        original=no_entries,
        document=no_entries,
        units=JudgedUnits.from_rows([]),
    )


def _positions_by_name(names: Iterable[str]) -> dict[str, int]:
    """Return the position of each distinct name in the sorted names."""
    return {name: position for position, name in enumerate(sorted(set(names)))}


def _credits_of_file(study: Study, units: Ints, position_of_system: Mapping[int, int]) -> Ints:
    """Return ``JudgedUnits.credits`` for (U,) row ids of units. Positions of systems are by row id."""
    rows = Unit.objects.filter(study=study, control=False, first__isnull=False).exclude(systems=[])
    credits: list[tuple[int, int]] = []  # row id of a unit, and position of a system
    for pk, systems in rows.order_by().values_list("pk", "systems").iterator(ROWS_PER_READ):
        credits += [(pk, position_of_system.get(system, NO_SYSTEM)) for system in systems]
    unit_ids, system_positions = np.array(credits, dtype=np.int64).reshape(-1, 2).T
    return np.stack([places_in(units, unit_ids), system_positions], axis=1)


def _read_outputs(study: Study, systems: Collection[int], items: Ints) -> Ints:
    """Return (5, N) columns in the order of row ids: system, image, caption, rank, and 1 for lists of images, else 0.

    Of the lists of captions, only those for ``items`` are read. ``systems`` are the row ids of the study's systems.
    """
    rows = _outputs_of(study).order_by()
    ids = rows.aggregate(first=Min("pk"), last=Max("pk"), count=Count("pk"))
    if ids["count"] and ids["last"] - ids["first"] < 2 * ids["count"]:
        # Reading the whole range is faster than looking up the rows of each system.
        rows = Output.objects.order_by().filter(pk__range=(ids["first"], ids["last"]))
    task = Case(When(task=Output.Task.SEARCH, then=1), default=0)
    columns = rows.values_list("system_id", "item_id", "caption_id", "rank", task, "pk")
    *fields, pk = columns_of(columns, 6).astype(np.int64)
    system, item, _, _, search = fields
    wanted_rows = np.flatnonzero(np.isin(system, list(systems)) & ((search > 0) | np.isin(item, items)))
    return np.stack(fields)[:, wanted_rows[np.argsort(pk[wanted_rows])]]


@dataclass(frozen=True, slots=True)
class _ListedCaptions:
    """C captions that stand in a list or are judged, or that were written for an image of the judged splits.

    Attributes:
        pk: (C,) row ids of captions.
        item: (C,) row ids of the images for which the captions were written, 0 for none.
        key: (C,) ids of the captions.
        text: (C,) positions of the captions' texts in `texts`.
        texts: for each text, the id of a caption with this text, preferably a judged caption.
    """

    pk: Ints
    item: Ints
    key: pa.ChunkedArray
    text: Ints
    texts: pa.Array

    def text_of(self, captions: Ints) -> Ints:
        return self.text[places_in(self.pk, captions)]

    def keys_of(self, captions: Ints) -> list[str]:
        keys: list[str] = self.key.take(places_in(self.pk, captions)).to_pylist()
        return keys


def _read_captions(study: Study, items: Ints, proposed_ids: Ints, judged_ids: Ints) -> _ListedCaptions:
    """Return the captions written for ``items``, the ones that systems proposed, and those of judged units."""
    import pyarrow as pa  # imported late, because it loads slowly

    rows = Caption.objects.filter(dataset=study.dataset_id).order_by("pk")
    columns = rows.values_list("pk", Coalesce("item_id", Value(0)), "key", "text_key")
    schema = pa.schema(
        {"pk": pa.int64(), "item": pa.int64(), "key": pa.large_string(), "text_key": pa.large_string()}
    )
    wanted_captions, parts = encode(np.concatenate([proposed_ids, judged_ids]), "captions")[0], []
    for batch in batched(plain_rows(columns), ROWS_PER_READ):
        part = pa.record_batch(list(zip(*batch, strict=True)), schema=schema)
        # Both are sorted by row id, so only the wanted captions from ``first`` to ``last`` can be in the batch.
        first, last = np.searchsorted(wanted_captions, (batch[0][0], batch[-1][0] + 1))
        is_needed = np.isin(part["pk"], wanted_captions[first:last]) | np.isin(part["item"], items)
        parts.append(part.filter(is_needed))
    table = pa.Table.from_batches(parts, schema)
    pk, code = table["pk"].to_numpy(), _codes(table["text_key"])
    # Texts are numbered in order of occurrence: first those of judged units, then the others.
    order = np.concatenate([places_in(pk, judged_ids), np.arange(len(pk))])
    _, first_rows = np.unique(code[order], return_index=True)
    order_of_texts = np.argsort(first_rows)
    text_numbers = np.empty_like(order_of_texts)
    text_numbers[order_of_texts] = np.arange(len(order_of_texts))
    texts = table["key"].take(order[first_rows[order_of_texts]]).combine_chunks()
    return _ListedCaptions(pk, table["item"].to_numpy(), table["key"], text_numbers[code], texts)


def _codes(column: pa.ChunkedArray) -> Ints:
    """Return (N,) codes of the values, from 0 without gaps."""
    chunks = column.dictionary_encode().chunks  # all chunks have the same dictionary
    return np.concatenate([np.zeros(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in chunks)])


def _originals_of(captions: _ListedCaptions, item: Ints, caption: Ints, text: Ints, is_search: Flags) -> Ints:
    """Return ``Proposals.original`` of N outputs.

    In a list of images, an image is original if the query was written for it. In a list of captions, a caption is
    original if a caption of the same words was written for the image. An entry has NO_ORIGINAL if its caption was
    written for no image, such as a system's own, or none was written for its image; its list then has none to find.
    """
    has_image = captions.item > 0
    written_for = captions.item[places_in(captions.pk, caption)]
    width = len(captions.pk) + 1
    has_same_words = np.isin(item * width + text, captions.item[has_image] * width + captions.text[has_image])
    is_original = np.where(is_search, written_for == item, has_same_words)
    has_original = (written_for > 0) & (is_search | np.isin(item, captions.item[has_image]))
    return np.where(has_original, is_original, NO_ORIGINAL)


def _has_rank_as_position(study: Study, systems: Mapping[int, str], system: Ints, is_search: Flags) -> Flags:
    """Return (N,) flags that say whether the rank is the position, as it is for systems known only from judgments."""
    partly_known_names = study.dataset.known_in_part
    has_rank = np.zeros(len(system), dtype=bool)
    for task, is_of_task in ((Output.Task.ANNOTATION, ~is_search), (Output.Task.SEARCH, is_search)):
        names = partly_known_names.get(task, ())
        has_rank |= is_of_task & np.isin(system, [pk for pk, name in systems.items() if name in names])
    return has_rank


def _map_values(values: Ints, mapping: Mapping[int, int]) -> Ints:
    """Return the (N,) numbers to which ``mapping`` maps the values; -1 for values that it does not have."""
    distinct_values, inverse = np.unique(values, return_inverse=True)
    return np.array([mapping.get(key, -1) for key in distinct_values.tolist()], dtype=np.int64)[inverse]
