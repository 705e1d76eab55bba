"""Evaluate systems' ranked lists by people's judgments. An entry of a list is a proposal (``Proposals``).

For annotation, an image is the query and captions are ranked; for search, a caption is the query and images are ranked.
The measures are those of Hodosh et al. 2013 (H13), section 4.3. The original of a query is the caption that was written
for the image, or the image for which the caption was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from common.amounts import json_float
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.ranked_lists import ANNOTATION, NO_ORIGINAL, SEARCH, Proposals
from evaluation.results.consensus.groups import consensus_of_groups, first_of_groups
from evaluation.results.consensus.study import StudyConsensus, values_at
from evaluation.results.outputs import Outputs, map_distinct_values
from evaluation.results.standings import DESCRIBES, MEAN, figures_of, measure_of
from judgments.kinds import Kind, RelevanceScale
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import CONFIDENCE, ITEM, CrossedEstimate, share_of_rows
from quorum.statistics.ranking import (
    MEDIAN_RANK,
    ORDER_COEFFICIENTS,
    JudgedRankings,
    RankingResult,
    median_rank,
    order_correlation,
    r_precision,
    recall_at_k,
    success_at_k,
)
from quorum.statistics.significance import LEVEL

CUTS = (1, 5, 10)  # values of k in S@k and R@k
UNJUDGED, IRRELEVANT, RELEVANT = -1, 0, 1  # codes as in `JudgedRankings.codes`
# Pairs of measures whose orders of systems H13's Table 7 compares: by people's judgments, and by the original.
COMPARED_MEASURES = (
    ("S@1", "R@1"),
    ("S@5", "R@5"),
    ("S@10", "R@10"),
    ("R-precision", "R@1"),
    ("R-precision", "R@5"),
    ("R-precision", "R@10"),
    ("R-precision", MEDIAN_RANK),
)
NO_RANKINGS: dict[str, dict[str, Any]] = {"rankings": {}, "system_orders": {}}
# Why a median rank is undefined.
NOT_RETURNED = "half of the lists, or more, do not hold the original item"


def rankings_of(
    relevance: RelevanceScale,
    proposals: Proposals,
    outputs: JudgedOutputs,
    audit: Mapping[str, Any],
    *,
    with_unjudged_systems: bool = False,
) -> dict[str, dict[str, Any]]:
    """Return the rankings of systems as JSON, with two keys.

    ``rankings`` has a row for each system by task, best first. It is {} if no list has two items. ``system_orders`` has
    rank correlations by task, between the orders of systems by people's measures and by measures of the original.

    S@k and R-precision leave out queries that are ``not_judged`` (no item was judged) or have ``nothing_relevant``.
    If the design's filter was audited, ``audit`` has the ``share`` (and ``low``, ``high``) of relevant captions in a
    judged sample of what it left out. Then ``audited`` has S@k over all queries. If lists can contain the original,
    ``original`` has R@k and the median rank (H13 §4.3.1). Systems without a judged item have a row only if
    ``with_unjudged_systems``, as in releases by Quorum up to 0.5.
    """

    def is_relevant_value(value: float) -> bool:
        return relevance.grade(value) > 0

    is_relevant = outputs.map_values(is_relevant_value)  # 1, 0, or nan if not judged
    codes = np.where(np.isnan(is_relevant.value), UNJUDGED, is_relevant.value).astype(np.int8)
    relevant_keys, width = is_relevant.pair_keys[is_relevant.pair_value > 0], is_relevant.width
    rankings, orders = {}, {}  # both by task
    for task, is_of_task in ((ANNOTATION, ~proposals.is_search), (SEARCH, proposals.is_search)):
        rows = np.flatnonzero(is_of_task)
        if not (proposals.position[rows] > 1).any():
            continue
        # The query of each relevant item: the image, or the text of the query caption.
        query = relevant_keys // width if task == ANNOTATION else relevant_keys % width
        # By position of the image or text, which may have no relevant item.
        relevant_counts = np.bincount(query, minlength=max(len(proposals.images), len(proposals.texts)))
        system_table, figures = [], {}
        for system, system_rows in _rows_by_system(proposals, rows, codes, with_unjudged_systems):
            lists = _SystemLists.from_proposals(proposals, system_rows, codes[system_rows], task)
            row, figures[system] = _system_row(lists, relevant_counts, audit)
            system_table.append({"system": system, **row})
        p_values = _compare_with_best(figures)
        rankings[task] = [
            row | {"p": p_values.get(row["system"])}
            for row in sorted(system_table, key=lambda row: -(row["R-precision"]["value"] or 0.0))
        ]
        figures_with_original = [system for system in figures.values() if MEDIAN_RANK in system.measures]
        if len(figures_with_original) > 1:
            orders[task] = [
                _order_row(figures_with_original, people, automatic)
                for people, automatic in COMPARED_MEASURES
            ]
    return {"rankings": rankings, "system_orders": orders}


def _rows_by_system(
    proposals: Proposals, rows: Ints, codes: npt.NDArray[np.int8], with_unjudged_systems: bool
) -> Iterator[tuple[str, Ints]]:
    """Yield each system's name, and the positions of its entries among those at ``rows``.

    A system without a judged entry is skipped unless ``with_unjudged_systems``, because it is in the dataset, but not
    in the study. If no system has a judged entry, none is skipped.
    """
    system_of_row = proposals.system[rows]
    is_any_judged = (codes[rows] != UNJUDGED).any()
    for system in np.unique(system_of_row).tolist():
        system_rows = rows[system_of_row == system]
        is_judged = (codes[system_rows] != UNJUDGED).any()
        if is_judged or with_unjudged_systems or not is_any_judged:
            yield proposals.systems[system], system_rows


class SystemFigures(NamedTuple):
    """A system's measures by name, over (Q,) queries, and the (Q,) documents of the queries."""

    queries: Ints
    documents: Ints
    measures: dict[str, RankingResult]


