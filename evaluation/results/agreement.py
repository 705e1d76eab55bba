"""Agreement of judges in a study, and of one judge with the other judges, from arrays."""

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
BOTH_ORDERS = "both-orders"  # each pair of texts is coded in both orders
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
        exchange: for choices between two texts; see ``BothOrdersCoefficient``.
        clusters: see ``quorum.statistics.agreement.agreement``.
        categories: the whole scale; by default the values that occur.
    """
    rated, scale = patterned_ratings(ratings), list(categories) or None
    coefficients: dict[str, dict[str, Any]] = {}
    for name in COEFFICIENTS:
        if name not in names:
            continue
        if name == "fleiss":
            coefficients[name] = _fleiss(rated, resamples, seed, clusters, exchange)
        else:
            gwet = coefficient_in_both_orders(Gwet(WEIGHTS[level], scale), exchange)
            coefficient = gwet if name == "gwet" else Percent(categories=scale)
            coefficients[name] = _figure(
                agreement(rated, coefficient, resamples=resamples, seed=seed, clusters=clusters)
            )
    return coefficients


def exchange_of(kind: Kind | None) -> Exchange | None:
    return other_side if kind is not None and kind.two_sided else None


def coefficient_in_both_orders(
    coefficient: PatternCoefficient, exchange: Exchange | None
) -> PatternCoefficient:
    return BothOrdersCoefficient(coefficient, exchange) if exchange else coefficient


def _fleiss(
    rated: PatternedRatings,
    resamples: int,
    seed: int,
    clusters: ClusterColumns | Clusters,
    exchange: Exchange | None,
) -> dict[str, Any]:
    """Return Fleiss' kappa over the units with two or more judgments.

    It is undefined if their numbers of judgments differ.
    """
    compared = rated.patterns.comparable_patterns()
    if len(np.unique(compared.sizes())) > 1:
        return {
            "statistic": "fleiss-kappa", "value": None, "low": None, "high": None,
            "n": int(compared.frequency.sum()), "weights": "nominal", "reason": UNEQUAL_JUDGMENTS,
        }  # fmt: skip
    kappa = coefficient_in_both_orders(FleissKappa(), exchange)
    return _figure(agreement(rated, kappa, resamples=resamples, seed=seed, clusters=clusters))


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
    judged: Sequence[IncludedJudgment],
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
        judged: open answers, which are compared by their kind's codes.
        full_depth: units that early stopping did not end. Results are limited to them, because units that stop when two
            people agree would bias agreement.
        images: (U,) images of the units; if None, judgments are regarded as independent, as in releases before 0.6.
        both_orders: whether choices between two texts count in both orders; false before 0.6.
    """
    anonymous = any(worker.anonymous for worker in workers)
    per_worker = {"available": not anonymous, "reason": ANONYMOUS_REASON if anonymous else ""}
    control_items = any(record.answers for record in table.records.values())
    if kind.is_open:
        open_alpha = alpha_of_open(
            kind, judged, units, images, seed=seed, anonymous=anonymous, control_items=control_items
        )
        return {"alpha": open_alpha, "per_worker": per_worker}
    exchange = exchange_of(kind) if both_orders else None
    counted_judgments = agreement_rows(table, full_depth)
    ratings, grouped = counted_ratings(table, units, counted_judgments, images, anonymous=anonymous)
    rated = PatternedRatings.from_ratings(ratings)
    of_counted = grouped if full_depth is None else None
    bias = side_bias(table, units, images, anonymous=anonymous, of_counted=of_counted)

    def alpha(
        rows: Ratings | PatternedRatings,
        clusters: Clusters | None = grouped,
        level: str = kind.aggregation.level,
        exchange: Exchange | None = exchange,
    ) -> dict[str, Any]:
        return alpha_of_ratings(
            rows, clusters, level, seed=seed, exchange=exchange, control_items=control_items
        )

    def alpha_of_subset(rows: Ratings, keep: Flags, **options: Any) -> dict[str, Any]:
        return alpha(rows.subset(keep), None if grouped is None else grouped.subset(keep), **options)

    figures: dict[str, Any] = {"alpha": alpha(rated)}
    if kind.aggregation.level == "interval":
        figures["ordinal"] = alpha(rated, level="ordinal")
    # Ordinal alpha needs degrees of preference, not only sides.
    if kind.two_sided and len({value % SURE for value in kind.values}) > len(SIDES):
        preference = preferences_of(table.full_value[counted_judgments])
        compared = ~np.isnan(preference)
        labels, codes = encode(np.where(compared, preference, 0), "values")
        preferences = replace(ratings, labels=labels, code=codes)
        opposite = exchange and np.negative
        figures["ordinal"] = alpha_of_subset(preferences, compared, level="ordinal", exchange=opposite)
    if len(kind.outcomes) <= MAX_OUTCOMES:
        figures["coefficients"] = agreement_coefficients(
            rated,
            kind.aggregation.level,
            categories=kind.outcomes,
            resamples=RESAMPLES,
            seed=seed,
            clusters=grouped or NAIVE,
            exchange=exchange,
        )
    kinds, names = _kinds_of(ratings.units, units)
    if names:
        figures["by_kind"] = {
            name: alpha_of_subset(ratings, (kinds == code)[ratings.unit]) for code, name in names.items()
        }
    if kind.aggregation.level == "nominal":
        figures["one_against_rest"] = _one_against_rest(rated, units, grouped)
    if grouped is not None and not anonymous:
        figures["components"] = components_of(kind, ratings.labels[ratings.code], grouped)
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
    n = {"items": components.items, "raters": components.raters, "judgments": components.judgments}
    # Answers may be unbalanced over items and people, so use only the ratios of the model's errors.
    even = 0.0 if components.reason else components.error_in_study(**n)
    more = {name: n | {name: 2 * n[name], "judgments": 2 * n["judgments"]} for name in n}
    errors = {name: components.error_in_study(**of) / even for name, of in more.items() if even}
    twice = {name: json_float(components.standard_error * ratio) for name, ratio in errors.items()}
    fields = ("item", "rater", "residual", "standard_error", "items", "raters", "judgments", "reason")
    return {**as_json(components, *fields), "twice": twice}


