"""Measure the agreement of judges in a study, and of one judge with the others, from tables of judgments.

Results are dictionaries as they are stored as JSON. Judgments are clustered by image and worker. For choices between
two texts, agreement may be measured in both orders of the texts, so that it does not depend on which text is first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from common.amounts import as_json, coefficient, interval_in_text, json_float, p_in_text, percent, thousands
from evaluation.data.judgment_sets.records import MAX_OUTCOMES, JudgmentTable, UnitRow, Units, WorkerRow
from evaluation.results.consensus.clusters import scope_of, scope_sentence
from evaluation.results.consensus.study import SIDES
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
from quorum.statistics.agreement.coefficient import CARELESS_NOTE, PatternCoefficient, careless_numbers
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns, patterned_ratings
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
from quorum.statistics.meta import wilson_interval
from quorum.statistics.variance_components import components_of_clusters

COEFFICIENTS = ("percent", "fleiss", "gwet")
# Gwet's weights by level of alpha. "identity" gives AC1.
WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic", "ratio": "ratio"}
UNEQUAL_JUDGMENTS = "items have different numbers of judgments, expected equally many (alpha takes any)"
RESAMPLES = 1000
BOTH_ORDERS = "both-orders"  # name of the coding of choices in which each pair of texts counts in both orders
FULL_DEPTH = "Judgments of decided items stop; agreement is computed from items sampled to get all judgments."
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
            gwet = coefficient_in_both_orders(Gwet(WEIGHTS[level], scale), exchange)
            coefficient = gwet if name == "gwet" else Percent(categories=scale)
            coefficients[name] = _figure(
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
    """Return Fleiss' kappa over the units with two or more judgments.

    It is undefined if their numbers of judgments differ.
    """
    compared = patterned.patterns.comparable_patterns()
    if len(np.unique(compared.sizes())) > 1:
        return {
            "statistic": "fleiss-kappa", "value": None, "low": None, "high": None,
            "n": int(compared.frequency.sum()), "weights": "nominal", "reason": UNEQUAL_JUDGMENTS,
        }  # fmt: skip
    kappa = coefficient_in_both_orders(FleissKappa(), exchange)
    return _figure(agreement(patterned, kappa, resamples=resamples, seed=seed, clusters=clusters))


def _figure(result: AgreementResult) -> dict[str, Any]:
    return {
        **as_json(result, "statistic", "value", "low", "high"),
        "n": result.pairable,
        "weights": result.level,
        "reason": result.reason,
    }


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
    - ``ordinal``: ordinal alpha, for interval levels, and for pairs with more than two answers from "first by far" to
      "second by far", without "neither";
    - ``coefficients``: other coefficients, for short scales;
    - ``by_kind``, ``one_against_rest``, ``side_bias``, ``full_depth``;
    - ``per_worker``: whether single workers can be assessed.

    Args:
        open_judgments: judgments with open answers, which are compared by their kind's codes; empty for other kinds.
        full_depth: units that early stopping did not end. Results are limited to them, because units that stop when two
            people agree would bias agreement.
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
    is_included = agreement_rows(table, full_depth)
    ratings, all_clusters = counted_ratings(table, units, is_included, images, anonymous=anonymous)
    patterned = PatternedRatings.from_ratings(ratings)
    bias = side_bias(
        table,
        units,
        images,
        anonymous=anonymous,
        counted_clusters=all_clusters if full_depth is None else None,
    )

    def alpha(
        rows: Ratings | PatternedRatings,
        clusters: Clusters | None = all_clusters,
        level: str = kind.aggregation.level,
        exchange: Exchange | None = exchange,
    ) -> dict[str, Any]:
        return alpha_of_ratings(
            rows, clusters, level, seed=seed, exchange=exchange, control_items=has_control_items
        )

    def alpha_of_subset(rows: Ratings, is_in_subset: Flags, **options: Any) -> dict[str, Any]:
        clusters = None if all_clusters is None else all_clusters.subset(is_in_subset)
        return alpha(rows.subset(is_in_subset), clusters, **options)

    figures: dict[str, Any] = {"alpha": alpha(patterned)}
    if kind.aggregation.level == "interval":
        figures["ordinal"] = alpha(patterned, level="ordinal")
    # Ordinal alpha needs degrees of preference, not only sides. Values contain the confidence as multiples of SURE.
    if kind.two_sided and len({value % SURE for value in kind.values}) > len(SIDES):
        preference = preferences_of(table.full_value[is_included])
        is_preference = ~np.isnan(preference)  # the answer is not "neither"
        labels, codes = encode(np.where(is_preference, preference, 0), "values")
        preferences = replace(ratings, labels=labels, code=codes)
        opposite = exchange and np.negative
        figures["ordinal"] = alpha_of_subset(preferences, is_preference, level="ordinal", exchange=opposite)
    if len(kind.outcomes) <= MAX_OUTCOMES:
        figures["coefficients"] = agreement_coefficients(
            patterned,
            kind.aggregation.level,
            categories=kind.outcomes,
            resamples=RESAMPLES,
            seed=seed,
            clusters=all_clusters or NAIVE,
            exchange=exchange,
        )
    kind_codes, kind_names = _kinds_of(ratings.units, units)
    if kind_names:
        figures["by_kind"] = {
            name: alpha_of_subset(ratings, (kind_codes == code)[ratings.unit])
            for code, name in kind_names.items()
        }
    if kind.aggregation.level == "nominal":
        figures["one_against_rest"] = _one_against_rest(patterned, units, all_clusters)
    if all_clusters is not None and not anonymous:
        figures["components"] = components_of(kind, ratings.labels[ratings.code], all_clusters)
    if bias:
        figures["side_bias"] = bias
    figures["per_worker"] = per_worker
    if full_depth is not None:
        figures["full_depth"] = {"units": len(full_depth), "reason": FULL_DEPTH}
    return figures


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
    """Return alpha as JSON. ``control_items`` says whether workers answered control items."""
    alpha, clusters = coefficient_in_both_orders(Alpha(level), exchange), clusters or NAIVE
    result = agreement(
        ratings, alpha, resamples=resamples, seed=seed, clusters=clusters, control_items=control_items
    )
    return alpha_dict(result) | ({"coding": BOTH_ORDERS} if exchange else {})


def components_of(kind: Kind, value: Floats, clusters: Clusters) -> dict[str, Any]:
    """Return the variance components of answers (images, workers, residual), and errors with twice as many of each.

    For two candidates the answer is 1 if the first was chosen, 0 if the second was, and 1/2 for neither.
    """
    answer = preference_scores(value) if kind.two_sided else value
    components = components_of_clusters(answer, clusters)
    sizes = {"items": components.items, "raters": components.raters, "judgments": components.judgments}
    # The model's errors are for answers that are balanced over items and people, so use only their ratios.
    model_error = 0.0 if components.reason else components.error_in_study(**sizes)
    doubled_sizes = {
        name: sizes | {name: 2 * sizes[name], "judgments": 2 * sizes["judgments"]} for name in sizes
    }
    twice = {
        name: json_float(components.standard_error * (components.error_in_study(**doubled) / model_error))
        for name, doubled in doubled_sizes.items()
        if model_error
    }
    fields = ("item", "rater", "residual", "standard_error", "items", "raters", "judgments", "reason")
    return {**as_json(components, *fields), "twice": twice}


def components_sentence(components: Mapping[str, Any]) -> str:
    """Return sentences on the variance components and the effect of doubling the study; "" if these are unknown."""
    if not components.get("twice"):
        return ""
    total = components["item"] + components["rater"] + components["residual"]
    shares = {name: percent(components[name] / total) for name in ("item", "rater", "residual")}
    sentence = (
        _(
            "The variance of the answers has three parts: %(item)s between items, %(rater)s between participants, and "
            "%(residual)s residual. The residual includes differences between texts of one item."
        )
        % shares
    )
    if not round(components["standard_error"], 9):  # zero but for rounding errors
        unknown = _(
            "All items have the same mean answer. These answers therefore cannot show whether "
            "more items, participants or answers would make the mean more precise."
        )
        return f"{sentence} {unknown}"
    errors = {"error": components["standard_error"], **components["twice"]}
    gain = _(
        "The standard error of the mean answer is %(error)s. With twice as many items, it would be %(items)s. "
        "With twice as many participants, it would be %(raters)s. With twice as many answers per participant and "
        "item, it would be %(judgments)s."
    ) % {name: coefficient(value, 3) for name, value in errors.items()}
    return f"{sentence} {gain}"


def agreement_rows(table: JudgmentTable, full_depth: Collection[int] | None) -> Flags:
    """Return (N,) flags of included judgments.

    If ``full_depth`` is given, only judgments of these units are included.
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
    rows = [
        (judgment.unit.pk, part, judgment.worker, value)
        for judgment in judgments
        for part, value in kind.aggregation.codes(judgment.unit, judgment.answer).items()
    ]
    unit, part, worker, value = zip(*rows, strict=True) if rows else ((), (), (), ())
    unit_ids, worker_ids = (np.array(column, dtype=np.int64) for column in (unit, worker))
    alpha = alpha_dict(
        agreement(
            (unit, part, worker, value),
            AlphaOfParts(kind.aggregation.level),
            resamples=RESAMPLES,
            seed=seed,
            clusters=judgment_clusters(units, images, unit_ids, worker_ids, anonymous=anonymous) or NAIVE,
            control_items=control_items,
        )
    )
    if kind.aggregation.no_alpha:
        alpha |= {"reason": kind.aggregation.no_alpha, "judgments": len(judgments)}
    return alpha


