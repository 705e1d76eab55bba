"""Score candidates, and compute the figures of each metric: accuracy over pairs, correlation over captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext as _

from common.amounts import as_json, describe_range, thousands
from evaluation.data.imported_scores import NO_SCORES, ImportedScores
from evaluation.data.judgment_sets.records import NO_PAIR, JudgmentTable, UnitRow, Units
from evaluation.errors import EvaluationError, as_sentence
from evaluation.presentation import rendering
from evaluation.presentation.content import Estimate, Table, estimate_of, format_cell
from judgments.design.tables.sampling import PAIR_KINDS
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.numeric.signatures import parse
from quorum.statistics.agreement import kappa_grid, weighted_kappa
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    RaterDeletions,
    Spread,
    answers_by_cell,
    share_of_rows,
)
from quorum.statistics.inputs import encode
from quorum.statistics.meta import (
    GroupedCorrelationResult,
    Halves,
    PeoplesWinners,
    grouped_correlation,
    halves_of_votes,
    metric_winners,
)

if TYPE_CHECKING:
    from quorum.metrics import Scores

ONE_JUDGE = "one judge"
# Name of the coefficients, by reading.
READINGS = {
    "tau_c": {"": "tau-c"},
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}
RESAMPLES = 1000
# The bootstrap of a rank correlation takes time in proportion to observations times resamples. Large studies have
# narrow intervals, so they need fewer resamples.
MIN_RESAMPLES, OBSERVATIONS_DRAWN = 200, 10_000_000
# Thresholds of metrics for kappa, as quantiles, because each metric has its own scale.
METRIC_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
ACCURACY = (
    "value", "low", "high", "n", "correct", "metric_ties", "no_consensus", "value_ties_half", "value_all_pairs",
    "confidence", "interval",
)  # fmt: skip
COEFFICIENT = ("value", "low", "high", "n", "p", "confidence", "resamples", "seed", "reason")
COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "spearman": "spearman", "pearson": "pearson"}
COEFFICIENT_HEADINGS = {"kendall_tau_b": "tau-b", "spearman": "rho", "pearson": "r"}
UNKNOWN_KIND = "unknown"
SIDES = (1, -1, 0)  # a vote for the first, for the second, for neither

References = Sequence[str]


@dataclass(frozen=True, slots=True)
class PairTexts:
    """A candidate pair.

    winner: 1, 2, or 0 for none. tied: whether the pair was judged and has no winner.
    """

    pk: int
    kind: str
    image: Any
    first: str
    second: str
    references: References
    winner: int
    tied: bool = False
    systems: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class CaptionTexts:
    """A judged caption of an image.

    unit: row id; None if several units judge the caption. people: the share of yes, the mean grade, or a score.
    ratings: if several units judge the caption, the (worker, rating) pairs from which the score is computed. systems:
    systems that a file credits with the caption. weight: 1 unless the unit is audited (``weights_of_units``).
    """

    unit: int | None
    item: int
    key: str
    text: str
    references: References
    people: float
    ratings: Sequence[tuple[int, float]] = ()
    systems: tuple[int, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class MetricResults:
    """Results, signatures and scores of each metric.

    Attributes:
        pks: (N,) int64 row ids of the scored pairs or units; None if captions are not units.
        scores: by metric, (N, 2) or (N, 1) float64.
        people: (N,) consensus on each scored caption; None for pairs.
        captions: the row id of the image, and the caption's id, of each scored caption; empty for pairs.
    """

    metrics: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    pks: Ints | None
    scores: Mapping[str, Floats]
    notes: tuple[str, ...]
    people: Floats | None = None
    captions: tuple[tuple[int, str], ...] = ()


def score_texts(
    candidates: Sequence[str],
    references: Sequence[References],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: Mapping[str, tuple[Floats, str]] | None = None,
) -> Scores:
    """Return the scores of ``candidates``, with document frequencies in ``documents``.

    ``imported`` has the scores of the candidates, and the signatures, of metrics computed elsewhere.

    Raises:
        EvaluationError: a metric or tokenizer is unknown or unavailable.
    """
    # Import late, because the metrics load a compiler that most pages do not need.
    from quorum.metrics import MetricsError, score
    from quorum.metrics.registry import VERSION, MetricScore, Scores

    metric_scores: dict[str, MetricScore] = {
        name: MetricScore(float(np.mean(scores)), scores.copy(), signed)
        for name, (scores, signed) in (imported or {}).items()
    }
    computed = [name for name in metrics if name not in metric_scores]
    if metric_scores and not computed:
        return Scores({name: metric_scores[name] for name in metrics}, tokenizer, VERSION)
    try:
        scored = score(candidates, references, computed, tokenizer, document_corpus=documents)
    except MetricsError as error:
        raise EvaluationError(as_sentence(error)) from None
    if not metric_scores:
        return scored
    metric_scores |= scored.scores
    return replace(scored, scores={name: metric_scores[name] for name in metrics})


def find_references_of_pairs(
    pairs: Iterable[tuple[int, str, Any, str, str, Sequence[str]]],
    of_image: Mapping[Any, Sequence[tuple[str, str]]],
) -> tuple[list[PairTexts], list[References], int] | None:
    """Return pairs with their references, documents, and the number of references in a document (0 for all).

    Return None if an image has no references. ``pairs`` are (row id, kind, image, first text, second text, reference
    ids). ``of_image`` has the (id, text) references of each image in order. The pairs returned have no winners.
    """
    texts_of_pairs, leading = [], set()
    for pk, kind, image, first, second, keys in pairs:
        rows = of_image.get(image, [])
        texts = dict(rows)
        pair_references = [texts[key] for key in keys if key in texts] or [text for _, text in rows]
        if not pair_references:
            return None
        leading.add(len(pair_references) if [key for key, _ in rows[: len(keys)]] == list(keys) else 0)
        texts_of_pairs.append(PairTexts(pk, kind, image, first, second, tuple(pair_references), 0))
    used = leading.pop() if len(leading) == 1 else 0
    documents: list[References] = [[text for _, text in rows[: used or None]] for rows in of_image.values()]
    return texts_of_pairs, documents, used


def pair_kinds(names: Iterable[str]) -> list[str]:
    """Return the distinct pair kinds, except "all". The kinds of the papers come first."""
    kinds = set(names) - {"all"}
    return [kind for kind in PAIR_KINDS if kind in kinds] + sorted(kinds.difference(PAIR_KINDS))


def score_pairs(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: ImportedScores = NO_SCORES,
) -> tuple[Scores, dict[str, Floats]]:
    """Score both candidates of each pair. Return the scores, and the same scores as (N, 2) float64 by metric."""
    named = [(pair.image, pair.first, pair.second) for pair in pairs]
    systems = [pair.systems for pair in pairs]
    known = {
        name: (imported.of_pairs(name, named, systems).T.ravel(), imported.signature(name))
        for name in metrics
        if name in imported.names
    }
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    references = [pair.references for pair in pairs] * 2
    scored = score_texts(texts, references, documents, metrics=metrics, tokenizer=tokenizer, imported=known)
    return scored, {name: metric.images.reshape(2, -1).T for name, metric in scored.scores.items()}


def score_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    imported: ImportedScores = NO_SCORES,
) -> Scores:
    named = [(caption.item, caption.text) for caption in captions]
    systems = [caption.systems for caption in captions]
    return score_texts(
        [caption.text for caption in captions],
        [caption.references for caption in captions],
        documents,
        metrics=metrics,
        tokenizer=tokenizer,
        imported={
            name: (imported.of_captions(name, named, systems), imported.signature(name))
            for name in metrics
            if name in imported.names
        },
    )


def judge_pairs(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    people: PeoplesWinners,
    imported: ImportedScores = NO_SCORES,
) -> MetricResults:
    """Compute each metric's accuracy by pair kind (V15 §3).

    A metric's tie is wrong, and an undecided pair is left out; both are counted. ``value_ties_half`` counts a
    metric's tie as half right. ``value_all_pairs`` counts any winner that is named for an undecided pair as half
    right.
    """
    scored, scores = score_pairs(pairs, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    kinds = [pair.kind for pair in pairs]
    return MetricResults(
        metrics={name: accuracy_of_pairs(both, people, kinds) for name, both in scores.items()},
        signatures={name: result.signature for name, result in scored.scores.items()},
        pks=np.array([pair.pk for pair in pairs], dtype=np.int64),
        scores=scores,
        notes=tuple(map(as_sentence, scored.warnings)),
    )


def accuracy_of_pairs(scores: Floats, people: PeoplesWinners, kinds: Sequence[str]) -> dict[str, Any]:
    """Return accuracy by pair kind as JSON, from (N, 2) scores.

    Without clusters, pairs are regarded as independent (Wilson's interval), as in releases before 0.6.
    """
    names = [kind or UNKNOWN_KIND for kind in kinds] if any(kinds) else None
    fields = (*ACCURACY, "clusters", "reason") if people.clustered else ACCURACY
    accuracies = people.accuracy(metric_winners(scores[:, 0], scores[:, 1]), names)
    return {"accuracy": {kind: as_json(accuracy, *fields) for kind, accuracy in accuracies.items()}}


def preference_for_longer(
    texts: Sequence[tuple[str, str]], people: PeoplesWinners, kinds: Mapping[str, Flags]
) -> dict[str, dict[str, Any]]:
    """Return how often people's winner is the text with more words, by pair kind (V15, appendix III).

    ``liked`` is over pairs of texts with different numbers of words. ``rule`` is the accuracy of naming the longer
    text. If both have equally many words, the rule has a tie, which is wrong.
    """
    words = np.array([[len(text.split()) for text in both] for both in texts], dtype=np.float64)
    longer = metric_winners(*words.reshape(-1, 2).T)
    return {
        kind: {
            name: as_json(people.accuracy_of(longer, pairs), "value", "low", "high", "n")
            for name, pairs in (("liked", of_kind & (longer != 0)), ("rule", of_kind))
        }
        for kind, of_kind in kinds.items()
    }


def judge_captions(
    captions: Sequence[CaptionTexts],
    documents: Sequence[References],
    *,
    metrics: Sequence[str],
    tokenizer: str,
    cuts: Sequence[float],
    per_image: bool,
    seed: int,
    clusters: ClusterColumns,
    imported: ImportedScores = NO_SCORES,
) -> MetricResults:
    """Correlate each metric with people over image-caption pairs, with kappa at thresholds.

    References equal to the caption must have been removed; H13 §4.1.1 reports how much BLEU gains from them.

    Args:
        cuts: thresholds of people's scores for kappa; if empty, there is no kappa.
        per_image: whether to add coefficients within images, averaged over images.
        clusters: see ``correlation_of_captions``.
    """
    scored = score_captions(captions, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    images = [caption.item for caption in captions]
    texts = [caption.key for caption in captions]
    units = [caption.unit for caption in captions]
    weights = weights_of_captions(captions)
    figures, scores = {}, {}
    for name, result in scored.scores.items():
        figures[name] = correlation_of_captions(
            result.images,
            people,
            images,
            texts,
            cuts=cuts,
            per_image=per_image,
            seed=seed,
            clusters=clusters,
            weights=weights,
        )
        scores[name] = result.images[:, np.newaxis]
    return MetricResults(
        metrics=figures,
        signatures={
            name: result.signature
            if name in imported.names
            else str(parse(result.signature).with_field("own", "dropped"))
            for name, result in scored.scores.items()
        },
        pks=None if None in units else np.array(units, dtype=np.int64),
        scores=scores,
        notes=tuple(map(as_sentence, scored.warnings)),
        people=people,
        captions=tuple(zip(images, texts, strict=True)),
    )


def weights_of_captions(captions: Sequence[CaptionTexts]) -> Floats | None:
    """Return the (N,) weights of captions, or None if all are 1."""
    weights = np.array([caption.weight for caption in captions], dtype=np.float64)
    return None if (weights == 1).all() else weights


def correlation_of_captions(
    metric: Floats,
    people: Floats,
    images: Sequence[Any],
    texts: Sequence[str],
    *,
    cuts: Sequence[float],
    per_image: bool,
    seed: int,
    clusters: ClusterColumns,
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return the correlations of a metric with people, as JSON.

    ``clusters`` is a result of ``clusters_of_captions``, or "naive", which regards captions as independent, as releases
    before 0.6 did. ``weights`` (N,) say how many captions each caption stands for. In tau, a pair of captions has the
    product of both weights.
    """
    resamples = int(np.clip(OBSERVATIONS_DRAWN // len(people), MIN_RESAMPLES, RESAMPLES))
    fields = COEFFICIENT if clusters == NAIVE else (*COEFFICIENT, "clusters")
    figures: dict[str, Any] = {
        key: as_json(
            correlation(
                metric,
                people,
                coefficient,
                weights=weights,
                resamples=resamples,
                seed=seed,
                clusters=clusters,
            ),
            *fields,
        )
        for key, coefficient in COEFFICIENTS.items()
    } | {"kappa": kappa_at_cuts(metric, people, cuts, seed, clusters, weights=weights)}
    if per_image:
        figures["per_image"] = {
            key: _grouped_json(
                grouped_correlation(
                    metric,
                    people,
                    images,
                    texts,
                    coefficient,
                    weights=weights,
                    resamples=resamples,
                    seed=seed,
                    clusters=clusters,
                )
            )
            for key, coefficient in COEFFICIENTS.items()
        }
    return figures


def kappa_at_cuts(
    metric: Floats,
    people: Floats,
    cuts: Sequence[float],
    seed: int,
    clusters: ClusterColumns,
    at_least: Sequence[float] = (),
    weights: Floats | None = None,
) -> list[dict[str, Any]]:
    """Return kappa at every pair of thresholds. The metric's are quantiles, unless ``at_least`` has others."""
    if not cuts:
        return []
    of_metric = sorted(at_least) or np.unique(np.quantile(metric, METRIC_QUANTILES)).tolist()
    if weights is not None:
        return [
            {
                "metric_at_least": first,
                "people_at_least": second,
                **as_json(weighted_kappa(metric, people, first, second, weights, clusters)),
                "n": len(metric),
            }
            for first in of_metric
            for second in cuts
        ]
    grid = kappa_grid(metric, people, of_metric, cuts, resamples=RESAMPLES, seed=seed, clusters=clusters)
    return [
        {
            "metric_at_least": cell.first_at_least,
            "people_at_least": cell.second_at_least,
            **as_json(cell.kappa),
            "n": cell.n,
        }
        for cell in grid.cells
    ]


def _grouped_json(result: GroupedCorrelationResult) -> dict[str, Any]:
    return {
        **as_json(result, "value", "low", "high", "n"),
        "images": result.groups - result.undefined_groups,
        "images_undefined": result.undefined_groups,
        **as_json(result, "confidence", "resamples", "seed", "reason"),
    }


@dataclass(frozen=True, slots=True)
class HalvesWithoutRaters:
    """The halves of each pair's votes if one rater is left out.

    halves: (V,) halves, for each pair without each of its raters. deletions: the pairs and raters, with the numbers of
    the other votes.
    """

    deletions: RaterDeletions
    halves: Halves


def halves_of_pairs(
    table: JudgmentTable, units: Sequence[UnitRow], pairs: Ints, *, anonymous: bool
) -> tuple[Halves, HalvesWithoutRaters | None]:
    """Return the halves of (P,) pairs, given by row id, and the halves without each rater.

    The halves without each rater are None if raters are anonymous. The votes on a pair are split into halves. If pairs
    have several units (triplets), the units are split, and each counts as one vote by its majority.
    """
    units, counted = Units.of(units), table.counted
    unit = places_in(units.pk, table.unit[counted])
    pair = np.where(unit >= 0, places_in(pairs, units.pair[unit]), -1)
    here = pair >= 0
    unit, pair = unit[here], pair[here]
    worker, side = table.worker[counted][here], table.value[counted][here]
    vote = (side == 1) * 1 - (side == 2)
    # The votes of each pair to split, and the decrease without each vote, which is the vote itself.
    split, pair_of_split = _sides_of(vote), pair
    lost = split
    known = units.pair != NO_PAIR
    if np.bincount(places_in(pairs, units.pair[known]) + 1, minlength=1)[1:].max(initial=0) > 1:
        # Split units. Without a vote, a unit has the winner of its other votes; without its only vote, it is missing.
        votes, balance = np.bincount(unit), np.bincount(unit, weights=vote)
        judged = np.flatnonzero(votes)
        split, pair_of_split = _sides_of(np.sign(balance[judged])), places_in(pairs, units.pair[judged])
        others = _sides_of(np.sign(balance[unit] - vote))
        lost = _sides_of(np.sign(balance[unit])) - np.where(votes[unit, np.newaxis] > 1, others, 0)
    counts = np.zeros((len(pairs), len(SIDES)), dtype=np.int64)
    np.add.at(counts, pair_of_split, split)
    halves = halves_of_votes(*counts.T)
    if anonymous or not len(pair):
        return halves, None
    _, rater = encode(worker, "workers")
    first, cell = answers_by_cell(pair, rater)
    left = counts[pair[first]]
    np.subtract.at(left, cell, lost)
    deletions = RaterDeletions(pair[first], rater[first], left.sum(axis=1).astype(np.float64))
    return halves, HalvesWithoutRaters(deletions, halves_of_votes(*left.T))


def _sides_of(votes: Ints | Floats) -> Ints:
    """Return (N, 3) indicators of votes for the first, for the second, and for neither."""
    return np.asarray(votes[:, np.newaxis] == np.array(SIDES), dtype=np.int64)


def compare_on_same_halves(
    halves: Halves,
    without: HalvesWithoutRaters | None,
    scores: Mapping[str, Floats],
    kinds: Mapping[str, Any],
    images: Sequence[Any] | Ints | None,
) -> dict[str, Any]:
    """Return ``people``, ``ceiling`` and ``metrics`` by name, for each pair kind; {} if no pair has two votes.

    Args:
        scores: by metric, (P, 2) scores of the candidates.
        kinds: by pair kind, (P,) flags of its pairs.
        images: (P,) images of the pairs; if None, pairs are regarded as independent.
    """
    known = halves.decided > 0
    columns = {ITEM: np.arange(len(known)) if images is None else np.array(images, dtype=object)}
    named = {name: metric_winners(both[:, 0], both[:, 1]) for name, both in scores.items()}

    def cell(values: Floats, rows: Flags, winners: Ints | None = None) -> dict[str, Any]:
        decided = float(halves.decided[rows].sum())
        share = float(values[rows].sum()) / decided

        def widen(spread: Spread, clusters: Clusters) -> tuple[Spread, Clusters]:
            # How often halves agree depends on the number of votes, so leaving out a vote does not show the rater's
            # influence.
            if winners is None or without is None:
                return spread, clusters
            pair, left = without.deletions.row, without.halves
            now = values - share * halves.decided
            then = np.nan_to_num(left.reached(winners[pair]) - share * left.decided)
            here = rows[pair]
            return without.deletions.subset(rows).widen(
                spread, clusters, lambda: (now[pair] - then)[here] / decided
            )

        shares = np.divide(values, halves.decided, out=np.zeros(len(values)), where=known)
        interval = share_of_rows(shares, columns, CONFIDENCE, keep=rows, weights=halves.decided, widen=widen)
        return {"value": share, **as_json(interval, "low", "high"), "n": int(rows.sum())}

    def cells(rows: Flags) -> dict[str, Any]:
        return {
            "people": cell(halves.agree, rows),
            "ceiling": cell(halves.ceiling(rows), rows),
            "metrics": {
                name: cell(halves.reached(winners), rows, winners) for name, winners in named.items()
            },
        }

    return {kind: cells(known & of_kind) for kind, of_kind in kinds.items() if (known & of_kind).any()}


def compares_pairs(result: Mapping[str, Any]) -> bool:
    return all("accuracy" in figures for figures in result["metrics"].values())


def accuracy_by_metric(
    metrics: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return the pair kinds, with "all" last, and accuracy by metric and kind, best metric first."""
    accuracy = {name: figures["accuracy"] for name, figures in metrics.items()}
    kinds = pair_kinds(kind for by_kind in accuracy.values() for kind in by_kind)
    kinds = kinds if len(kinds) == 1 else [*kinds, "all"]
    best_first = sorted(accuracy, key=lambda name: -(accuracy[name][kinds[-1]]["value"] or 0.0))
    return kinds, {name: accuracy[name] for name in best_first}


def accuracy_table(
    result: Mapping[str, Any],
    levels: Mapping[str, tuple[str, Estimate]] | None = None,
    *,
    clustered: bool = True,
) -> Table:
    """Return the table of accuracy by pair kind, best metric first. Its last rows are ``levels`` of people."""
    kinds, accuracy = accuracy_by_metric(result["metrics"])
    if levels is None:
        people = {} if "halves" in result else result.get("people") or {}
        levels = {kind: (_(ONE_JUDGE), estimate_of(people[kind])) for kind in kinds if kind in people}
    rows: list[tuple[Any, ...]] = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds)) for name, by_kind in accuracy.items()
    ]
    for label in dict.fromkeys(label for label, _level in levels.values()):
        rows.append((label, *(levels[kind][1] if kind in levels else None for kind in kinds)))
    return rendering.table(
        "accuracy",
        rows,
        _shares("metric", kinds),
        no_consensus=result["counts"]["no_consensus"],
        clustered=clustered,
        raters=known_raters(result),
    )


def _shares(head: str, kinds: Iterable[str]) -> list[tuple[str, str]]:
    return [(head, "text"), *((f"{kind}, %", "share") for kind in kinds)]


def accuracy_and_ties_table(result: Mapping[str, Any]) -> Table:
    accuracy = {name: figures["accuracy"] for name, figures in result["metrics"].items()}
    kinds = list(next(iter(accuracy.values())))
    rows = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds), by_kind["all"]["metric_ties"])
        for name, by_kind in accuracy.items()
    ]
    columns = [("metric", "text"), *((kind, "share") for kind in kinds), ("ties", "count")]
    return rendering.table("accuracy-and-ties", rows, columns)


def tables_beside_metrics(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables that the page and the command show next to the table of metrics."""
    return [*longer_tables(result), *readings_tables(result), *ties_tables(result)]


def longer_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the table of how often people choose the longer text.

    Return [] for captions, and for results before 0.6.
    """
    by_kind: Mapping[str, Any] = result.get("longer", {})
    kinds = pair_kinds(by_kind)
    rows = [
        (
            kind,
            estimate_of(by_kind[kind]["liked"]),
            by_kind[kind]["liked"]["n"],
            estimate_of(by_kind[kind]["rule"]),
        )
        for kind in (kinds if len(kinds) == 1 else [*kinds, "all"])
        if kind in by_kind
    ]
    return [rendering.table("longer", rows, raters=known_raters(result))] if rows else []


def heads_of(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of columns by coefficient. Results of versions before 0.6 have no r."""
    return {
        key: head
        for key, head in COEFFICIENT_HEADINGS.items()
        if all(key in figures for figures in metrics.values())
    }


def correlation_table(result: Mapping[str, Any]) -> Table:
    """Return the table of correlations with people, best metric first, with the highest kappa over thresholds."""
    metrics = result["metrics"]
    within = any("per_image" in figures for figures in metrics.values())
    kappas = any(figures["kappa"] for figures in metrics.values())
    heads = heads_of(metrics)
    rows: list[tuple[Any, ...]] = []
    for name in sorted(metrics, key=lambda name: -(metrics[name]["kendall_tau_b"]["value"] or 0.0)):
        figures = metrics[name]
        cells = [estimate_of(figures[key], with_n=False) for key in heads]
        cells += [estimate_of(figures["per_image"]["kendall_tau_b"])] if within else []
        rows.append(
            (name, *cells, *(_best_kappa(figures["kappa"]) if kappas else ()), figures["kendall_tau_b"]["n"])
        )
    columns = [("metric", "text"), *((head, "coefficient") for head in heads.values())]
    columns += [("tau-b within items", "coefficient")] if within else []
    columns += [("best kappa", "coefficient"), ("thresholds of metric / people", "text")] if kappas else []
    return rendering.table("correlation-in-short", rows, [*columns, ("n", "count")])


def within_items_sentence(result: Mapping[str, Any]) -> str:
    """Return a sentence on the number of items over which correlations are averaged, or "" if no item was left out."""
    cells = [row["per_image"]["kendall_tau_b"] for row in result["metrics"].values() if "per_image" in row]
    if not any(cell["images_undefined"] for cell in cells):
        return ""
    return _(
        "“Within items” is the mean over %(n)s of %(all)s items. In the other items, people or "
        "the metric give all texts the same score."
    ) % {
        "n": describe_range([cell["images"] for cell in cells], thousands),
        "all": thousands(cells[0]["images"] + cells[0]["images_undefined"]),
    }


def _best_kappa(cells: Sequence[Mapping[str, Any]]) -> tuple[Any, str]:
    known = [cell for cell in cells if cell["value"] is not None]
    if not known:
        return None, ""
    best = max(known, key=lambda cell: cell["value"])
    cuts = format_cell(best["metric_at_least"], "score"), f"{best['people_at_least']:.3g}"
    return estimate_of(best), " / ".join(cuts)


def known_raters(result: Mapping[str, Any]) -> bool:
    """Return whether an evaluation's intervals generalise to other people."""
    cells = (
        figures["accuracy"].get("all", {}) if "accuracy" in figures else figures["kendall_tau_b"]
        for figures in result["metrics"].values()
    )
    return any(RATER in cell.get("clusters", ()) for cell in cells)


def readings_tables(result: Mapping[str, Any]) -> list[Table]:
    readings: Mapping[str, Any] = result.get("readings", {})
    raters = known_raters(result)
    tables = []
    if "all_pairs" in readings:
        kinds = list(next(iter(readings["all_pairs"].values())))
        accuracies = [
            (name, *(estimate_of(cells[kind]) for kind in kinds))
            for name, cells in readings["all_pairs"].items()
        ]
        tables.append(
            rendering.table("readings-all-pairs", accuracies, _shares("metric", kinds), raters=raters)
        )
    if "references" in readings:
        curves: list[tuple[Any, ...]] = []
        for name, by_kind in readings["references"].items():
            for kind, curve in by_kind.items():
                curves += [(kind, name, row["references"], estimate_of(row), row["draws"]) for row in curve]
        tables.append(rendering.table("readings-references", curves, raters=raters))
    coefficients = []
    for reading, heads in READINGS.items():
        for metric, cells in readings.get(reading, {}).items():
            for key, head in heads.items():
                estimate = estimate_of(cells[key] if key else cells)
                coefficients.append(
                    (metric, rendering.render_sentence("reading", name=reading), head, estimate)
                )
    if coefficients:
        tables.append(rendering.table("readings-coefficients", coefficients, raters=raters))
    thresholds = [
        (metric, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for metric, cells in readings.get("thresholds", {}).items()
        for cell in cells
    ]
    return (
        [*tables, rendering.table("readings-thresholds", thresholds, raters=raters)] if thresholds else tables
    )


def ties_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the table of metrics' accuracies with ties, which reports do not have, or [] if it was not requested."""
    ties = result.get("readings", {}).get("ties", {})
    rows = [
        (name, *(estimate_of(accuracies[key]) for key in ("plain", "calibrated", "soft")))
        for name, accuracies in ties.items()
    ]
    return [rendering.table("readings-ties", rows)] if rows else []
