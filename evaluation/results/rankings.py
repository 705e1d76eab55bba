"""Evaluate systems' ranked lists by people's judgments, and audit the filter applied before judging.

For annotation, an image is the query and captions are ranked; for search, a caption is the query and images are ranked.
The measures are those of Hodosh et al. 2013 (H13), section 4.3. The original of a query is the caption that was written
for the image, or the image for which the caption was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext as _

from common.amounts import interval_in_text, json_float, percent, thousands
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.ranked_lists import ANNOTATION, NO_ORIGINAL, SEARCH, Proposals
from evaluation.presentation import rendering
from evaluation.presentation.content import Table, estimate_of
from evaluation.results.consensus.groups import GroupValues, consensus_of_groups, first_of_groups
from evaluation.results.consensus.study import StudyConsensus, values_at
from evaluation.results.standings import DESCRIBES, MEAN, Outputs, figures_of, map_distinct_values, measure_of
from judgments.kinds import Consensus, Kind, RelevanceScale
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import CONFIDENCE, ITEM, CrossedEstimate, share_of_rows
from quorum.statistics.meta import wilson_interval
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


class TaskWords(NamedTuple):
    """What tables and sentences call a task, its queries and the ranked items."""

    table_name: str
    title_suffix: str
    description: str
    query: str
    ranked_item: str


TASKS = {
    ANNOTATION: TaskWords(
        table_name="rankings",
        title_suffix="",
        description="Annotation: an item asks, captions are ranked.",
        query="item",
        ranked_item="caption",
    ),
    SEARCH: TaskWords(
        table_name="rankings-search",
        title_suffix=": search",
        description="Search: a caption asks, items are ranked.",
        query="caption",
        ranked_item="item",
    ),
}
CUTS = (1, 5, 10)  # numbers of first items, k, in S@k and R@k
UNJUDGED, IRRELEVANT, RELEVANT = -1, 0, 1  # codes as in `JudgedRankings.codes`
# Pairs of measures whose orders of systems H13's Table 7 compares: by people's judgments, and by the original.
COMPARED_MEASURES = (
    *((f"S@{k}", f"R@{k}") for k in CUTS),
    *(("R-precision", automatic) for automatic in (*(f"R@{k}" for k in CUTS), MEDIAN_RANK)),
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
    """Return ``rankings``: for each task, a row for each system, best first. It is {} if no list has two items.

    Also return ``system_orders``: for each task, rank correlations between the orders of systems by people's measures
    and by measures of the original.

    S@k and R-precision leave out queries that are ``not_judged`` (no item was judged) or have ``nothing_relevant``.
    With an ``audit`` of the filter, ``audited`` has S@k over all queries. If lists can contain the original,
    ``original`` has R@k and the median rank (H13 §4.3.1). Systems without a judged item have a row only if
    ``with_unjudged_systems``, as in releases by Quorum up to 0.5.
    """
    is_relevant = outputs.map_values(lambda value: relevance.grade(value) > 0)  # 1, 0, or nan if not judged
    codes = np.where(np.isnan(is_relevant.value), UNJUDGED, is_relevant.value).astype(np.int8)
    relevant_keys, width = is_relevant.pair_keys[is_relevant.pair_value > 0], is_relevant.width
    rankings, orders = {}, {}  # both by task
    for task, is_of_task in ((ANNOTATION, ~proposals.is_search), (SEARCH, proposals.is_search)):
        rows = np.flatnonzero(is_of_task)
        if not (proposals.position[rows] > 1).any():
            continue
        # The query of each relevant item: the image, or the text of the query caption.
        query = relevant_keys // width if task == ANNOTATION else relevant_keys % width
        relevant_counts = np.bincount(query, minlength=max(len(proposals.images), len(proposals.texts)))
        system_of_row = proposals.system[rows]
        table, figures = [], {}
        for system in np.unique(system_of_row).tolist():
            system_rows = rows[system_of_row == system]
            if (
                not with_unjudged_systems
                and (codes[system_rows] == UNJUDGED).all()
                and (codes[rows] != UNJUDGED).any()
            ):
                continue  # the system is in the dataset, but not in the study
            name = proposals.systems[system]
            row, figures[name] = _system_row(
                proposals, system_rows, codes[system_rows], relevant_counts, audit, task=task
            )
            table.append({"system": name, **row})
        p_values = _compare_with_best(figures)
        rankings[task] = [
            row | {"p": p_values.get(row["system"])}
            for row in sorted(table, key=lambda row: -(row["R-precision"]["value"] or 0.0))
        ]
        figures_with_original = [system for system in figures.values() if MEDIAN_RANK in system.measures]
        if len(figures_with_original) > 1:
            orders[task] = [_order_row(figures_with_original, *pair) for pair in COMPARED_MEASURES]
    return {"rankings": rankings, "system_orders": orders}


class SystemFigures(NamedTuple):
    """A system's measures by name, over (Q,) queries, and the (Q,) documents of the queries."""

    queries: Ints
    documents: Ints
    measures: dict[str, RankingResult]


