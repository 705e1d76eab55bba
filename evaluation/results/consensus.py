"""Compute consensus, agreement coefficients, worker results and models of workers from arrays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from evaluation.data.judgment_sets.records import (
    MOST_VALUES,
    NO_PAIR,
    Decision,
    JudgmentTable,
    PairRow,
    UnitRow,
    Units,
    WorkerRow,
    first_chosen,
    hash_with,
    hash_with_winners,
    texts_of,
)
from evaluation.numeric.arrays import Flags, Floats, Ints, pairs_of_equal, places_in
from evaluation.presentation.content import as_json, json_float
from evaluation.statistics.aggregation import (
    agrees_with_others,
    confidence_vote,
    dawid_skene,
    glad,
    item_response,
    mace,
    pair_winners,
)
from evaluation.statistics.aggregation.votes_and_means import (
    SURE,
    confidences_of,
    majority_of_others,
    preferences_of,
)
from evaluation.statistics.agreement import (
    AgreementResult,
    Alpha,
    FleissKappa,
    Gwet,
    Percent,
    Ratings,
    agreement,
    alpha_of_parts,
    ratings_of_judgments,
)
from evaluation.statistics.agreement.coefficient import components_of_clusters
from evaluation.statistics.correlation import means_without_raters
from evaluation.statistics.inference import (
    CONFIDENCE,
    FEWEST,
    ITEM,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    RaterDeletions,
    share_of_rows,
)
from evaluation.statistics.inputs import encode
from evaluation.statistics.meta import wilson_interval
from judgments.kinds import Consensus, IncludedJudgment, Kind
from judgments.kinds.base import ConsensusColumns

if TYPE_CHECKING:
    import pyarrow as pa

    from judgments.models import Study

COEFFICIENTS = ("percent", "fleiss", "gwet")
# Gwet's weights for a level of alpha; identity gives AC1.
WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic", "ratio": "ratio"}
UNEQUAL = "units have different numbers of judgments, expected equally many (alpha takes any)"
RESAMPLES = 1000
OUTCOME = ("n", "value", "share", "margin", "tie")  # of a unit's consensus, as files have them
SIDES = (1, 2)
SIDE_LABELS = {
    1: gettext_lazy("first"),
    2: gettext_lazy("second"),
    0: gettext_lazy("no difference"),
    3: gettext_lazy("neither"),
}
# How intervals and tests take rows, the default first.
CLUSTERED = ("item-and-rater", NAIVE)
EMPTY_CONSENSUS = Consensus(n=0, value=None, share=None, margin=None, tie=False, votes={})
FULL_DEPTH = "Judgments stop where an outcome is settled; agreement is of the units drawn to get all of them."
ANONYMOUS = (
    "The judges are anonymous places in published totals, or in a file that does not name them, not persons; nothing "
    "can be said about each of them."
)
NOTHING_JUDGED = "Nobody has judged anything that counts yet."
SMOOTHING = 1.0  # a prior against perfect scores of workers with few judgments
DIFFERING_KEPT = 50
SMOOTHED_DAWID_SKENE = partial(dawid_skene, smoothing=SMOOTHING)


def agreement_coefficients(
    ratings: Ratings,
    level: str,
    *,
    names: Collection[str] = COEFFICIENTS,
    categories: Sequence[Any] = (),
    resamples: int,
    seed: int,
    clusters: ClusterColumns | Clusters = NAIVE,
) -> dict[str, dict[str, Any]]:
    """Return name -> coefficient with its interval.

    Args:
        clusters: as in ``agreement``.
        categories: the whole scale; default: the values that occur.
    """
    scale = list(categories) or None
    coefficients: dict[str, dict[str, Any]] = {}
    for name in COEFFICIENTS:
        if name not in names:
            continue
        if name == "fleiss":
            coefficients[name] = _fleiss(ratings, resamples, seed, clusters)
        else:
            coefficient = Gwet(WEIGHTS[level], scale) if name == "gwet" else Percent(categories=scale)
            coefficients[name] = _figure(
                agreement(ratings, coefficient, resamples=resamples, seed=seed, clusters=clusters)
            )
    return coefficients


def _fleiss(
    ratings: Ratings, resamples: int, seed: int, clusters: ClusterColumns | Clusters
) -> dict[str, Any]:
    """Compute Fleiss' kappa over units with two or more judgments, equally many each."""
    sizes = np.bincount(ratings.unit, minlength=len(ratings.units))
    several = sizes >= 2
    if len(np.unique(sizes[several])) > 1:
        return {
            "statistic": "fleiss-kappa", "value": None, "low": None, "high": None, "n": int(several.sum()),
            "weights": "nominal", "reason": UNEQUAL,
        }  # fmt: skip
    return _figure(agreement(ratings, FleissKappa(), resamples=resamples, seed=seed, clusters=clusters))


