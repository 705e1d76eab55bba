"""Intervals of figures against people's winners, whose raters are known by the winners without them."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats

from evaluation.statistics.agreement import kappa_interval
from evaluation.statistics.catalogue import call_of
from evaluation.statistics.inputs import BadOption, BadShape, BadValue
from evaluation.statistics.meta import (
    accuracy_difference,
    halves_of_votes,
    pair_accuracy,
    winners_without_raters,
)
from evaluation.statistics.significance import mcnemar_test, stouffer_wilcoxon

PAIRS, RATERS = 24, 7


def winner_of(votes: list[int]) -> int:
    count = Counter(votes)
    return 1 if count[1] > count[2] else 2 if count[2] > count[1] else 0


@pytest.fixture
def votes() -> list[tuple[int, int, int]]:
    """(pair, rater, vote): three to five of seven raters a pair, with abstentions, in no order."""
    rng = np.random.default_rng(5)
    rows = [
        (pair, int(rater), int(rng.choice([1, 2, 0], p=[0.6, 0.3, 0.1])))
        for pair in range(PAIRS)
        for rater in rng.permutation(RATERS)[: rng.integers(3, 6)]
    ]
    return [rows[index] for index in rng.permutation(len(rows))]


@pytest.fixture
def scores() -> tuple[Any, Any]:
    rng = np.random.default_rng(6)
    return rng.normal(0.4, 1, (PAIRS, 2)), rng.normal(0, 1, (PAIRS, 2))


def test_a_winner_without_a_rater_is_that_of_the_other_votes(votes: list[tuple[int, int, int]]) -> None:
    pair, rater, vote = zip(*votes, strict=True)
    deletions = winners_without_raters(pair, [f"w-{number}" for number in rater], vote, PAIRS)
    rows = zip(deletions.row.tolist(), deletions.rater.tolist(), deletions.value.tolist(), strict=True)
    assert sorted(rows) == sorted(
        (one, who, winner_of([v for p, r, v in votes if p == one and r != who])) for one, who, _ in votes
    )


def plain_spread(
    votes: list[tuple[int, int, int]], credit: dict[tuple[int, int], float], image: list[int]
) -> tuple[float, float, float]:
    """Items + raters - answers (Cameron, Gelbach, Miller 2011), with a rater's part by leaving the rater out."""
    winners = {pair: winner_of([v for p, _, v in votes if p == pair]) for pair in range(PAIRS)}
    decided = [pair for pair in range(PAIRS) if winners[pair]]
    n = len(decided)
    mean = sum(credit[pair, winners[pair]] for pair in decided) / n

    def part(pair: int, winner: int) -> float:
        return (credit[pair, winner] - mean) / n if winner else 0.0

    images = sorted({image[pair] for pair in decided})
    by_image = [sum(part(p, winners[p]) for p in decided if image[p] == one) for one in images]
    sizes = [sum(image[p] == one for p in decided) for one in images]
    # One kind of clusters: the sum of squares that independent images would give, by their sizes.
    total, cubes = sum(size**2 for size in sizes), sum(size**3 for size in sizes)
    expected = total - 2 * cubes / n + total**2 / n**2
    items = sum(value**2 for value in by_image) / expected * total
    items_df = total**2 / sum(size**4 for size in sizes) - 1
    lost = {
        (pair, rater): part(pair, winners[pair])
        - part(pair, winner_of([v for p, r, v in votes if p == pair and r != rater]))
        for pair, rater, _ in votes
    }
    shift = sum(lost.values()) / len(lost)
    by_rater = [sum(lost[key] - shift for key in lost if key[1] == rater) for rater in range(RATERS)]
    raters = sum(value**2 for value in by_rater) * RATERS / (RATERS - 1)
    answers = sum((value - shift) ** 2 for value in lost.values())
    busy = Counter(rater for _, rater in lost)
    effective = len(lost) ** 2 / sum(count**2 for count in busy.values())
    variance = items + max(raters - answers, 0)
    return mean, variance, variance**2 / (items**2 / items_df + raters**2 / (effective - 1))


