"""Measure the agreement of judges in a study from a table of its judgments: alpha, other coefficients, side bias.

Results are dictionaries as they are stored as JSON. Judgments are clustered by image and worker. For choices between
two texts, agreement may be measured in both orders of the texts, so that it does not depend on which text is first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from common.amounts import as_json, json_float
from evaluation.data.judgment_sets.records import MAX_OUTCOMES, JudgmentTable, UnitRow, Units, WorkerRow
from evaluation.results.consensus.clusters import scope_of
from evaluation.results.consensus.study import SIDES
from evaluation.results.one_against_rest import one_against_rest_of_ratings, pair_kinds_of
from judgments.kinds import IncludedJudgment, Kind
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import SURE, other_side, preferences_of
from quorum.statistics.agreement import (
    AgreementResult,
    Alpha,
    AlphaOfParts,
    BothOrdersCoefficient,
    FleissKappa,
    Gwet,
    Percent,
    Ratings,
    agreement,
    ratings_of_judgments,
)
from quorum.statistics.agreement.both_orders import Exchange
from quorum.statistics.agreement.coefficient import PatternCoefficient
from quorum.statistics.agreement.patterns import PatternedRatings, patterned_ratings
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    MIN_CLUSTERS,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    renumber_codes,
    share_of_rows,
)
from quorum.statistics.inputs import encode
from quorum.statistics.variance_components import components_of_clusters

COEFFICIENTS = ("percent", "fleiss", "gwet")
# Gwet's weights by level of alpha. "identity" gives AC1.
GWET_WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic", "ratio": "ratio"}
UNEQUAL_JUDGMENTS = "items have different numbers of judgments, expected equally many (alpha takes any)"
RESAMPLES = 1000  # for intervals, if ratings are regarded as independent
BOTH_ORDERS = "both-orders"  # name of the coding of choices in which each pair of texts counts in both orders
FULL_DEPTH_NOTE = (
    "Judgments of decided items stop; agreement is computed from items sampled to get all judgments."
)
ANONYMOUS_REASON = (
    "The judges are anonymous places in published totals, or in a file that does not name them, not persons; nothing "
    "can be said about each of them."
)


def agreement_coefficients(
    ratings: Ratings | PatternedRatings,
    level: str,
    *,
    names: Collection[str] = COEFFICIENTS,
    categories: Sequence[Any] = (),
    resamples: int,
    seed: int,
    clusters: ClusterColumns | Clusters,
    exchange: Exchange | None = None,
) -> dict[str, dict[str, Any]]:
    """Return coefficients with their intervals, as JSON by name.

    Args:
        level: level of measurement, as for alpha.
        names: names of the coefficients to compute.
        categories: the whole scale; by default the values that occur.
        clusters: see ``quorum.statistics.agreement.agreement``.
        exchange: for choices between two texts; see ``BothOrdersCoefficient``.
    """
    patterned, scale = patterned_ratings(ratings), list(categories) or None
    coefficients: dict[str, dict[str, Any]] = {}
    for name in COEFFICIENTS:
        if name not in names:
            continue
        if name == "fleiss":
            coefficients[name] = _fleiss(patterned, resamples, seed, clusters, exchange)
        else:
            gwet = coefficient_in_both_orders(Gwet(GWET_WEIGHTS[level], scale), exchange)
            # percent agreement is the same in both orders
            coefficient = gwet if name == "gwet" else Percent(categories=scale)
            coefficients[name] = _coefficient_as_json(
                agreement(patterned, coefficient, resamples=resamples, seed=seed, clusters=clusters)
            )
    return coefficients


def exchange_of(kind: Kind | None) -> Exchange | None:
    """Return the function that exchanges both sides of an answer, for kinds of choices between two texts."""
    return other_side if kind is not None and kind.two_sided else None


def coefficient_in_both_orders(
    coefficient: PatternCoefficient, exchange: Exchange | None
) -> PatternCoefficient:
    return BothOrdersCoefficient(coefficient, exchange) if exchange else coefficient


def _fleiss(
    patterned: PatternedRatings,
    resamples: int,
    seed: int,
    clusters: ClusterColumns | Clusters,
    exchange: Exchange | None,
) -> dict[str, Any]:
    """Return Fleiss' kappa of the units with two or more judgments, undefined if not all have equally many."""
    comparable_patterns = patterned.patterns.comparable_patterns()
    if len(np.unique(comparable_patterns.sizes())) > 1:
        return {
            "statistic": "fleiss-kappa", "value": None, "low": None, "high": None,
            "n": int(comparable_patterns.frequency.sum()), "weights": "nominal", "reason": UNEQUAL_JUDGMENTS,
        }  # fmt: skip
    kappa = coefficient_in_both_orders(FleissKappa(), exchange)
    return _coefficient_as_json(
        agreement(patterned, kappa, resamples=resamples, seed=seed, clusters=clusters)
    )


