"""Fit strengths of systems by Luce's choice model, from judgments that name the best of several captions."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from common.amounts import as_json
from common.features import of_features
from contrib.strengths.parameters import DEFAULT_MODEL, NO_CONTROL
from contrib.strengths.rows import rank_bands_of, system_rows
from evaluation.errors import EvaluationError
from evaluation.results.consensus.clusters import scope_of
from judgments.models import Study
from quorum.statistics.crossed import RATER

LUCE = "luce"


def strengths_of_choices(study: Study, *, model: str, control: str, order_effect: bool) -> dict[str, Any]:
    """Return strengths and rank bands from judgments that name the best of several captions.

    A caption that several systems gave counts for each of them in equal parts. The result has the keys of
    ``strengths_of_pairs``.

    Raises:
        EvaluationError: an option for pairs (``model``, ``control``, ``order_effect``) does not have its default.
    """
    if model != DEFAULT_MODEL or control != NO_CONTROL or order_effect:
        raise EvaluationError(
            gettext(
                "Study %(slug)r asks for the best of several texts. Luce's model, which ranks "
                "systems in such studies, has no control variables."
            )
            % {"slug": study.slug}
        )
    fit_functions = of_features("choice_fits")  # of a study; they return its choices, with fitted strengths
    if not fit_functions:
        raise EvaluationError(
            gettext("Choices of the best of several are ranked by the feature best_worst, which is off.")
        )
    choices = fit_functions[0](study)
    strengths, shares = choices.strengths, choices.shares()
    bands = rank_bands_of(strengths)
    p_values = choices.standings().compare().compared  # of each system against the best one, adjusted by Holm
    return {
        "systems": [
            row | shares[row["system"]] | {"p": p_values.get(row["system"])}
            for row in system_rows(strengths, bands)
        ],
        # Only pairs have these: in a list there are no sides, no ties and no degrees of preference.
        "next": [],
        "length": None,
        "order_effect": None,
        "side_bias": None,
        "ties": 0.0,
        "levels": [],
        "cuts": [],
        "control": control,
        "clusters": dict(strengths.clusters),
        "scope": scope_of(strengths.clusters.get(RATER)),
        "model": LUCE,
        "comparisons": strengths.choices,
        **as_json(strengths, "log_likelihood", "converged", "reason", "note", "signature"),
        "ranks": bands.signature,
        "weighted": False,
    }