def test_accuracy_and_its_differences_vary_with_images_and_raters(
    votes: list[tuple[int, int, int]], scores: tuple[Any, Any]
) -> None:
    image = [pair // 2 for pair in range(PAIRS)]
    pair, rater, vote = zip(*votes, strict=True)
    winners = [winner_of([v for p, _, v in votes if p == one]) for one in range(PAIRS)]
    clusters = {"item": image, "rater": winners_without_raters(pair, rater, vote, PAIRS)}
    named = [[1 if first > second else 2 for first, second in table.tolist()] for table in scores]
    first, second = (
        {(pair, side): float(names[pair] == side) for pair in range(PAIRS) for side in (1, 2)}
        for names in named
    )

    mean, variance, df = plain_spread(votes, first, image)
    accuracy = pair_accuracy(scores[0][:, 0], scores[0][:, 1], winners, clusters=clusters)["all"]
    z, rows = scipy.stats.t.ppf(0.975, df), mean * (1 - mean) / variance
    centre, half = mean + z**2 / (2 * rows), z * math.sqrt(mean * (1 - mean) / rows + z**2 / (4 * rows**2))
    assert accuracy.value == pytest.approx(mean)
    assert accuracy.low == pytest.approx((centre - half) / (1 + z**2 / rows))
    assert accuracy.high == pytest.approx((centre + half) / (1 + z**2 / rows))
    decided = {image[pair] for pair, winner in enumerate(winners) if winner}
    assert accuracy.clusters == {"item": len(decided), "rater": RATERS}
    assert "clusters:given-item-rater" in accuracy.signature
    again = call_of(accuracy.signature)(scores[0][:, 0], scores[0][:, 1], winners, clusters=clusters)
    assert again["all"] == accuracy

    mean, variance, df = plain_spread(votes, {key: first[key] - second[key] for key in first}, image)
    difference = accuracy_difference(*scores, winners, clusters=clusters)["all"]
    half = scipy.stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert difference.difference == pytest.approx(mean)
    assert (difference.low, difference.high) == pytest.approx((mean - half, mean + half))
    assert difference.p == pytest.approx(2 * scipy.stats.t.sf(abs(mean) / math.sqrt(variance), df))


def test_few_raters_are_these_raters() -> None:
    pair, rater, vote = np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6), [1, 1, 2] * 6
    scores = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2)
    clusters = {"item": range(6), "rater": winners_without_raters(pair, rater, vote, 6)}
    by_both, by_item = (
        pair_accuracy(scores[:, 0], scores[:, 1], [1] * 6, clusters=by)["all"]
        for by in (clusters, {"item": range(6)})
    )
    assert (by_both.low, by_both.high) == (by_item.low, by_item.high)
    assert by_both.note == "with 3 raters, expected 5 or more, the interval is for these raters alone"


def test_a_call_that_names_no_clusters_says_what_it_assumes() -> None:
    silent, naive = (
        pair_accuracy([1, 0, 1], [0, 1, 0], [1, 2, 2])["all"],
        pair_accuracy([1, 0, 1], [0, 1, 0], [1, 2, 2], clusters="naive")["all"],
    )
    assert silent.note == "no clusters were named, so units are taken as independent"
    assert (naive.note, naive.low) == ("", silent.low)


def test_wrong_votes_are_named() -> None:
    with pytest.raises(BadValue, match=r"pairs\[1\] is 2, expected 0 to 1"):
        winners_without_raters([0, 2], ["a", "b"], [1, 2], 2)
    deletions = winners_without_raters([0, 2], ["a", "b"], [1, 2], 3)
    with pytest.raises(BadShape, match="names pair 2, expected one of 2 from 0 on"):
        pair_accuracy([1, 0], [0, 1], [1, 2], clusters={"rater": deletions})
    with pytest.raises(BadOption, match="clusters has 2 kinds of raters, expected one"):
        pair_accuracy([1, 0, 1], [0, 1, 0], [1, 2, 1], clusters={"rater": deletions, "other": deletions})


def test_pairs_without_votes_are_clustered_by_item_alone() -> None:
    """A kind of pairs may have published winners, which nobody here voted on."""
    scores, winners = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]] * 3), [1] * 12
    deletions = winners_without_raters([0, 0, 0], ["a", "b", "c"], [1, 1, 2], 12)
    kinds = ["voted"] * 1 + ["published"] * 11
    published = pair_accuracy(
        scores[:, 0], scores[:, 1], winners, kinds, clusters={"item": range(12), "rater": deletions}
    )["published"]
    assert (published.note, published.clusters) == ("", {"item": 11})


def test_a_consensus_without_each_rater_is_no_column_of_other_statistics() -> None:
    deletions = winners_without_raters([0, 1, 2], ["a", "b", "c"], [1, 2, 1], 3)
    with pytest.raises(BadOption, match=r"clusters\['rater'\] has a consensus without each rater"):
        mcnemar_test([1, 0, 1], [0, 1, 1], clusters={"rater": deletions})


def test_halves_that_always_agree_bound_nothing() -> None:
    halves = halves_of_votes([3, 0, 4], [0, 3, 0], [0, 0, 0])
    assert halves.ceiling(np.ones(3, dtype=np.bool_)).tolist() == halves.decided.tolist()


def test_domains_are_joined_as_scipy_joins_p_values() -> None:
    rng = np.random.default_rng(1)
    domains = [rng.normal(0.3, 1, size) for size in (20, 35, 12)]
    p = [scipy.stats.wilcoxon(domain).pvalue for domain in domains]
    joined = scipy.stats.combine_pvalues(np.array(p, dtype=np.float64), "stouffer")
    assert stouffer_wilcoxon(domains) == pytest.approx(joined.pvalue)
    assert stouffer_wilcoxon([[0.0, 0.0]]) == 1
    assert math.isnan(stouffer_wilcoxon([[]]))


def test_two_labels_have_one_kappa_whatever_the_weights() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, 40)
    second = np.where(rng.random(40) < 0.8, first, 1 - first)
    estimates = [
        kappa_interval(first, second, weights=weights, clusters={"item": np.arange(40) // 2})
        for weights in (None, "linear", "quadratic")
    ]
    assert len({(round(estimate.low, 12), round(estimate.high, 12)) for estimate in estimates}) == 1
