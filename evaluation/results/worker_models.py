"""Models of workers, computed in addition to the consensus: Dawid-Skene, GLAD, MACE and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext_noop

from common.amounts import as_json
from evaluation.data.judgment_sets.records import JudgmentTable, WorkerRow, texts_of_column
from evaluation.results.consensus.study import StudyConsensus, values_at
from judgments.kinds import Kind
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation import (
    agrees_with_others,
    confidence_vote,
    dawid_skene,
    glad,
    item_response,
    mace,
)
from quorum.statistics.aggregation.pair_answers import confidences_of

if TYPE_CHECKING:
    import pyarrow as pa


NO_JUDGMENTS = "No judgments are used in results yet."
SMOOTHING = 1.0  # prior counts, so that workers with few judgments do not get perfect scores
MAX_DIFFERING_ITEMS = 50
SMOOTHED_DAWID_SKENE = partial(dawid_skene, smoothing=SMOOTHING)

# Names on pages of the models of workers that `aggregate` can fit in addition to Dawid and Skene's.
WORKER_MODELS = {
    "mace": gettext_noop("MACE: competence and guessing of participants"),
    "glad": gettext_noop("GLAD: ability of participants and difficulty of items"),
    "response": gettext_noop("Two-parameter item response model"),
    "confidence": gettext_noop("Votes weighted by confidence"),
}
# Why a model has no results.
NOT_ASKED = "Nobody was asked how sure they are."
NO_COMPARABLE_ITEM = "No item has enough judgments to compare one judgment with the majority of the others."
# The function that fits a model, and the names of its parameters of workers.
_MODELS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "mace": (mace, ("competence",)),
    "glad": (glad, ("ability", "accuracy")),
}


@dataclass(frozen=True, slots=True)
class ModelRows:
    """Results of a model for U units.

    Attributes:
        key: (U,) keys of the units.
        value: (U,) most likely values; None if several values are equally likely.
        probability: (U,) probabilities of these values.
    """

    key: pa.Array
    value: list[Any]
    probability: Floats

    def row_at(self, index: int) -> dict[str, Any]:
        return {
            "unit": self.key[index].as_py(),
            "value": self.value[index],
            "probability": float(self.probability[index]),
        }

    def as_json(self) -> list[dict[str, Any]]:
        rows = zip(texts_of_column(self.key), self.value, self.probability.tolist(), strict=True)
        return [{"unit": key, "value": value, "probability": probability} for key, value, probability in rows]


def _largest_positions(values: Floats, candidates: Ints, count: int) -> Ints:
    """Return those of the positions ``candidates`` that have the ``count`` largest values, with ties of the last."""
    if len(candidates) <= count:
        return candidates
    threshold = np.partition(values[candidates], -count)[-count]
    return candidates[values[candidates] >= threshold]


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The data that models of workers are fitted to.

    ``reason`` says why single workers cannot be assessed, or is "".
    """

    kind: Kind
    table: JudgmentTable
    workers: Sequence[WorkerRow]
    consensus: StudyConsensus
    reason: str

    @property
    def why_not(self) -> str:
        """Why no model can be fitted, or ""."""
        return self.reason or ("" if self.table.is_counted.any() else NO_JUDGMENTS)

    @property
    def names(self) -> dict[int, str]:
        return {worker.pk: worker.name for worker in self.workers}


