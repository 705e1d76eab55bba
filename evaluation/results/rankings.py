"""Evaluate systems' ranked lists by people's judgments (H13 §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from django.db.models import Case, Max, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from common.rows import READ_AT_ONCE, batched, columns_of, plain_rows
from evaluation.arrays import places_in
from evaluation.data.judgment_sets.records import Flags, Floats, Ints
from evaluation.data.provenance import json_float
from evaluation.results.consensus import values_at
from evaluation.statistics.meta import wilson_interval
from evaluation.statistics.ranking import (
    JudgedRankings,
    RankingResult,
    median_rank,
    r_precision,
    recall_at_k,
    success_at_k,
)
from evaluation.statistics.resampling import CONFIDENCE, Estimate, bootstrap, percentile_interval
from evaluation.statistics.significance import bootstrap_interval
from judgments.kinds import Consensus, RelevanceScale
from judgments.models import Caption, Item, Output, Study, System, Unit

if TYPE_CHECKING:
    import pyarrow as pa

ANNOTATION, SEARCH = "annotation", "search"
CUTS = (1, 5, 10)
RESAMPLES = 1000
SEED = 0  # absent from judgments files: imports give the same tables
NO_ORIGINAL = -1
UNJUDGED, IRRELEVANT, RELEVANT = -1, 0, 1  # as `JudgedRankings.codes` has them
NOT_RETURNED = "half of the lists, or more, do not hold the original item"


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """(U,) row ids of units in order, and the positions of their images and texts in ``Proposals``."""

    pk: Ints
    image: Ints
    text: Ints

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int]]) -> JudgedUnits:
        return cls(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


@dataclass(frozen=True, slots=True)
class Proposals:
    """N places in systems' lists, by system, task, query and place; a list has no item twice.

    Attributes:
        texts, askers: captions by id: a text by the id of one of its captions, an asker (query caption) by its own.
            Texts may be an Arrow array, as there can be millions.
        system, image, text: (N,) positions in the names.
        asker: (N,) position; -1 if the image is the query.
        place: (N,) from 1; gaps belong to unknown items.
        original: (N,) whether the caption was written for the image (1, 0); -1 without an original to find.
    """

    systems: Sequence[str]
    images: Sequence[str]
    texts: Sequence[str] | pa.Array
    askers: Sequence[str]
    system: Ints
    image: Ints
    text: Ints
    asker: Ints
    place: Ints
    original: Ints
    units: JudgedUnits

    def __len__(self) -> int:
        return len(self.system)

    @property
    def search(self) -> Flags:
        """Return (N,) bool: a caption is the query, images are ranked."""
        return self.asker >= 0

    @property
    def query(self) -> Ints:
        return np.where(self.search, self.asker, self.image)


@dataclass(frozen=True, slots=True)
class ListRows:
    """Unsorted rows of ``Proposals``; ``rank`` orders a list, and is the place if ``placed``."""

    system: Ints
    image: Ints
    text: Ints
    asker: Ints
    rank: Ints
    original: Ints
    placed: Flags


def sort_into_lists(
    rows: ListRows,
    systems: Sequence[str],
    images: Sequence[str],
    texts: Sequence[str] | pa.Array,
    askers: Sequence[str],
    units: JudgedUnits,
) -> Proposals:
    """Sort rows into lists; a repeated item counts once, at its best place."""
    search = rows.asker >= 0
    query = np.where(search, rows.asker, rows.image)
    order = np.lexsort((np.arange(len(query)), rows.rank, query, search, rows.system))
    keys = np.stack([rows.system[order], search[order], query[order]])
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    number = np.cumsum(begins) - 1
    start = np.flatnonzero(begins)[number] if len(order) else number
    counted = np.arange(len(order)) - start + 1
    place = np.where(rows.placed[order], rows.rank[order], counted)
    item = np.where(search, rows.image, rows.text)[order]
    width = int(item.max(initial=0)) + 1
    first = np.zeros(len(order), dtype=bool)
    first[np.unique(number * width + item, return_index=True)[1]] = True
    dropped = np.cumsum(~first)
    before = np.concatenate([[0], dropped])[start] if len(order) else dropped
    kept = order[first]
    return Proposals(
        systems, images, texts, askers,
        system=rows.system[kept],
        image=rows.image[kept],
        text=rows.text[kept],
        asker=rows.asker[kept],
        place=(place - (dropped - before))[first],
        original=rows.original[kept],
        units=units,
    )  # fmt: skip


def rankings_of(
    relevance: RelevanceScale, proposals: Proposals, said: JudgedTexts, audit: Mapping[str, Any]
) -> dict[str, Any]:
    """Return task -> a row per system, best first; {} if no list has two items.

    S@k and R-precision exclude queries that are ``not_judged`` (no item judged) or have ``nothing_relevant``.
    With an audit of the filter, ``audited`` has S@k over all queries; if originals can be found, ``original``
    has R@k and the median rank (H13 §4.3.1).
    """
    judged = said.turned(lambda value: relevance.grade(value) > 0)
    code = judged.look_up(proposals.image, proposals.text)
    codes = np.where(np.isnan(code), UNJUDGED, code).astype(np.int8)
    good = judged.keys[judged.values > 0]
    found = {}
    for task, chosen in ((ANNOTATION, ~proposals.search), (SEARCH, proposals.search)):
        rows = np.flatnonzero(chosen)
        if not (proposals.place[rows] > 1).any():
            continue
        # By image, or by the query caption's text.
        asking = good // judged.width if task == ANNOTATION else good % judged.width
        relevant = np.bincount(asking, minlength=max(len(proposals.images), len(proposals.texts)))
        owners = proposals.system[rows]
        table = []
        for system in np.unique(owners).tolist():
            own = rows[owners == system]
            table.append(
                {
                    "system": proposals.systems[system],
                    **_row(proposals, own, codes[own], relevant, audit, task=task),
                }
            )
        found[task] = sorted(table, key=lambda row: -(row["R-precision"]["value"] or 0.0))
    return found


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """Values of M (image, text) pairs: ``keys`` (M,) ascending and ``values`` (M,)."""

    keys: Ints
    values: Floats
    width: int

    @classmethod
    def from_proposals(cls, proposals: Proposals, consensus: Mapping[int, Consensus]) -> JudgedTexts:
        return cls.of(proposals, values_at(consensus, proposals.units.pk)[0])

    @classmethod
    def of(cls, proposals: Proposals, values: Floats) -> JudgedTexts:
        """Take (U,) values of the units, nan if missing; of a text with several units the first."""
        units, width = proposals.units, len(proposals.texts) + 1
        known = ~np.isnan(values)
        keys, first = np.unique(units.image[known] * width + units.text[known], return_index=True)
        return cls(keys, values[known][first], width)

    def look_up(self, image: Ints, text: Ints) -> Floats:
        """Return the values; nan if missing."""
        wanted = image * self.width + text
        found = np.full(len(wanted), np.nan)
        if len(self.keys):
            place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            there = self.keys[place] == wanted
            found[there] = self.values[place[there]]
        return found

    def turned(self, into: Callable[[float], float]) -> JudgedTexts:
        """Map the values, computing each distinct one once."""
        known, number = np.unique(self.values, return_inverse=True)
        return replace(self, values=np.array([into(one) for one in known.tolist()], dtype=np.float64)[number])


def _row(
    proposals: Proposals,
    own: Ints,
    codes: npt.NDArray[np.int8],
    relevant: Ints,
    audit: Mapping[str, Any],
    *,
    task: str,
) -> dict[str, Any]:
    """Compute one system's row.

    Args:
        own: its rows of the task, sorted by list; ``codes`` has their values.
        relevant: number of known relevant items by query.
    """
    query, place = proposals.query[own], proposals.place[own]
    queries, first = np.unique(query, return_index=True)  # rows are sorted by query
    number = np.searchsorted(queries, query)
    lengths = np.maximum.reduceat(place, first)  # of a list with unknown items: down to the last known one
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = starts[number] + place - 1

    def lists(known: npt.NDArray[np.int8], total: Ints, unknown: int) -> JudgedRankings:
        laid = np.full(int(starts[-1]), unknown, dtype=np.int8)
        laid[at] = known
        return JudgedRankings(starts, laid, total, queries, judged=unknown == UNJUDGED)

    asked = queries if task == ANNOTATION else proposals.text[own][first]
    judged = lists(codes, relevant[asked], UNJUDGED)
    precision = r_precision(judged)
    seen = np.bincount(number[codes != UNJUDGED], minlength=len(queries)) > 0
    undefined = np.isnan(precision.per_query)
    found: dict[str, Any] = {
        "queries": len(queries),
        "not_judged": int((undefined & ~seen).sum()),
        "nothing_relevant": int((undefined & seen).sum()),
        **{f"S@{k}": _share(success_at_k(judged, k=k)) for k in CUTS},
        "R-precision": _mean(precision),
    }
    if audit and audit["share"] is not None:
        found["audited"] = {
            f"S@{k}": {"value": one.value, "low": one.low, "high": one.high, "n": len(queries)}
            for k in CUTS
            for one in [corrected_success(judged, k, audit)]
        }
    original = proposals.original[own]
    findable = np.minimum.reduceat(original, first) > NO_ORIGINAL
    if findable.any():
        # Of several captions written for the image, take the first.
        is_first = np.zeros(len(own), dtype=bool)
        hits = np.flatnonzero(original == 1)
        is_first[hits[np.unique(number[hits], return_index=True)[1]]] = True
        ranked = lists(is_first.astype(np.int8), findable.astype(np.int64), IRRELEVANT)
        middle = median_rank(ranked)
        beyond = not np.isfinite(middle.value)
        found["original"] = {
            "queries": int(findable.sum()),
            **{f"R@{k}": _share(recall_at_k(ranked, k=k)) for k in CUTS},
            "median_rank": {
                "value": None if beyond else middle.value,
                "n": int(findable.sum()),
                "reason": NOT_RETURNED if beyond else "",
            },
        }
    return found


def _share(result: RankingResult) -> dict[str, Any]:
    known = result.per_query[~np.isnan(result.per_query)]
    return _figure(result, wilson_interval(round(float(known.sum())), len(known)), len(known))


def _mean(result: RankingResult) -> dict[str, Any]:
    known = result.per_query[~np.isnan(result.per_query)]
    interval = bootstrap_interval(known, resamples=RESAMPLES, seed=SEED)
    return _figure(result, (interval.low, interval.high), len(known))


def _figure(result: RankingResult, interval: tuple[float, float], n: int) -> dict[str, Any]:
    further = (
        {}
        if result.unjudged is None
        else {"unjudged": result.unjudged, "best_case": json_float(result.best_case)}
    )
    return {
        "value": json_float(result.value),
        "low": json_float(interval[0]),
        "high": json_float(interval[1]),
        "n": n,
        **further,
    }


def corrected_success(judged: JudgedRankings, k: int, audit: Mapping[str, Any]) -> Estimate:
    """Estimate S@k over all queries if rejected captions are relevant with the audited share q.

    A query with a relevant caption in its first k counts 1; otherwise 1 - (1 - q)^m for m unjudged captions
    there. The interval covers q only.
    """
    ends = np.minimum(judged.starts[:-1] + k, judged.starts[1:])
    hits, blank = (np.concatenate([[0], np.cumsum(judged.codes == code)]) for code in (RELEVANT, UNJUDGED))
    sure = hits[ends] > hits[judged.starts[:-1]]
    unjudged = (blank[ends] - blank[judged.starts[:-1]]).astype(np.float64)

    def at(share: float) -> float:
        chance: Floats = 1.0 - (1.0 - share) ** unjudged
        return float(np.where(sure, 1.0, chance).mean())

    return Estimate(at(audit["share"]), at(audit["low"]), at(audit["high"]))


def judged_systems(
    relevance: RelevanceScale,
    proposals: Proposals,
    said: JudgedTexts,
    figures: Mapping[int, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return people's scores of each system's captions at any rank, by name.

    ``describes`` is the share that describes its image, ``mean`` the mean of averaged answers, ``z`` that of
    ``figures``. Intervals resample images, since captions of one image are dependent.
    """
    rows = np.flatnonzero(~proposals.search)
    rows = rows[~np.isnan(said.look_up(proposals.image[rows], proposals.text[rows]))]
    if not len(rows):
        return []
    system, image, text = proposals.system[rows], proposals.image[rows], proposals.text[rows]
    found = {}
    if relevance.averaged:
        found["mean"] = said
    found["describes"] = said.turned(relevance.describes)
    if any(row.get("z") is not None for row in figures.values()):
        scores = [figures.get(unit, {}).get("z") for unit in proposals.units.pk.tolist()]
        found["z"] = JudgedTexts.of(proposals, np.array(scores, dtype=np.float64))  # None becomes nan
    names, columns = list(found), [one.look_up(image, text) for one in found.values()]
    means = _ClusteredMeans.of(columns, system, image)
    return [
        {
            "system": proposals.systems[own],
            "captions": int((system == own).sum()),
            "images": len(np.unique(image[system == own])),
            **{name: means.figure(number, column) for column, name in enumerate(names)},
        }
        for number, own in enumerate(means.systems.tolist())
    ]