def _coefficient_as_json(result: AgreementResult) -> dict[str, Any]:
    return {
        **as_json(result, "statistic", "value", "low", "high"),
        "n": result.pairable,
        "weights": result.level,
        "reason": result.reason,
    }


@dataclass(frozen=True, slots=True)
class _AlphaMeasure:
    """Measures alpha of a study's ratings, or of some of them, with the same options.

    Attributes:
        clusters: clusters of all ratings; None if they are regarded as independent.
        control_items: whether workers answered control items.
    """

    level: str
    exchange: Exchange | None
    clusters: Clusters | None
    seed: int
    control_items: bool

    def of_all(self, ratings: Ratings | PatternedRatings) -> dict[str, Any]:
        return alpha_of_ratings(
            ratings,
            self.clusters,
            self.level,
            seed=self.seed,
            exchange=self.exchange,
            control_items=self.control_items,
        )

    def of_subset(self, ratings: Ratings, is_in_subset: Flags) -> dict[str, Any]:
        """Return alpha of the ratings that the (N,) flags select."""
        clusters = None if self.clusters is None else self.clusters.subset(is_in_subset)
        return replace(self, clusters=clusters).of_all(ratings.subset(is_in_subset))


def measure_agreement(
    kind: Kind,
    table: JudgmentTable,
    units: Sequence[UnitRow],
    workers: Sequence[WorkerRow],
    open_judgments: Sequence[IncludedJudgment],
    *,
    seed: int,
    full_depth: Collection[int] | None = None,
    images: Ints | None = None,
    both_orders: bool = True,
) -> dict[str, Any]:
    """Return the agreement of included judgments as JSON, with intervals that cluster by image and worker.

    The keys are:

    - ``alpha``: alpha at the kind's level;
    - ``ordinal``: ordinal alpha, for interval levels, and for pairs with more answers than the two sides, of answers
      from "first by far" to "second by far", without "neither";
    - ``coefficients``: other coefficients, for short scales;
    - ``by_kind``: alpha by pair kind, if there are kinds;
    - ``one_against_rest``: how often one judge agrees with the majority of the others, for nominal levels;
    - ``components``: variance components of the answers, if workers are known;
    - ``side_bias``: how often the option on the left was chosen, if options have sides;
    - ``per_worker``: whether single workers can be assessed;
    - ``full_depth``: the number of the units to which results are limited, if they are.

    Args:
        open_judgments: judgments with open answers, which are compared by their kind's codes; unused for other kinds.
        full_depth: units exempt from early stopping. All but ``side_bias`` is limited to them, because units that
            stop when two people agree would bias agreement.
        images: (U,) images of the units; if None, judgments are regarded as independent, as in releases before 0.6.
        both_orders: whether choices between two texts count in both orders; false for releases before 0.6.
    """
    anonymous = any(worker.anonymous for worker in workers)
    per_worker = {"available": not anonymous, "reason": ANONYMOUS_REASON if anonymous else ""}
    has_control_items = any(record.answers for record in table.records.values())
    if kind.is_open:
        open_alpha = alpha_of_open_answers(
            kind,
            open_judgments,
            units,
            images,
            seed=seed,
            anonymous=anonymous,
            control_items=has_control_items,
        )
        return {"alpha": open_alpha, "per_worker": per_worker}
    exchange = exchange_of(kind) if both_orders else None
    is_included = flag_judgments_for_agreement(table, full_depth)
    ratings, all_clusters = counted_ratings(table, units, is_included, images, anonymous=anonymous)
    # units with equal numbers of each answer are counted once
    patterned = PatternedRatings.from_ratings(ratings)
    bias = side_bias(
        table,
        units,
        images,
        anonymous=anonymous,
        counted_clusters=all_clusters if full_depth is None else None,  # else they are of some judgments only
    )
    level = kind.aggregation.level
    alpha = _AlphaMeasure(level, exchange, all_clusters, seed, has_control_items)
    figures: dict[str, Any] = {"alpha": alpha.of_all(patterned)}
    if level == "interval":
        figures["ordinal"] = replace(alpha, level="ordinal").of_all(patterned)
    # With only two answers, ordinal alpha is nominal alpha. Values contain the confidence as multiples of SURE.
    if kind.two_sided and len({value % SURE for value in kind.values}) > len(SIDES):
        figures["ordinal"] = _alpha_of_preferences(alpha, ratings, table.full_value[is_included])
    if len(kind.outcomes) <= MAX_OUTCOMES:
        figures["coefficients"] = agreement_coefficients(
            patterned,
            level,
            categories=kind.outcomes,
            resamples=RESAMPLES,
            seed=seed,
            clusters=all_clusters or NAIVE,
            exchange=exchange,
        )
    kind_codes, kind_names = pair_kinds_of(ratings.units, units)
    if kind_names:
        figures["by_kind"] = {
            name: alpha.of_subset(ratings, (kind_codes == code)[ratings.unit])
            for code, name in kind_names.items()
        }
    if level == "nominal":
        figures["one_against_rest"] = one_against_rest_of_ratings(patterned, units, all_clusters)
    if all_clusters is not None and not anonymous:
        figures["components"] = components_of(kind, ratings.labels[ratings.code], all_clusters)
    if bias:
        figures["side_bias"] = bias
    figures["per_worker"] = per_worker
    if full_depth is not None:
        figures["full_depth"] = {"units": len(full_depth), "reason": FULL_DEPTH_NOTE}
    return figures


