"""Fit Bradley-Terry strengths of systems, with ties and degrees of preference, from judgments of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import F
from django.utils.translation import gettext, gettext_noop
from numpy.typing import NDArray

from common.amounts import as_json, json_float
from common.rows.reading import columns_of
from common.texts import word_bounds
from contrib.strengths.parameters import LENGTH_CONTROL
from contrib.strengths.rows import rank_bands_of, system_rows
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import NO_PAIR, JudgmentTable, Units
from evaluation.errors import EvaluationError, NothingToRank
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import judgment_clusters, side_bias
from evaluation.results.consensus.clusters import scope_of
from evaluation.results.consensus.study import consensus_of
from evaluation.results.standings import PEOPLE, standings_of_pairs
from judgments.models import CandidatePair, HITUnit, Study
from judgments.studies.designs import design_of, has_chances
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation import StrengthResult, preference_strengths
from quorum.statistics.aggregation.pair_answers import preferences_of
from quorum.statistics.crossed import RATER
from quorum.statistics.significance import LEVEL

MAX_NEXT_COMPARISONS = 3
NO_PAIR_OF_SYSTEMS = gettext_noop(
    "Study %(slug)r has no judgments that compare two different systems and are used in results."
)
NO_ORDER_EFFECT = gettext_noop(
    "No order effect can be estimated for study %(slug)r: each text was always on the same side, "
    "or the sides are unknown."
)


@dataclass(frozen=True, slots=True, eq=False)
class _StudyPairs:
    """The P candidate pairs of a study, with the systems and texts of both sides."""

    pks: Ints
    keys: tuple[str, ...]
    first_systems: NDArray[Any]
    second_systems: NDArray[Any]
    first_texts: tuple[str, ...]
    second_texts: tuple[str, ...]

    @classmethod
    def for_study(cls, study: Study) -> _StudyPairs:
        columns = ("pk", "key", "first_system__name", "second_system__name", "first__text", "second__text")
        rows = list(CandidatePair.objects.filter(study=study).order_by("pk").values_list(*columns))
        pks, keys, first_names, second_names, first_texts, second_texts = (
            zip(*rows, strict=True) if rows else ((),) * len(columns)
        )
        return cls(
            pks=np.array(pks, dtype=np.int64),
            keys=keys,
            first_systems=np.array([name or PEOPLE for name in first_names], dtype=object),
            second_systems=np.array([name or PEOPLE for name in second_names], dtype=object),
            first_texts=first_texts,
            second_texts=second_texts,
        )


class _Comparisons(NamedTuple):
    """The N judgments that compare two different systems.

    Attributes:
        rows: (N,) their indices in the table of judgments.
        pair_index: (N,) the indices of their pairs in ``_StudyPairs``.
    """

    rows: Ints
    pair_index: Ints


def _comparisons_of_systems(judgments: JudgmentTable, units: Units, pairs: _StudyPairs) -> _Comparisons:
    rows = np.flatnonzero(judgments.is_counted)
    # places_in returns the index in its first argument of each row id in its second
    judged_pairs = units.pair[places_in(units.pk, judgments.unit[rows])]
    has_pair = judged_pairs != NO_PAIR
    rows, pair_index = rows[has_pair], places_in(pairs.pks, judged_pairs[has_pair])
    is_comparison = pairs.first_systems[pair_index] != pairs.second_systems[pair_index]
    return _Comparisons(rows[is_comparison], pair_index[is_comparison])


def strengths_of_pairs(
    study: Study, *, model: str, control: str, weighted: bool, order_effect: bool
) -> dict[str, Any]:
    """Return strengths of systems by ``model``; on request weighted, or without effects of length or side."""
    judgments, units = loaders.load_judgments(study), loaders.judged_units_of(study)
    pairs = _StudyPairs.for_study(study)
    comparisons = _comparisons_of_systems(judgments, units, pairs)
    rows, pair_index = comparisons
    if not len(rows):
        raise NothingToRank(NO_PAIR_OF_SYSTEMS, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(
        units, images, judgments.unit[rows], judgments.worker[rows], anonymous=anonymous
    )
    bias = side_bias(judgments, units, images, anonymous=anonymous)
    if order_effect and not bias:
        raise EvaluationError(gettext(NO_ORDER_EFFECT) % {"slug": study.slug})
    covariates = {}
    if control == LENGTH_CONTROL:
        covariates["length"] = _length_difference(pairs.first_texts, pairs.second_texts)[pair_index]
    if order_effect:
        covariates["order_effect"] = judgments.order_sign[rows]  # 1: the first text was on the left
    # full_value has the degree of preference, too. Answers for neither side are nan, and become 0, a tie.
    preferences = np.nan_to_num(preferences_of(judgments.full_value[rows]), nan=0.0)
    judgment_weights = _judgment_weights(study, judgments, pairs, comparisons) if weighted else None
    strengths = preference_strengths(
        pairs.first_systems[pair_index].tolist(),
        pairs.second_systems[pair_index].tolist(),
        preferences,
        model=model,
        covariates=np.column_stack(list(covariates.values())) if covariates else None,
        weights=judgment_weights,
        clusters=clusters,
    )
    result = _as_result(strengths, preferences, list(covariates))
    result |= {"control": control, "weighted": judgment_weights is not None, "side_bias": bias or None}
    _add_standings(result["systems"], study, judgments, units, anonymous=anonymous)
    return result


def _add_standings(
    system_results: list[dict[str, Any]],
    study: Study,
    judgments: JudgmentTable,
    units: Units,
    *,
    anonymous: bool,
) -> None:
    """Add to each system's result its share of pairs won, and p of the best system against it."""
    standings = standings_of_pairs(
        judgments,
        consensus_of(study, judgments, units),
        loaders.systems_of_pairs(study),
        dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id")),
        loaders.documents_of(study),
        anonymous=anonymous,
    )
    assert standings is not None, "there are judgments of two systems"
    p_values = standings.compare().compared
    for result in system_results:
        share_won = standings.figures[result["system"]]
        result |= {
            "pairs": share_won["n"],
            "won": share_won["value"],
            "won_low": share_won["low"],
            "won_high": share_won["high"],
            "p": p_values.get(result["system"]),
        }


