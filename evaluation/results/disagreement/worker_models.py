"""Fit worker models beside the consensus, which they never change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from evaluation.data.judgment_sets.records import texts_of
from evaluation.numeric.arrays import places_in
from evaluation.presentation.content import as_json
from evaluation.results.consensus import ModelInput, model_answers, model_workers
from evaluation.statistics.aggregation import (
    agrees_with_others,
    confidence_vote,
    glad,
    item_response,
    mace,
)
from evaluation.statistics.aggregation.votes_and_means import confidences_of

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