def _figure(result: AgreementResult) -> dict[str, Any]:
    return {
        **as_json(result, "statistic", "value", "low", "high"),
        "n": result.pairable,
        "weights": result.level,
        "reason": result.reason,
    }


@dataclass(frozen=True, slots=True)
class PairConsensus:
    """A pair's winner: 1, 2, or None; ``published`` if it has no judgments.

    ``wins``, ``losses`` and ``ties`` count judged units from the first candidate's side.
    """

    value: int | None
    wins: int
    losses: int
    ties: int
    tie: bool
    published: bool


@dataclass(frozen=True, slots=True)
class StudyConsensus:
    """The consensus of a study, without control items.

    Attributes:
        units, pairs: in order.
        of_unit: unit row id -> consensus, if judged.
        of_pair: pair row id -> winner.
        decisions: unit row id -> adjudicated decision, also in ``of_unit``.
    """

    units: Units
    pairs: list[PairRow]
    of_unit: Mapping[int, Consensus]
    of_pair: Mapping[int, PairConsensus]
    decisions: Mapping[int, Decision]
    data_hash: str

    @property
    def judged(self) -> int:
        columns, single = columns_and_others(self.of_unit)
        in_columns = 0 if columns is None else len(columns.unit)
        return in_columns + sum(outcome.n > 0 for outcome in single.values())

    def adjudicated_pairs(self) -> set[int]:
        pairs = self.units.pair[np.isin(self.units.pk, list(self.decisions))]
        return set(pairs.tolist()) - {NO_PAIR}


def columns_and_others(
    consensus: Mapping[int, Consensus],
) -> tuple[ConsensusColumns | None, Mapping[int, Consensus]]:
    """Return the columns, if any, and the other units."""
    return (consensus, consensus.single) if isinstance(consensus, ConsensusColumns) else (None, consensus)


def values_at(consensus: Mapping[int, Consensus], units: Ints) -> tuple[Floats, Flags]:
    """Return (U,) consensus values, nan on a tie, and whether there is a consensus."""
    values, has_consensus = np.full(len(units), np.nan), np.zeros(len(units), dtype=np.bool_)
    columns, single = columns_and_others(consensus)
    if columns is not None:
        index = places_in(columns.unit, units)
        has_consensus = index >= 0
        values[has_consensus] = columns.value[index[has_consensus]]
    index = places_in(units, np.fromiter(single, dtype=np.int64, count=len(single)))
    # None becomes nan.
    single_values = np.array([outcome.value for outcome in single.values()], dtype=np.float64)
    values[index[index >= 0]], has_consensus[index[index >= 0]] = single_values[index >= 0], True
    return values, has_consensus


# takes (K,) groups and (K,) positions of their units, and the number of groups G; returns (G,) values, nan if missing
GroupValues = Callable[[Ints, Ints, int], Floats]


def first_of_groups(values: Floats, group: Ints, unit: Ints, groups: int) -> Floats:
    """Return the first of (U,) values of units, as ``GroupValues``."""
    known = ~np.isnan(values[unit])
    members, first = np.unique(group[known], return_index=True)
    taken = np.full(groups, np.nan)
    taken[members] = values[unit[known][first]]
    return taken


def consensus_of_groups(
    kind: Kind,
    table: JudgmentTable,
    consensus: StudyConsensus,
    units: Ints,
    group: Ints,
    unit: Ints,
    groups: int,
) -> Floats:
    """Return the consensus of all judgments of a group, as ``GroupValues``; of an only unit, its own.

    A decision stands for all judgments of its unit.
    """
    of_units, values = values_at(consensus.of_unit, units)[0], np.full(groups, np.nan)
    alone = np.bincount(group, minlength=groups)[group] == 1
    values[group[alone]] = of_units[unit[alone]]
    if alone.all():
        return values
    answer = table.value.copy()
    for pk, decision in consensus.decisions.items():
        answer[table.unit == pk] = np.nan if decision.value is None else decision.value
    rated = table.counted & ~np.isnan(answer)
    vote, row = pairs_of_equal(places_in(units, table.unit[rated]), unit[~alone])
    several = group[~alone][row]
    together = kind.aggregation.consensus(several, answer[rated][vote])
    members = np.unique(several)
    values[members] = values_at(together, members)[0]
    return values


