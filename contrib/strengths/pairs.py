"""Bradley-Terry strengths of systems, with ties and degrees of preference, from judgments of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import F
from django.utils.translation import gettext, gettext_noop

from common.amounts import as_json, json_float
from common.rows.reading import columns_of
from common.texts import word_bounds
from contrib.strengths.rows import rank_bands_of, system_rows
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import NO_PAIR
from evaluation.errors import EvaluationError, NothingToRank
from evaluation.presentation.content import rows_as_json
from evaluation.results.agreement import judgment_clusters, side_bias
from evaluation.results.best_of.choices import PEOPLE
from evaluation.results.consensus.clusters import scope_of
from evaluation.results.consensus.study import consensus_of
from evaluation.results.standings import standings_of_pairs
from judgments.models import CandidatePair, HITUnit, Study
from judgments.studies.designs import design_of, has_chances
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation import StrengthResult, preference_strengths
from quorum.statistics.aggregation.pair_answers import preferences_of
from quorum.statistics.crossed import NAIVE, RATER
from quorum.statistics.significance import LEVEL

LENGTH_CONTROL = "length"
MAX_NEXT_COMPARISONS = 3
NO_PAIR_OF_SYSTEMS = gettext_noop(
    "Study %(slug)r has no judgments that compare two different systems and are used in results."
)
NO_ORDER_EFFECT = gettext_noop(
    "No order effect can be estimated for study %(slug)r: each text was always on the same side, "
    "or the sides are unknown."
)


def strengths_of_pairs(
    study: Study, *, model: str, control: str, weighted: bool, order_effect: bool
) -> dict[str, Any]:
    """Return ``strengths_of`` a study of pairs.

    If ``weighted``, judgments are weighted by inverse drawing probability.
    """
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    names = ("pk", "first_system__name", "second_system__name", "first__text", "second__text", "key")
    pairs = list(CandidatePair.objects.filter(study=study).order_by("pk").values_list(*names))
    # The systems of each judgment's pair are firsts[index] and seconds[index].
    pks, first, second, *texts, keys = zip(*pairs, strict=True) if pairs else ((),) * 6
    firsts = np.array([name or PEOPLE for name in first], dtype=object)
    seconds = np.array([name or PEOPLE for name in second], dtype=object)
    counted_rows = np.flatnonzero(table.is_counted)
    pair = units.pair[places_in(units.pk, table.unit[counted_rows])]
    has_pair = pair != NO_PAIR
    index = places_in(np.array(pks, dtype=np.int64), pair[has_pair])
    rows = counted_rows[has_pair]
    is_comparison = firsts[index] != seconds[index]
    rows, index = rows[is_comparison], index[is_comparison]
    if not len(rows):
        raise NothingToRank(NO_PAIR_OF_SYSTEMS, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(units, images, table.unit[rows], table.worker[rows], anonymous=anonymous)
    bias = side_bias(table, units, images, anonymous=anonymous)
    if order_effect and not bias:
        raise EvaluationError(gettext(NO_ORDER_EFFECT) % {"slug": study.slug})
    covariates = {}
    if control == LENGTH_CONTROL:
        covariates["length"] = _length_difference(*texts)[index]
    if order_effect:
        covariates["order_effect"] = table.order[rows]
    preferences = np.nan_to_num(preferences_of(table.full_value[rows]), nan=0.0)
    # Judgments are weighted if items were chosen by usefulness, or pairs were drawn from the answers so far.
    item_choice, judgment_weights = design_of(study).chosen, None
    if item_choice and weighted:
        judgment_weights = 1 / np.array([item_choice.chances[key] for key in keys])[index]
    elif weighted and has_chances(study):
        judgment_weights = 1 / _chances_of(study, table.unit[rows], table.worker[rows])
        judgment_weights /= judgment_weights.mean()
    strengths = preference_strengths(
        firsts[index].tolist(),
        seconds[index].tolist(),
        preferences,
        model=model,
        covariates=np.column_stack(list(covariates.values())) if covariates else None,
        weights=judgment_weights,
        clusters=clusters or NAIVE,
    )
    result = _as_result(strengths, preferences, list(covariates))
    result |= {"control": control, "weighted": judgment_weights is not None, "side_bias": bias or None}
    standings = standings_of_pairs(
        table,
        consensus_of(study, table, units),
        loaders.systems_of_pairs(study),
        dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id")),
        loaders.documents_of(study),
        anonymous=anonymous,
    )
    assert standings is not None, "there are judgments of two systems"
    p_values = standings.compare().compared
    for row in result["systems"]:
        wins = standings.figures[row["system"]]
        row |= {"pairs": wins["n"], "won": wins["value"], "won_low": wins["low"], "won_high": wins["high"]}
        row["p"] = p_values.get(row["system"])
    return result


def _chances_of(study: Study, units: Ints, workers: Ints) -> Floats:
    """Return the probability with which an arena drew the system pair of each of N judgments: (N,).

    Nobody judges a unit twice, so unit and worker identify the HIT.
    """
    hit_units = HITUnit.objects.filter(hit__study=study, chance__isnull=False)
    judged_units = hit_units.filter(hit__assignments__judgments__unit=F("unit")).order_by()
    names = ("unit_id", "hit__assignments__worker_id", "chance")
    unit_ids, worker_ids, chances = columns_of(judged_units.values_list(*names), len(names))
    # a code is one number for a unit and a worker
    factor = max(int(worker_ids.max()), int(workers.max())) + 1
    all_codes = unit_ids.astype(np.int64) * factor + worker_ids.astype(np.int64)
    codes, first_rows = np.unique(all_codes, return_index=True)
    index = places_in(codes, units * factor + workers)
    assert not (index < 0).any(), "each judged unit of an arena was drawn"
    return chances[first_rows][index]


def _length_difference(first: tuple[str, ...], second: tuple[str, ...]) -> Floats:
    """Return standardised length differences of P pairs: (P,) (Chatbot Arena, 2024).

    It is the difference of the numbers of words divided by their sum, divided by its standard deviation.
    """
    first_lengths, second_lengths = (
        np.array([len(word_bounds(text)) for text in texts], dtype=np.float64) for texts in (first, second)
    )
    differences = (first_lengths - second_lengths) / np.maximum(first_lengths + second_lengths, 1.0)
    spread = differences.std()
    return differences / spread if spread > 0 else differences


def _as_result(strengths: StrengthResult, preferences: Floats, covariates: list[str]) -> dict[str, Any]:
    """Return strengths as JSON. ``covariates`` are in the order of their coefficients."""
    names, bands = [str(name) for name in strengths.items.tolist()], rank_bands_of(strengths)
    effects = rows_as_json(
        value=strengths.coefficients, low=strengths.coefficient_low, high=strengths.coefficient_high
    )
    coefficients = dict(zip(covariates, effects, strict=True))
    return {
        "systems": system_rows(strengths, bands),
        "next": [] if strengths.reason else _next_comparisons(strengths, names),
        "length": None if strengths.reason else coefficients.get("length"),
        "order_effect": coefficients.get("order_effect"),
        "ties": float((preferences == 0).mean()),
        **as_json(strengths, "levels", "cuts"),
        "clusters": dict(strengths.clusters),
        "scope": scope_of(strengths.clusters.get(RATER)),
        **as_json(
            strengths, "model", "comparisons", "log_likelihood", "converged", "reason", "note", "signature"
        ),
        "ranks": bands.signature,
    }


def _next_comparisons(strengths: StrengthResult, names: list[str]) -> list[dict[str, Any]]:
    """Return the system pairs for which one more judgment would give the most information, with the gain in nats."""
    gains = np.triu(strengths.gains(), 1)
    best = np.argsort(-gains, axis=None, kind="stable")[:MAX_NEXT_COMPARISONS]
    return [
        {
            "first": names[index // len(names)],
            "second": names[index % len(names)],
            "gain": json_float(gains.flat[index]),
        }
        for index in best.tolist()
        if gains.flat[index] > 0
    ]


def is_biased(bias: Mapping[str, Any] | None, *, drawn: bool) -> bool:
    """Return whether people favour a side. This can be concluded only if sides were ``drawn`` at random.

    In imported judgments, better systems may have been on the left more often.
    """
    return drawn and bias is not None and bias["p"] is not None and bool(bias["p"] <= LEVEL)
