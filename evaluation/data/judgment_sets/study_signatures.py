"""The judgment signature of a study: what was asked, of what, and what people answered (docs/signatures.md)."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import chain
from json.encoder import encode_basestring_ascii
from operator import or_
from typing import Any

import numpy as np
from django.db.models import Model, Q, QuerySet

from annotation.models import Adjudication
from annotation.snapshots import Snapshot
from common.rows import batched, columns_of, plain_rows
from evaluation.data.judgment_sets.blocks import FIRST_LEFT, unit_columns
from evaluation.data.judgment_sets.loaders import ROWS_AT_ONCE, included_votes, rule_of_controls
from evaluation.data.judgment_sets.records import (
    AS_IMPORTED,
    DIGITS_OF_HASH,
    NOT_PLAIN,
    UNITS_AT_ONCE,
    Difference,
    JudgmentTable,
    JudgmentTally,
    Material,
    Votes,
    differences,
    hash_with,
    hash_with_winners,
    joined_lines,
    judgment_signature,
    line_beginnings,
    text_column,
)
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Item, Study, Unit
from judgments.studies.generation import describe_stopping
from judgments.studies.studies import design_of, draws_at_claim, stops_early
from quorum.numeric.arrays import Ints, places_in
from quorum.numeric.signatures import Signature, Value, quorum_version
from quorum.statistics.inputs import encode


def signature_of_study(study: Study, *, table: JudgmentTable | None = None) -> Signature:
    """Return the current signature, from ``table`` if loaded and from blocks of units then, else from rows."""
    if table is None:
        return signature_from(study, material_of(study), votes_of(study), uncommon_fields(study))
    material, others = material_of(study, stored=True), uncommon_fields(study, stored=True)
    return signature_from(study, material, votes_of_table(table), others)


def signature_from(study: Study, material: Material, votes: Votes, others: Mapping[str, Value]) -> Signature:
    published = CandidatePair.objects.filter(study=study, published_winner__isnull=False)
    rows = published.values_list("key", "published_winner").iterator(ROWS_AT_ONCE)
    winners = {key: winner for key, winner in rows if winner is not None}
    return judgment_signature(
        KINDS[study.protocol],
        material,
        replace(votes, data_hash=hash_with_winners(votes.data_hash, winners)),
        controls=control_rule(study),
        seed=design_of(study).seed,
        version=quorum_version(),
        others=others,
    )


def compare_signature(study: Study, stated: Signature) -> list[Difference]:
    return differences(stated, signature_of_study(study))


def material_of(study: Study, *, stored: bool = False) -> Material:
    """Count what was judged, by the rows, or by ``stored`` blocks of units."""
    import pyarrow.compute as pc

    units = unit_columns(study, ("pair", "item", "reference", "control"), stored=stored)
    judged = units.select(["pair", "item", "reference"]).filter(pc.invert(units["control"]))
    pairs = None
    if KINDS[study.protocol].compares_pairs:
        pairs = CandidatePair.objects.filter(study=study).count()
    by_item = judged.group_by(["pair", "item"], use_threads=False)  # threads would take three times the work
    shown = by_item.aggregate([("reference", "count_distinct")])
    references = [n for n in pc.unique(shown["reference_count_distinct"]).to_pylist() if n]
    return Material(
        units=len(judged),
        pairs=pairs,
        images=pc.count_distinct(judged["item"]).as_py(),
        references=(min(references, default=0), max(references, default=0)),
    )


def votes_of(study: Study) -> Votes:
    """Return counts over every judgment."""
    tally = JudgmentTally()
    for _ in included_votes(study, None, tally):
        continue
    return tally.facts()


def hash_of_judgments(study: Study) -> str:
    return votes_of(study).data_hash


def votes_of_table(table: JudgmentTable) -> Votes:
    counted = table.counted
    votes = np.bincount(encode(table.unit[counted])[1])
    sided = counted & table.sided
    return Votes(
        units=len(votes),
        least=int(votes.min(initial=votes.max(initial=0))),
        most=int(votes.max(initial=0)),
        sided=int(sided.sum()),
        first_left=int((sided & (table.side == FIRST_LEFT)).sum()),
        data_hash=table.data_hash,
        counted=int(counted.sum()),
    )


def control_rule(study: Study) -> Value:
    if study.source == Study.Source.IMPORTED:
        return AS_IMPORTED
    controls = design_of(study).controls
    return controls.threshold if controls.per_hit else "none"


# Parts of a design that change nothing of what people are asked, or only which units there are.
NOT_ASKED = {
    "name", "slug", "dataset", "preset", "purpose", "seed", "seconds_per_unit", "consent", "contact", "arena",
    "sampling", "filter", "access", "workers", "rules", "stopping", "crowd", "panel", "erasure", "retention", "ethics",
    "registration", "chosen", "by_hand",
}  # fmt: skip


def _as_text(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)


@lru_cache(ROWS_AT_ONCE)
def _as_json(text: str | None) -> str:
    return "null" if text is None else json.dumps(json.loads(text), sort_keys=True)


SHOWN: Mapping[str, Callable[[Any], str]] = {
    "key": _as_text, "control": lambda is_control: "true" if is_control else "false", "item__name": _as_text,
    "item__text": _as_text, "reference__text": _as_text, "first__text": _as_text, "second__text": _as_text,
    "expected": _as_json, "content": _as_json,
}  # fmt: skip
CAPTIONS = ("reference", "first", "second")
NAMED = {"item__name": _as_text, "text": _as_text}


def _digest_of_material(study: Study, stored: bool) -> str:
    """Hash units, read from their rows or from ``stored`` blocks, and references as lines of JSON."""
    units = Unit.objects.filter(study=study)
    references = Caption.objects.filter(item__in=units.order_by().values("item"), role=Caption.Role.REFERENCE)
    if stored:
        lines: Iterator[Any] = _lines_of_columns(study, units, references)
    else:
        lines = chain(
            _lines_of_rows(units.order_by("position", "pk"), SHOWN),
            _lines_of_rows(references.order_by("item__position", "position", "pk"), NAMED),
        )
    digest = hashlib.sha256()
    for some in lines:
        digest.update(some)
    return digest.hexdigest()[:DIGITS_OF_HASH]


def _lines_of_rows(rows: QuerySet[Any], columns: Mapping[str, Callable[[Any], str]]) -> Iterator[bytes]:
    """Yield lines made column by column: encoding whole rows takes twice as long."""
    for some in batched(plain_rows(rows.values_list(*columns)), ROWS_AT_ONCE):
        texts = map(map, columns.values(), zip(*some, strict=True))
        lines = "]\n[".join(map(", ".join, zip(*texts, strict=True)))
        yield f"[{lines}]\n".encode()


def _lines_of_columns(
    study: Study, units: QuerySet[Unit], references: QuerySet[Caption]
) -> Iterator[memoryview]:
    """Yield the same lines as ``_lines_of_rows`` of all units and references, reading and encoding each text once."""
    import pyarrow as pa

    columns = unit_columns(study, ("pk", "key", "position", "control", "item", *CAPTIONS))
    order = np.lexsort((columns["pk"].to_numpy(), columns["position"].to_numpy()))
    keys = line_beginnings(columns["key"].combine_chunks(), encode_basestring_ascii, NOT_PLAIN)
    pk, position, control, item, *shown = (
        columns[name].cast("int64").fill_null(0).to_numpy()[order]
        for name in ("pk", "position", "control", "item", *CAPTIONS)
    )
    del columns
    pa.default_memory_pool().release_unused()
    of_references = references.order_by().values_list("pk", "item_id", "item__position", "position")
    own, of_item, *positions = columns_of(of_references, 4).astype(np.int64)
    items, names, texts = _texts_of(
        _rows_in(Item, [(item, units.values("item"))]), name=(_as_text, "null"), text=(_as_text, "null")
    )
    named = [(ids, units.values(name)) for name, ids in zip(CAPTIONS, shown, strict=True)]
    captions, sentences = _texts_of(
        _rows_in(Caption, [*named, (own, references.values("pk"))]), text=(_as_text, "null")
    )
    controls = text_column(("false, ", "true, "))
    item = places_in(items, item) + 1
    reference, first, second = (places_in(captions, ids) + 1 for ids in shown)
    del shown, named
    for some in _parts(len(order)):
        between = units.filter(position__range=(int(position[some][0]), int(position[some][-1])))
        filled, expected, content = _texts_of(
            between.exclude(expected__isnull=True, content={}),
            expected=(_as_json, "null"),
            content=(_as_json, "{}"),
        )
        at = places_in(filled, pk[some]) + 1
        yield joined_lines(
            (keys, order[some]), (controls, control[some]), (names, item[some]), ", ", (texts, item[some]), ", ",
            (sentences, reference[some]), ", ", (sentences, first[some]), ", ", (sentences, second[some]), ", ",
            (expected, at), ", ", (content, at), "]\n",
        )  # fmt: skip
    order = np.lexsort((own, *positions[::-1]))
    item, caption = places_in(items, of_item[order]) + 1, places_in(captions, own[order]) + 1
    for some in _parts(len(order)):
        yield joined_lines("[", (names, item[some]), ", ", (sentences, caption[some]), "]\n")


def _parts(rows: int) -> Iterator[slice]:
    return (slice(start, start + UNITS_AT_ONCE) for start in range(0, rows, UNITS_AT_ONCE))


def _rows_in(model: type[Model], named: Iterable[tuple[Ints, QuerySet[Any]]]) -> QuerySet[Any]:
    """Return the rows that are named, and maybe others; by row ids, 0 for none, and the query that finds them."""
    columns, queries = zip(*named, strict=True)
    ids = np.concatenate([column[column > 0] for column in columns])
    if len(ids) and np.ptp(ids) < 2 * len(ids):  # reading them all is faster than looking each of them up
        return model._default_manager.filter(pk__range=(int(ids.min()), int(ids.max())))
    return model._default_manager.filter(reduce(or_, (Q(pk__in=query.order_by()) for query in queries)))


def _texts_of(rows: QuerySet[Any], **fields: tuple[Callable[[Any], str], str]) -> tuple[Any, ...]:
    """Return (N,) row ids, and for each field (N + 1,) texts as JSON, of which the first stands for a missing row.

    ``fields`` are functions that encode, and the text of a missing row.
    """
    import pyarrow as pa

    ids, columns = array("q"), [[text_column([missing])] for _, missing in fields.values()]
    for some in batched(plain_rows(rows.order_by().values_list("pk", *fields)), UNITS_AT_ONCE):
        pk, *cells = zip(*some, strict=True)
        ids.extend(pk)
        for column, (encode_one, _), texts in zip(columns, fields.values(), cells, strict=True):
            column.append(text_column(map(encode_one, texts)))
    return np.array(ids, dtype=np.int64), *map(pa.concat_arrays, columns)


def uncommon_fields(
    study: Study, *, moment: Snapshot | None = None, stored: bool = False
) -> dict[str, Value]:
    """Return digests of the design and the material, and uncommon signature fields, now or at ``moment``.

    Units are read from ``stored`` blocks, by default from their rows.
    """
    asked = {name: value for name, value in study.design.items() if name not in NOT_ASKED}
    fields: dict[str, Value] = {
        "design": hash_with("", asked)[:DIGITS_OF_HASH],
        "material": _digest_of_material(study, stored),
    }
    kind = KINDS[study.protocol]
    if answers := kind.setting(design_of(study)) if kind.two_sided or kind.scale else "":
        # a colon separates a field from its value
        fields["answers" if kind.two_sided else "scale"] = answers.replace(":", "/")
    if draws_at_claim(study):
        fields["drawn"] = f"live,even-{design_of(study).arena.even:g}"
    if chosen := design_of(study).chosen:
        fields["chosen"] = f"{chosen.method},{chosen.budget}-of-{chosen.population}-{chosen.per}"
    if (least := rule_of_controls(study).least) > 1:
        fields["least"] = least
    if stops_early(study):
        fields["stopping"] = describe_stopping(design_of(study))
    if moment is None:
        decided = Adjudication.objects.filter(
            study=study, state=Adjudication.State.DECIDED, value__isnull=False
        ).count()
    else:
        decided = len(moment.decisions)
    if decided:
        fields["adjudicated"] = decided
    if study.simulated:
        fields["people"] = "simulated"
    return fields