def unit_consensus(kind: Kind, table: JudgmentTable) -> Mapping[int, Consensus]:
    counted = table.counted
    if not counted.any():
        return {}
    if kind.is_open:
        return kind.aggregation.consensus(table.unit[counted].tolist(), table.answers_of(counted))
    return kind.aggregation.consensus(table.unit[counted], table.value[counted])


def with_decisions(
    consensus: Mapping[int, Consensus], decisions: Mapping[int, Decision]
) -> Mapping[int, Consensus]:
    """Replace the values of adjudicated units, not their counts."""
    decided = {
        unit: replace(consensus.get(unit, EMPTY_CONSENSUS), value=decision.value, tie=False)
        for unit, decision in decisions.items()
    }
    if isinstance(consensus, ConsensusColumns):
        return consensus.with_single(decided)
    return {**consensus, **decided}


def pair_consensus(
    units: Sequence[UnitRow],
    pairs: Sequence[PairRow],
    of_unit: Mapping[int, Consensus],
    triplet_ties: str = "set-aside",
) -> dict[int, PairConsensus]:
    """Return pair row id -> winner: the candidate that wins most of the pair's triplets (V15 §3).

    A tied triplet decides nothing, unless ``triplet_ties`` is "count" (``pair_winners``); equal wins are a
    tie. A pair without judged units has its published winner, or none.
    """
    units = Units.of(units)
    values, judged = values_at(of_unit, units.pk)
    judged &= units.pair != NO_PAIR
    winners: dict[int, PairConsensus] = {}
    if judged.any():
        outcomes = np.nan_to_num(values[judged]).astype(np.int64)
        outcomes[~np.isin(outcomes, SIDES)] = 0
        result = pair_winners(units.pair[judged], outcomes, triplet_ties=triplet_ties)
        rows = zip(
            result.pairs.tolist(), result.winner.tolist(), result.wins.tolist(), result.losses.tolist(),
            result.ties.tolist(), strict=True,
        )  # fmt: skip
        for pair, winner, wins, losses, ties in rows:
            winners[pair] = PairConsensus(winner or None, wins, losses, ties, tie=not winner, published=False)
    for row in pairs:
        if row.pk not in winners:
            known = row.published_winner
            winners[row.pk] = PairConsensus(known, 0, 0, 0, tie=False, published=known is not None)
    return winners


def consensus_of(study: Study, table: JudgmentTable, judged: Units | None = None) -> StudyConsensus:
    # Imported late: files are compared without a database.
    from evaluation.data.judgment_sets import loaders
    from judgments.studies.studies import kind_of

    units, pairs = judged or loaders.unit_rows(study), loaders.pair_rows(study)
    decisions = loaders.decisions_of(study)
    of_unit = with_decisions(unit_consensus(kind_of(study), table), decisions)
    winners = {pair.key: pair.published_winner for pair in pairs if pair.published_winner is not None}
    data_hash = hash_with_winners(table.data_hash, winners)
    if decisions:
        data_hash = hash_with(
            data_hash, {unit.key: decisions[unit.pk].value for unit in units if unit.pk in decisions}
        )
    return StudyConsensus(units, pairs, of_unit, pair_consensus(units, pairs, of_unit), decisions, data_hash)


ITEMS_AND_PEOPLE, THESE_PEOPLE = "items and people", "these people"


def scope_of(raters: int | None) -> str:
    """Return for whom intervals and tests hold: from two known raters on for other people, too."""
    return ITEMS_AND_PEOPLE if (raters or 0) >= FEWEST else THESE_PEOPLE


def scope_sentence(result: Mapping[str, Any]) -> str:
    """Say that intervals and tests hold for these people alone; "" where they hold for others.

    Results of earlier versions state the number of raters alone.
    """
    if result.get("scope", scope_of(result.get("raters"))) == ITEMS_AND_PEOPLE:
        return ""
    return _("Intervals and tests are for other items, and for these people alone.")


