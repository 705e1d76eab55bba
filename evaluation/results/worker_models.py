"""Fit models of workers to a study's answers, and compare their values with the consensus.

Dawid and Skene's model is always fitted; those of WORKER_MODELS are fitted on request. The consensus stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

# Names on pages of the models of workers that `aggregate` can fit in addition to Dawid and Skene's.
WORKER_MODELS = {
    "mace": gettext_noop("MACE: competence and guessing of participants"),
    "glad": gettext_noop("GLAD: ability of participants and difficulty of items"),
    "response": gettext_noop("Two-parameter item response model"),
    "confidence": gettext_noop("Votes weighted by confidence"),
}
NO_CONFIDENCES = "Nobody was asked how sure they are."
NO_COMPARABLE_ITEM = "No item has enough judgments to compare one judgment with the majority of the others."


@dataclass(frozen=True, slots=True)
class ModelRows:
    """The values that a model gives to U units.

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
    """Return those of the positions ``candidates`` that have the ``count`` largest values.

    If several positions have the smallest of these values, all of them are returned.
    """
    if len(candidates) <= count:
        return candidates
    threshold = np.partition(values[candidates], -count)[-count]
    return candidates[values[candidates] >= threshold]


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The data that models of workers are fitted to.

    ``no_workers_reason`` says why single workers cannot be assessed, such as in published totals; else it is "".
    """

    kind: Kind
    table: JudgmentTable
    workers: Sequence[WorkerRow]
    consensus: StudyConsensus
    no_workers_reason: str

    @property
    def no_model_reason(self) -> str:
        """Why no model can be fitted, or ""."""
        return self.no_workers_reason or ("" if self.table.is_counted.any() else NO_JUDGMENTS)

    @property
    def has_categories(self) -> bool:
        """Whether answers are categories, which all models need."""
        return not self.kind.is_open and self.kind.aggregation.level == "nominal"


def fit_dawid_skene(model_input: ModelInput) -> dict[str, Any]:
    """Return the result of ``_fit_answer_model`` for Dawid and Skene's model; {} if answers are not categories."""
    if not model_input.has_categories:
        return {}
    return _fit_answer_model(model_input, dawid_skene, ("accuracy",), smoothing=SMOOTHING)


def fit_worker_model(name: str, model_input: ModelInput) -> dict[str, Any]:
    """Fit a model of WORKER_MODELS. The function called for the model states the keys of its result."""
    if not model_input.has_categories:
        return {
            "reason": f"Answers of protocol {model_input.kind.name} are no categories, which these models need."
        }
    match name:
        case "mace":
            return _fit_answer_model(model_input, mace, ("competence",))
        case "glad":
            return _fit_answer_model(model_input, glad, ("ability", "accuracy"))
        case "response":
            return _fit_item_response(model_input)
        case "confidence":
            return _fit_confidence_vote(model_input)
    raise KeyError(name)


def _fit_answer_model(
    model_input: ModelInput, fit: Callable[..., Any], parameters: Sequence[str], **options: Any
) -> dict[str, Any]:
    """Fit a model by the function ``fit`` with its ``options``, and compare its values of units with the consensus.

    The keys of the result are ``reason``: why there are no results, or ""; ``units``: ``ModelRows``; ``workers``: the
    model's ``parameters`` of workers; ``compared``: number of units that are not adjudicated; ``differ``: number of
    these units for which model and consensus differ; ``differing``: the most probable of these; ``breaks_ties``: number
    of tied units that the model decides.
    """
    if model_input.no_model_reason:
        return {"reason": model_input.no_model_reason}
    return _compare_with_consensus(model_input, _fit_to_answers(model_input, fit, **options), parameters)


def _fit_to_answers(model_input: ModelInput, fit: Callable[..., Any], *columns: Any, **options: Any) -> Any:
    """Return the model that ``fit`` fits to the answers that count, and to further ``columns`` of these answers."""
    table, is_counted = model_input.table, model_input.table.is_counted
    return fit(
        table.unit[is_counted],
        table.worker[is_counted],
        table.value[is_counted],
        *columns,
        labels=model_input.kind.outcomes,
        **options,
    )