@dataclass(frozen=True, slots=True)
class _ClusteredMeans:
    """Means of C columns for S systems, and on B resamples of images: (B, S, C)."""

    systems: Ints
    sums: Floats
    counts: Floats
    images: Ints
    draws: Floats

    @classmethod
    def of(cls, columns: Sequence[Floats], system: Ints, image: Ints) -> _ClusteredMeans:
        systems, row = np.unique(system, return_inverse=True)
        _, cluster = np.unique(image, return_inverse=True)
        shape = (int(cluster.max(initial=-1)) + 1, len(systems), len(columns))
        cell = cluster * shape[1] + row
        sums, counts = np.zeros(shape), np.zeros(shape)
        for at, column in enumerate(columns):
            known = ~np.isnan(column)
            for table, weights in ((sums, column[known]), (counts, None)):
                found = np.bincount(cell[known], weights, minlength=shape[0] * shape[1])
                table[:, :, at] = found.reshape(shape[:2])
        flat = sums.reshape(shape[0], -1), counts.reshape(shape[0], -1)

        def means(weights: Floats) -> Floats:
            with np.errstate(invalid="ignore"):  # no caption in a resample: undefined, and excluded below
                found: Floats = (weights @ flat[0]) / (weights @ flat[1])
            return found

        draws = bootstrap(
            means,
            np.ones(shape[0], dtype=np.int64),
            resamples=RESAMPLES,
            generator=np.random.default_rng(SEED),
            width=flat[0].shape[1],
        )
        totals = sums.sum(axis=0), counts.sum(axis=0)
        return cls(systems, *totals, (counts > 0).sum(axis=0), draws.reshape(-1, *shape[1:]))

    def figure(self, system: int, column: int) -> dict[str, Any]:
        n = int(self.counts[system, column])
        low, high, _ = percentile_interval(self.draws[:, system, column], CONFIDENCE)
        several = self.images[system, column] > 1
        return {
            "value": float(self.sums[system, column]) / n if n else None,
            "low": json_float(low) if several else None,
            "high": json_float(high) if several else None,
            "n": n,
        }