def _order_row(systems: Sequence[SystemFigures], people: str, automatic: str) -> dict[str, Any]:
    """Return rho and tau-b between the orders of systems by two measures, given by name, as JSON (H13 Table 7)."""
    people_results = [system.measures[people] for system in systems]
    automatic_results = [system.measures[automatic] for system in systems]
    orders = {name: order_correlation(people_results, automatic_results, name) for name in ORDER_COEFFICIENTS}
    values = {name: json_float(order.value) for name, order in orders.items()}
    return {"people": people, "automatic": automatic, **values, "systems": orders["spearman"].systems}


def _compare_with_best(figures: Mapping[str, SystemFigures]) -> Mapping[str, float | None]:
    """Return p-values by system, of t tests over queries that compare R-precision with that of the best system."""
    names = list(figures)
    if len(names) < 2:
        return {}
    query = np.concatenate([system.queries for system in figures.values()])
    document = np.concatenate([system.documents for system in figures.values()])
    precision = np.concatenate([system.measures["R-precision"].per_query for system in figures.values()])
    system_code = np.repeat(np.arange(len(names)), [len(system.queries) for system in figures.values()])
    is_defined = ~np.isnan(precision)
    # Each query is an item, and its R-precision is the score of the system's output for it.
    queries, item = np.unique(query, return_inverse=True)
    cluster = np.zeros(len(queries), dtype=np.int64)
    cluster[item] = document
    outputs = Outputs(names, item, system_code, cluster, precision, deletions=None).subset(is_defined)
    return outputs.standings(MEAN).compare().compared if is_defined.any() else {}


