"""Values of groups of units, such as all units that judge one caption.

Units and groups are numbered from 0. A unit may be in several groups. The K memberships are two columns, ``group`` and
``unit``: the unit ``unit[k]`` is in the group ``group[k]``.
"""

from __future__ import annotations

import numpy as np

from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.results.consensus.study import StudyConsensus, values_at
from judgments.kinds import Kind
from quorum.numeric.arrays import Floats, Ints, pairs_of_equal, places_in


def first_of_groups(values: Floats, group: Ints, unit: Ints, group_count: int) -> Floats:
    """Return the (G,) values of each group's first unit that has a value; nan if there is none.

    Args:
        values: (U,) values of units, nan if missing.
        group, unit: (K,) memberships.
    """
    has_value = ~np.isnan(values[unit])
    groups_with_value, first_positions = np.unique(group[has_value], return_index=True)
    group_values = np.full(group_count, np.nan)
    group_values[groups_with_value] = values[unit[has_value][first_positions]]
    return group_values


def consensus_of_groups(
    kind: Kind,
    table: JudgmentTable,
    consensus: StudyConsensus,
    units: Ints,
    group: Ints,
    unit: Ints,
    group_count: int,
) -> Floats:
    """Return the (G,) consensus of all judgments of each group; nan if there is none.

    If a group has a single unit, its consensus is that of the unit. Each judgment of an adjudicated unit is replaced by
    the decision.

    Args:
        units: (U,) row ids of the units.
        group, unit: (K,) memberships.
    """
    unit_values, _ = values_at(consensus.of_unit, units)
    values = np.full(group_count, np.nan)
    is_alone = np.bincount(group, minlength=group_count)[group] == 1
    values[group[is_alone]] = unit_values[unit[is_alone]]
    if is_alone.all():
        return values
    answer = table.value.copy()
    for pk, decision in consensus.decisions.items():
        answer[table.unit == pk] = np.nan if decision.value is None else decision.value
    is_included = table.is_counted & ~np.isnan(answer)
    # Each judgment votes in all groups of its unit.
    vote, membership = pairs_of_equal(places_in(units, table.unit[is_included]), unit[~is_alone])
    vote_groups = group[~is_alone][membership]
    group_consensus = kind.aggregation.consensus(vote_groups, answer[is_included][vote])
    distinct_groups = np.unique(vote_groups)
    values[distinct_groups] = values_at(group_consensus, distinct_groups)[0]
    return values
