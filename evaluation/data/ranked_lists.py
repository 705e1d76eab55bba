"""Systems' ranked lists of captions and of images, and the positions of judged units in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Case, Max, Q, QuerySet, Value, When
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

ANNOTATION, SEARCH = "annotation", "search"

NO_ORIGINAL = -1
NO_SYSTEM = -1


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """(U,) row ids of units in order, and the positions of their images and texts in ``Proposals``.

    of_file: (C, 2) position of a unit, and of a system that a file credits with the unit's text; -1 if there is no such
    system.
    """

    pk: Ints
    image: Ints
    text: Ints
    of_file: Ints

    @classmethod
    def from_rows(
        cls, rows: Sequence[tuple[int, int, int]], of_file: Sequence[tuple[int, int]] = ()
    ) -> JudgedUnits:
        pk, image, text = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return cls(pk, image, text, np.array(of_file, dtype=np.int64).reshape(-1, 2))


@dataclass(frozen=True, slots=True)
class Proposals:
    """N entries of systems' lists, ordered by system, task, query and position. A list has no item twice.

    Attributes:
        texts: for each text, the id of one of its captions; may be an Arrow array, as there can be millions.
        query_captions: ids of the captions that are queries.
        system, image, text: (N,) positions in `systems`, `images` and `texts`.
        query_caption: (N,) positions in `query_captions`; -1 if the image is the query.
        position: (N,) positions in the list, from 1; missing positions belong to unknown items.
        document: (I,) code of each image's document, or of the image itself.
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
        return np.where(self.is_search, self.query_caption, self.image)

    def text_keys(self, image: Ints, text: Ints) -> Ints:
        """Return a number for each pair of an image and a text."""
        keys: Ints = image * (len(self.texts) + 1) + text
        return keys

    def credits(self) -> tuple[Ints, Ints]:
        """Return (K,) positions of entries, ascending, and (K,) positions of the units that score these entries.

        A unit scores the systems that its file credits, or else all systems that gave its text
        (``judgments.models.credits.credited_systems``).
        """
        units = self.units
        listed = self.text_keys(self.image, self.text)
        judged_keys = self.text_keys(units.image, units.text)
        row, unit = pairs_of_equal(listed, judged_keys)
        if len(units.of_file):
            named = np.zeros(len(units.pk), dtype=np.bool_)
            named[units.of_file[:, 0]] = True
            width = len(self.systems) + 1
            credits = np.unique(units.of_file[:, 0] * width + units.of_file[:, 1] + 1)
            scores = ~named[unit] | np.isin(unit * width + self.system[row] + 1, credits)
            row, unit = row[scores], unit[scores]
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

    ``documents`` is a result of `first_of_documents`.
    """
    search = rows.query_caption >= 0
    query = np.where(search, rows.query_caption, rows.image)
    order = np.lexsort((np.arange(len(query)), rows.rank, query, search, rows.system))
    keys = np.stack([rows.system[order], search[order], query[order]])
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    number = np.cumsum(begins) - 1
    start = np.flatnonzero(begins)[number] if len(order) else number
    list_positions = np.arange(len(order)) - start + 1
    position = np.where(rows.has_rank[order], rows.rank[order], list_positions)
    item = np.where(search, rows.image, rows.text)[order]
    width = int(item.max(initial=0)) + 1
    first = np.zeros(len(order), dtype=bool)
    first[np.unique(number * width + item, return_index=True)[1]] = True
    dropped = np.cumsum(~first)
    dropped_before = np.concatenate([[0], dropped])[start] if len(order) else dropped
    chosen_rows = order[first]
    return Proposals(
        systems, images, texts, query_captions,
        system=rows.system[chosen_rows],
        image=rows.image[chosen_rows],
        text=rows.text[chosen_rows],
        query_caption=rows.query_caption[chosen_rows],
        position=(position - (dropped - dropped_before))[first],
        original=rows.original[chosen_rows],
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


def newest_output(study: Study) -> int:
    """Return the highest row id in ``scored_rows``, or 0 if there are none."""
    newest = scored_rows(study).aggregate(last=Max("pk"))
    return newest["last"] or 0


def proposals_of(study: Study) -> Proposals:
    """Return the entries of all systems' lists.

    Lists for images are those of the judged splits. Lists for captions are those that have such an image.
    """
    units = Unit.objects.filter(study=study, control=False, first__isnull=False).order_by("position", "pk")
    unit, image_shown, first_shown = columns_of(units.values_list("pk", "item_id", "first_id"), 3).astype(
        np.int64
    )
    systems = dict(System.objects.of_study(study).values_list("pk", "name"))
    items = {
        pk: (name, split)
        for pk, name, split in plain_rows(
            Item.objects.filter(dataset=study.dataset_id).order_by().values_list("pk", "name", "split")
        )
    }
    splits = {items[item][1] for item in np.unique(image_shown).tolist()}
    of_splits = np.array([pk for pk, (_, split) in items.items() if split in splits], dtype=np.int64)
    system, item, caption, rank, search = _outputs(study, splits)
    searched = search > 0
    if searched.any():  # keep the whole list of a caption if it has an image of the splits
        is_in_split = np.isin(item, of_splits)
        is_wanted = ~searched | np.isin(caption, caption[searched & is_in_split])
        columns = (system, item, caption, rank, searched)
        system, item, caption, rank, searched = (column[is_wanted] for column in columns)
    if not len(system):
        none = np.zeros(0, dtype=np.int64)
        return Proposals((), (), (), (), *(none,) * 7, JudgedUnits.from_rows([]))
    captions = _captions(study, of_splits, caption, first_shown)
    query_captions = np.unique(caption[searched])
    names, image_of, query_caption_of = (
        {name: position for position, name in enumerate(sorted(set(known)))}
        for known in (
            systems.values(),
            (name for name, _ in items.values()),
            captions.keys_of(query_captions),
        )
    )
    number = {pk: image_of[name] for pk, (name, _) in items.items()}
    text = captions.text_of(caption)
    query_keys = captions.keys_of(query_captions)
    asking = {pk: query_caption_of[key] for pk, key in zip(query_captions.tolist(), query_keys, strict=True)}
    return sort_into_lists(
        ListRows(
            system=_map_values(system, {pk: names[name] for pk, name in systems.items()}),
            image=_map_values(item, number),
            text=text,
            query_caption=np.where(searched, _map_values(caption, asking), -1),
            rank=rank,
            original=_ranks_of_originals(captions, item, caption, text, searched),
            has_rank=_ranks_are_positions(study, systems, system, searched),
        ),
        list(names),
        list(image_of),
        captions.texts,
        list(query_caption_of),
        {items[pk][0]: items[first][0] for pk, first in documents_of(study).items()},
        JudgedUnits(
            unit,
            _map_values(image_shown, number),
            captions.text_of(first_shown),
            _credits_of_file(study, unit, {pk: names[name] for pk, name in systems.items()}),
        ),
    )


def _credits_of_file(study: Study, units: Ints, position_of: Mapping[int, int]) -> Ints:
    """Return ``JudgedUnits.of_file`` for (U,) row ids of units. ``position_of`` has the positions of systems."""
    rows = Unit.objects.filter(study=study, control=False, first__isnull=False).exclude(systems=[])
    credits = np.array(
        [
            (pk, position_of.get(system, NO_SYSTEM))
            for pk, systems in rows.order_by().values_list("pk", "systems").iterator(ROWS_PER_READ)
            for system in systems
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    credits[:, 0] = places_in(units, credits[:, 0])
    return credits


def _outputs(study: Study, splits: set[str]) -> Ints:
    """Return (5, N) columns in the order of row ids: system, image, caption, rank, and 1 for lists of images."""
    task = Case(When(task=Output.Task.SEARCH, then=1), default=0)
    rows = _outputs_of(study).filter(Q(item__split__in=sorted(splits)) | Q(task=Output.Task.SEARCH))
    columns = rows.order_by().values_list("system_id", "item_id", "caption_id", "rank", task, "pk")
    *fields, pk = columns_of(columns, 6).astype(np.int64)
    return np.stack(fields)[:, np.argsort(pk)]


@dataclass(frozen=True, slots=True)
class _Captions:
    """C captions.

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