def components_sentence(components: Mapping[str, Any]) -> str:
    """Return sentences on the variance components and the effect of doubling the study; "" if these are unknown."""
    if not components.get("twice"):
        return ""
    total = components["item"] + components["rater"] + components["residual"]
    shares = [percent(components[name] / total) for name in ("item", "rater", "residual")]
    sentence = _(
        "The variance of the answers has three parts: %(item)s between items, %(rater)s between participants, and "
        "%(residual)s residual. The residual includes differences between texts of one item."
    ) % dict(zip(("item", "rater", "residual"), shares, strict=True))
    if not round(components["standard_error"], 9):
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


def alpha_of_open(
    kind: Kind,
    judged: Sequence[IncludedJudgment],
    units: Sequence[UnitRow],
    images: Ints | None,
    *,
    seed: int,
    anonymous: bool,
    control_items: bool = False,
) -> dict[str, Any]:
    rows = [
        (judgment.unit.pk, part, judgment.worker, value)
        for judgment in judged
        for part, value in kind.aggregation.codes(judgment.unit, judgment.answer).items()
    ]
    unit, part, worker, value = zip(*rows, strict=True) if rows else ((), (), (), ())
    of_rows = (np.array(column, dtype=np.int64) for column in (unit, worker))
    alpha = alpha_dict(
        agreement(
            (unit, part, worker, value),
            AlphaOfParts(kind.aggregation.level),
            resamples=RESAMPLES,
            seed=seed,
            clusters=judgment_clusters(units, images, *of_rows, anonymous=anonymous) or NAIVE,
            control_items=control_items,
        )
    )
    if kind.aggregation.no_alpha:
        alpha |= {"reason": kind.aggregation.no_alpha, "judgments": len(judged)}
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
    table: JudgmentTable, units: Sequence[UnitRow], counted: Flags, images: Ints | None, *, anonymous: bool
) -> tuple[Ratings, Clusters | None]:
    """Return the judgments marked by ``counted`` as ratings, and their clusters, or None without images."""
    ratings = ratings_of_judgments(table.unit[counted], table.worker[counted], table.value[counted])
    return ratings, clusters_of_ratings(ratings, Units.from_rows(units).pk, images, anonymous=anonymous)


