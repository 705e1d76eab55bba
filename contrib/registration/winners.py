"""Read the winners of pairs, by metrics and by people, from the newest evaluation of a study."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evaluation.data.judgment_sets import loaders
from evaluation.models import Analysis, MetricScore
from evaluation.results.consensus.clusters import clusters_of_pairs
from evaluation.results.consensus.study import consensus_of
from evaluation.results.verdict import winners_of_metrics
from judgments.models import Study
from quorum.numeric.arrays import Ints
from quorum.statistics.meta import PeoplesWinners


class StoredWinners(NamedTuple):
    """The winners of the P pairs of an evaluation, 1 or 2, or 0 for none.

    Attributes:
        by_metric: the (P,) winners by each metric.
        people: the winners by people; None without an evaluation.
        pair_kinds: the kind of each pair.
    """

    by_metric: dict[str, Ints]
    people: PeoplesWinners | None
    pair_kinds: list[str]


def read_winners(study: Study) -> StoredWinners:
    evaluation = Analysis.objects.newest(study, Analysis.Kind.META_EVALUATION)
    rows = MetricScore.objects.filter(analysis=evaluation, pair__isnull=False).order_by(
        "metric", "pair__position"
    )
    kind_by_pair: dict[int, str] = {}
    item_by_pair: dict[int, int] = {}
    # by metric, of all pairs in the order of kind_by_pair
    scores: dict[str, list[tuple[float, float]]] = {}
    names = ("metric", "pair_id", "pair__kind", "pair__item_id", "first", "second")
    for metric, pair, kind, item, first, second in rows.values_list(*names).iterator(loaders.ROWS_PER_BATCH):
        kind_by_pair[pair], item_by_pair[pair] = kind, item
        scores.setdefault(metric, []).append((first, second))
    if not scores:
        return StoredWinners({}, None, [])
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    pair_ids = np.array(list(kind_by_pair), dtype=np.int64)
    items = loaders.clusters_of_items(study, list(item_by_pair.values()))
    clusters = clusters_of_pairs(table, consensus, pair_ids, items, anonymous=loaders.is_anonymous(study))
    people = PeoplesWinners.from_winners(
        [consensus.of_pair[pk].value or 0 for pk in kind_by_pair], clusters=clusters
    )
    return StoredWinners(
        by_metric=winners_of_metrics({metric: np.array(pairs) for metric, pairs in scores.items()}),
        people=people,
        pair_kinds=list(kind_by_pair.values()),
    )