def rater_deletions(
    unit: Ints, worker: Ints, side: Floats, leads: Floats, pair: Ints, pair_leads: Floats, decided: Flags
) -> RaterDeletions:
    """Return who would win each of P pairs without each worker who judged it, as `pair_consensus` decides.

    Args:
        unit, worker, side: (N,) judgments; units have codes from 0.
        leads: (U,) the winner of each unit: 1 the first, -1 the second, 0 none.
        pair: (U,) codes of the units' pairs; -1 for none.
        pair_leads: (P,) how many more units the first won.
        decided: (U,) whether somebody decided the unit, whatever people answered.
    """
    others = majority_of_others(unit, side)
    change = np.where(decided[unit], 0.0, leads[unit] - ((others == 1) * 1.0 - (others == 2)))
    here = pair[unit] >= 0
    _, rater = encode(worker[here], "workers")
    return RaterDeletions.of_leads(pair[unit[here]], rater, change[here], pair_leads)


def clusters_of_captions(
    table: JudgmentTable,
    units: Ints,
    images: Sequence[Any] | Ints,
    *,
    ratings: Sequence[Sequence[tuple[int, float]]],
    decided: Collection[int],
    anonymous: bool,
) -> dict[str, Any]:
    """Return what (N,) captions are clustered by: their images and, if known, people.

    Args:
        units: (N,) row ids of the captions' units; empty if several units judge a caption.
        ratings: of each caption then, as workers with what they said.
        decided: row ids of units that somebody decided, whatever people answered.
    """
    if anonymous:
        return {ITEM: images}
    if len(units):
        row, worker, value = places_in(units, table.unit), table.worker, table.value
        rated = table.counted & ~np.isnan(value) & (row >= 0) & ~np.isin(table.unit, list(decided))
        row, worker, value = row[rated], worker[rated], value[rated]
    else:
        flat = [(index, *rating) for index, rows in enumerate(ratings) for rating in rows]
        columns = np.array(flat, dtype=np.float64).reshape(-1, 3).T
        row, worker, value = columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]
    deletions = means_without_raters(row, worker, value, len(images))
    return {ITEM: images, RATER: deletions} if len(deletions.row) else {ITEM: images}


def clusters_of_pairs(
    table: JudgmentTable,
    consensus: StudyConsensus,
    pairs: Ints,
    images: Sequence[Any] | Ints,
    *,
    anonymous: bool,
) -> dict[str, Any]:
    """Return what (P,) candidate pairs, by row id, are clustered by: their images and, if known, people."""
    if anonymous:
        return {ITEM: images}
    units, counted = consensus.units, table.counted
    values, _ = values_at(consensus.of_unit, units.pk)
    won = [consensus.of_pair[pk] for pk in pairs.tolist()]
    deletions = rater_deletions(
        places_in(units.pk, table.unit[counted]),
        table.worker[counted],
        table.value[counted],
        (values == 1) * 1.0 - (values == 2),
        places_in(pairs, units.pair),
        np.array([outcome.wins - outcome.losses for outcome in won], dtype=np.float64),
        np.isin(units.pk, list(consensus.decisions)),
    )
    return {ITEM: images, RATER: deletions} if len(deletions.row) else {ITEM: images}


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
) -> dict[str, Any]:
    """Compute agreement of included judgments, with intervals by image and worker.

    Keys: ``alpha`` at the kind's level; ``ordinal`` for interval levels, and for pairs with more than two
    answers from "first by far" to "second by far", without "neither"; ``coefficients`` on short scales;
    ``by_kind``; ``one_against_rest``; ``per_worker``: whether single workers can be assessed; ``full_depth``.

    Args:
        judged: open answers, compared by their kind's codes.
        full_depth: the unstopped units, to which results are limited: units that stop once two agree would
            bias agreement.
        images: (U,); None takes judgments as independent, as releases before 0.6 did.
    """
    anonymous = any(worker.anonymous for worker in workers)
    per_worker = {"available": not anonymous, "reason": ANONYMOUS if anonymous else ""}
    if kind.is_open:
        alpha_of_open = _alpha_of_open(kind, judged, units, images, seed=seed, anonymous=anonymous)
        return {"alpha": alpha_of_open, "per_worker": per_worker}
    counted = agreement_rows(table, full_depth)
    ratings, grouped = counted_ratings(table, units, counted, images, anonymous=anonymous)

    def alpha(
        rows: Ratings, keep: Flags | None = None, level: str = kind.aggregation.level
    ) -> dict[str, Any]:
        rows = rows if keep is None else rows.subset(keep)
        clusters = grouped if keep is None or grouped is None else grouped.subset(keep)
        return alpha_of_ratings(rows, clusters, level, seed=seed)

    figures: dict[str, Any] = {"alpha": alpha(ratings)}
    if kind.aggregation.level == "interval":
        figures["ordinal"] = alpha(ratings, level="ordinal")
    # Preferences need more answers than which side is better.
    if kind.two_sided and len({value % SURE for value in kind.values}) > len(SIDES):
        preference = preferences_of(table.full_value[counted])
        compared = ~np.isnan(preference)
        labels, codes = encode(np.where(compared, preference, 0), "values")
        figures["ordinal"] = alpha(replace(ratings, labels=labels, code=codes), compared, "ordinal")
    if len(kind.outcomes) <= MOST_VALUES:
        figures["coefficients"] = agreement_coefficients(
            ratings,
            kind.aggregation.level,
            categories=kind.outcomes,
            resamples=RESAMPLES,
            seed=seed,
            clusters=grouped or NAIVE,
        )
    kinds, names = _kinds_of(ratings.units, units)
    if names:
        figures["by_kind"] = {
            name: alpha(ratings, (kinds == code)[ratings.unit]) for code, name in names.items()
        }
    if kind.aggregation.level == "nominal":
        figures["one_against_rest"] = _one_against_rest(ratings, units, grouped)
    if grouped is not None and not anonymous:
        figures["components"] = components_of(kind, ratings.labels[ratings.code], grouped)
    figures["per_worker"] = per_worker
    if full_depth is not None:
        figures["full_depth"] = {"units": len(full_depth), "reason": FULL_DEPTH}
    return figures