def alpha_dict(result: AgreementResult) -> dict[str, Any]:
    """Return a coefficient as JSON, where ``n`` is the number of units with two or more judgments.

    ``scope`` is the population to which the interval generalises. It does not include other people if there are
    only two raters.
    """
    raters = result.clusters.get(RATER, 0)
    return {
        **as_json(result, "value", "low", "high"),
        "n": result.pairable,
        **as_json(result, "level", "units"),
        "workers": result.raters,
        **as_json(result, "judgments", "confidence", "resamples", "seed", "reason", "note"),
        **({"clusters": dict(result.clusters)} if result.clusters else {}),
        **({"scope": scope_of(raters if raters > MIN_CLUSTERS else None)} if result.clusters else {}),
    }


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
    included judgments, which are computed if omitted.
    """
    is_included = table.is_counted & table.has_side
    sides = table.side[is_included]
    if not len(sides) or (sides == sides[0]).all():
        return {}
    if counted_clusters is None:
        columns = judgment_clusters(
            units, images, table.unit[is_included], table.worker[is_included], anonymous=anonymous
        )
        columns = columns or {"judgment": np.arange(len(sides))}
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


def alpha_note(alpha: Mapping[str, Any]) -> str:
    """Return the note on alpha, which is stored in English, in the reader's language."""
    note, raters = alpha.get("note") or "", alpha.get("clusters", {}).get(RATER)
    numbers = (
        careless_numbers(alpha["value"], alpha["low"], raters, alpha["confidence"])
        if note and raters and alpha["low"] is not None
        else None
    )
    # The note may end with one that contains numbers, which are filled in after the translation.
    if numbers is None or not note.endswith(careless_note := CARELESS_NOTE % numbers):
        return _(note) if note else ""
    other_note = note.removesuffix(careless_note).removesuffix("; ")
    return "; ".join([*([_(other_note)] if other_note else []), _(CARELESS_NOTE) % numbers])