def leading_systems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of a task's first system, and of the systems that are not significantly worse.

    ``p`` is None for the first system and without a test, and missing in results of older releases.
    """
    defined_rows = [row for row in rows if row["R-precision"]["value"] is not None]
    best_value = defined_rows[0]["R-precision"]["value"] if defined_rows else 0.0
    return [
        row["system"]
        for row in defined_rows
        if row.get("p") is None or row["p"] > LEVEL or row["R-precision"]["value"] == best_value
    ]


@dataclass(frozen=True, slots=True)
class JudgedOutputs:
    """People's consensus on N entries of systems' lists, and on M judged pairs of an image and a text of any system.

    Attributes:
        value: (N,) consensus on entries; nan if not judged.
        pair_keys: (M,) ascending numbers of pairs: image * ``width`` + text.
        pair_value: (M,) consensus on the pairs.
        width: a number that is larger than every text's number.
    """

    value: Floats
    pair_keys: Ints
    pair_value: Floats
    width: int

    def map_values(self, transform: Callable[[float], float]) -> JudgedOutputs:
        values = map_distinct_values(np.concatenate([self.value, self.pair_value]), transform)
        return replace(self, value=values[: len(self.value)], pair_value=values[len(self.value) :])


def judged_outputs(
    kind: Kind,
    proposals: Proposals,
    table: JudgmentTable,
    consensus: StudyConsensus,
    *,
    credited: bool = True,
) -> JudgedOutputs:
    """Return people's consensus on systems' lists.

    If several units show the same text, their judgments are combined if ``credited``; otherwise, as in older releases,
    only the first of these units is used.
    """
    units = proposals.units
    # Groups of units: those that score an entry, and those that judge the same image and text.
    entry, unit_of_entry = proposals.scored_entries()
    pair_keys, pair = np.unique(proposals.text_keys(units.image, units.text), return_inverse=True)
    all_units = np.arange(len(units.pk))
    if credited:
        pair_value = consensus_of_groups(kind, table, consensus, units.pk, pair, all_units, len(pair_keys))
        entry_value = consensus_of_groups(
            kind, table, consensus, units.pk, entry, unit_of_entry, len(proposals)
        )
    else:
        unit_values, _ = values_at(consensus.of_unit, units.pk)
        pair_value = first_of_groups(unit_values, pair, all_units, len(pair_keys))
        entry_value = first_of_groups(unit_values, entry, unit_of_entry, len(proposals))
    is_judged = ~np.isnan(pair_value)
    return JudgedOutputs(
        value=entry_value,
        pair_keys=pair_keys[is_judged],
        pair_value=pair_value[is_judged],
        width=len(proposals.texts) + 1,
    )


@dataclass(frozen=True, slots=True)
class _SystemLists:
    """The Q lists of a system for a task, with E entries of known items.

    Lists are concatenated, and positions without a known item are part of them.

    Attributes:
        queries: (Q,) numbers of the queries: images or query captions.
        query_items: (Q,) positions of the queries in ``Proposals``: images, or texts of query captions.
        documents: (Q,) documents of the images that are queries, or the query captions themselves.
        starts: (Q + 1,) start of each list, and the end of the last one. A list ends with its last known item.
        list_index: (E,) list of each entry, ascending.
        positions: (E,) position of each entry in the concatenated lists.
        codes: (E,) relevance of each entry.
        original: (E,) 1 for the original, 0 for others, NO_ORIGINAL in lists without one to find.
    """

    queries: Ints
    query_items: Ints
    documents: Ints
    starts: Ints
    list_index: Ints
    positions: Ints
    codes: npt.NDArray[np.int8]
    original: Ints

    @classmethod
    def from_proposals(
        cls, proposals: Proposals, rows: Ints, codes: npt.NDArray[np.int8], task: str
    ) -> _SystemLists:
        """Return the lists with the entries at ``rows``, which are of one system and task, and sorted by list."""
        query, rank = proposals.query[rows], proposals.position[rows]
        queries, first_rows = np.unique(query, return_index=True)
        list_index = np.searchsorted(queries, query)
        # The entries of a list are contiguous, so its length is the largest of their ranks, which begin at 1.
        lengths = np.maximum.reduceat(rank, first_rows)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return cls(
            queries=queries,
            query_items=queries if task == ANNOTATION else proposals.text[rows][first_rows],
            documents=proposals.document[queries] if task == ANNOTATION else queries,
            starts=starts,
            list_index=list_index,
            positions=starts[list_index] + rank - 1,
            codes=codes,
            original=proposals.original[rows],
        )

    def rankings(
        self, item_codes: npt.NDArray[np.int8], relevant_counts: Ints, code_elsewhere: int
    ) -> JudgedRankings:
        """Return the lists with (E,) codes of the known items, and one code for all other positions."""
        codes = np.full(int(self.starts[-1]), code_elsewhere, dtype=np.int8)
        codes[self.positions] = item_codes
        return JudgedRankings(self.starts, codes, relevant_counts, knows_unjudged=code_elsewhere == UNJUDGED)

    def has_original(self) -> Flags:
        """Return (Q,) flags of lists that can contain the original of the query, so that no entry is NO_ORIGINAL."""
        first_entries = np.searchsorted(self.list_index, np.arange(len(self.queries)))
        return np.minimum.reduceat(self.original, first_entries) > NO_ORIGINAL

    def rankings_of_original(self) -> JudgedRankings:
        """Return the lists with the original as the only relevant item.

        If several captions were written for the image, the original is the first of them in the list.
        """
        is_first = np.zeros(len(self.original), dtype=bool)
        original_entries = np.flatnonzero(self.original == 1)
        _, first_originals = np.unique(self.list_index[original_entries], return_index=True)
        is_first[original_entries[first_originals]] = True
        # A query has one relevant item, its original, or none if there is no original to find.
        return self.rankings(is_first.astype(np.int8), self.has_original().astype(np.int64), IRRELEVANT)


def _system_row(
    lists: _SystemLists, relevant_counts: Ints, audit: Mapping[str, Any]
) -> tuple[dict[str, Any], SystemFigures]:
    """Return a system's row in the table of a task, and its figures.

    ``relevant_counts`` has the number of known relevant items, by position of the query as in ``query_items``.
    """
    query_count = len(lists.queries)
    judged_lists = lists.rankings(lists.codes, relevant_counts[lists.query_items], UNJUDGED)
    precision = r_precision(judged_lists)
    results = [*(success_at_k(judged_lists, k=k) for k in CUTS), precision]
    has_judged = np.bincount(lists.list_index[lists.codes != UNJUDGED], minlength=query_count) > 0
    is_undefined = np.isnan(precision.per_query)
    row: dict[str, Any] = {
        "queries": query_count,
        "not_judged": int((is_undefined & ~has_judged).sum()),
        "nothing_relevant": int((is_undefined & has_judged).sum()),
        **{result.measure: _share(result, lists.documents) for result in results},
    }
    if audit and audit["share"] is not None:
        row["audited"] = {}
        for k in CUTS:
            estimate = corrected_success(judged_lists, k, audit)
            bounds = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            row["audited"][f"S@{k}"] = bounds | {"n": query_count}
    if lists.has_original().any():
        original_lists = lists.rankings_of_original()
        recalls = [recall_at_k(original_lists, k=k) for k in CUTS]
        median = median_rank(original_lists)
        results += [*recalls, median]
        row["original"] = _original_figures(recalls, median, lists)
    return row, SystemFigures(lists.queries, lists.documents, {result.measure: result for result in results})


def _original_figures(
    recalls: Sequence[RankingResult], median: RankingResult, lists: _SystemLists
) -> dict[str, Any]:
    query_count = int(lists.has_original().sum())
    is_beyond = not np.isfinite(median.value)  # at the median, a list lacks its original
    return {
        "queries": query_count,
        **{result.measure: _share(result, lists.documents) for result in recalls},
        "median_rank": {
            "value": None if is_beyond else median.value,
            "n": query_count,
            "reason": NOT_RETURNED if is_beyond else "",
        },
    }


def _share(result: RankingResult, documents: Ints) -> dict[str, Any]:
    """Return the mean of a measure from 0 to 1 over queries, with an interval clustered by (Q,) ``documents``."""
    is_defined = ~np.isnan(result.per_query)
    interval = share_of_rows(result.per_query, {ITEM: documents}, CONFIDENCE, keep=is_defined)
    figure = figures_of(result.value, interval.low, interval.high, int(is_defined.sum()))
    if result.unjudged is not None:  # best_case is the mean if all unjudged items were relevant
        figure |= {"unjudged": result.unjudged, "best_case": json_float(result.best_case)}
    return figure


def corrected_success(rankings: JudgedRankings, k: int, audit: Mapping[str, Any]) -> CrossedEstimate:
    """Estimate S@k over all queries, if captions rejected by the filter are relevant with the audited share q.

    A query with a relevant caption among its first k counts 1. Any other query counts 1 - (1 - q)^m, where m of its
    first k are unjudged. The interval covers only the uncertainty of q.
    """
    ends = np.minimum(rankings.starts[:-1] + k, rankings.starts[1:])
    # Numbers of relevant and of unjudged items before each position.
    relevant_before, unjudged_before = (
        np.concatenate([[0], np.cumsum(rankings.codes == code)]) for code in (RELEVANT, UNJUDGED)
    )
    has_hit = relevant_before[ends] > relevant_before[rankings.starts[:-1]]
    unjudged_counts = (unjudged_before[ends] - unjudged_before[rankings.starts[:-1]]).astype(np.float64)

    def success_at(share: float) -> float:
        chance: Floats = 1.0 - (1.0 - share) ** unjudged_counts
        return float(np.where(has_hit, 1.0, chance).mean())

    return CrossedEstimate(success_at(audit["share"]), success_at(audit["low"]), success_at(audit["high"]))


def judged_systems(
    relevance: RelevanceScale, outputs: Outputs, standardised: Outputs | None
) -> list[dict[str, Any]]:
    """Return people's scores of each system's captions, at all ranks, in rows that are sorted by the system's name.

    The measures are ``mean``: mean answer, or ``yes``: share of yes; ``describes``: share of captions that describe
    their item; ``z``: mean of answers ``standardised`` by worker.
    """
    answers_measure = measure_of(relevance)

    def describes_item(mean: float) -> float:
        return float(relevance.is_relevant_mean(mean))

    descriptions = outputs.map_scores(describes_item)
    measures = {answers_measure: outputs.figures(answers_measure), DESCRIBES: descriptions.figures(DESCRIBES)}
    if standardised is not None:
        measures["z"] = standardised.figures(MEAN)
    missing_figures = figures_of(math.nan, math.nan, math.nan, 0)
    return [
        {
            "system": name,
            "captions": int((outputs.system == code).sum()),
            "images": len(np.unique(outputs.item[outputs.system == code])),
            **{measure: figures.get(name, missing_figures) for measure, figures in measures.items()},
        }
        for code, name in enumerate(outputs.names)
    ]
