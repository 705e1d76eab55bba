"""Rank a study's systems by people's choices: between two texts, or of the best of several.

`strengths_of` fits the model, and `cached_strengths` stores its result in the cache.
"""

from __future__ import annotations

from typing import Any

from django.core.cache import cache
from django.db.models import Max

from annotation.models import Judgment
from contrib.strengths.choices import strengths_of_choices
from contrib.strengths.pairs import strengths_of_pairs
from contrib.strengths.parameters import DEFAULT_MODEL, NO_CONTROL, WEIGHTED
from evaluation.data.judgment_sets import blocks
from evaluation.errors import EvaluationError, NothingToRank
from judgments.kinds import KINDS
from judgments.models import Study

CACHE_SECONDS = 3600
NO_RANKS = "Study {slug!r} compares no pairs and names no best one, so that no system won against another."


def strengths_of(
    study: Study,
    *,
    model: str = DEFAULT_MODEL,
    control: str = NO_CONTROL,
    weights: str = WEIGHTED,
    order_effect: bool = False,
) -> dict[str, Any]:
    """Return strengths, rank bands and the next comparisons of the study's systems, as JSON.

    Strengths are fitted to single judgments. The share of pairs won, and p of the best system against each other one,
    are computed from the majorities of pairs, as in the verdict.

    Args:
        model: the model for pairs (contrib/strengths/README.md).
        control: a covariate of pairs, such as the difference in length.
        weights: whether judgments are weighted by the inverse of their probability. In an arena this is that of the
            pair of systems, as if pairs were drawn uniformly (Chiang et al. 2024, section 5).
        order_effect: whether to fit the log-odds that standing on the left adds to a text (Davidson, Beaver 1977).

    Raises:
        NothingToRank: no judgment is of two systems.
        EvaluationError: the study neither compares pairs nor names a best caption, or its model has no such setting.
    """
    if KINDS[study.protocol].names_best:
        return strengths_of_choices(study, model=model, control=control, order_effect=order_effect)
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(NO_RANKS.format(slug=study.slug))
    return strengths_of_pairs(
        study, model=model, control=control, weighted=weights == WEIGHTED, order_effect=order_effect
    )


def cached_strengths(study: Study, **settings: Any) -> dict[str, Any]:
    """Return the result of ``strengths_of``, which is cached until the study has new judgments or events.

    Raises:
        NothingToRank: as by ``strengths_of``; this error is cached, too.
    """
    newest_event = study.events.aggregate(newest=Max("pk"))["newest"]
    # The key contains the names, since "none" is a value of two settings.
    settings_text = "-".join(f"{name}={settings[name]}" for name in sorted(settings))
    cache_key = f"strengths-{study.pk}-{newest_event}-{settings_text}"
    judgments = Judgment.objects.filter(assignment__study=study)
    last_judgment_bound: int
    strengths: dict[str, Any]
    last_judgment_bound, strengths = cache.get(cache_key) or (-1, {})  # -1: nothing is cached
    if last_judgment_bound < 0 or judgments.filter(pk__gt=last_judgment_bound).exists():
        # read before the strengths, so that judgments that come meanwhile make them outdated
        last_judgment_bound = blocks.last_judgment_bound(study)
        try:
            strengths = strengths_of(study, **settings)
        except NothingToRank as error:
            strengths = {"why_no_ranks": error.why}
        cache.set(cache_key, (last_judgment_bound, strengths), CACHE_SECONDS)
    if "why_no_ranks" in strengths:
        raise NothingToRank(strengths["why_no_ranks"], study.slug)
    return strengths
