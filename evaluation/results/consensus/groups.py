"""Values of groups of units, such as all units that judge one caption."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.results.consensus.study import StudyConsensus, values_at
from judgments.kinds import Kind
from quorum.numeric.arrays import Floats, Ints, pairs_of_equal, places_in

# A function of (K,) groups, (K,) positions of their units, and the number G of groups. It returns the (G,) values of
# the groups, nan if missing.
GroupValues = Callable[[Ints, Ints, int], Floats]


def first_of_groups(values: Floats, group: Ints, unit: Ints, groups: int) -> Floats:
    """Return the value of the first unit of each group, from (U,) values of units. See ``GroupValues``."""
    known = ~np.isnan(values[unit])
    members, first = np.unique(group[known], return_index=True)
    taken = np.full(groups, np.nan)
    taken[members] = values[unit[known][first]]
    return taken


def consensus_of_groups(
    kind: Kind,
    table: JudgmentTable,
    consensus: StudyConsensus,
    units: Ints,
    group: Ints,
    unit: Ints,
    groups: int,
) -> Floats:
    """Return the consensus of all judgments of each group. See ``GroupValues``.

    If a group has a single unit, its consensus is that of the unit. The judgments of an adjudicated unit are
    replaced by the decision.
    """
    of_units, values = values_at(consensus.of_unit, units)[0], np.full(groups, np.nan)
    alone = np.bincount(group, minlength=groups)[group] == 1
    values[group[alone]] = of_units[unit[alone]]
    if alone.all():
        return values
    answer = table.value.copy()
    for pk, decision in consensus.decisions.items():
        answer[table.unit == pk] = np.nan if decision.value is None else decision.value
    rated = table.is_counted & ~np.isnan(answer)
    vote, row = pairs_of_equal(places_in(units, table.unit[rated]), unit[~alone])
    several = group[~alone][row]
    together = kind.aggregation.consensus(several, answer[rated][vote])
    members = np.unique(several)
    values[members] = values_at(together, members)[0]
    return values