def side_sentence(bias: Mapping[str, Any], *, random_sides: bool) -> str:
    """Return sentences on the share of choices of the left option, with p if ``random_sides``; "" without data."""
    if not bias:
        return ""
    placeholders = {
        "share": percent(bias["value"]),
        "answers": npgettext("of", "%(n)s answer", "%(n)s answers", bias["n"]) % {"n": thousands(bias["n"])},
        "ends": interval_in_text(bias, percent),
    }
    sentence = (
        _("The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s).") % placeholders
    )
    if random_sides and bias["p"] is not None:
        sentence = _(
            "The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s, %(p)s). Sides "
            "are random, so 50 %% is expected."
        ) % (placeholders | {"p": p_in_text(bias["p"])})
    return f"{sentence} {scope_sentence(bias)}".strip()


def _kinds_of(unit: Ints, units: Sequence[UnitRow]) -> tuple[Ints, dict[int, str]]:
    """Return the (U,) codes of the kinds of units, given by row id, and the names of these kinds by code, in order."""
    if not len(unit):
        return unit, {}
    units = Units.from_rows(units)
    codes = units.kind[places_in(units.pk, unit)]
    names_and_codes = sorted(
        (units.kinds[code], code) for code in np.flatnonzero(np.bincount(codes)).tolist()
    )
    return codes, {code: name for name, code in names_and_codes if name}