def _order_row(systems: Sequence[SystemFigures], people: str, automatic: str) -> dict[str, Any]:
    """Return rho and tau-b between the orders of systems by two measures, given by name, as JSON (H13 Table 7)."""
    first, second = ([system.measures[name] for system in systems] for name in (people, automatic))
    orders = {name: order_correlation(first, second, name) for name in ORDER_COEFFICIENTS}
    values = {name: json_float(order.value) for name, order in orders.items()}
    return {"people": people, "automatic": automatic, **values, "systems": orders["spearman"].systems}


def _compare_with_best(figures: Mapping[str, SystemFigures]) -> Mapping[str, float | None]:
    """Return p-values by system, of t tests over queries that compare R-precision with that of the best system."""
    names = list(figures)
    if len(names) < 2:
        return {}
    columns = [
        (system_figures.queries, system_figures.documents, system_figures.measures["R-precision"].per_query)
        for system_figures in figures.values()
    ]
    query, document, precision = (np.concatenate(column) for column in zip(*columns, strict=True))
    system = np.repeat(np.arange(len(names)), [len(queries) for queries, *_ in columns])
    is_defined = ~np.isnan(precision)
    queries, item = np.unique(query, return_inverse=True)
    cluster = np.zeros(len(queries), dtype=np.int64)
    cluster[item] = document
    outputs = Outputs(names, item, system, cluster, precision, None).subset(is_defined)
    return outputs.standings(MEAN).compare().compared if is_defined.any() else {}


def leading_systems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first system of a task, and the systems that are not significantly worse."""
    defined_rows = [row for row in rows if row["R-precision"]["value"] is not None]
    best = defined_rows[0]["R-precision"]["value"] if defined_rows else 0.0
    return [
        row["system"]
        for row in defined_rows
        if row.get("p") is None or row["p"] > LEVEL or row["R-precision"]["value"] == best
    ]


@dataclass(frozen=True, slots=True)
class JudgedOutputs:
    """People's consensus on N entries of systems' lists, and on M judged pairs of an image and a text of any system.

    Attributes:
        value: (N,) consensus on entries; nan if not judged.
        pair_keys: (M,) ascending numbers of pairs: image * ``width`` + text.
        pair_value: (M,) consensus on the pairs.
    """

    value: Floats
    pair_keys: Ints
    pair_value: Floats
    width: int

    @classmethod
    def from_proposals(cls, proposals: Proposals, values: GroupValues) -> JudgedOutputs:
        """Return the consensus on entries and pairs, computed from the units that judge them."""
        units = proposals.units
        entry, unit = proposals.scored_entries()
        pair_keys, pair = np.unique(proposals.text_keys(units.image, units.text), return_inverse=True)
        pair_value = values(pair, np.arange(len(units.pk)), len(pair_keys))
        is_judged = ~np.isnan(pair_value)
        return cls(
            value=values(entry, unit, len(proposals)),
            pair_keys=pair_keys[is_judged],
            pair_value=pair_value[is_judged],
            width=len(proposals.texts) + 1,
        )

    def map_values(self, transform: Callable[[float], float]) -> JudgedOutputs:
        """Return the outputs with transformed values. The function is called once for each distinct value."""
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

    If several units show the same text, their judgments are combined if ``credited``; otherwise only the first of these
    units is used.
    """
    unit_ids = proposals.units.pk
    if credited:
        group_values: GroupValues = partial(consensus_of_groups, kind, table, consensus, unit_ids)
    else:
        group_values = partial(first_of_groups, values_at(consensus.of_unit, unit_ids)[0])
    return JudgedOutputs.from_proposals(proposals, group_values)


