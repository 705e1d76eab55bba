"""The winners that metrics and people name, read from the newest evaluation of a study."""

from __future__ import annotations

import numpy as np

from evaluation.data.judgment_sets import loaders
from evaluation.models import Analysis, MetricScore
from evaluation.results.consensus.clusters import clusters_of_pairs
from evaluation.results.consensus.study import consensus_of
from evaluation.results.verdict import winners_of_metrics
from judgments.models import Study
from quorum.numeric.arrays import Ints
from quorum.statistics.meta import PeoplesWinners


def stored_winners(study: Study) -> tuple[dict[str, Ints], PeoplesWinners | None, list[str]]:
    """Return, for the pairs of the newest evaluation, each metric's winners, people's winners, and the kinds."""
    newest = Analysis.objects.newest(study, Analysis.Kind.META_EVALUATION)
    rows = MetricScore.objects.filter(analysis=newest, pair__isnull=False).order_by(
        "metric", "pair__position"
    )
    kinds: dict[int, str] = {}
    images: dict[int, int] = {}
    scores: dict[str, list[tuple[float, float]]] = {}
    names = ("metric", "pair_id", "pair__kind", "pair__item_id", "first", "second")
    for metric, pair, kind, image, first, second in rows.values_list(*names).iterator(loaders.ROWS_PER_BATCH):
        kinds[pair], images[pair] = kind, image
        scores.setdefault(metric, []).append((first, second))
    if not scores:
        return {}, None, []
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    pks = np.array(list(kinds), dtype=np.int64)
    items = loaders.clusters_of_items(study, list(images.values()))
    clusters = clusters_of_pairs(table, consensus, pks, items, anonymous=loaders.is_anonymous(study))
    people = PeoplesWinners.from_winners(
        [consensus.of_pair[pk].value or 0 for pk in kinds], clusters=clusters
    )
    return (
        winners_of_metrics({metric: np.array(columns) for metric, columns in scores.items()}),
        people,
        list(kinds.values()),
    )