def agreement_alpha(
    kind: Kind,
    table: JudgmentTable,
    units: Sequence[UnitRow],
    judged: Sequence[IncludedJudgment],
    level: str,
    *,
    seed: int,
    full_depth: Collection[int] | None,
    images: Ints | None,
    anonymous: bool,
) -> dict[str, Any]:
    """Return alpha at a level, or of open answers; arguments as in ``measure_agreement``."""
    if kind.is_open:
        return _alpha_of_open(kind, judged, units, images, seed=seed, anonymous=anonymous)
    counted = agreement_rows(table, full_depth)
    ratings, grouped = counted_ratings(table, units, counted, images, anonymous=anonymous)
    return alpha_of_ratings(ratings, grouped, level, seed=seed)


def alpha_of_ratings(ratings: Ratings, grouped: Clusters | None, level: str, *, seed: int) -> dict[str, Any]:
    return alpha_dict(
        agreement(ratings, Alpha(level), resamples=RESAMPLES, seed=seed, clusters=grouped or NAIVE)
    )


def components_of(kind: Kind, value: Floats, clusters: Clusters) -> dict[str, Any]:
    """Return variance components of answers: images, workers and residual, and errors with more of each.

    For two candidates the answer is whether the first was chosen; neither side counts half.
    """
    answer = first_chosen(value) if kind.two_sided else value
    components = components_of_clusters(answer, clusters)
    n = {"items": components.items, "raters": components.raters, "judgments": components.judgments}
    twice = {
        name: json_float(components.error_with(**n | {name: 2 * n[name], "judgments": 2 * n["judgments"]}))
        for name in n
        if not components.reason
    }
    fields = ("item", "rater", "residual", "standard_error", "items", "raters", "judgments", "reason")
    return {**as_json(components, *fields), "twice": twice}


def components_sentence(components: Mapping[str, Any]) -> str:
    """Describe variance components, and what doubling the study would gain; "" if unknown."""
    if components.get("reason", True):
        return ""
    total = components["item"] + components["rater"] + components["residual"]
    shares = [f"{100 * components[name] / total:.0f} %" for name in ("item", "rater", "residual")]
    errors = {"error": components["standard_error"], **components["twice"]}
    return _(
        "Of the variance of answers %(item)s lies between items, %(rater)s between people and %(residual)s beyond "
        "both. The mean answer has a standard error of %(error)s; it would be %(items)s with twice as many items, "
        "%(raters)s with twice as many people, and %(judgments)s with twice as many answers of these people on these "
        "items."
    ) % {
        **dict(zip(("item", "rater", "residual"), shares, strict=True)),
        **{name: f"{value:.2g}".removeprefix("0") or "0" for name, value in errors.items()},
    }


