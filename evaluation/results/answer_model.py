"""Compare Dawid and Skene's model with the majority, and estimate workers' accuracy. Pure.

The model never replaces the consensus; it shows which units depend on the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evaluation.judgment_sets.records import JudgmentTable, UnitRow, WorkerRow
from evaluation.statistics.aggregation import dawid_skene
from judgments.kinds import Consensus, Kind

# A prior against perfect scores of workers with few judgments.
SMOOTHING = 1.0
DIFFERING_KEPT = 50
NOBODY = "Nobody has judged anything that counts yet."


def model_answers(
    kind: Kind,
    table: JudgmentTable,
    units: Sequence[UnitRow],
    workers: Sequence[WorkerRow],
    consensus: Mapping[int, Consensus],
    decided: Collection[int],
    *,
    reason: str,
) -> dict[str, Any]:
    """Return the model's result by unit and worker as JSON; {} if answers are no categories.

    Keys: ``units``: value (null for equally likely ones) and probability; ``workers``: accuracy;
    ``differing``: the first units where model and consensus differ, by probability, ``differ`` their
    number; ``breaks_ties``: tied units that the model decides. Adjudicated units (``decided``) are not
    compared.

    Args:
        reason: why single workers cannot be assessed, or "".
    """
    if kind.is_open or kind.aggregation.level != "nominal":
        return {}
    counted = table.counted
    reason = reason or ("" if counted.any() else NOBODY)
    if reason:
        return {"reason": reason}
    found = dawid_skene(
        table.unit[counted],
        table.worker[counted],
        table.value[counted],
        labels=kind.values,
        smoothing=SMOOTHING,
    )
    keys = {unit.pk: unit.key for unit in units}
    names = {worker.pk: worker.name for worker in workers}
    values = found.values()
    probability = found.posterior.max(axis=1)
    pks = found.units.tolist()
    rows, differing, ties = [], [], 0
    for pk, value, sure in zip(pks, values, probability.tolist(), strict=True):
        row = {"unit": keys[pk], "value": value, "probability": sure}
        rows.append(row)
        one = consensus.get(pk)
        if one is None or pk in decided or value is None:
            continue
        if one.value is None:
            ties += 1
        elif one.value != value:
            differing.append(row | {"consensus": one.value, "votes": dict(one.votes)})
    differing.sort(key=lambda row: (-row["probability"], row["unit"]))
    people = zip(found.workers.tolist(), found.accuracy.tolist(), found.judgments.tolist(), strict=True)
    return {
        "reason": "",
        "units": rows,
        "workers": sorted(
            ({"worker": names[pk], "accuracy": share, "judgments": n} for pk, share, n in people),
            key=lambda row: row["worker"],
        ),
        "compared": sum(pk not in decided for pk in pks),
        "differ": len(differing),
        "breaks_ties": ties,
        "differing": differing[:DIFFERING_KEPT],
        "iterations": found.iterations,
        "converged": bool(found.converged),
        "note": found.note,
        "signature": found.signature,
    }


def kept_of(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part for pages, without the units."""
    return {name: value for name, value in model.items() if name != "units"}
