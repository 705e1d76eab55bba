"""How often a metric names the people's winner, by pair kind, raters and number of references."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from quorum.metrics import score
from quorum.statistics.agreement import kappa_interval
from quorum.statistics.catalogue import call_of
from quorum.statistics.inference import INDEPENDENCE_NOTE
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.meta import (
    PeoplesWinners,
    accuracy_by_references,
    accuracy_difference,
    halves_of_votes,
    metric_winners,
    pair_accuracy,
    random_subsets,
    wilson_interval,
    winners_without_raters,
)
from quorum.statistics.meta.accuracy import NO_CONSENSUS
from quorum.statistics.significance import mcnemar_test, stouffer_wilcoxon
from tests.metrics.reading import read_lines
from tests.refusals import assert_names, refuses
from tests.statistics.plain_intervals import Spread, by_items, half_width, of_share, p_of, with_raters

# Six pairs: right, wrong, tie, right, no consensus (the metric decides), no consensus (it does not).
FIRST = [0.9, 0.2, 0.5, 0.1, 0.7, 0.3]
SECOND = [0.1, 0.8, 0.5, 0.4, 0.6, 0.3]
WINNERS = [1, 1, 2, 2, 0, 0]
KINDS = ["HC", "HC", "HC", "HI", "HC", "HI"]


def test_a_metrics_tie_is_wrong_and_undecided_pairs_are_left_out() -> None:
    result = pair_accuracy(FIRST, SECOND, WINNERS, KINDS)
    assert list(result) == ["HC", "HI", "all"]
    assert result["all"].value == 2 / 4
    assert (result["all"].n, result["all"].no_consensus, result["all"].pairs) == (4, 2, 6)
    assert (result["all"].correct, result["all"].metric_ties) == (2, 1)
    assert result["HC"].value == 1 / 3
    assert result["HI"].value == 1.0


def test_the_other_readings_stand_beside() -> None:
    total = pair_accuracy(FIRST, SECOND, WINNERS)["all"]
    assert total.value_ties_half == 2.5 / 4
    # Of the undecided pairs the metric decides one, which a drawn winner confirms half of the time.
    assert total.value_all_pairs == 2.5 / 6


def test_scores_that_differ_by_rounding_alone_are_tied() -> None:
    assert metric_winners([0.1 + 0.2, 0.3, 1e-9], [0.3, 0.3 - 1e-6, 2e-9]).tolist() == [0, 1, 2]
    assert metric_winners([0.0, -1.0], [0.0, -2.0]).tolist() == [0, 1]


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (5, 10), (10, 10), (718, 1000), (997, 1000), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_is_scipys_wilson_interval(successes: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(successes, n, confidence)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


def test_the_interval_of_a_kind_is_that_of_its_counts() -> None:
    result = pair_accuracy(FIRST, SECOND, WINNERS, KINDS)["HC"]
    assert (result.low, result.high) == wilson_interval(1, 3)
    assert result.interval == "wilson"


def test_a_kind_without_a_decided_pair_has_no_accuracy_and_says_so() -> None:
    result = pair_accuracy([1.0], [0.0], [0], ["MM"])["MM"]
    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert result.reason == NO_CONSENSUS
    assert math.isnan(pair_accuracy([], [], [])["all"].value_all_pairs)


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


def sets_of_others(votes: list[tuple[int, int, int]], pair: int, rater: int) -> list[list[int]]:
    """The votes of a pair's others that stay with a rater's: all of up to three, else each set without two."""
    others = [vote for p, r, vote in votes if p == pair and r != rater]
    return [list(rest) for rest in combinations(others, len(others) - 2 if len(others) >= 3 else len(others))]


def test_a_vote_makes_winners_as_far_as_without_it_others_win(votes: list[tuple[int, int, int]]) -> None:
    pair, rater, vote = zip(*votes, strict=True)
    deletions = winners_without_raters(pair, [f"w-{number}" for number in rater], vote, PAIRS)
    gains = {
        (one, who): gain
        for one, who, gain in zip(
            deletions.row.tolist(), deletions.rater.tolist(), deletions.value.tolist(), strict=True
        )
    }
    assert len(gains) == len(votes)
    for one, who, own in votes:
        rests = sets_of_others(votes, one, who)
        for side in (1, 2):
            more = [(winner_of([*rest, own]) == side) - (winner_of(rest) == side) for rest in rests]
            stay = (len(rests[0]) + 1) / Counter(pair)[one]
            assert gains[one, who][side - 1] == pytest.approx(sum(more) / len(rests) * stay)


def test_votes_of_a_rater_who_answers_a_pair_twice_leave_together() -> None:
    deletions = winners_without_raters([0] * 5, ["a", "a", "b", "c", "d"], [1, 1, 1, 2, 2], 1)
    assert deletions.value.tolist() == [[1, -1], [1, 0], [0, 0], [0, 0]]


def test_without_a_vote_among_tens_of_thousands_few_ties_are_lost() -> None:
    half = 20_000
    deletions = winners_without_raters([0] * 2 * half, range(2 * half), [1, 2] * half, 1)
    # 200 of the others leave, so a vote for the first ties the rest in sqrt(2 / 200 pi) of draws; without it they lose.
    assert deletions.value[0] == pytest.approx([0, -math.sqrt(2 / (200 * math.pi))], rel=0.01)


def plain_spread(
    votes: list[tuple[int, int, int]], credit: dict[tuple[int, int], float], image: list[int]
) -> tuple[float, Spread]:
    """The mean credit, and its spread by images and by raters, who each are left out of each pair."""
    winners = {pair: winner_of([v for p, _, v in votes if p == pair]) for pair in range(PAIRS)}
    decided = [pair for pair in range(PAIRS) if winners[pair]]
    mean = sum(credit[pair, winners[pair]] for pair in decided) / len(decided)

    def part(pair: int, winner: int) -> float:
        return (credit[pair, winner] - mean) / len(decided) if winner else 0.0

    images = by_items([part(pair, winners[pair]) for pair in decided], [image[pair] for pair in decided])
    lost = []
    for pair, rater, own in votes:
        rests = sets_of_others(votes, pair, rater)
        each = [part(pair, winner_of([*rest, own])) - part(pair, winner_of(rest)) for rest in rests]
        stay = (len(rests[0]) + 1) / sum(p == pair for p, *_ in votes)
        lost.append(sum(each) / len(each) * stay)
    shift = sum(lost) / len(lost)
    pairs, raters, _ = zip(*votes, strict=True)
    return mean, with_raters(images, [value - shift for value in lost], pairs, raters)


def test_a_difference_of_one_on_all_pairs_has_the_interval_of_a_unanimous_share() -> None:
    ahead = np.tile([1.0, 0.0], (20, 1))
    for first, second, side in ((ahead, -ahead, 1), (-ahead, ahead, -1)):
        difference = accuracy_difference(first, second, np.ones(20), clusters={"item": np.arange(20)})["all"]
        ends = sorted((side, side * (2 * 0.025 ** (1 / 20) - 1)))
        assert [difference.difference, difference.low, difference.high] == pytest.approx([side, *ends])
        assert difference.p == pytest.approx(2 / 2**20)


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

    mean, spread = plain_spread(votes, first, image)
    accuracy = pair_accuracy(scores[0][:, 0], scores[0][:, 1], winners, clusters=clusters)["all"]
    assert accuracy.value == pytest.approx(mean)
    decided = {image[pair] for pair, winner in enumerate(winners) if winner}
    assert (accuracy.low, accuracy.high) == pytest.approx(of_share(mean, spread, len(decided)))
    assert accuracy.clusters == {"item": len(decided), "rater": RATERS}
    assert "clusters:given-item-rater" in accuracy.signature
    again = call_of(accuracy.signature)(scores[0][:, 0], scores[0][:, 1], winners, clusters=clusters)
    assert again["all"] == accuracy

    mean, spread = plain_spread(votes, {key: first[key] - second[key] for key in first}, image)
    difference = accuracy_difference(*scores, winners, clusters=clusters)["all"]
    assert difference.difference == pytest.approx(mean)
    # Raters' part goes with q (1 - q) of the share of pairs that the first wins where one metric alone is right.
    where = [pair for pair, winner in enumerate(winners) if winner]
    apart = sum(first[pair, winners[pair]] != second[pair, winners[pair]] for pair in where) / len(where)

    def spread_if(truth: float) -> Spread:
        by_raters = spread.by_raters * (apart**2 - truth**2) / (apart**2 - mean**2)
        return spread._replace(variance=spread.variance - spread.by_raters + by_raters)

    assert difference.p == pytest.approx(p_of(mean, spread_if(0)))
    for end in (difference.low, difference.high):
        assert half_width(spread_if(end)) == pytest.approx(abs(mean - end))
    assert difference.low < mean < difference.high


def test_metrics_that_never_differ_by_image_have_the_p_of_mcnemar() -> None:
    """Without variance t says nothing; without clusters every pair is one."""
    better, worse = [1.0, 0.0], [0.0, 1.0]
    first, second = np.array([better, worse, worse] * 8), np.array([worse] * 24)
    for clusters in ("naive", {"item": np.arange(24) // 3}):
        assert accuracy_difference(first, second, [1] * 24, clusters=clusters)["all"].p == 2 / 2**8


def test_one_rater_is_this_rater() -> None:
    pair, scores = np.arange(6), np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2)
    clusters = {"item": pair // 2, "rater": winners_without_raters(pair, ["r"] * 6, [1] * 6, 6)}
    by_both, by_item = (
        pair_accuracy(scores[:, 0], scores[:, 1], [1] * 6, clusters=by)["all"]
        for by in (clusters, {"item": pair // 2})
    )
    assert (by_both.low, by_both.high) == (by_item.low, by_item.high)
    assert_names(by_both.note, "1", "2")


def test_a_call_that_names_no_clusters_says_what_it_assumes() -> None:
    silent, naive = (
        pair_accuracy([1, 0, 1], [0, 1, 0], [1, 2, 2])["all"],
        pair_accuracy([1, 0, 1], [0, 1, 0], [1, 2, 2], clusters="naive")["all"],
    )
    assert silent.note == INDEPENDENCE_NOTE
    assert (naive.note, naive.low) == ("", silent.low)


def test_wrong_votes_are_named() -> None:
    with refuses(BadValue, "pairs", "1", "2", "0"):
        winners_without_raters([0, 2], ["a", "b"], [1, 2], 2)
    deletions = winners_without_raters([0, 2], ["a", "b"], [1, 2], 3)
    with refuses(BadShape, "pair", "2"):
        pair_accuracy([1, 0], [0, 1], [1, 2], clusters={"rater": deletions})
    with refuses(BadOption, "kinds", "2"):
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
    with refuses(BadOption, "rater"):
        mcnemar_test([1, 0, 1], [0, 1, 1], clusters={"rater": deletions})


def test_halves_that_always_agree_bound_nothing() -> None:
    halves = halves_of_votes([3, 0, 4], [0, 3, 0], [0, 0, 0])
    assert (
        halves.ceiling_contributions(np.ones(3, dtype=np.bool_)).tolist() == halves.decided_chances.tolist()
    )
    apart = halves_of_votes([1, 1], [1, 1], [0, 0])
    assert (
        apart.ceiling_contributions(np.ones(2, dtype=np.bool_)).tolist()
        == (apart.decided_chances / 2).tolist()
    )  # chance


def test_domains_are_joined_as_scipy_joins_p_values() -> None:
    rng = np.random.default_rng(1)
    domains = [rng.normal(0.3, 1, size) for size in (20, 35, 12)]
    p = [stats.wilcoxon(domain).pvalue for domain in domains]
    joined = stats.combine_pvalues(np.array(p, dtype=np.float64), "stouffer")
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


WINNERS_OF_CURVES = [1, 2, 1, 0]
KINDS_OF_CURVES = ["HC", "HC", "HI", "HI"]

# Two draws of one reference, and all references in one.
SCORES: dict[int, tuple[Any, Any]] = {
    5: ([9.0, 2, 8, 1], [1.0, 3, 2, 2]),
    1: ([[1.0, 5, 2, 3], [0.0, 1, 2, 3]], [[0.0, 3, 2, 9], [1.0, 4, 1, 9]]),
}


def test_accuracy_is_averaged_over_the_draws() -> None:
    curve = accuracy_by_references(SCORES, WINNERS_OF_CURVES, KINDS_OF_CURVES)
    total = curve["all"]
    assert list(curve) == ["HC", "HI", "all"]
    assert total.references.tolist() == [1, 5]
    assert total.draws.tolist() == [2, 1]
    # First draw: right, wrong, tie. Second: wrong, right, right.
    assert total.value.tolist() == pytest.approx([(1 / 3 + 2 / 3) / 2, 1])
    assert total.value_ties_half.tolist() == pytest.approx([(1.5 / 3 + 2 / 3) / 2, 1])
    assert curve["HC"].value.tolist() == [0.5, 1]
    assert (total.n, total.no_consensus, total.pairs) == (3, 1, 4)


def test_the_draws_spread_and_the_pairs_interval_stand_apart() -> None:
    total = accuracy_by_references(SCORES, WINNERS_OF_CURVES)["all"]
    assert total.deviation[0] == pytest.approx(np.std([1 / 3, 2 / 3], ddof=1))
    assert total.draws_low[0] == pytest.approx(1 / 3, abs=0.01)
    assert total.draws_high[0] == pytest.approx(2 / 3, abs=0.01)
    assert np.isnan([total.draws_low[1], total.draws_high[1], total.deviation[1]]).all()
    assert (total.low[0], total.high[0]) == wilson_interval(1.5, 3)


def test_one_draw_of_all_references_is_the_accuracy_of_the_pairs() -> None:
    first, second = SCORES[5]
    single = pair_accuracy(first, second, WINNERS_OF_CURVES, KINDS_OF_CURVES)
    curve = accuracy_by_references({5: (first, second)}, WINNERS_OF_CURVES, KINDS_OF_CURVES)
    for kind, result in single.items():
        point = curve[kind]
        assert (point.value[0], point.low[0], point.high[0]) == (result.value, result.low, result.high)
        assert point.value_ties_half[0] == result.value_ties_half


def test_a_kind_without_a_consensus_has_no_accuracy_and_says_so() -> None:
    point = accuracy_by_references({1: ([1.0, 2], [2.0, 1])}, [0, 1], ["MM", "HM"])["MM"]
    assert math.isnan(point.value[0])
    assert point.reason == NO_CONSENSUS


def test_subsets_hold_different_references_and_every_one_equally_often() -> None:
    subsets = random_subsets(6, 2, 6000, seed=1)
    assert subsets.shape == (6000, 2)
    assert (subsets[:, 0] < subsets[:, 1]).all()
    counts = np.bincount(subsets.ravel(), minlength=6)
    assert counts == pytest.approx(np.full(6, 2000), abs=200)
    assert random_subsets(6, 2, 10, seed=1).tolist() != random_subsets(6, 2, 10, seed=2).tolist()


def test_all_references_are_drawn_once() -> None:
    assert random_subsets(4, 4, 100).tolist() == [[0, 1, 2, 3]]


PRINTED_KINDS = ("HC", "HI", "HM", "MM")

OURS = {
    "bleu-4": (65.1, 97.2, 91.7, 58.9),
    "rouge-l": (65.8, 98.2, 94.7, 63.3),
    "cider-d": (68.4, 99.2, 92.4, 66.9),
}

# Kinds of which the published figure lies within our interval: of BLEU-4 those of human captions.
PUBLISHED = {"bleu-4": {"HC": 64.8, "HI": 97.7}, "rouge-l": {"HC": 66.3, "HI": 98.5, "HM": 95.8, "MM": 64.4}}


def test_metrics_agree_with_people_as_documented_and_more_so_with_more_references(shared: Path) -> None:
    folder = shared / "data/pascal-50s"
    references = {row["image"]: row["references"][:48] for row in read_lines(folder / "references.jsonl")}
    pairs = read_lines(folder / "pairs.jsonl")
    candidates = [pair["first"] for pair in pairs] + [pair["second"] for pair in pairs]
    winners, kinds = [pair["triplet_winner"] for pair in pairs], [pair["kind"] for pair in pairs]

    def sides(size: int) -> dict[str, np.ndarray]:
        (places,) = random_subsets(48, size, draws=1, seed=7)
        chosen = {image: [texts[place] for place in places] for image, texts in references.items()}
        own = [chosen[pair["image"]] for pair in pairs]
        found = score(candidates, own * 2, metrics=list(OURS), document_corpus=list(chosen.values()))
        return {name: np.reshape(found.scores[name].images, (2, -1)) for name in OURS}

    few, all_of_them = sides(1), sides(48)
    for name, expected in OURS.items():
        first, second = all_of_them[name]
        found = pair_accuracy(first, second, winners, kinds)
        assert [100 * found[kind].value for kind in PRINTED_KINDS] == pytest.approx(expected, abs=0.051)
        for kind, published in PUBLISHED.get(name, {}).items():
            assert found[kind].low <= published / 100 <= found[kind].high
        scores = {1: (few[name][0], few[name][1]), 48: (first, second)}
        curves = accuracy_by_references(scores, winners, kinds)
        assert curves["all"].value[1] == found["all"].value
        assert curves["all"].high[0] < curves["all"].low[1]


def test_a_share_is_tested_against_a_half_by_the_score_test_of_its_pairs() -> None:
    """Of independent pairs: 14 of 20 won has z = (.7 - .5) / sqrt(.25 / 20); all won is no certainty either."""
    everything = np.ones(20, dtype=np.bool_)
    for won in (14, 20):
        winners = [1] * won + [2] * (20 - won)
        people = PeoplesWinners.from_winners(winners, clusters={"item": range(20)})
        share, spread = people.spread_if_even(lambda pairs, winner: (winner == 1) * 1.0, everything)
        assert (share, spread.variance) == pytest.approx((won / 20, 0.25 / 20))


@pytest.mark.parametrize("by_rater", [False, True])
def test_a_difference_is_the_same_whichever_metric_is_named_first(by_rater: bool) -> None:
    """One metric is right wherever the other is, so that no pair counts against it."""
    winners = np.tile([1, 2], 6)
    right = np.stack([winners == 1, winners == 2], axis=1).astype(float)
    wrong = np.where(np.arange(12)[:, None] < 4, 1 - right, right)
    clusters: dict[str, Any] = {"item": np.arange(12)}
    if by_rater:
        pair, rater = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
        votes = np.where((pair + rater) % 5 == 0, 3 - winners[pair], winners[pair])
        clusters["rater"] = winners_without_raters(pair, rater, votes, 12)
    one = accuracy_difference(right, wrong, winners, clusters=clusters)["all"]
    other = accuracy_difference(wrong, right, winners, clusters=clusters)["all"]
    assert (one.difference, one.p) == pytest.approx((-other.difference, other.p))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    if not by_rater:  # t of the differences of the pairs
        apart = np.where(np.arange(12) < 4, 1.0, 0.0)
        assert one.p == pytest.approx(stats.ttest_1samp(apart, 0).pvalue)