def agreement_rows(table: JudgmentTable, full_depth: Collection[int] | None) -> Flags:
    """Return (N,) bool: included judgments, of ``full_depth`` units if given."""
    return table.counted if full_depth is None else table.counted & np.isin(table.unit, list(full_depth))


def judgment_clusters(
    units: Sequence[UnitRow], images: Ints | None, unit: Ints, worker: Ints, *, anonymous: bool
) -> dict[str, Ints]:
    """Return (N,) images and workers of judgments; {} without images, no workers if anonymous."""
    if images is None:
        return {}
    item = images[places_in(Units.of(units).pk, unit)] if len(unit) else unit
    return {ITEM: item} if anonymous else {ITEM: item, RATER: worker}


def _alpha_of_open(
    kind: Kind,
    judged: Sequence[IncludedJudgment],
    units: Sequence[UnitRow],
    images: Ints | None,
    *,
    seed: int,
    anonymous: bool,
) -> dict[str, Any]:
    rows = [
        (judgment.unit.pk, part, judgment.worker, value)
        for judgment in judged
        for part, value in kind.aggregation.codes(judgment.unit, judgment.answer).items()
    ]
    unit, part, worker, value = zip(*rows, strict=True) if rows else ((), (), (), ())
    of_rows = (np.array(column, dtype=np.int64) for column in (unit, worker))
    alpha = alpha_dict(
        alpha_of_parts(
            unit,
            part,
            worker,
            value,
            kind.aggregation.level,
            resamples=RESAMPLES,
            seed=seed,
            clusters=judgment_clusters(units, images, *of_rows, anonymous=anonymous) or NAIVE,
        )
    )
    if kind.aggregation.no_alpha:
        alpha |= {"reason": kind.aggregation.no_alpha, "judgments": len(judged)}
    return alpha


def alpha_dict(result: AgreementResult) -> dict[str, Any]:
    """Return a coefficient as JSON; ``n`` is the number of units with two or more judgments."""
    return {
        **as_json(result, "value", "low", "high"),
        "n": result.pairable,
        **as_json(result, "level", "units"),
        "workers": result.raters,
        **as_json(result, "judgments", "confidence", "resamples", "seed", "reason", "note"),
        **({"clusters": dict(result.clusters)} if result.clusters else {}),
    }


def counted_ratings(
    table: JudgmentTable, units: Sequence[UnitRow], counted: Flags, images: Ints | None, *, anonymous: bool
) -> tuple[Ratings, Clusters | None]:
    """Return the judgments ``counted``, and what they are grouped by; None without images."""
    columns = (table.unit[counted], table.worker[counted], table.value[counted])
    return ratings_by_image(*columns, Units.of(units).pk, images, anonymous=anonymous)


def ratings_by_image(
    unit: Ints, worker: Ints, value: Floats, units: Ints, images: Ints | None, *, anonymous: bool
) -> tuple[Ratings, Clusters | None]:
    """Return (N,) judgments, and what they are grouped by; ``units`` and ``images`` (U,) are those of each other."""
    ratings = ratings_of_judgments(unit, worker, value)
    if images is None:
        return ratings, None
    _, image = encode(images[places_in(units, ratings.units)], "images")
    columns = {ITEM: image[ratings.unit]} if anonymous else {ITEM: image[ratings.unit], RATER: ratings.rater}
    return ratings, Clusters.of_codes(columns)


def _kinds_of(unit: Ints, units: Sequence[UnitRow]) -> tuple[Ints, dict[int, str]]:
    """Return (U,) codes of the kinds of units, and the occurring names in order."""
    if not len(unit):
        return unit, {}
    units = Units.of(units)
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
    """Measure how often one judge agrees with the majority of the unit's others, by pair kind and overall.

    Judgments whose others are tied or missing are excluded and counted. ``counted`` masks judgments;
    ``images`` are as in ``measure_agreement``.
    """
    ratings, grouped = counted_ratings(table, units, counted, images, anonymous=anonymous)
    return _one_against_rest(ratings, units, grouped)


def _one_against_rest(ratings: Ratings, units: Sequence[UnitRow], grouped: Clusters | None) -> dict[str, Any]:
    kinds, names = _kinds_of(ratings.units, units)
    decided, same = _agreement_with_others(ratings)
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