def one_against_rest(
    table: JudgmentTable,
    units: Sequence[UnitRow],
    is_included: Flags,
    *,
    images: Ints | None = None,
    anonymous: bool = False,
) -> dict[str, Any]:
    """Return how often a judge agrees with the majority of the unit's other judges, by pair kind and overall.

    If the other judgments are tied or missing, a judgment is left out and counted in ``left_out``. ``is_included``
    flags the judgments to use. ``images`` is as in ``measure_agreement``.
    """
    ratings, clusters = counted_ratings(table, units, is_included, images, anonymous=anonymous)
    return _one_against_rest(PatternedRatings.from_ratings(ratings), units, clusters)


def _one_against_rest(
    patterned: PatternedRatings, units: Sequence[UnitRow], clusters: Clusters | None
) -> dict[str, Any]:
    ratings = patterned.ratings
    kind_codes, kind_names = _kinds_of(ratings.units, units)
    has_majority, agrees = (
        patterned.judgment_values(flags) > 0 for flags in _agreement_with_others(patterned.patterns)
    )
    figures = {}
    for code, name in (*kind_names.items(), (None, "all")):
        is_of_kind = (
            np.ones(len(has_majority), dtype=bool) if code is None else (kind_codes == code)[ratings.unit]
        )
        n = int((has_majority & is_of_kind).sum())
        left_out = {"left_out": int(is_of_kind.sum()) - n}
        if clusters is not None:
            figures[name] = clustered_share(agrees, has_majority & is_of_kind, clusters) | left_out
        else:
            figures[name] = share_with_interval(int((agrees & is_of_kind).sum()), n) | left_out
    return figures


def _agreement_with_others(patterns: UnitPatterns) -> tuple[Floats, Floats]:
    """Return two columns of 0 and 1, one for each cell of ``patterns.counts``.

    They say whether a unit's judges have a majority without one judge who gave the answer, and whether the judge agrees
    with this majority.
    """
    counts, starts, pattern = patterns.counts.data, patterns.counts.indptr[:-1], patterns.cells()[0]
    if not len(counts):
        return counts, counts
    largest = np.maximum.reduceat(counts, starts)[pattern]
    # The number of most frequent answers.
    leader_count = np.add.reduceat((counts == largest) * 1.0, starts)[pattern]
    second = np.maximum.reduceat(np.where(counts < largest, counts, 0), starts)[pattern]
    agrees = (counts == largest) & (leader_count == 1) & (counts - 1 > second)
    # Another answer is the most frequent one, or becomes so when one of two equally frequent answers loses a judge.
    differs = leader_count == np.where(counts < largest, 1, 2)
    return (agrees | differs) * 1.0, agrees * 1.0


def clustered_share(
    values: Flags, is_included: Flags, clusters: Mapping[str, Ints] | Clusters
) -> dict[str, Any]:
    """Return the share of the included ``values`` that are true, with its interval, as JSON."""
    n = int(is_included.sum())
    if not n:
        return share_with_interval(0, 0)
    interval = share_of_rows(values.astype(np.float64), clusters, CONFIDENCE, keep=is_included)
    return {
        "value": float(values[is_included].mean()),
        **as_json(interval, "low", "high"),
        "n": n,
        "clusters": dict(interval.clusters.counts),
        **({"reason": interval.clusters.reason} if interval.clusters.reason else {}),
    }


def share_with_interval(count: int, n: int) -> dict[str, Any]:
    """Return the share ``count / n`` with Wilson's 95 % interval as JSON. Values are null if ``n`` is 0."""
    low, high = wilson_interval(count, n)
    return {"value": count / n if n else None, "low": json_float(low), "high": json_float(high), "n": n}


def preference_scores(side: Floats) -> Floats:
    """Return (N,) scores of answers: 1 for the first of two candidates, 0 for the second, 0.5 for neither."""
    return np.where(side == 1, 1.0, np.where(side == 2, 0.0, 0.5))
