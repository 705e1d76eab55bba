"""Units that lack votes are found, and votes make the winners that others would not."""

from dataclasses import replace

import numpy as np
import pytest

from annotation.models import Worker
from evaluation.data.judgment_sets import loaders
from evaluation.results.consensus.clusters import clusters_of_pairs
from evaluation.results.consensus.study import consensus_of
from evaluation.results.metrics.halves import halves_of_pairs
from evaluation.results.reopening import ReopeningReason, units_needing_votes
from judgments.models import Unit
from tests.annotation import casting
from tests.annotation.voting import joined, work

pytestmark = pytest.mark.django_db


def test_units_that_are_tied_or_short_are_found() -> None:
    study = casting.make_study(
        casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=3, controls={"per_hit": 0}
    )
    work(study, joined(study, "one"), lambda unit, worker: 1)
    work(study, joined(study, "two"), lambda unit, worker: 1 + unit.position % 2)
    odd = [unit.key for unit in study.units.order_by("position") if unit.position % 2]
    assert units_needing_votes(study, ReopeningReason.TIED) == odd
    assert len(units_needing_votes(study, ReopeningReason.SHORT)) == study.units.count()


def mixed(unit: Unit, worker: Worker) -> int:
    return int(str(unit.expected)) if unit.control else 1 + (unit.position * 7 + worker.pk * 3) % 5 % 2


@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_votes_make_the_winners_that_others_would_not(protocol: str) -> None:
    study = casting.make_study(
        casting.make_dataset("votes", pictures=False),
        protocol,
        judgments_per_unit=3,
        name=f"votes {protocol}",
    )
    for number in range(4):
        work(study, joined(study, f"v-{number}"), mixed)
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    pairs = np.array([pair.pk for pair in consensus.pairs])
    clusters = clusters_of_pairs(table, consensus, pairs, range(len(pairs)), anonymous=False)
    deletions, workers = clusters["rater"], np.unique(table.worker[table.is_counted])
    assert deletions.rater_count == len(workers) == 3
    without = halves_of_pairs(table, consensus.units, pairs, anonymous=False)[1]
    assert without is not None
    changed = 0
    for code, worker in enumerate(workers.tolist()):
        left = replace(table, used=table.used & (table.worker != worker))
        others = consensus_of(study, left).of_pair
        halves = halves_of_pairs(left, consensus.units, pairs, anonymous=True)[0]
        theirs = without.deletions.rater == code
        rows = without.deletions.row[theirs]
        for name in ("agree", "disagree", "first", "second"):
            np.testing.assert_allclose(
                getattr(without.halves, name)[theirs], getattr(halves, name)[rows], rtol=1e-12
            )
        mine = deletions.rater == code
        for pair, gains in zip(deletions.row[mine].tolist(), deletions.value[mine].tolist(), strict=True):
            now, then = (winners[int(pairs[pair])].value for winners in (consensus.of_pair, others))
            assert gains == [(now == side) - (then == side) for side in (1, 2)]
            changed += now != then
    assert changed
    assert "rater" not in clusters_of_pairs(table, consensus, pairs, range(len(pairs)), anonymous=True)
