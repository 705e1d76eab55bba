"""What systems proposed, in the order of their lists, and what people say of it (H13 §4.3). Pure.

A system's list for a query is its captions for an image (annotation), or the images that it found for a caption
(search). Judgments are of an image and a text: equal texts are one, whatever caption row they stand in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.provenance import plain
from evaluation.records import Flags, Floats, Ints
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
from evaluation.statistics.sample_intervals import bootstrap_interval
from judgments.kinds import Consensus, Kind
from judgments.kinds.image_caption import ImageCaptionKind

ANNOTATION, SEARCH = "annotation", "search"
CUTS = (1, 5, 10)
RESAMPLES = 1000
SEED = 0  # a judgments file does not carry the study's: from an import the tables come out the same
NO_ORIGINAL = -1
UNJUDGED, IRRELEVANT, RELEVANT = -1, 0, 1  # as `JudgedRankings.codes` has them
NOT_RETURNED = "half of the lists, or more, do not hold the original item"


@dataclass(frozen=True, slots=True)
class Proposals:
    """N places in the lists of systems, by system, task, query and place; no item stands in a list twice.

    Attributes:
        systems, images, texts, askers: names, in the order of their numbers: of a text the id of one of its captions,
            of an asker that of the caption that asks.
        system, image, text: (N,) numbers.
        asker: (N,) numbers; -1 where the image asks.
        place: (N,) from 1; one that is missing in a list is of an item that is not known.
        original: (N,) 1: the caption was written for the image; 0: for another one; -1: there is no original to find.
        units: unit row id -> image and text.
    """

    systems: Sequence[str]
    images: Sequence[str]
    texts: Sequence[str]
    askers: Sequence[str]
    system: Ints
    image: Ints
    text: Ints
    asker: Ints
    place: Ints
    original: Ints
    units: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.system)

    @property
    def search(self) -> Flags:
        """(N,) bool: a caption asks, images are ranked."""
        return self.asker >= 0

    @property
    def query(self) -> Ints:
        """(N,) number of the image or caption that asks."""
        return np.where(self.search, self.asker, self.image)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``Proposals`` as they come; ``rank`` orders a list, and is the place itself where ``placed``."""

    system: Ints
    image: Ints
    text: Ints
    asker: Ints
    rank: Ints
    original: Ints
    placed: Flags


def in_order(
    rows: Rows,
    systems: Sequence[str],
    images: Sequence[str],
    texts: Sequence[str],
    askers: Sequence[str],
    units: Mapping[int, tuple[int, int]],
) -> Proposals:
    """The rows as lists: places count from 1, an item that comes twice counts once, at its best place."""
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


def values_of(proposals: Proposals, of_unit: Mapping[int, Any]) -> dict[tuple[int, int], Any]:
    """(image, text) -> what ``of_unit`` has of it; of several units of one text the first one that has something."""
    found: dict[tuple[int, int], Any] = {}
    for unit, place in proposals.units.items():
        value = of_unit.get(unit)
        if value is not None:
            found.setdefault(place, value)
    return found


def consensus_values(consensus: Mapping[int, Consensus]) -> dict[int, float]:
    """Unit row id -> its consensus as a number."""
    return {unit: float(one.value) for unit, one in consensus.items() if one.value is not None}