def outputs_of(study: Study) -> QuerySet[Output]:
    return Output.objects.of_study(study)


def newest_output(study: Study) -> int:
    found = outputs_of(study).aggregate(last=Max("pk"))
    return found["last"] or 0


def proposals_of(study: Study) -> Proposals:
    """Return all systems' lists for images of the judged splits, and for captions that found one."""
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
    asked = search > 0
    if asked.any():  # whole lists of captions that found an image of the splits
        here = np.isin(item, of_splits)
        kept = ~asked | np.isin(caption, caption[asked & here])
        system, item, caption, rank, asked = (row[kept] for row in (system, item, caption, rank, asked))
    if not len(system):
        none = np.zeros(0, dtype=np.int64)
        return Proposals((), (), (), (), *(none,) * 6, JudgedUnits.of([]))
    captions = _captions(study, of_splits, caption, first_shown)
    askers = np.unique(caption[asked])
    names, image_of, asker_of = (
        {name: place for place, name in enumerate(sorted(set(known)))}
        for known in (
            systems.values(),
            (name for name, _ in items.values()),
            captions.keys_of(askers),
        )
    )
    number = {pk: image_of[name] for pk, (name, _) in items.items()}
    text = captions.text_of(caption)
    asking = {pk: asker_of[key] for pk, key in zip(askers.tolist(), captions.keys_of(askers), strict=True)}
    return sort_into_lists(
        ListRows(
            system=_map_values(system, {pk: names[name] for pk, name in systems.items()}),
            image=_map_values(item, number),
            text=text,
            asker=np.where(asked, _map_values(caption, asking), -1),
            rank=rank,
            original=_original_ranks(captions, item, caption, text, asked),
            placed=_ranks_are_places(study, systems, system, asked),
        ),
        list(names),
        list(image_of),
        captions.texts,
        list(asker_of),
        JudgedUnits(unit, _map_values(image_shown, number), captions.text_of(first_shown)),
    )