def _judgment_weights(
    study: Study, judgments: JudgmentTable, pairs: _StudyPairs, comparisons: _Comparisons
) -> Floats | None:
    """Return (N,) weights of comparisons, proportional to 1 / drawing probability; None if all are equal.

    They differ if items were chosen by usefulness, or if an arena drew pairs by the answers so far.
    """
    item_choice = design_of(study).chosen
    if item_choice:
        return 1 / np.array([item_choice.chances[key] for key in pairs.keys])[comparisons.pair_index]
    if has_chances(study):
        weights = 1 / _chances_of(study, judgments.unit[comparisons.rows], judgments.worker[comparisons.rows])
        return np.asarray(weights / weights.mean())
    return None


def _chances_of(study: Study, units: Ints, workers: Ints) -> Floats:
    """Return the (N,) probabilities with which an arena drew the system pairs of judgments.

    Args:
        units, workers: (N,) row ids of the judgments' units and workers. Nobody judges a unit twice, so that these
            identify the HIT, to which the probability belongs.
    """
    hit_units = HITUnit.objects.filter(hit__study=study, chance__isnull=False)
    judged_units = hit_units.filter(hit__assignments__judgments__unit=F("unit")).order_by()
    names = ("unit_id", "hit__assignments__worker_id", "chance")
    unit_ids, worker_ids, chances = columns_of(judged_units.values_list(*names), len(names))
    # A code is one number for a unit and a worker: the unit's row id times more than any row id of a worker.
    factor = max(int(worker_ids.max()), int(workers.max())) + 1
    codes_of_chances = unit_ids.astype(np.int64) * factor + worker_ids.astype(np.int64)
    # Each judgment of a unit gives a row. If a worker revised an answer, the rows are equal, and the first is used.
    codes, first_rows = np.unique(codes_of_chances, return_index=True)
    index = places_in(codes, units * factor + workers)
    assert not (index < 0).any(), "each judged unit of an arena was drawn"
    return chances[first_rows][index]


def _length_difference(first_texts: tuple[str, ...], second_texts: tuple[str, ...]) -> Floats:
    """Return the (P,) standardised differences in length of the texts of pairs (Chatbot Arena, 2024).

    It is the difference of the numbers of words divided by their sum, divided by its standard deviation.
    """
    first_lengths, second_lengths = (
        np.array([len(word_bounds(text)) for text in texts], dtype=np.float64)
        for texts in (first_texts, second_texts)
    )
    differences = (first_lengths - second_lengths) / np.maximum(first_lengths + second_lengths, 1.0)
    spread = differences.std()
    return differences / spread if spread > 0 else differences


def _as_result(strengths: StrengthResult, preferences: Floats, covariates: list[str]) -> dict[str, Any]:
    """Return strengths as JSON. (N,) preferences are 0 for no side; ``covariates`` names the coefficients, in order."""
    names, bands = [str(name) for name in strengths.items.tolist()], rank_bands_of(strengths)
    effects = rows_as_json(
        value=strengths.coefficients, low=strengths.coefficient_low, high=strengths.coefficient_high
    )
    coefficients = dict(zip(covariates, effects, strict=True))
    return {
        "systems": system_rows(strengths, bands),
        "next": [] if strengths.reason else _next_comparisons(strengths, names),
        "length": None if strengths.reason else coefficients.get("length"),  # null without a fit
        "order_effect": coefficients.get("order_effect"),  # without a fit, its values are null
        "ties": float((preferences == 0).mean()),
        **as_json(strengths, "levels", "cuts"),  # degrees of preference, and the model's parameters for them
        "clusters": dict(strengths.clusters),
        "scope": scope_of(strengths.clusters.get(RATER)),
        **as_json(
            strengths, "model", "comparisons", "log_likelihood", "converged", "reason", "note", "signature"
        ),
        "ranks": bands.signature,
    }


def _next_comparisons(strengths: StrengthResult, names: list[str]) -> list[dict[str, Any]]:
    """Return the system pairs whose next judgment would be most informative, with their `StrengthResult.gains`."""
    gains = np.triu(strengths.gains(), 1)  # each pair once
    best_cells = np.argsort(-gains, axis=None, kind="stable")[:MAX_NEXT_COMPARISONS]
    rows, columns = np.unravel_index(best_cells, gains.shape)
    return [
        {"first": names[row], "second": names[column], "gain": json_float(gains[row, column])}
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        if gains[row, column] > 0
    ]


def is_biased(bias: Mapping[str, Any] | None, *, random_sides: bool) -> bool:
    """Return whether people favour a side. This can be concluded only if sides are random.

    In imported judgments, better systems may have been on the left more often.
    """
    return random_sides and bias is not None and bias["p"] is not None and bool(bias["p"] <= LEVEL)