def _agreement_with_others(ratings: Ratings) -> tuple[Flags, Flags]:
    """Return (N,) bool: whether the unit's other judges have a majority, and whether this judge is of it."""
    labels, size = len(ratings.labels), len(ratings.units)
    cell = ratings.code * size + ratings.unit
    answers = np.bincount(cell, minlength=labels * size).reshape(labels, size)
    decided, same = np.zeros((2, labels, size), dtype=np.bool_)
    for label in range(labels):
        answers[label] -= 1  # the judge's own
        most = answers.max(axis=0)
        decided[label] = (most > 0) & ((answers == most).sum(axis=0) == 1)
        same[label] = decided[label] & (answers[label] == most)
        answers[label] += 1
    return decided.ravel()[cell], same.ravel()[cell]


def clustered_share(right: Flags, rows: Flags, clusters: Mapping[str, Ints] | Clusters) -> dict[str, Any]:
    """Return the share of rows ``here`` that are ``right``, with its interval by clusters, as JSON."""
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
    """Return a share with Wilson's 95 % interval as JSON; null if ``of`` is 0."""
    low, high = wilson_interval(count, of)
    return {
        "value": count / of if of else None,
        "low": json_float(low),
        "high": json_float(high),
        "n": of,
    }


@dataclass(frozen=True, slots=True)
class ModelRows:
    """(U,) keys of units, their most likely values (None if equally likely), and probabilities."""

    key: pa.Array
    value: list[Any]
    probability: Floats

    def at(self, index: int) -> dict[str, Any]:
        return {
            "unit": self.key[index].as_py(),
            "value": self.value[index],
            "probability": float(self.probability[index]),
        }

    def as_json(self) -> list[dict[str, Any]]:
        rows = zip(texts_of(self.key), self.value, self.probability.tolist(), strict=True)
        return [{"unit": key, "value": value, "probability": sure} for key, value, sure in rows]


def _largest(values: Floats, among: Ints, count: int) -> Ints:
    """Return the positions ``among`` of the ``count`` largest values, and ties with the last."""
    if len(among) <= count:
        return among
    least = np.partition(values[among], -count)[-count]
    return among[values[among] >= least]


@dataclass(frozen=True, slots=True)
class ModelInput:
    """What models of workers are fitted to; ``reason`` says why single workers cannot be assessed, or is empty."""

    kind: Kind
    table: JudgmentTable
    workers: Sequence[WorkerRow]
    consensus: StudyConsensus
    reason: str

    @property
    def why_not(self) -> str:
        return self.reason or ("" if self.table.counted.any() else NOTHING_JUDGED)

    @property
    def names(self) -> dict[int, str]:
        return {worker.pk: worker.name for worker in self.workers}


def model_answers(
    fitting: ModelInput,
    fit: Callable[..., Any] = SMOOTHED_DAWID_SKENE,
    parameters: Sequence[str] = ("accuracy",),
) -> dict[str, Any]:
    """Fit a worker model, to show which units depend on the rule; {} if answers are no categories.

    Keys: ``units``: ``ModelRows``; ``workers``: the model's ``parameters``; ``differing``: the first of the
    ``differ`` units where model and consensus differ, by probability; ``breaks_ties``: tied units that the
    model decides. Adjudicated units are not compared.
    """
    kind, table, consensus = fitting.kind, fitting.table, fitting.consensus
    if kind.is_open or kind.aggregation.level != "nominal":
        return {}
    if fitting.why_not:
        return {"reason": fitting.why_not}
    counted = table.counted
    fitted = fit(table.unit[counted], table.worker[counted], table.value[counted], labels=kind.outcomes)
    keys = consensus.units.key.take(places_in(consensus.units.pk, fitted.units))
    rows = ModelRows(keys, fitted.values(), fitted.posterior.max(axis=1))
    model_values = np.array(rows.value, dtype=np.float64)  # None becomes nan
    consensus_values, comparable = values_at(consensus.of_unit, fitted.units)
    compared = ~np.isin(fitted.units, list(consensus.decisions))
    comparable &= compared & ~np.isnan(model_values)
    differs = np.flatnonzero(comparable & ~np.isnan(consensus_values) & (consensus_values != model_values))
    differing = []
    for index in _largest(rows.probability, differs, DIFFERING_KEPT).tolist():
        outcome = consensus.of_unit[int(fitted.units[index])]
        differing.append(rows.at(index) | {"consensus": outcome.value, "votes": dict(outcome.votes)})
    differing.sort(key=lambda row: (-row["probability"], row["unit"]))
    return {
        "reason": "",
        "units": rows,
        "workers": model_workers(fitted, fitted.workers, fitting.names, (*parameters, "judgments")),
        "compared": int(compared.sum()),
        "differ": len(differs),
        "breaks_ties": int((comparable & np.isnan(consensus_values)).sum()),
        "differing": differing[:DIFFERING_KEPT],
        **as_json(fitted, "iterations", "converged", "note", "signature"),
    }