def clusters_of_ratings(
    ratings: Ratings, units: Ints, images: Ints | None, *, anonymous: bool
) -> Clusters | None:
    """Return the clusters of ratings by image, and by worker unless anonymous; None without images.

    images: (U,) images of the units ``units`` (U,).
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
    of_counted: Clusters | None = None,
) -> dict[str, Any]:
    """Return how often included judgments chose the option on the left.

    Return {} if the first option was always on one side. ``p`` tests the share against one half, which is expected
    if sides are random. ``images`` is as in ``measure_agreement``. ``of_counted`` are the clusters of all included
    judgments, which are computed if omitted.
    """
    rows = table.is_counted & table.has_side
    sides = table.side[rows]
    if not len(sides) or (sides == sides[0]).all():
        return {}
    if of_counted is None:
        columns = judgment_clusters(units, images, table.unit[rows], table.worker[rows], anonymous=anonymous)
        columns = columns or {"judgment": np.arange(len(sides))}
        clusters = Clusters.of_codes({name: renumber_codes(column) for name, column in columns.items()})
    else:
        clusters = of_counted.subset(table.has_side[table.is_counted])
    is_left = table.chose_left[rows].astype(np.float64)
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
    if numbers is None or not note.endswith(english := CARELESS_NOTE % numbers):
        return _(note) if note else ""
    before = note.removesuffix(english).removesuffix("; ")
    return "; ".join([*([_(before)] if before else []), _(CARELESS_NOTE) % numbers])


def side_sentence(bias: Mapping[str, Any], *, drawn: bool) -> str:
    """Return sentences on the share of choices of the left option, with p if sides were ``drawn``; "" without data."""
    if not bias:
        return ""
    parts = {
        "share": percent(bias["value"]),
        "answers": npgettext("of", "%(n)s answer", "%(n)s answers", bias["n"]) % {"n": thousands(bias["n"])},
        "ends": interval_in_text(bias, percent),
    }
    sentence = _("The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s).") % parts
    if drawn and bias["p"] is not None:
        sentence = _(
            "The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s, %(p)s). Sides "
            "are random, so 50 %% is expected."
        ) % (parts | {"p": p_in_text(bias["p"])})
    return f"{sentence} {scope_sentence(bias)}".strip()


def _kinds_of(unit: Ints, units: Sequence[UnitRow]) -> tuple[Ints, dict[int, str]]:
    """Return the (U,) codes of the units' kinds, and the names of the kinds that occur, by code and in order."""
    if not len(unit):
        return unit, {}
    units = Units.from_rows(units)
    codes = units.kind[places_in(units.pk, unit)]
    occurring = sorted((units.kinds[code], code) for code in np.flatnonzero(np.bincount(codes)).tolist())
    return codes, {code: name for name, code in occurring if name}


def one_against_rest(
    table: JudgmentTable,
    units: Sequence[UnitRow],
    counted: Flags,
    *,
    images: Ints | None = None,
    anonymous: bool = False,
) -> dict[str, Any]:
    """Return how often a judge agrees with the majority of the unit's other judges, by pair kind and overall.

    If the other judgments are tied or missing, a judgment is left out and counted. ``counted`` marks the judgments
    to use. ``images`` is as in ``measure_agreement``.
    """
    ratings, grouped = counted_ratings(table, units, counted, images, anonymous=anonymous)
    return _one_against_rest(PatternedRatings.from_ratings(ratings), units, grouped)


def _one_against_rest(
    rated: PatternedRatings, units: Sequence[UnitRow], grouped: Clusters | None
) -> dict[str, Any]:
    ratings = rated.ratings
    kinds, names = _kinds_of(ratings.units, units)
    decided, same = (rated.judgment_values(flags) > 0 for flags in _agreement_with_others(rated.patterns))
    figures = {}
    for code, name in (*names.items(), (None, "all")):
        of_kind = np.ones(len(decided), dtype=bool) if code is None else (kinds == code)[ratings.unit]
        n = int((decided & of_kind).sum())
        left_out = {"left_out": int(of_kind.sum()) - n}
        if grouped is not None:
            figures[name] = clustered_share(same, decided & of_kind, grouped) | left_out
        else:
            figures[name] = share_with_interval(int((same & of_kind).sum()), n) | left_out
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
    leader_count = np.add.reduceat((counts == largest) * 1.0, starts)[
        pattern
    ]  # number of most frequent answers
    second = np.maximum.reduceat(np.where(counts < largest, counts, 0), starts)[pattern]
    agrees = (counts == largest) & (leader_count == 1) & (counts - 1 > second)
    # Another answer is the most frequent one, or becomes so when one of two equally frequent answers loses a judge.
    differs = leader_count == np.where(counts < largest, 1, 2)
    return (agrees | differs) * 1.0, agrees * 1.0


def clustered_share(right: Flags, rows: Flags, clusters: Mapping[str, Ints] | Clusters) -> dict[str, Any]:
    """Return the share of true values of ``right`` in the rows marked by ``rows``, with its interval, as JSON."""
    n = int(rows.sum())
    if not n:
        return share_with_interval(0, 0)
    interval = share_of_rows(right.astype(np.float64), clusters, CONFIDENCE, keep=rows)
    return {
        "value": float(right[rows].mean()),
        **as_json(interval, "low", "high"),
        "n": n,
        "clusters": dict(interval.clusters.counts),
        **({"reason": interval.clusters.reason} if interval.clusters.reason else {}),
    }


def share_with_interval(count: int, of: int) -> dict[str, Any]:
    """Return the share count / of with Wilson's 95 % interval as JSON. Values are null if ``of`` is 0."""
    low, high = wilson_interval(count, of)
    return {"value": count / of if of else None, "low": json_float(low), "high": json_float(high), "n": of}


def preference_scores(side: Floats) -> Floats:
    """Return (N,) scores of answers: 1 for the first of two candidates, 0 for the second, 0.5 for neither."""
    return np.where(side == 1, 1.0, np.where(side == 2, 0.0, 0.5))