def _alpha_of_preferences(alpha: _AlphaMeasure, ratings: Ratings, full_value: Floats) -> dict[str, Any]:
    """Return ordinal alpha of degrees of preference, from "first by far" to "second by far", without "neither".

    ``full_value`` has the (N,) answers of the ratings with strength and confidence.
    """
    preference = preferences_of(full_value)
    is_preference = ~np.isnan(preference)  # the answer is not "neither"
    labels, codes = encode(np.where(is_preference, preference, 0), "values")  # "neither" is left out below
    preferences = replace(ratings, labels=labels, code=codes)
    # Exchanging the texts changes the sign of a preference.
    opposite = np.negative if alpha.exchange else None
    return replace(alpha, level="ordinal", exchange=opposite).of_subset(preferences, is_preference)


def alpha_of_ratings(
    ratings: Ratings | PatternedRatings,
    clusters: ClusterColumns | Clusters | None,
    level: str,
    *,
    seed: int,
    exchange: Exchange | None = None,
    resamples: int = RESAMPLES,
    control_items: bool = False,
) -> dict[str, Any]:
    """Return alpha as JSON. ``control_items`` says whether workers answered control items.

    The note on careless raters is then left out, whether or not the control items exclude somebody.
    """
    result = agreement(
        ratings,
        coefficient_in_both_orders(Alpha(level), exchange),
        resamples=resamples,
        seed=seed,
        clusters=clusters or NAIVE,
        control_items=control_items,
    )
    return alpha_as_json(result) | ({"coding": BOTH_ORDERS} if exchange else {})