def model_workers(
    fitted: Any, workers: Ints, names: Mapping[int, str], parameters: Sequence[str]
) -> list[dict[str, Any]]:
    """Return (W,) worker parameters as rows, by name."""
    columns = [getattr(fitted, name).tolist() for name in parameters]
    rows = (
        {"worker": names[pk], **dict(zip(parameters, cells, strict=True))}
        for pk, *cells in zip(workers.tolist(), *columns, strict=True)
    )
    return sorted(rows, key=lambda row: row["worker"])


def without_units(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name != "units"}


# Models of workers that `aggregate` fits beside Dawid and Skene's, and their names on pages.
WORKER_MODELS = {
    "mace": gettext_noop("MACE: who knows and who guesses"),
    "glad": gettext_noop("GLAD: ability of people and difficulty of items"),
    "response": gettext_noop("Two-parameter response model"),
    "confidence": gettext_noop("Votes weighted by how sure people are"),
}
NOT_ASKED = "Nobody was asked how sure they are."
NOTHING_COMPARED = "No judgment can be held against a majority of the others on its unit."
_FITS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "mace": (mace, ("competence",)),
    "glad": (glad, ("ability", "accuracy")),
}


def worker_model(name: str, fitting: ModelInput) -> dict[str, Any]:
    """Return a model of WORKER_MODELS as ``model_answers`` does, with its worker parameters.

    The response model treats answers as right or wrong. Its keys: ``workers`` (ability, deviation), ``units``
    (discrimination, difficulty) and ``answers``, their number.
    """
    kind, table, units = fitting.kind, fitting.table, fitting.consensus.units
    if kind.is_open or kind.aggregation.level != "nominal":
        return {"reason": f"Answers of protocol {kind.name} are no categories, which models of workers need."}
    if name in _FITS:
        return model_answers(fitting, *_FITS[name])
    if name == "confidence":
        return _by_confidence(fitting)
    if fitting.why_not:
        return {"reason": fitting.why_not}
    counted = table.counted
    unit, worker = table.unit[counted], table.worker[counted]
    right = agrees_with_others(unit, table.value[counted])
    known = ~np.isnan(right)
    if not known.any():
        return {"reason": NOTHING_COMPARED}
    fitted = item_response(unit[known], worker[known], right[known])
    keys = texts_of(units.key.take(places_in(units.pk, fitted.items)))
    rows = zip(keys, fitted.discrimination.tolist(), fitted.difficulty.tolist(), strict=True)
    return {
        "reason": "",
        "units": [{"unit": key, "discrimination": a, "difficulty": b} for key, a, b in rows],
        "workers": model_workers(fitted, fitted.persons, fitting.names, ("ability", "deviation", "answers")),
        "answers": int(known.sum()),
        **as_json(fitted, "iterations", "converged", "note", "signature"),
    }


def _by_confidence(fitting: ModelInput) -> dict[str, Any]:
    """Weigh votes by confidence; `levels` has how often answers of each are those of most others, and their weight."""
    if not fitting.kind.two_sided:
        return {"reason": NOT_ASKED}
    confidences = confidences_of(fitting.table.full_value[fitting.table.counted])
    if len(confidences) and np.isnan(confidences).all():
        return {"reason": NOT_ASKED}
    fits: list[Any] = []

    def fit(*columns: Any, **options: Any) -> Any:
        unit, worker, value = columns
        fits.append(confidence_vote(unit, worker, value, confidences, **options))
        return fits[0]

    result = model_answers(fitting, fit, ("confidence",))
    if fits:
        columns = ("levels", "answers", "right", "compared", "weights")
        rows = zip(*(getattr(fits[0], name).tolist() for name in columns), strict=True)
        names = ("level", "answers", "right", "compared", "weight")
        result["levels"] = [dict(zip(names, row, strict=True)) for row in rows]
    return result