def _outputs(study: Study, splits: set[str]) -> Ints:
    """Return (5, N) system, image, caption, rank, and 1 for search results, by row id."""
    task = Case(When(task=Output.Task.SEARCH, then=1), default=0)
    rows = outputs_of(study).filter(Q(item__split__in=sorted(splits)) | Q(task=Output.Task.SEARCH))
    columns = rows.order_by().values_list("system_id", "item_id", "caption_id", "rank", task, "pk")
    *found, pk = columns_of(columns, 6).astype(np.int64)
    return np.stack(found)[:, np.argsort(pk)]


@dataclass(frozen=True, slots=True)
class _Captions:
    """C captions.

    Attributes:
        pk, item: (C,) row ids of captions and of the images that they were written for, 0 without one.
        key: (C,) ids.
        text: (C,) numbers of their texts.
        texts: an id of a caption for each text, preferably of a judged one.
    """

    pk: Ints
    item: Ints
    key: pa.ChunkedArray
    text: Ints
    texts: pa.Array

    def text_of(self, captions: Ints) -> Ints:
        return self.text[places_in(self.pk, captions)]

    def keys_of(self, captions: Ints) -> list[str]:
        found: list[str] = self.key.take(places_in(self.pk, captions)).to_pylist()
        return found


def _captions(study: Study, items: Ints, proposed: Ints, shown: Ints) -> _Captions:
    """Return captions written for ``items``, ``proposed`` or ``shown``."""
    import pyarrow as pa  # when it is first used

    rows = Caption.objects.filter(dataset=study.dataset_id).order_by("pk")
    columns = rows.values_list("pk", Coalesce("item_id", Value(0)), "key", "text")
    schema = pa.schema(
        {"pk": pa.int64(), "item": pa.int64(), "key": pa.large_string(), "text": pa.large_string()}
    )
    wanted, parts = np.union1d(proposed, shown), []
    for some in batched(plain_rows(columns), READ_AT_ONCE):
        part = pa.record_batch(list(zip(*some, strict=True)), schema=schema)
        first, last = np.searchsorted(wanted, (some[0][0], some[-1][0] + 1))  # both are in order
        kept = np.isin(part["pk"], wanted[first:last]) | np.isin(part["item"], items)
        parts.append(part.filter(kept))
    table = pa.Table.from_batches(parts, schema)
    pk, code = table["pk"].to_numpy(), _codes(table["text"])
    # texts are numbered as they come: those of judged units, then the others
    order = np.concatenate([places_in(pk, shown), np.arange(len(pk))])
    _, first = np.unique(code[order], return_index=True)
    by_first = np.argsort(first)
    number = np.empty_like(by_first)
    number[by_first] = np.arange(len(by_first))
    texts = table["key"].take(order[first[by_first]]).combine_chunks()
    return _Captions(pk, table["item"].to_numpy(), table["key"], number[code], texts)


