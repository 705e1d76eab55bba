"""Strengths, rank bands and the next comparisons of a study's systems, from people's choices between their texts."""

from __future__ import annotations

from typing import Any

from django.core.cache import cache
from django.db.models import Max
from rest_framework import serializers

from annotation.models import Judgment
from common.parameters import Parameters
from contrib.strengths.choices import strengths_of_choices
from contrib.strengths.pairs import LENGTH_CONTROL, strengths_of_pairs
from evaluation.data.judgment_sets import blocks
from evaluation.errors import EvaluationError, NothingToRank
from judgments.kinds import KINDS
from judgments.models import Study
from quorum.statistics.aggregation.strengths import MODELS

WEIGHTS = ("drawn", "none")
CACHE_SECONDS = 3600
NO_RANKS = "Study {slug!r} compares no pairs and names no best one, so that no system won against another."


class StrengthsRequest(Parameters):
    """The model and the settings by which systems are ranked (contrib/strengths/README.md)."""

    model = serializers.ChoiceField(
        MODELS,
        required=False,
        initial=MODELS[0],
        label="Model",
        help_text="Of pairs: adjacent (with ties, Davidson's) or cumulative (with ties, Rao and Kupper's); default: "
        "adjacent. The best of several has Luce's.",
    )
    control = serializers.ChoiceField(
        ["none", LENGTH_CONTROL],
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
    order_effect = serializers.BooleanField(
        required=False,
        initial=False,
        label="Without side bias",
        help_text="Of pairs: fit the advantage of standing on the left, and give strengths without it.",
    )


def strengths_of(
    study: Study,
    *,
    model: str = MODELS[0],
    control: str = "none",
    weights: str = WEIGHTS[0],
    order_effect: bool = False,
) -> dict[str, Any]:
    """Return strengths, rank bands and the next comparisons of the study's systems, as JSON.

    Every included judgment of two systems is a comparison; "neither" counts as no difference. ``won`` (share of
    pairs won) and ``p`` (the best system against each other one) are computed from the majorities of pairs, as in
    the verdict. Intervals are clustered by item and, unless people are anonymous, by person. In an arena each
    judgment is weighted by the inverse of its system pair's probability, as if pairs were drawn uniformly (Chiang
    et al. 2024, section 5). If people name the best of several captions, strengths are those of Luce's choice
    model. ``side_bias`` tests whether people favour a side. ``order_effect`` fits the log-odds that the left side
    adds (Davidson, Beaver 1977).

    Raises:
        EvaluationError: the study neither compares pairs nor names a best caption, or it has no judgment of two
            systems, or its model has no such setting.
    """
    if KINDS[study.protocol].names_best:
        return strengths_of_choices(study, model=model, control=control, order_effect=order_effect)
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(NO_RANKS.format(slug=study.slug))
    return strengths_of_pairs(
        study, model=model, control=control, weighted=weights == WEIGHTS[0], order_effect=order_effect
    )


def cached_strengths(study: Study, **settings: Any) -> dict[str, Any]:
    """Return ``strengths_of`` a study, cached until judgments or events of the study change.

    Raises:
        NothingToRank: as by ``strengths_of``; this error is cached, too.
    """
    event = study.events.aggregate(last=Max("pk"))["last"]
    # The key contains the names, since "none" is a value of two settings.
    options = "-".join(f"{name}={settings[name]}" for name in sorted(settings))
    key = f"strengths-{study.pk}-{event}-{options}"
    judgments = Judgment.objects.filter(assignment__study=study)
    newest_judgment: int
    strengths: dict[str, Any]
    newest_judgment, strengths = cache.get(key) or (-1, {})
    if judgments.filter(pk__gt=newest_judgment).exists() or newest_judgment < 0:
        newest_judgment = blocks.newest_judgment(study)
        try:
            strengths = strengths_of(study, **settings)
        except NothingToRank as error:
            strengths = {"nothing": error.why}
        cache.set(key, (newest_judgment, strengths), CACHE_SECONDS)
    if "nothing" in strengths:
        raise NothingToRank(strengths["nothing"], study.slug)
    return strengths