def rankings_of(
    kind: Kind, proposals: Proposals, consensus: Mapping[int, Consensus], audit: Mapping[str, Any]
) -> dict[str, Any]:
    """Task -> a row for each system that proposed something; {} where no list has two items.

    A row has ``queries``, ``nothing_relevant`` (queries without a relevant item, which S@k and R-precision leave out),
    S@1, S@5, S@10 and R-precision; with an audit of the filter ``audited`` S@k over all queries; and where originals
    can be found ``original``: R@1, R@5, R@10 and the median rank over its ``queries`` (H13 §4.3.1). Best first.
    """
    judged = values_of(proposals, consensus_values(consensus))
    found = {}
    for task, chosen in ((ANNOTATION, ~proposals.search), (SEARCH, proposals.search)):
        rows = np.flatnonzero(chosen)
        if not (proposals.place[rows] > 1).any():
            continue
        known = _Known.of(kind, proposals, judged, task)
        owners = proposals.system[rows]
        table = []
        for system in np.unique(owners).tolist():
            own = rows[owners == system]
            table.append(
                {"system": proposals.systems[system], **_row(proposals, own, known, audit, task=task)}
            )
        found[task] = sorted(table, key=lambda row: -(row["R-precision"]["value"] or 0.0))
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What is judged: ``keys`` (M,) ascending of an image and a text, ``codes`` (M,), and the relevant items of each
    query."""

    keys: Ints
    codes: npt.NDArray[np.int8]
    relevant: Ints
    width: int

    @classmethod
    def of(
        cls, kind: Kind, proposals: Proposals, judged: Mapping[tuple[int, int], float], task: str
    ) -> _Known:
        width = len(proposals.texts) + 1
        image, text = (np.array([pair[at] for pair in judged], dtype=np.int64) for at in (0, 1))
        codes = np.array([kind.relevance(value) > 0 for value in judged.values()], dtype=np.int8)
        keys = image * width + text
        order = np.argsort(keys)
        # by image, or by the text that a caption asks with
        relevant = np.bincount(
            (image if task == ANNOTATION else text)[codes > 0],
            minlength=max(len(proposals.images), len(proposals.texts)),
        )
        return cls(keys[order], codes[order], relevant, width)

    def look_up(self, image: Ints, text: Ints) -> npt.NDArray[np.int8]:
        """The codes of images and texts."""
        wanted = image * self.width + text
        found = np.full(len(wanted), UNJUDGED, dtype=np.int8)
        if len(self.keys):
            place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            there = self.keys[place] == wanted
            found[there] = self.codes[place[there]]
        return found


def _row(
    proposals: Proposals, own: Ints, known: _Known, audit: Mapping[str, Any], *, task: str
) -> dict[str, Any]:
    """The figures of one system; ``own`` are its rows of the task, list by list."""
    query, place = proposals.query[own], proposals.place[own]
    queries, first = np.unique(query, return_index=True)  # rows stand in the order of queries
    number = np.searchsorted(queries, query)
    lengths = np.maximum.reduceat(place, first)  # of a list with unknown items: down to the last known one
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = starts[number] + place - 1

    def lists(codes: Ints | npt.NDArray[np.int8], total: Ints, unknown: int) -> JudgedRankings:
        laid = np.full(int(starts[-1]), unknown, dtype=np.int8)
        laid[at] = codes
        return JudgedRankings(starts, laid, total, queries, judged=unknown == UNJUDGED)

    asked = queries if task == ANNOTATION else proposals.text[own][first]
    judged = lists(known.look_up(proposals.image[own], proposals.text[own]), known.relevant[asked], UNJUDGED)
    precision = r_precision(judged)
    found: dict[str, Any] = {
        "queries": len(queries),
        "nothing_relevant": precision.undefined,
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
        # of several captions that were written for the image, the one that stands first
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
    """A share of queries with Wilson's interval."""
    known = result.per_query[~np.isnan(result.per_query)]
    return _figure(result, wilson_interval(round(float(known.sum())), len(known)), len(known))


def _mean(result: RankingResult) -> dict[str, Any]:
    """A mean over queries with a bootstrap interval."""
    known = result.per_query[~np.isnan(result.per_query)]
    interval = bootstrap_interval(known, resamples=RESAMPLES, seed=SEED)
    return _figure(result, (interval.low, interval.high), len(known))


def _figure(result: RankingResult, interval: tuple[float, float], n: int) -> dict[str, Any]:
    told = (
        {} if result.unjudged is None else {"unjudged": result.unjudged, "best_case": plain(result.best_case)}
    )
    return {
        "value": plain(result.value),
        "low": plain(interval[0]),
        "high": plain(interval[1]),
        "n": n,
        **told,
    }


def corrected_success(judged: JudgedRankings, k: int, audit: Mapping[str, Any]) -> Estimate:
    """S@k over all queries where what the filter left out is relevant with the audited share q.

    A query with a relevant caption among its first k counts 1; one with none there and m captions that nobody judged
    counts 1 - (1 - q)^m, as if each were one of those left out, drawn at random. ``low`` and ``high`` of the audit give
    the interval: it is of q alone.
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
    kind: ImageCaptionKind,
    proposals: Proposals,
    consensus: Mapping[int, Consensus],
    figures: Mapping[int, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """What people say of each system's captions, wherever they stand in its lists; by name.

    A row has ``captions`` (judged ones) and ``images``, ``describes`` (the share that describes its image, as the kind
    draws the line), and where answers are averaged ``mean``; with ``z`` in ``figures`` its mean as well. Intervals are
    of resampled images, since captions of one image hang together.
    """
    values = values_of(proposals, consensus_values(consensus))
    scores = values_of(proposals, {unit: row.get("z") for unit, row in figures.items()})
    rows = np.flatnonzero(~proposals.search)
    places = zip(proposals.image[rows].tolist(), proposals.text[rows].tolist(), strict=True)
    rows = rows[[place in values for place in places]]
    if not len(rows):
        return []
    system, image = proposals.system[rows], proposals.image[rows]
    pairs = list(zip(image.tolist(), proposals.text[rows].tolist(), strict=True))
    value = np.array([values[pair] for pair in pairs], dtype=np.float64)
    names = ["describes"]
    said = {one: float(kind.describes(one)) for one in set(values.values())}
    columns = [np.array([said[one] for one in value.tolist()], dtype=np.float64)]
    if kind.level == "interval":
        names, columns = ["mean", *names], [value, *columns]
    if scores:
        names.append("z")
        columns.append(np.array([scores.get(pair, np.nan) for pair in pairs], dtype=np.float64))
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
    """Means of C columns for S systems, and the same on resamples of images: (B, S, C)."""

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
            with np.errstate(invalid="ignore"):  # no caption in a resample: undefined, and left out below
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
        """One mean with its interval; of one image there is none."""
        n = int(self.counts[system, column])
        low, high, _ = percentile_interval(self.draws[:, system, column], CONFIDENCE)
        several = self.images[system, column] > 1
        return {
            "value": float(self.sums[system, column]) / n if n else None,
            "low": plain(low) if several else None,
            "high": plain(high) if several else None,
            "n": n,
        }