def _system_row(
    proposals: Proposals,
    rows: Ints,
    codes: npt.NDArray[np.int8],
    relevant_counts: Ints,
    audit: Mapping[str, Any],
    *,
    task: str,
) -> tuple[dict[str, Any], SystemFigures]:
    """Return a system's row in the table of a task, and its figures.

    Args:
        rows: the system's entries for the task, sorted by list.
        codes: relevance of these entries.
        relevant_counts: number of known relevant items by query.
    """
    query, rank = proposals.query[rows], proposals.position[rows]
    queries, first = np.unique(query, return_index=True)  # entries are sorted by query
    list_index = np.searchsorted(queries, query)
    lengths = np.maximum.reduceat(rank, first)  # lengths up to the last known item
    starts = np.concatenate([[0], np.cumsum(lengths)])
    positions = starts[list_index] + rank - 1

    def make_lists(item_codes: npt.NDArray[np.int8], total: Ints, unknown: int) -> JudgedRankings:
        """Return the lists with codes of the known items, and the code ``unknown`` at the other positions."""
        codes_of_lists = np.full(int(starts[-1]), unknown, dtype=np.int8)
        codes_of_lists[positions] = item_codes
        return JudgedRankings(starts, codes_of_lists, total, knows_unjudged=unknown == UNJUDGED)

    query_ids = queries if task == ANNOTATION else proposals.text[rows][first]
    documents = proposals.document[queries] if task == ANNOTATION else queries
    judged_lists = make_lists(codes, relevant_counts[query_ids], UNJUDGED)
    precision = r_precision(judged_lists)
    results = [*(success_at_k(judged_lists, k=k) for k in CUTS), precision]
    has_judged = np.bincount(list_index[codes != UNJUDGED], minlength=len(queries)) > 0
    is_undefined = np.isnan(precision.per_query)
    row: dict[str, Any] = {
        "queries": len(queries),
        "not_judged": int((is_undefined & ~has_judged).sum()),
        "nothing_relevant": int((is_undefined & has_judged).sum()),
        **{result.measure: _share(result, documents) for result in results},
    }
    if audit and audit["share"] is not None:
        row["audited"] = {}
        for k in CUTS:
            corrected = corrected_success(judged_lists, k, audit)
            bounds = {"value": corrected.value, "low": corrected.low, "high": corrected.high}
            row["audited"][f"S@{k}"] = bounds | {"n": len(queries)}
    original = proposals.original[rows]
    has_original = np.minimum.reduceat(original, first) > NO_ORIGINAL
    if has_original.any():
        # If several captions were written for the image, use the first.
        is_first = np.zeros(len(rows), dtype=bool)
        hits = np.flatnonzero(original == 1)
        is_first[hits[np.unique(list_index[hits], return_index=True)[1]]] = True
        original_lists = make_lists(is_first.astype(np.int8), has_original.astype(np.int64), IRRELEVANT)
        recalls = [recall_at_k(original_lists, k=k) for k in CUTS]
        median = median_rank(original_lists)
        results += [*recalls, median]
        is_beyond = not np.isfinite(median.value)
        row["original"] = {
            "queries": int(has_original.sum()),
            **{result.measure: _share(result, documents) for result in recalls},
            "median_rank": {
                "value": None if is_beyond else median.value,
                "n": int(has_original.sum()),
                "reason": NOT_RETURNED if is_beyond else "",
            },
        }
    return row, SystemFigures(queries, documents, {result.measure: result for result in results})


def _share(result: RankingResult, documents: Ints) -> dict[str, Any]:
    """Return the mean of a measure from 0 to 1 over (Q,) queries, with an interval clustered by `documents`."""
    is_defined = ~np.isnan(result.per_query)
    interval = share_of_rows(result.per_query, {ITEM: documents}, CONFIDENCE, keep=is_defined)
    figure = figures_of(result.value, interval.low, interval.high, int(is_defined.sum()))
    if result.unjudged is not None:
        figure |= {"unjudged": result.unjudged, "best_case": json_float(result.best_case)}
    return figure