def components_of(kind: Kind, value: Floats, clusters: Clusters) -> dict[str, Any]:
    """Return the variance components of answers (images, workers, residual) as JSON.

    For two candidates the answer is 1 if the first was chosen, 0 if the second was, and 1/2 for neither. ``twice`` has
    the standard errors of the mean answer that are expected with twice as many "items", "raters" or "judgments".
    """
    answer = preference_scores(value) if kind.two_sided else value
    components = components_of_clusters(answer, clusters)
    sizes = {"items": components.items, "raters": components.raters, "judgments": components.judgments}
    # The model's errors are for answers that are balanced over items and people, so use only their ratios.
    model_error = 0.0 if components.reason else components.error_in_study(**sizes)
    doubled_sizes = {
        # With twice as many items or raters, there are twice as many judgments, too.
        name: sizes | {name: 2 * sizes[name], "judgments": 2 * sizes["judgments"]}
        for name in sizes
    }
    twice = {
        name: json_float(components.standard_error * (components.error_in_study(**doubled) / model_error))
        for name, doubled in doubled_sizes.items()
        if model_error
    }
    fields = ("item", "rater", "residual", "standard_error", "items", "raters", "judgments", "reason")
    return {**as_json(components, *fields), "twice": twice}


def flag_judgments_for_agreement(table: JudgmentTable, full_depth: Collection[int] | None) -> Flags:
    """Return (N,) flags of the judgments from which agreement is computed.

    If ``full_depth`` is given, they are the counted judgments of these units, else all counted judgments.
    """
    return (
        table.is_counted if full_depth is None else table.is_counted & np.isin(table.unit, list(full_depth))
    )


def judgment_clusters(
    units: Sequence[UnitRow], images: Ints | None, unit: Ints, worker: Ints, *, anonymous: bool
) -> dict[str, Ints]:
    """Return the clusters of (N,) judgments: images, and workers unless anonymous. Without images, return {}."""
    if images is None:
        return {}
    item = images[places_in(Units.from_rows(units).pk, unit)] if len(unit) else unit
    return {ITEM: item} if anonymous else {ITEM: item, RATER: worker}


def alpha_of_open_answers(
    kind: Kind,
    judgments: Sequence[IncludedJudgment],
    units: Sequence[UnitRow],
    images: Ints | None,
    *,
    seed: int,
    anonymous: bool,
    control_items: bool = False,
) -> dict[str, Any]:
    """Return alpha of open answers as JSON. The kind codes an answer in parts, which are compared one by one."""
    rows: list[tuple[int, Any, int, Any]] = []
    for judgment in judgments:
        codes = kind.aggregation.codes(judgment.unit, judgment.answer)
        rows += [(judgment.unit.pk, part, judgment.worker, value) for part, value in codes.items()]
    unit, part, worker, value = zip(*rows, strict=True) if rows else ((), (), (), ())
    unit_ids, worker_ids = np.array(unit, dtype=np.int64), np.array(worker, dtype=np.int64)
    result = agreement(
        (unit, part, worker, value),
        AlphaOfParts(kind.aggregation.level),
        resamples=RESAMPLES,
        seed=seed,
        clusters=judgment_clusters(units, images, unit_ids, worker_ids, anonymous=anonymous) or NAIVE,
        control_items=control_items,
    )
    alpha = alpha_as_json(result)
    if kind.aggregation.no_alpha:  # why answers have no alpha; none are compared then, so all are counted
        alpha |= {"reason": kind.aggregation.no_alpha, "judgments": len(judgments)}
    return alpha