def _captions(study: Study, items: Ints, proposed: Ints, shown: Ints) -> _Captions:
    """Return the captions written for ``items``, and the captions with the row ids ``proposed`` or ``shown``."""
    import pyarrow as pa  # imported late, because it loads slowly

    rows = Caption.objects.filter(dataset=study.dataset_id).order_by("pk")
    columns = rows.values_list("pk", Coalesce("item_id", Value(0)), "key", "text_key")
    schema = pa.schema(
        {"pk": pa.int64(), "item": pa.int64(), "key": pa.large_string(), "text_key": pa.large_string()}
    )
    wanted_captions, parts = np.union1d(proposed, shown), []
    for batch in batched(plain_rows(columns), ROWS_PER_READ):
        part = pa.record_batch(list(zip(*batch, strict=True)), schema=schema)
        first, last = np.searchsorted(wanted_captions, (batch[0][0], batch[-1][0] + 1))  # both are sorted
        needed = np.isin(part["pk"], wanted_captions[first:last]) | np.isin(part["item"], items)
        parts.append(part.filter(needed))
    table = pa.Table.from_batches(parts, schema)
    pk, code = table["pk"].to_numpy(), _codes(table["text_key"])
    # Texts are numbered in order of occurrence: first those of judged units, then the others.
    order = np.concatenate([places_in(pk, shown), np.arange(len(pk))])
    _, first = np.unique(code[order], return_index=True)
    by_first = np.argsort(first)
    number = np.empty_like(by_first)
    number[by_first] = np.arange(len(by_first))
    texts = table["key"].take(order[first[by_first]]).combine_chunks()
    return _Captions(pk, table["item"].to_numpy(), table["key"], number[code], texts)