def corrected_success(judged: JudgedRankings, k: int, audit: Mapping[str, Any]) -> CrossedEstimate:
    """Estimate S@k over all queries, if captions rejected by the filter are relevant with the audited share q.

    A query with a relevant caption among its first k counts 1. Any other query counts 1 - (1 - q)^m, where m of its
    first k are unjudged. The interval covers only the uncertainty of q.
    """
    ends = np.minimum(judged.starts[:-1] + k, judged.starts[1:])
    # Numbers of relevant and of unjudged items before each position.
    relevant_before, unjudged_before = (
        np.concatenate([[0], np.cumsum(judged.codes == code)]) for code in (RELEVANT, UNJUDGED)
    )
    has_hit = relevant_before[ends] > relevant_before[judged.starts[:-1]]
    unjudged_counts = (unjudged_before[ends] - unjudged_before[judged.starts[:-1]]).astype(np.float64)

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
    describing = outputs.map_scores(lambda mean: float(relevance.is_relevant_mean(mean)))
    measures = {answers_measure: outputs.figures(answers_measure), DESCRIBES: describing.figures(DESCRIBES)}
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


def audit_filter(
    relevance: RelevanceScale,
    consensus: Mapping[int, Consensus],
    *,
    passed_units: Collection[int],
    audited_units: Collection[int],
    pair_count: int,
    passed_pair_count: int,
) -> dict[str, Any]:
    """Estimate the share, and the number, of good captions among those that the filter rejected.

    Args:
        consensus: consensus of units by row id.
        passed_units, audited_units: row ids of units that passed the filter, and of sampled rejected units.
        pair_count, passed_pair_count: number of all image-caption pairs, and of those that passed.

    Returns:
        Counts; ``share`` of judged rejected pairs that describe their image; ``weight``: number of rejected pairs for
        each sampled pair; ``missed_in_all``: estimated number of missed pairs; ``recall`` of the filter. Undefined
        values are None.
    """
    values = {unit: consensus[unit].value for unit in audited_units if unit in consensus}
    judged_audits = [unit for unit, value in values.items() if value is not None]
    missed_count = sum(relevance.is_relevant(value) for value in values.values() if value is not None)
    dropped_count = pair_count - passed_pair_count
    share = low = high = None
    if judged_audits:
        share = missed_count / len(judged_audits)
        low, high = wilson_interval(missed_count, len(judged_audits), CONFIDENCE)
    unanimous_count = 0
    for unit in judged_audits:
        votes = consensus[unit].votes.items()
        # Nobody gave an answer by which the text describes the item.
        unanimous_count += not any(count and relevance.is_relevant(float(answer)) for answer, count in votes)
    consensus_values = [consensus[unit].value for unit in passed_units if unit in consensus]
    is_good = [relevance.is_relevant(value) for value in consensus_values if value is not None]
    # The number of good pairs among those that passed, by the share among the judged ones.
    good_count = sum(is_good) / len(is_good) * passed_pair_count if is_good else None
    return {
        "dropped": dropped_count,
        "sampled": len(audited_units),
        "judged": len(judged_audits),
        "missed": missed_count,
        "share": json_float(share),
        "low": json_float(low),
        "high": json_float(high),
        "confidence": CONFIDENCE,
        "unanimous_no": unanimous_count,
        "weight": dropped_count / len(audited_units) if audited_units else None,
        "missed_in_all": {
            name: None if bound is None else bound * dropped_count
            for name, bound in (("value", share), ("low", low), ("high", high))
        },
        "recall": {
            name: _weighted_recall(good_count, bound, dropped_count)
            # The more good pairs were rejected, the lower the recall.
            for name, bound in (("value", share), ("low", high), ("high", low))
        },
    }


def _weighted_recall(
    good_count: float | None, missed_share: float | None, dropped_count: int
) -> float | None:
    """Return the recall of the filter, or None if it is undefined."""
    if good_count is None or missed_share is None or not good_count + missed_share * dropped_count:
        return None
    return good_count / (good_count + missed_share * dropped_count)