def model_answers(
    model_input: ModelInput,
    fit: Callable[..., Any] = SMOOTHED_DAWID_SKENE,
    parameters: Sequence[str] = ("accuracy",),
) -> dict[str, Any]:
    """Fit a worker model, and compare its values with the consensus. Return {} if answers are not categories.

    The keys are ``reason``: why there are no results, or ""; ``units``: ``ModelRows``; ``workers``: the model's
    ``parameters``; ``compared``: number of units that are not adjudicated; ``differ``: number of these units for
    which model and consensus differ; ``differing``: the most probable of these; ``breaks_ties``: number of tied
    units that the model decides.
    """
    kind, table, consensus = model_input.kind, model_input.table, model_input.consensus
    if kind.is_open or kind.aggregation.level != "nominal":
        return {}
    if model_input.why_not:
        return {"reason": model_input.why_not}
    is_counted = table.is_counted
    result = fit(
        table.unit[is_counted], table.worker[is_counted], table.value[is_counted], labels=kind.outcomes
    )
    keys = consensus.units.key.take(places_in(consensus.units.pk, result.units))
    rows = ModelRows(keys, result.values(), result.posterior.max(axis=1))
    model_values = np.array(rows.value, dtype=np.float64)  # turns None into nan
    consensus_values, is_comparable = values_at(consensus.of_unit, result.units)
    is_compared = ~np.isin(result.units, list(consensus.decisions))
    is_comparable &= is_compared & ~np.isnan(model_values)
    indices = np.flatnonzero(is_comparable & ~np.isnan(consensus_values) & (consensus_values != model_values))
    differing = []
    for index in _largest_positions(rows.probability, indices, MAX_DIFFERING_ITEMS).tolist():
        outcome = consensus.of_unit[int(result.units[index])]
        differing.append(rows.row_at(index) | {"consensus": outcome.value, "votes": dict(outcome.votes)})
    differing.sort(key=lambda row: (-row["probability"], row["unit"]))
    return {
        "reason": "",
        "units": rows,
        "workers": model_workers(result, result.workers, model_input.names, (*parameters, "judgments")),
        "compared": int(is_compared.sum()),
        "differ": len(indices),
        "breaks_ties": int((is_comparable & np.isnan(consensus_values)).sum()),
        "differing": differing[:MAX_DIFFERING_ITEMS],
        **as_json(result, "iterations", "converged", "note", "signature"),
    }


def model_workers(
    result: Any, workers: Ints, names: Mapping[int, str], parameters: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the (W,) parameters of workers as rows, sorted by name."""
    columns = [getattr(result, name).tolist() for name in parameters]
    rows = (
        {"worker": names[pk], **dict(zip(parameters, cells, strict=True))}
        for pk, *cells in zip(workers.tolist(), *columns, strict=True)
    )
    return sorted(rows, key=lambda row: row["worker"])


def without_units(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name != "units"}


def worker_model(name: str, model_input: ModelInput) -> dict[str, Any]:
    """Return a model of WORKER_MODELS as ``model_answers`` does, with the parameters of workers.

    The item response model regards answers as right or wrong. Its keys are ``workers`` (ability, deviation), ``units``
    (discrimination, difficulty) and ``answers`` (their number).
    """
    kind, table, units = model_input.kind, model_input.table, model_input.consensus.units
    if kind.is_open or kind.aggregation.level != "nominal":
        return {"reason": f"Answers of protocol {kind.name} are no categories, which these models need."}
    if name in _MODELS:
        return model_answers(model_input, *_MODELS[name])
    if name == "confidence":
        return _weight_by_confidence(model_input)
    if model_input.why_not:
        return {"reason": model_input.why_not}
    is_counted = table.is_counted
    unit, worker = table.unit[is_counted], table.worker[is_counted]
    is_right = agrees_with_others(unit, table.value[is_counted])
    is_known = ~np.isnan(is_right)
    if not is_known.any():
        return {"reason": NO_COMPARABLE_ITEM}
    parameters = ("ability", "deviation", "answers")
    result = item_response(unit[is_known], worker[is_known], is_right[is_known])
    keys = texts_of_column(units.key.take(places_in(units.pk, result.items)))
    rows = zip(keys, result.discrimination.tolist(), result.difficulty.tolist(), strict=True)
    return {
        "reason": "",
        "units": [{"unit": key, "discrimination": a, "difficulty": b} for key, a, b in rows],
        "workers": model_workers(result, result.persons, model_input.names, parameters),
        "answers": int(is_known.sum()),
        **as_json(result, "iterations", "converged", "note", "signature"),
    }


def _weight_by_confidence(model_input: ModelInput) -> dict[str, Any]:
    """Return votes weighted by confidence, as ``model_answers`` does.

    `levels` has, for each level, how often its answers agree with most others, and its weight.
    """
    if not model_input.kind.two_sided:
        return {"reason": NOT_ASKED}
    confidences = confidences_of(model_input.table.full_value[model_input.table.is_counted])
    if len(confidences) and np.isnan(confidences).all():
        return {"reason": NOT_ASKED}
    models: list[Any] = []

    def fit(*columns: Any, **options: Any) -> Any:
        unit, worker, value = columns
        models.append(confidence_vote(unit, worker, value, confidences, **options))
        return models[0]

    result = model_answers(model_input, fit, ("confidence",))
    if models:
        columns = ("levels", "answers", "right", "compared", "weights")
        rows = zip(*(getattr(models[0], name).tolist() for name in columns), strict=True)
        names = ("level", "answers", "right", "compared", "weight")
        result["levels"] = [dict(zip(names, row, strict=True)) for row in rows]
    return result
