"""Count wins, ties and losses of the system pairs of an arena, in the counters of ``SystemPair``.

Locks are taken in this order: assignments, HITs, crowd sessions, system pairs. A transaction that counts the answers
of a submission locks no HIT: early stopping needs that lock, and arenas do not stop early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count, F

from annotation.models import Judgment
from judgments.models import CandidatePair, Study, SystemPair, Unit
from judgments.studies.designs import draws_at_claim
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND, side_of

# the counter of a system pair that an answer increases, by its side; all other answers, and missing ones, are ties
COUNTER_BY_SIDE = {FIRST: "wins", SECOND: "losses"}

# the number of answers by first system, second system and counter, such as ``{(4, 7, "wins"): 12}``
AnswerTally = Counter[tuple[int, int, str]]


def count_answers_to_pairs(*, study: Study, answers: Iterable[tuple[Unit, float | None]]) -> None:
    """Add a submission's answers to the counters of system pairs, in the transaction that stores them."""
    pair_answers = [(unit.pair_id, value) for unit, value in answers if unit.pair_id is not None]
    rows = CandidatePair.objects.filter(pk__in={pair for pair, _value in pair_answers})
    systems_of_pair = {
        pair: (first, second)
        for pair, first, second in rows.values_list("pk", "first_system_id", "second_system_id")
    }
    tally: AnswerTally = Counter()
    for pair, value in pair_answers:
        first, second = systems_of_pair[pair]
        tally[first, second, _counter_of(value)] += 1
    _add_counts(study, tally)


def recount_system_pairs(study: Study) -> None:
    """Recompute the counters of system pairs from all judgments, after some were revised, excluded or included.

    The system pairs are locked, so that answers that are stored meanwhile are added after the transaction ends.
    """
    if not draws_at_claim(study):  # only draws of an arena use the counters
        return
    with transaction.atomic():
        rows = SystemPair.objects.filter(study=study)
        list(rows.select_for_update().order_by("pk").values_list("pk"))  # lock the rows
        rows.update(wins=0, ties=0, losses=0)
        _add_counts(study, tally_answers(study))


def tally_answers(study: Study) -> AnswerTally:
    """Return the number of current judgments by first system, second system and counter.

    The two systems are in the order of the candidate pair.
    """
    rows = Judgment.objects.current().filter(assignment__study=study, unit__pair__isnull=False).order_by()
    columns = ("unit__pair__first_system", "unit__pair__second_system", "value")
    tally: AnswerTally = Counter()
    for first, second, value, answer_count in rows.values_list(*columns).annotate(n=Count("pk")):
        tally[first, second, _counter_of(value)] += answer_count
    return tally


def counts_for_pair(tally: AnswerTally, first: int, second: int) -> dict[str, int]:
    """Return wins, ties and losses of system ``first`` against ``second``, from pairs in either order."""
    return {
        "wins": tally[first, second, "wins"] + tally[second, first, "losses"],
        "ties": tally[first, second, "ties"] + tally[second, first, "ties"],
        "losses": tally[first, second, "losses"] + tally[second, first, "wins"],
    }


def _counter_of(value: float | None) -> str:
    answer = int(value or 0)  # 0 stands for no difference
    return COUNTER_BY_SIDE.get(side_of(answer), "ties")


def _add_counts(study: Study, tally: AnswerTally) -> None:
    systems: set[int] = set()
    for first, second, _counter in tally:
        systems |= {first, second}
    rows = SystemPair.objects.filter(study=study, first_system__in=systems, second_system__in=systems)
    for pk, first, second in rows.order_by("pk").values_list("pk", "first_system_id", "second_system_id"):
        increments = {name: F(name) + n for name, n in counts_for_pair(tally, first, second).items() if n}
        if increments:
            SystemPair.objects.filter(pk=pk).update(**increments)
