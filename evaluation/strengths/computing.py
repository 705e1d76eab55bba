"""Compute strengths for the page, the command, the HTTP call and the report."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import F, Max
from django.utils.translation import gettext
from rest_framework import serializers

from annotation.models import Judgment
from annotation.work.arena import draws_live
from common.parameters import Parameters
from common.rows import columns_of
from evaluation.arrays import Floats, Ints, places_in
from evaluation.errors import EvaluationError
from evaluation.judgment_sets import loaders
from evaluation.judgment_sets.records import NO_PAIR
from evaluation.provenance import as_json, plain
from evaluation.report.content import Dots, Estimate, Level, Panel, Section
from evaluation.report.rendering import plot, say, section, table
from evaluation.results.consensus import judgment_clusters
from evaluation.statistics.aggregation import StrengthResult, preference_strengths, rank_bands
from evaluation.statistics.aggregation.preferences import preferences_of
from evaluation.statistics.aggregation.strengths import MODELS
from evaluation.statistics.clustering import NAIVE
from judgments.design.tables import PairAnswers
from judgments.kinds import KINDS
from judgments.kinds.spans.answers import words_of
from judgments.models import CandidatePair, HITUnit, Study
from judgments.studies.studies import design_of

LENGTH = "length"
WEIGHTS = ("drawn", "none")
NEXT_SHOWN = 3
KEPT_SECONDS = 3600
NOT_PAIRS = "Study {slug!r} compares no pairs, so that no system won against another."


class StrengthsRequest(Parameters):
    """How systems are ranked (docs/ties.md)."""

    model = serializers.ChoiceField(
        MODELS,
        required=False,
        initial=MODELS[0],
        label="Model",
        help_text="adjacent (with ties, Davidson's) or cumulative (with ties, Rao and Kupper's); default: adjacent.",
    )
    control = serializers.ChoiceField(
        ["none", LENGTH],
        required=False,
        initial="none",
        label="Control for",
        help_text="length: strengths of texts of equal length; default: none.",
    )
    weights = serializers.ChoiceField(
        WEIGHTS,
        required=False,
        initial=WEIGHTS[0],
        label="Weights",
        help_text="drawn: one over the chance of what was drawn with unequal chances, in an arena the pair of systems, "
        "or an item chosen by its usefulness; none: all judgments count alike.",
    )


def strengths_of(
    study: Study, *, model: str = MODELS[0], control: str = "none", weights: str = WEIGHTS[0]
) -> dict[str, Any]:
    """Return strengths, rank bands and the next comparisons of the study's systems, as JSON.

    Every included judgment of two systems is a comparison; "neither" counts as no difference. Intervals are
    clustered by image and, unless anonymous, by person. In an arena each judgment weighs one over the
    probability of its pair of systems, as if pairs were drawn evenly (Chiang et al. 2024, section 5).

    Raises:
        EvaluationError: the study compares no pairs, or none of two systems.
    """
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(NOT_PAIRS.format(slug=study.slug))
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    names = ("pk", "first_system__name", "second_system__name", "first__text", "second__text", "key")
    pairs = list(CandidatePair.objects.filter(study=study).order_by("pk").values_list(*names))
    pks, first, second, *texts, keys = zip(*pairs, strict=True) if pairs else ((),) * 6
    firsts = np.array([name or "people" for name in first], dtype=object)
    seconds = np.array([name or "people" for name in second], dtype=object)
    counted = np.flatnonzero(table.counted)
    pair = units.pair[places_in(units.pk, table.unit[counted])]
    kept = pair != NO_PAIR
    place = places_in(np.array(pks, dtype=np.int64), pair[kept])
    rows = counted[kept]
    different = firsts[place] != seconds[place]
    rows, place = rows[different], place[different]
    if not len(rows):
        raise EvaluationError(
            gettext("Study %(slug)r has no judgment that counts of a pair of two different systems.")
            % {"slug": study.slug}
        )
    anonymous = any(worker.anonymous for worker in loaders.worker_rows(study))
    clusters = judgment_clusters(
        units, loaders.images_of(study, units), table.unit[rows], table.worker[rows], anonymous=anonymous
    )
    covariates = None
    if control == LENGTH:
        covariates = _length_difference(*texts)[place]
    preferences = np.nan_to_num(preferences_of(table.said[rows]), nan=0.0)
    # What was chosen by usefulness, or drawn by the answers so far, counts by one over its chance.
    chosen, inverse = design_of(study).chosen, None
    if chosen and weights == WEIGHTS[0]:
        inverse = 1 / np.array([chosen.chances[key] for key in keys])[place]
    elif draws_live(study) and weights == WEIGHTS[0]:
        inverse = 1 / chances_of(study, table.unit[rows], table.worker[rows])
        inverse /= inverse.mean()
    found = preference_strengths(
        firsts[place].tolist(),
        seconds[place].tolist(),
        preferences,
        model=model,
        covariates=covariates,
        weights=inverse,
        clusters=clusters or NAIVE,
    )
    return _as_result(found, preferences, control) | {"weighted": inverse is not None}


def chances_of(study: Study, units: Ints, workers: Ints) -> Floats:
    """Return (N,) probabilities by which an arena drew the judgments' pairs of systems.

    Nobody judges a unit twice, so unit and person identify the HIT.
    """
    drawn = HITUnit.objects.filter(hit__study=study, chance__isnull=False)
    live = drawn.filter(hit__assignments__judgments__unit=F("unit")).order_by()
    columns = columns_of(live.values_list("unit_id", "hit__assignments__worker_id", "chance"), 3)
    of_unit, of_worker = columns[0].astype(np.int64), columns[1].astype(np.int64)
    base = max(int(of_worker.max()), int(workers.max())) + 1
    codes, first = np.unique(of_unit * base + of_worker, return_index=True)
    place = places_in(codes, units * base + workers)
    assert not (place < 0).any(), "each judged unit of an arena was drawn"
    return columns[2][first][place]


def _length_difference(first: tuple[str, ...], second: tuple[str, ...]) -> Floats:
    """Return (P,) difference in words over their sum, in standard deviations (Chatbot Arena, 2024)."""
    one, two = (
        np.array([len(words_of(text)) for text in texts], dtype=np.float64) for texts in (first, second)
    )
    share = (one - two) / np.maximum(one + two, 1.0)
    spread = share.std()
    return share / spread if spread > 0 else share


def _as_result(found: StrengthResult, preferences: Floats, control: str) -> dict[str, Any]:
    bands = rank_bands(found.log_strength, found.covariance, freedom=found.freedom.tolist())
    names = [str(name) for name in found.items.tolist()]
    systems = [
        {
            "system": names[at],
            "strength": plain(found.log_strength[at]),
            "low": plain(found.low[at]),
            "high": plain(found.high[at]),
            "best_rank": int(bands.best[at]) or None,
            "worst_rank": int(bands.worst[at]) or None,
        }
        for at in (found.order.tolist() or range(len(names)))
    ]
    coefficient = None
    if control == LENGTH and not found.reason:
        coefficient = {
            "value": plain(found.coefficients[0]),
            "low": plain(found.coefficient_low[0]),
            "high": plain(found.coefficient_high[0]),
        }
    return {
        "systems": systems,
        "next": [] if found.reason else _next(found, names),
        "length": coefficient,
        "ties": float((preferences == 0).mean()),
        "levels": found.levels.tolist(),
        "cuts": [plain(cut) for cut in found.cuts.tolist()],
        "control": control,
        "clusters": dict(found.clusters),
        **as_json(
            found, "model", "comparisons", "log_likelihood", "converged", "reason", "note", "signature"
        ),
        "ranks": bands.signature,
    }


def _next(found: StrengthResult, names: list[str]) -> list[dict[str, Any]]:
    """Return the pairs of systems with the largest gain of one more judgment, in nats."""
    gains = np.triu(found.gains(), 1)
    best = np.argsort(-gains, axis=None, kind="stable")[:NEXT_SHOWN]
    return [
        {"first": names[at // len(names)], "second": names[at % len(names)], "gain": plain(gains.flat[at])}
        for at in best.tolist()
        if gains.flat[at] > 0
    ]


def cached_strengths(study: Study, **asked: Any) -> dict[str, Any]:
    """Return ``strengths_of``, cached for the same judgments and events of the study."""
    newest = Judgment.objects.filter(assignment__study=study).aggregate(last=Max("pk"))["last"]
    event = study.events.aggregate(last=Max("pk"))["last"]
    options = "-".join(f"{name}={asked[name]}" for name in sorted(asked))  # "none" is a value of two of them
    key = f"strengths-{study.pk}-{newest}-{event}-{options}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = strengths_of(study, **asked)
        cache.set(key, found, KEPT_SECONDS)
    return found


def ranking_section(study: Study) -> Section | None:
    """Return strengths and rank bands if probabilities or answers are unusual; else None."""
    design = design_of(study)
    special = design.answers != PairAnswers() or design.chosen is not None or draws_live(study)
    if not (KINDS[study.protocol].compares_pairs and special):
        return None
    try:
        found = strengths_of(study)
    except EvaluationError:  # nothing to rank yet
        return None
    if found["reason"]:
        return section("ranking", empty=found["reason"])
    rows = [
        (
            one["system"],
            Estimate(one["strength"], one["low"], one["high"]),
            one["best_rank"],
            one["worst_rank"],
        )
        for one in found["systems"]
    ]
    data = table("ranking", rows)
    best = [one["system"] for one in found["systems"] if one["best_rank"] == 1]
    sentence = say(
        "ranking", best=best, comparisons=found["comparisons"], ties=found["ties"], weighted=found["weighted"]
    )
    drawing = Dots(
        tuple(name for name, *_ in rows),
        (Panel("", tuple(strength for _, strength, *_ in rows), (Level("mean", 0.0),)),),
        "log-strength, 95 % interval",
        "number",
        tuple(best),
    )
    return section("ranking", [sentence], [plot(sentence, drawing, data)], [data])