def _codes(column: pa.ChunkedArray) -> Ints:
    """Return (N,) numbers of the values, below the count of different ones."""
    coded = column.dictionary_encode().chunks  # all have one dictionary
    return np.concatenate([np.zeros(0, dtype=np.int64), *(one.indices.to_numpy() for one in coded)])


def _original_ranks(captions: _Captions, item: Ints, caption: Ints, text: Ints, asked: Flags) -> Ints:
    """Return ``Proposals.original``, comparing captions by their words."""
    own = captions.item > 0
    written_for = captions.item[places_in(captions.pk, caption)]
    width = len(captions.pk) + 1
    by_words = np.isin(item * width + text, captions.item[own] * width + captions.text[own])
    hit = np.where(asked, written_for == item, by_words)
    there = (written_for > 0) & (asked | np.isin(item, captions.item[own]))
    return np.where(there, hit, NO_ORIGINAL)


def _ranks_are_places(study: Study, systems: Mapping[int, str], system: Ints, asked: Flags) -> Flags:
    """Return (N,) whether the rank is the place, as for systems known only from judgments."""
    partly = study.dataset.known_in_part
    found = np.zeros(len(system), dtype=bool)
    for task, chosen in ((Output.Task.ANNOTATION, ~asked), (Output.Task.SEARCH, asked)):
        names = partly.get(task, ())
        found |= chosen & np.isin(system, [pk for pk, name in systems.items() if name in names])
    return found


def _map_values(values: Ints, to: Mapping[int, Any]) -> Ints:
    known, place = np.unique(values, return_inverse=True)
    return np.array([to.get(one, -1) for one in known.tolist()], dtype=np.int64)[place]
