"""Units that a study would gain by asking about again: tied, uncertain, or short of judgments that count."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from evaluation import loaders
from evaluation.services.aggregation import consensus_of
from judgments.errors import WrongState
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.services.studies import design_of


class Need(StrEnum):
    """Why a unit wants more votes."""

    TIED = "tied"  # no answer has the most votes
    UNCERTAIN = "uncertain"  # the winner leads by too little
    SHORT = "short"  # judgments were invalidated, or their workers are set aside


def units_in_need(study: Study, need: Need, *, margin: float = 0.34) -> list[str]:
    """Keys of the judged units that are so, in their order.

    Args:
        margin: a unit is uncertain whose winner leads by at most this share of its votes.

    Raises:
        WrongState: answers of the study's kind have no winner, so that none can be tied or uncertain.
    """
    kind = KINDS[study.protocol]
    if need != Need.SHORT and kind.level != "nominal":
        raise WrongState(
            f"Units of study {study.slug!r} are neither tied nor uncertain: its answers have no winner; expected "
            f"'{Need.SHORT}'."
        )
    table = loaders.load_judgments(study)
    if need == Need.SHORT:
        counted: Counter[int] = Counter(table.unit[table.counted].tolist())
        wanted = design_of(study).judgments_per_unit
        return [unit.key for unit in loaders.unit_rows(study) if counted[unit.pk] < wanted]
    found = consensus_of(study, table)
    chosen = []
    for unit in found.units:
        one = found.of_unit.get(unit.pk)
        if one is None or unit.pk in found.decisions:
            continue
        if one.tie or (need == Need.UNCERTAIN and one.margin is not None and one.margin <= margin):
            chosen.append(unit.key)
    return chosen
