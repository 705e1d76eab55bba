"""Fit worker models beside the consensus, which they never change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.arrays import Floats, Ints, places_in
from evaluation.judgment_sets.records import JudgmentTable, UnitRow, Units, WorkerRow, texts_of
from evaluation.results.consensus import NOTHING_JUDGED, model_answers, model_workers
from evaluation.statistics.aggregation import glad, item_response, mace
from evaluation.statistics.inputs import encode
from judgments.kinds import Consensus, Kind

NOTHING_COMPARED = "No judgment can be held against a majority of the others on its unit."
_FITS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "mace": (mace, ("competence",)),
    "glad": (glad, ("ability", "accuracy")),
}


def worker_model(
    name: str,
    kind: Kind,
    table: JudgmentTable,
    units: Sequence[UnitRow],
    workers: Sequence[WorkerRow],
    consensus: Mapping[int, Consensus],
    decided: Collection[int],
    *,
    reason: str,
) -> dict[str, Any]:
    """Return a model of WORKER_MODELS as ``model_answers`` does, with its worker parameters.

    The response model treats answers as right or wrong. Its keys: ``workers`` (ability, deviation), ``units``
    (discrimination, difficulty) and ``answers``, their number.
    """
    if name in _FITS:
        fit, parameters = _FITS[name]
        found = model_answers(
            kind, table, units, workers, consensus, decided, reason=reason, fit=fit, parameters=parameters
        )
        return found or {"reason": _no_categories(kind)}
    if kind.is_open or kind.aggregation.level != "nominal":
        return {"reason": _no_categories(kind)}
    counted = table.counted
    reason = reason or ("" if counted.any() else NOTHING_JUDGED)
    if reason:
        return {"reason": reason}
    unit, worker = table.unit[counted], table.worker[counted]
    right = agrees_with_others(unit, table.value[counted])
    known = ~np.isnan(right)
    if not known.any():
        return {"reason": NOTHING_COMPARED}
    fitted = item_response(unit[known], worker[known], right[known])
    keys = texts_of(Units.of(units).key.take(places_in(Units.of(units).pk, fitted.items)))
    rows = zip(keys, fitted.discrimination.tolist(), fitted.difficulty.tolist(), strict=True)
    return {
        "reason": "",
        "units": [{"unit": key, "discrimination": a, "difficulty": b} for key, a, b in rows],
        "workers": model_workers(
            fitted, fitted.persons, {one.pk: one.name for one in workers}, ("ability", "deviation", "answers")
        ),
        "answers": int(known.sum()),
        "iterations": fitted.iterations,
        "converged": bool(fitted.converged),
        "note": fitted.note,
        "signature": fitted.signature,
    }


def _no_categories(kind: Kind) -> str:
    return f"Answers of protocol {kind.name} are no categories, which models of workers need."


def agrees_with_others(unit: Ints, value: Floats) -> Floats:
    """Return (N,) 1 if a judgment equals the majority of others on its unit, else 0; nan if these tie."""
    known, rows = encode(unit, "units")
    labels, columns = encode(value, "values")
    cells = np.bincount(rows * len(labels) + columns, minlength=len(known) * len(labels))
    others = cells.reshape(len(known), len(labels))[rows]
    here = np.arange(len(rows)), columns
    others[here] -= 1
    most = others.max(axis=1, initial=0)
    decided = (most > 0) & ((others == most[:, np.newaxis]).sum(axis=1) == 1)
    return np.where(decided, (others[here] == most).astype(np.float64), np.nan)