def alpha_as_json(result: AgreementResult) -> dict[str, Any]:
    """Return alpha as JSON, where ``n`` is the number of units with two or more judgments.

    ``scope`` is the population to which the interval generalises. It does not include other people if there are
    only two raters, since one pair of raters does not show how much others would differ.
    """
    alpha = {
        **as_json(result, "value", "low", "high"),
        "n": result.pairable,
        **as_json(result, "level", "units"),
        "workers": result.raters,
        **as_json(result, "judgments", "confidence", "resamples", "seed", "reason", "note"),
    }
    if result.clusters:
        raters = result.clusters.get(RATER, 0)
        alpha["clusters"] = dict(result.clusters)
        alpha["scope"] = scope_of(raters if raters > MIN_CLUSTERS else None)
    return alpha


def counted_ratings(
    table: JudgmentTable,
    units: Sequence[UnitRow],
    is_included: Flags,
    images: Ints | None,
    *,
    anonymous: bool,
) -> tuple[Ratings, Clusters | None]:
    """Return the judgments flagged by ``is_included`` (N,) as ratings, and their clusters, or None without images."""
    ratings = ratings_of_judgments(
        table.unit[is_included], table.worker[is_included], table.value[is_included]
    )
    return ratings, clusters_of_ratings(ratings, Units.from_rows(units).pk, images, anonymous=anonymous)


def clusters_of_ratings(
    ratings: Ratings, units: Ints, images: Ints | None, *, anonymous: bool
) -> Clusters | None:
    """Return the clusters of ratings by image, and by worker unless anonymous; None without images.

    ``units`` and ``images`` are the (U,) row ids of units and their images.
    """
    if images is None:
        return None
    _, image = encode(images[places_in(units, ratings.units)], "images")
    columns = {ITEM: image[ratings.unit]} if anonymous else {ITEM: image[ratings.unit], RATER: ratings.rater}
    return Clusters.of_codes(columns)


def side_bias(
    table: JudgmentTable,
    units: Sequence[UnitRow],
    images: Ints | None,
    *,
    anonymous: bool,
    counted_clusters: Clusters | None = None,
) -> dict[str, Any]:
    """Return how often included judgments chose the option on the left.

    Return {} if the first option was always on one side. ``p`` tests the share against one half, which is expected
    if sides are random. ``images`` is as in ``measure_agreement``. ``counted_clusters`` are the clusters of all
    counted judgments; if it is omitted, the clusters are computed.
    """
    is_included = table.is_counted & table.has_side
    sides = table.side[is_included]
    if not len(sides) or (sides == sides[0]).all():
        return {}
    if counted_clusters is None:
        columns = judgment_clusters(
            units, images, table.unit[is_included], table.worker[is_included], anonymous=anonymous
        )
        columns = columns or {"judgment": np.arange(len(sides))}  # independent judgments
        clusters = Clusters.of_codes({name: renumber_codes(column) for name, column in columns.items()})
    else:
        clusters = counted_clusters.subset(table.has_side[table.is_counted])
    is_left = table.chose_left[is_included].astype(np.float64)
    interval = share_of_rows(is_left, clusters, CONFIDENCE)
    return {
        "value": float(is_left.mean()),
        **as_json(interval, "low", "high", "p"),
        "n": len(is_left),
        "clusters": dict(interval.clusters.counts),
        "scope": scope_of(interval.clusters.counts.get(RATER)),
    }


def preference_scores(side: Floats) -> Floats:
    """Return (N,) scores of answers: 1 for the first of two candidates, 0 for the second, 0.5 for neither."""
    return np.select([side == 1, side == 2], [1.0, 0.0], default=0.5)


def one_against_rest(
    table: JudgmentTable,
    units: Sequence[UnitRow],
    is_included: Flags,
    *,
    images: Ints | None = None,
    anonymous: bool = False,
) -> dict[str, Any]:
    """Return the same as ``one_against_rest_of_ratings`` for the judgments that ``is_included`` flags.

    ``images`` is as in ``measure_agreement``.
    """
    ratings, clusters = counted_ratings(table, units, is_included, images, anonymous=anonymous)
    return one_against_rest_of_ratings(PatternedRatings.from_ratings(ratings), units, clusters)
