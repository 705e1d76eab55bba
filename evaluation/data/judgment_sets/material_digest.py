"""The digest of a study's units and references, for its signature.

It can be computed from rows or, faster and with the same result, from stored columns.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain
from json.encoder import encode_basestring_ascii
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Q, QuerySet

from common.rows.batches import batched
from common.rows.reading import columns_of, plain_rows
from evaluation.data.judgment_sets.blocks import unit_columns
from evaluation.data.judgment_sets.data_hash import (
    ASCII_ESCAPED,
    join_columns,
    join_lines,
    json_column,
    text_column,
)
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from evaluation.data.judgment_sets.records import UNITS_PER_BATCH
from evaluation.data.judgment_sets.signatures import DIGITS_OF_HASH
from judgments.models import Caption, Item, Study, Unit
from quorum.numeric.arrays import Flags, Ints, places_in

if TYPE_CHECKING:
    import pyarrow as pa

CAPTION_FIELDS = ("reference", "first", "second")  # fields of a unit that are captions
MAX_CACHED_TEXTS = 2_000  # texts with JSON that are kept as sorted JSON


def _encode_text(text: str | None) -> str:
    """Return a text as JSON, in ASCII."""
    return "null" if text is None else encode_basestring_ascii(text)


@lru_cache(MAX_CACHED_TEXTS)
def _sort_json_keys(text: str | None) -> str:
    """Return a JSON text with sorted keys, because databases differ in their order."""
    return "null" if text is None else json.dumps(json.loads(text), sort_keys=True)


def _ascii_column(texts: pa.Array | Iterable[str | None], *, before: str = "", after: str = "") -> pa.Array:
    """Return texts as a column of JSON in ASCII, between ``before`` and ``after``."""
    return json_column(texts, encode_basestring_ascii, ASCII_ESCAPED, before=before, after=after)


def _json_column(texts: Iterable[str | None]) -> pa.Array:
    """Return JSON texts as a column of JSON with sorted keys."""
    return text_column(map(_sort_json_keys, texts))


def _encode_flag(is_true: bool) -> str:
    return "true" if is_true else "false"


# Functions that write the values of a column as JSON, by column, in the order of the values of a line.
UNIT_COLUMNS: Mapping[str, Callable[[Any], str]] = {
    "key": _encode_text,
    "control": _encode_flag,
    "item__name": _encode_text,
    "item__text": _encode_text,
    "reference__text": _encode_text,
    "first__text": _encode_text,
    "second__text": _encode_text,
    "expected": _sort_json_keys,
    "content": _sort_json_keys,
}
REFERENCE_COLUMNS = {"item__name": _encode_text, "text": _encode_text}


def digest_of_material(study: Study, *, from_blocks: bool = False) -> str:
    """Return the hash of units and references as lines of JSON.

    With ``from_blocks``, units are read from stored blocks of columns and from newer rows, else all from their rows.
    """
    units = Unit.objects.filter(study=study)
    references = Caption.objects.filter(item__in=units.order_by().values("item"), role=Caption.Role.REFERENCE)
    if from_blocks:
        lines: Iterator[Any] = _lines_of_columns(study, units, references)
    else:
        lines = chain(
            _lines_of_rows(units.order_by("position", "pk"), UNIT_COLUMNS),
            _lines_of_rows(references.order_by("item__position", "position", "pk"), REFERENCE_COLUMNS),
        )
    digest = hashlib.sha256()
    for batch in lines:
        digest.update(batch)
    return digest.hexdigest()[:DIGITS_OF_HASH]


def _lines_of_rows(rows: QuerySet[Any], columns: Mapping[str, Callable[[Any], str]]) -> Iterator[bytes]:
    """Yield the rows as lines of JSON arrays, in batches of bytes.

    Values are encoded column by column, because encoding whole rows takes twice as long.
    """
    for batch in batched(plain_rows(rows.values_list(*columns)), ROWS_PER_BATCH):
        encoded_columns = [
            map(encode, values)
            for encode, values in zip(columns.values(), zip(*batch, strict=True), strict=True)
        ]
        lines = "]\n[".join(map(", ".join, zip(*encoded_columns, strict=True)))
        yield f"[{lines}]\n".encode()


@dataclass(frozen=True, slots=True)
class _UnitColumns:
    """Columns of U units, sorted by position and row id.

    Attributes:
        item: (U,) row ids of the units' items.
        caption_ids: (U,) row ids of the units' captions, 0 for none, by field of CAPTION_FIELDS.
        keys: the beginnings of lines with the units' keys, in the order of the stored columns.
        key_index: (U,) positions in ``keys``.
        expected_answers: the distinct expected answers as JSON, of which the first is for units without one.
        expected: (U,) positions in ``expected_answers``.
    """

    pk: Ints
    position: Ints
    control: Ints
    item: Ints
    caption_ids: dict[str, Ints]
    has_content: Flags
    keys: pa.Array
    key_index: Ints
    expected_answers: pa.Array
    expected: Ints


def _read_units(study: Study) -> _UnitColumns:
    names = ("pk", "key", "position", "control", "item", *CAPTION_FIELDS, "expected", "has_content")
    columns = unit_columns(study, names)
    order = np.lexsort((columns["pk"].to_numpy(), columns["position"].to_numpy()))
    keys = _ascii_column(columns["key"].combine_chunks(), before="[", after=", ")
    numbers = {
        name: columns[name].cast("int64").fill_null(0).to_numpy()[order]
        for name in ("pk", "position", "control", "item", *CAPTION_FIELDS)
    }
    expected_column = columns["expected"].combine_chunks().dictionary_encode()
    return _UnitColumns(
        caption_ids={name: numbers.pop(name) for name in CAPTION_FIELDS},
        **numbers,
        has_content=columns["has_content"].to_numpy()[order],
        keys=keys,
        key_index=order,
        expected_answers=_json_column((None, *expected_column.dictionary.to_pylist())),
        expected=expected_column.indices.fill_null(-1).to_numpy()[order] + 1,
    )


def _lines_of_columns(
    study: Study, unit_rows: QuerySet[Unit], reference_rows: QuerySet[Caption]
) -> Iterator[memoryview]:
    """Yield the lines of all units, and then of all references, in batches of bytes, from stored columns.

    The lines are those of ``_lines_of_rows``. Each text is read and encoded once, and lines are joined from columns of
    encoded texts. Position 0 of such a column stands for a missing text, so positions of row ids are one higher.
    """
    import pyarrow as pa

    units = _read_units(study)
    pa.default_memory_pool().release_unused()  # memory of the columns that were sorted
    item_source = [(units.item, unit_rows.values("item"))]
    item_rows = _rows_in(Item.objects.all(), "pk", item_source)
    items, names, texts = _texts_of(item_rows, name=(_ascii_column, "null"), text=(_ascii_column, "null"))
    names_and_texts = join_columns(names, ", ", texts, ", ")
    all_references = _rows_in(Caption.objects.filter(role=Caption.Role.REFERENCE), "item", item_source)
    rows = columns_of(all_references.values_list("pk", "item_id", "position"), 3).astype(np.int64)
    is_of_unit = places_in(np.unique(units.item), rows[1]) >= 0  # ``_rows_in`` may return others
    reference_pk, reference_item, reference_position = rows[:, is_of_unit]
    item_pk, item_position = columns_of(item_rows.values_list("pk", "position"), 2).astype(np.int64)
    caption_sources = [(ids, unit_rows.values(name)) for name, ids in units.caption_ids.items()]
    caption_sources.append((reference_pk, reference_rows.values("pk")))
    captions, caption_texts = _texts_of(
        _rows_in(Caption.objects.all(), "pk", caption_sources), text=(_ascii_column, "null")
    )
    del caption_sources  # to free memory
    # The lines of units.
    control_flags = text_column(("false, ", "true, "))
    item = places_in(items, units.item) + 1
    reference, first, second = (
        places_in(captions, units.caption_ids.pop(name)) + 1 for name in CAPTION_FIELDS
    )
    for part in _slices(len(units.pk)):
        content_rows = unit_rows.none()
        if units.has_content[part].any():
            positions = units.position[part]
            content_rows = unit_rows.filter(position__range=(int(positions[0]), int(positions[-1])))
        content_pk, content = _texts_of(
            content_rows.order_by().exclude(content={}), content=(_json_column, "{}")
        )
        content_index = places_in(content_pk, units.pk[part]) + 1
        yield join_lines(
            (units.keys, units.key_index[part]), (control_flags, units.control[part]), (names_and_texts, item[part]),
            (caption_texts, reference[part]), ", ", (caption_texts, first[part]), ", ",
            (caption_texts, second[part]), ", ", (units.expected_answers, units.expected[part]), ", ",
            (content, content_index), "]\n",
        )  # fmt: skip
    # The lines of references, sorted by the image's position, the reference's position and row id.
    order = np.lexsort((reference_pk, reference_position, item_position[places_in(item_pk, reference_item)]))
    item = places_in(items, reference_item[order]) + 1
    caption = places_in(captions, reference_pk[order]) + 1
    for part in _slices(len(order)):
        yield join_lines("[", (names, item[part]), ", ", (caption_texts, caption[part]), "]\n")


def _slices(row_count: int) -> Iterator[slice]:
    return (slice(start, start + UNITS_PER_BATCH) for start in range(0, row_count, UNITS_PER_BATCH))


def _rows_in(rows: QuerySet[Any], field: str, sources: Iterable[tuple[Ints, QuerySet[Any]]]) -> QuerySet[Any]:
    """Return a queryset, in no order, that has at least the ``rows`` whose ``field`` is a row id of a source.

    Each source has its row ids twice: as an array, in which 0 is no row id, and as a queryset.
    """
    columns, queries = zip(*sources, strict=True)
    ids = np.concatenate([column[column > 0] for column in columns])
    if len(ids) and np.ptp(ids) < 2 * len(ids):  # reading the whole range is faster than many look-ups
        return rows.order_by().filter(**{f"{field}__gte": int(ids.min()), f"{field}__lte": int(ids.max())})
    return rows.order_by().filter(reduce(or_, (Q(**{f"{field}__in": query.order_by()}) for query in queries)))


def _texts_of(
    rows: QuerySet[Any], **fields: tuple[Callable[[Sequence[Any]], pa.Array], str]
) -> tuple[Any, ...]:
    """Return (N,) row ids, and (N + 1,) JSON values of each field, of which the first is for a missing row.

    ``fields`` has, by the field's name, a function that encodes values, and the JSON value for a missing row.
    """
    import pyarrow as pa

    ids, columns = array("q"), [[text_column([json_of_missing])] for _, json_of_missing in fields.values()]
    for batch in batched(plain_rows(rows.values_list("pk", *fields)), UNITS_PER_BATCH):
        pk, *field_values = zip(*batch, strict=True)
        ids.extend(pk)
        for column, (encode, _), texts in zip(columns, fields.values(), field_values, strict=True):
            column.append(encode(texts))
    return np.array(ids, dtype=np.int64), *map(pa.concat_arrays, columns)