def audit_sentence(audit: Mapping[str, Any]) -> str:
    if not audit["judged"]:
        return _(
            "None of the pairs that the filter left out has been judged yet. Pairs to be judged: %(n)s."
        ) % {"n": thousands(audit["sampled"])}
    sentence = _(
        "Pairs of item and text that the filter left out: %(dropped)s. Random pairs of these that were judged: "
        "%(judged)s. Judged pairs in which the text describes the item: %(missed)s, or %(share)s (95 %% interval "
        "%(ends)s). Judged pairs in which it does not, according to all participants: %(unanimous)s."
    ) % {
        "dropped": thousands(audit["dropped"]),
        "judged": thousands(audit["judged"]),
        "missed": thousands(audit["missed"]),
        "share": percent(audit["share"]),
        "ends": interval_in_text(audit, percent),
        "unanimous": thousands(audit["unanimous_no"]),
    }
    recall = audit["recall"]
    if recall["value"] is None:
        return sentence
    missed = _(
        "Good texts that the filter misses: about %(missed)s. Share of all good texts that pass the filter: %(share)s "
        "(95 %% interval %(ends)s)."
    ) % {
        "missed": thousands(round(audit["missed_in_all"]["value"])),
        "share": percent(recall["value"]),
        "ends": interval_in_text(recall, percent),
    }
    return f"{sentence} {missed}"


def rankings_tables(result: Mapping[str, Any], *, audit_decimals: int = 0) -> list[Table]:
    """Return the tables of rankings of an aggregation, for each task.

    The note on the audit of the filter has its share in per cent with ``audit_decimals`` decimals.
    """
    audit, orders = result.get("filter_audit", {}), result.get("system_orders", {})
    tables = []
    for task, rows in result["rankings"].items():
        tables.append(_relevance_table(task, rows, audit, audit_decimals))
        original_rows = [row for row in rows if "original" in row]
        if original_rows:
            tables.append(_original_table(task, original_rows))
        if task in orders:
            tables.append(_orders_table(task, orders[task]))
    return tables


def _relevance_table(
    task: str, rows: Sequence[Mapping[str, Any]], audit: Mapping[str, Any], audit_decimals: int
) -> Table:
    words, has_audit = TASKS[task], "audited" in rows[0]
    columns = [("system", "text"), *((f"S@{k}, %", "share") for k in CUTS)]
    columns += [(f"S@{k} with the audit, %", "share") for k in CUTS] if has_audit else []
    columns += [("R-precision, %", "share"), ("at best, %", "share"), (f"{words.query}s", "count")]
    columns += [("nothing relevant", "count"), ("p, Holm", "p")]
    cells = [
        (
            row["system"],
            *(_cell(row[f"S@{k}"]) for k in CUTS),
            *(_cell(row["audited"][f"S@{k}"]) for k in CUTS if has_audit),
            _cell(row["R-precision"]),
            row["R-precision"]["best_case"],
            row["R-precision"]["n"],
            row["nothing_relevant"],
            row.get("p"),
        )
        for row in rows
    ]
    return rendering.table(
        "rankings", cells, columns, name=words.table_name, task_title=words.title_suffix, task=words.description,
        query=words.query, item=words.ranked_item, audit=audit if has_audit else None, audit_decimals=audit_decimals,
    )  # fmt: skip


def _original_table(task: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    words = TASKS[task]
    columns = [("system", "text"), *((f"R@{k}, %", "share") for k in CUTS)]
    columns += [("median rank", "number"), (f"{words.query}s", "count")]
    cells = [
        (
            row["system"],
            *(_cell(row["original"][f"R@{k}"]) for k in CUTS),
            row["original"]["median_rank"]["value"],
            row["original"]["queries"],
        )
        for row in rows
    ]
    incomplete = any(row["original"]["median_rank"]["value"] is None for row in rows)
    return rendering.table(
        "originals", cells, columns, name=f"{words.table_name}-originals", task_title=words.title_suffix,
        query=words.query, item=words.ranked_item, incomplete=incomplete,
    )  # fmt: skip


def _orders_table(task: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    words = TASKS[task]
    keys = ("people", "automatic", *ORDER_COEFFICIENTS, "systems")
    cells = [tuple(row[key] for key in keys) for row in rows]
    return rendering.table(
        "orders",
        cells,
        name=f"{words.table_name}-orders",
        task_title=words.title_suffix,
        item=words.ranked_item,
    )


def _cell(figure: Mapping[str, Any]) -> Any:
    """Return a figure as an estimate. Figures of old releases are numbers without an interval."""
    return figure["value"] if figure.get("low") is None else estimate_of(figure)
