"""Compare groups of raters: two groups that a model finds in their answers, and groups by country or demographics."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from annotation.models import Demographics, Worker
from common.amounts import as_json
from evaluation.data.judgment_sets.records import JudgmentTable, WorkerRow
from evaluation.presentation.content import rows_as_json
from judgments.models import Study
from quorum.statistics.disagreement import SoftLabels, known_groups, rater_groups

MIN_RATERS = 5  # raters in a group; in a smaller group, people could be recognised
# The test of groups draws BOOTSTRAPS samples, so that p has steps of 1/100, or FEW_BOOTSTRAPS (1/40) to save time for
# MANY_JUDGMENTS or more.
BOOTSTRAPS, FEW_BOOTSTRAPS, MANY_JUDGMENTS = 99, 39, 20_000
DEMOGRAPHIC_PREFIX = "crowd: "  # stands before the names of demographics
TOO_FEW_RATERS = "too few participants ({n}); expected {fewest} or more"
NO_SHARED_UNIT = "no item has two judgments"


def compare_groups(
    judgments: JudgmentTable, workers: list[WorkerRow], soft: SoftLabels, bootstraps: int | None, seed: int
) -> dict[str, Any]:
    """Compare a model of two groups of raters with a model of a single group.

    If there is no test, the result has only the ``reason``. ``RaterGroupsResult`` explains the figures.

    Args:
        bootstraps: number of bootstrap samples; None for the usual number, 0 to omit the test.
    """
    is_counted = judgments.is_counted
    rater_count = len(np.unique(judgments.worker[is_counted]))
    if bootstraps == 0:
        return {"reason": "the test was left out"}
    if rater_count < 2 * MIN_RATERS:
        return {"reason": TOO_FEW_RATERS.format(n=rater_count, fewest=2 * MIN_RATERS)}
    if soft.judgments.max() < 2:
        return {"reason": NO_SHARED_UNIT}
    if bootstraps is None:
        bootstraps = BOOTSTRAPS if is_counted.sum() < MANY_JUDGMENTS else FEW_BOOTSTRAPS
    fit = rater_groups(
        judgments.unit[is_counted],
        judgments.worker[is_counted],
        judgments.value[is_counted],
        labels=soft.labels.tolist(),
        bootstraps=bootstraps,
        seed=seed,
    )
    names = {worker.pk: worker.name for worker in workers}
    groups = fit.membership.argmax(axis=1)
    members = [
        {"worker": names[pk], "group": int(group) + 1, "probability": float(probabilities[group])}
        for pk, group, probabilities in zip(
            fit.workers.tolist(), groups.tolist(), fit.membership, strict=True
        )
    ]
    return {
        "reason": "",
        **as_json(fit, "p", "gain", "bootstraps", "between"),
        "groups": rows_as_json(
            raters=np.bincount(groups, minlength=2),
            share=fit.shares,
            accuracy=fit.accuracy,
            within=fit.within,
            confusion=fit.confusion,
        ),
        "members": sorted(members, key=lambda member: (member["group"], member["worker"])),
        **as_json(fit, "converged", "note", "signature"),
    }


def compare_attributes(
    study: Study, judgments: JudgmentTable, workers: list[WorkerRow], seed: int
) -> list[dict[str, Any]]:
    """Return, for each attribute of raters, whether raters agree more within its groups than between them."""
    is_counted = judgments.is_counted
    unit, worker, value = (
        judgments.unit[is_counted],
        judgments.worker[is_counted],
        judgments.value[is_counted],
    )
    rows = []
    for attribute, group_by_worker in _groups_by_attribute(study, workers).items():
        group_sizes = Counter(
            group_by_worker[pk] for pk in np.unique(worker).tolist() if group_by_worker.get(pk)
        )
        # People in smaller groups, or whose group is not known, are left out.
        group_of_rater = {pk: name for pk, name in group_by_worker.items() if group_sizes[name] >= MIN_RATERS}
        in_large_group = np.isin(worker, list(group_of_rater))
        if len(set(group_of_rater.values())) < 2:
            continue
        test = known_groups(
            unit[in_large_group],
            worker[in_large_group],
            value[in_large_group],
            [group_of_rater[pk] for pk in worker[in_large_group].tolist()],
            seed=seed,
        )
        rows.append(
            {
                "by": attribute,
                "groups": rows_as_json(name=test.groups, raters=test.raters, within=test.within),
                **as_json(test, "overall", "between", "p"),
                "left_out": len(np.unique(worker[~in_large_group])),
                **as_json(test, "permutations", "reason", "signature"),
            }
        )
    return rows


def _groups_by_attribute(study: Study, workers: list[WorkerRow]) -> dict[str, dict[int, str]]:
    """Return the group of each worker, by row id, for each attribute: country, source, and demographics.

    Example: ``{"country": {17: "DE"}, "source": {17: "prolific"}, "crowd: sex": {17: "female"}}``.
    """
    worker_rows = Worker.objects.filter(pk__in=[worker.pk for worker in workers])
    groups: dict[str, dict[int, str]] = {"country": {}, "source": {}}
    for pk, country, source, platform in worker_rows.values_list("pk", "country", "source", "platform"):
        groups["country"][pk] = country
        groups["source"][pk] = platform or source  # only people from a crowd have a platform
    for pk, answers in Demographics.objects.filter(study=study).values_list("worker_id", "answers"):
        for name, answer in answers.items():
            groups.setdefault(DEMOGRAPHIC_PREFIX + name, {})[pk] = str(answer)
    return groups