def _codes(column: pa.ChunkedArray) -> Ints:
    """Return (N,) codes of the values, from 0 without gaps."""
    coded = column.dictionary_encode().chunks  # all chunks have the same dictionary
    return np.concatenate([np.zeros(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in coded)])


def _ranks_of_originals(captions: _Captions, item: Ints, caption: Ints, text: Ints, searched: Flags) -> Ints:
    """Return ``Proposals.original``. Captions are compared by their words."""
    with_image = captions.item > 0
    written_for = captions.item[places_in(captions.pk, caption)]
    width = len(captions.pk) + 1
    by_words = np.isin(item * width + text, captions.item[with_image] * width + captions.text[with_image])
    hit = np.where(searched, written_for == item, by_words)
    there = (written_for > 0) & (searched | np.isin(item, captions.item[with_image]))
    return np.where(there, hit, NO_ORIGINAL)


def _ranks_are_positions(study: Study, systems: Mapping[int, str], system: Ints, searched: Flags) -> Flags:
    """Return (N,) flags that say whether the rank is the position, as it is for systems known only from judgments."""
    partly = study.dataset.known_in_part
    placed = np.zeros(len(system), dtype=bool)
    for task, chosen in ((Output.Task.ANNOTATION, ~searched), (Output.Task.SEARCH, searched)):
        names = partly.get(task, ())
        placed |= chosen & np.isin(system, [pk for pk, name in systems.items() if name in names])
    return placed


def _map_values(values: Ints, to: Mapping[int, Any]) -> Ints:
    known, inverse = np.unique(values, return_inverse=True)
    return np.array([to.get(key, -1) for key in known.tolist()], dtype=np.int64)[inverse]