def _compare_with_consensus(model_input: ModelInput, model: Any, parameters: Sequence[str]) -> dict[str, Any]:
    """Return the result of ``_fit_answer_model`` for a fitted model."""
    consensus = model_input.consensus
    keys = consensus.units.key.take(places_in(consensus.units.pk, model.units))
    rows = ModelRows(keys, model.values(), model.posterior.max(axis=1))
    model_values = np.array(rows.value, dtype=np.float64)  # turns None into nan
    consensus_values, has_consensus = values_at(consensus.of_unit, model.units)
    is_not_adjudicated = ~np.isin(model.units, list(consensus.decisions))
    is_comparable = has_consensus & is_not_adjudicated & ~np.isnan(model_values)
    is_tied = np.isnan(consensus_values)
    indices = np.flatnonzero(is_comparable & ~is_tied & (consensus_values != model_values))
    differing_rows = []
    for index in _largest_positions(rows.probability, indices, MAX_DIFFERING_ITEMS).tolist():
        outcome = consensus.of_unit[int(model.units[index])]
        differing_rows.append(rows.row_at(index) | {"consensus": outcome.value, "votes": dict(outcome.votes)})
    differing_rows.sort(key=lambda row: (-row["probability"], row["unit"]))
    return {
        "reason": "",
        "units": rows,
        "workers": _worker_rows(model_input, model, model.workers, (*parameters, "judgments")),
        "compared": int(is_not_adjudicated.sum()),
        "differ": len(indices),
        "breaks_ties": int((is_comparable & is_tied).sum()),
        "differing": differing_rows[:MAX_DIFFERING_ITEMS],
        **as_json(model, "iterations", "converged", "note", "signature"),
    }


def _worker_rows(
    model_input: ModelInput, model: Any, workers: Ints, parameters: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the model's (W,) ``parameters`` of workers as rows, sorted by the worker's name."""
    names = {worker.pk: worker.name for worker in model_input.workers}
    columns = {name: getattr(model, name).tolist() for name in parameters}
    rows = [
        {"worker": names[pk], **{name: column[index] for name, column in columns.items()}}
        for index, pk in enumerate(workers.tolist())
    ]
    return sorted(rows, key=lambda row: row["worker"])


def _fit_item_response(model_input: ModelInput) -> dict[str, Any]:
    """Fit the item response model, which regards an answer as right if it agrees with most others.

    The keys of the result are ``reason``, ``workers`` (ability, deviation), ``units`` (discrimination, difficulty) and
    ``answers`` (their number).
    """
    if model_input.no_model_reason:
        return {"reason": model_input.no_model_reason}
    table, units, is_counted = model_input.table, model_input.consensus.units, model_input.table.is_counted
    unit, worker = table.unit[is_counted], table.worker[is_counted]
    is_right = agrees_with_others(unit, table.value[is_counted])
    is_known = ~np.isnan(is_right)
    if not is_known.any():
        return {"reason": NO_COMPARABLE_ITEM}
    model = item_response(unit[is_known], worker[is_known], is_right[is_known])
    keys = texts_of_column(units.key.take(places_in(units.pk, model.items)))
    rows = zip(keys, model.discrimination.tolist(), model.difficulty.tolist(), strict=True)
    return {
        "reason": "",
        "units": [
            {"unit": key, "discrimination": discrimination, "difficulty": difficulty}
            for key, discrimination, difficulty in rows
        ],
        "workers": _worker_rows(model_input, model, model.persons, ("ability", "deviation", "answers")),
        "answers": int(is_known.sum()),
        **as_json(model, "iterations", "converged", "note", "signature"),
    }


def _fit_confidence_vote(model_input: ModelInput) -> dict[str, Any]:
    """Weight votes by confidence. The keys of the result are those of ``_fit_answer_model``, and ``levels``.

    A row of ``levels`` has a ``level`` of confidence; the numbers of its ``answers``, of these ``compared`` with a
    majority of others, and of those ``right``, which agree with it; and an answer's ``weight``.
    """
    if not model_input.kind.two_sided:  # only kinds of pairs can ask for a confidence
        return {"reason": NO_CONFIDENCES}
    confidences = confidences_of(model_input.table.full_value[model_input.table.is_counted])
    if len(confidences) and np.isnan(confidences).all():
        return {"reason": NO_CONFIDENCES}
    if model_input.no_model_reason:
        return {"reason": model_input.no_model_reason}
    model = _fit_to_answers(model_input, confidence_vote, confidences)
    columns = (model.levels, model.answers, model.right, model.compared, model.weights)
    names = ("level", "answers", "right", "compared", "weight")
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {
        **_compare_with_consensus(model_input, model, ("confidence",)),
        "levels": [dict(zip(names, row, strict=True)) for row in rows],
    }


def without_units(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name != "units"}
