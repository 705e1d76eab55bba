"""Best-worst scaling, Borda's count, Luce's choices and tournaments: counts, closed forms, intervals."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.statistics.aggregation import (
    best_worst_scores,
    borda_count,
    bradley_terry_of_comparisons,
    implied_comparisons,
    luce_choice,
    rank_bands,
    split_half_reliability,
    tournament,
)
from quorum.statistics.aggregation.best_worst import TOO_FEW_HALVED_ITEMS
from quorum.statistics.aggregation.bradley_terry.existence import TOO_FEW_ITEMS
from quorum.statistics.correlation import correlation
from quorum.statistics.inputs import BadOption, BadShape, BadValue
from quorum.statistics.meta import metric_winners
from tests.refusals import assert_names, refuses
from tests.statistics.golden import golden

FOUR = ["a", "b", "c", "d"]


def ordered_answers(
    count: int, repeats: int, noise: float, seed: int
) -> tuple[list[str], list[list[int]], Any, Any]:
    """Answers on random lists of four of `count` items whose true order is their number, with normal noise."""
    rng = np.random.default_rng(seed)
    names, shown, best, worst = [], [], [], []
    for number in range(2 * count):
        items = rng.permutation(count)[:4].tolist()
        for _ in range(repeats):
            felt = np.array(items) + noise * rng.standard_normal(4)
            names.append(f"t{number}")
            shown.append(items)
            best.append(items[int(felt.argmax())])
            worst.append(items[int(felt.argmin())])
    return names, shown, best, worst


def test_a_score_is_the_share_of_best_minus_the_share_of_worst() -> None:
    # a: 3 times shown, best twice, worst never; d: 3 times shown, worst twice
    result = best_worst_scores([FOUR, FOUR, ["d", "c", "a"]], ["a", "b", "a"], ["d", "d", "c"])
    assert result.items.tolist() == FOUR
    assert result.shown.tolist() == [3, 2, 3, 3]
    assert result.score.tolist() == pytest.approx([2 / 3, 1 / 2, -1 / 3, -2 / 3])
    assert result.answers == 3


def test_an_answer_on_four_orders_five_of_the_six_pairs() -> None:
    winners, losers = implied_comparisons([FOUR], ["b"], ["c"])
    assert sorted(zip(winners, losers, strict=True)) == [
        ("a", "c"),
        ("b", "a"),
        ("b", "c"),
        ("b", "d"),
        ("d", "c"),
    ]


def test_an_answer_on_two_is_one_comparison() -> None:
    assert implied_comparisons([["x", "y"]], ["y"], ["x"]) == (["y"], ["x"])


def test_bradley_terry_over_the_implied_pairs_finds_the_order() -> None:
    _, shown, best, worst = ordered_answers(9, 3, 1.5, seed=4)
    winners, losers = implied_comparisons(shown, best, worst)
    fit = bradley_terry_of_comparisons(winners, losers, np.ones(len(winners)), prior=0.1)
    assert fit.order.tolist() == list(range(8, -1, -1))
    scores = best_worst_scores(shown, best, worst)
    assert np.argsort(-scores.score).tolist() == fit.order.tolist()


def test_halves_of_sure_answers_agree_entirely() -> None:
    result = split_half_reliability(*ordered_answers(6, 2, 0.0, seed=1), splits=20)
    # both halves hold every list once, so their scores are equal
    assert result.pearson == pytest.approx(1)
    assert result.spearman == pytest.approx(1)
    assert result.pearson_deviation == pytest.approx(0, abs=1e-12)
    assert (result.items, result.splits, result.undefined, result.reason) == (6, 20, 0, "")


def test_halves_of_random_answers_do_not_agree() -> None:
    rng = np.random.default_rng(8)
    lists = [rng.permutation(60)[:4].tolist() for _ in range(120)]
    shown = [items for items in lists for _ in range(4)]
    picks = [rng.permutation(items)[:2].tolist() for items in shown]
    names = [f"t{number}" for number in range(120) for _ in range(4)]
    result = split_half_reliability(
        names, shown, [pick[0] for pick in picks], [pick[1] for pick in picks], splits=60
    )
    assert abs(result.spearman) < 0.2


def test_noisier_judges_are_less_reliable() -> None:
    sure, unsure = (split_half_reliability(*ordered_answers(20, 4, noise, seed=2)) for noise in (3.0, 30.0))
    assert sure.spearman > 0.9 > unsure.spearman


def test_scores_of_one_answer_have_no_halves() -> None:
    result = split_half_reliability(["t"], [FOUR], ["a"], ["b"], splits=5)
    assert math.isnan(result.spearman)
    assert result.reason == TOO_FEW_HALVED_ITEMS


def test_borda_adds_the_points_of_every_ranking() -> None:
    result = borda_count(["abcd", "bacd", "abdc"])
    assert dict(zip(result.items.tolist(), result.points.tolist(), strict=True)) == {
        "a": 11,
        "b": 10,
        "c": 5,
        "d": 4,
    }
    assert result.ranking() == ["a", "b", "c", "d"]
    assert not result.tied.any()


def test_equal_points_are_broken_by_the_median_rank() -> None:
    # a: ranks 0, 0, 3 (median 0); b: 1, 1, 1 (median 1); both sum to 3.
    result = borda_count([["a", "b", "c", "d"], ["a", "b", "d", "c"], ["c", "b", "d", "a"]])
    points = dict(zip(result.items.tolist(), result.points.tolist(), strict=True))
    assert points["a"] == points["b"]
    assert result.ranking()[:2] == ["a", "b"]
    assert not result.tied[:2].any()


def test_items_that_stay_tied_share_their_rank() -> None:
    result = borda_count([["a", "b", "c"], ["b", "a", "c"]])
    assert result.rank.tolist() == [0, 0, 2]
    assert result.tied.tolist() == [True, True, False]


def test_one_item_and_one_ranking_are_ranked_first() -> None:
    result = borda_count([["only"]])
    assert (result.ranking(), result.points.tolist(), result.rank.tolist()) == (["only"], [1], [0])


@settings(max_examples=30)
@given(st.lists(st.permutations(list("abcde")), min_size=1, max_size=7), st.randoms())
def test_points_are_counted_as_the_paper_says_whatever_the_order_of_rankings(
    rankings: list[list[str]], shuffler: Any
) -> None:
    result = borda_count(rankings)
    for place, item in enumerate(result.items.tolist()):
        ranks = [ranking.index(item) for ranking in rankings]
        assert result.points[place] == sum(5 - rank for rank in ranks)
        assert result.median[place] == np.median(ranks)
    keys = [(-result.points[place], result.median[place]) for place in result.order.tolist()]
    assert keys == sorted(keys)
    shuffler.shuffle(rankings)
    assert borda_count(rankings).ranking() == result.ranking()


GOLDEN = golden("luce.json")


def choices(
    generator: np.random.Generator, theta: list[float], size: int, count: int
) -> tuple[list[list[int]], list[int]]:
    lists = [generator.choice(len(theta), size, replace=False).tolist() for _ in range(count)]
    best = [max(one, key=lambda item: theta[item] + generator.gumbel()) for one in lists]
    return lists, best


@pytest.mark.parametrize("program", ["opt_top1", "ilsr_top1"])
def test_strengths_are_those_of_another_program(program: str) -> None:
    found = luce_choice(GOLDEN["shown"], GOLDEN["best"])
    assert found.converged
    assert found.log_strength == pytest.approx(GOLDEN[program], abs=1e-8)
    assert found.choices == len(GOLDEN["best"])


def test_strengths_are_where_hunter_s_steps_stay() -> None:
    """Equation 30 of Hunter 2004: s_i = wins_i / sum over the lists with i of 1 / sum_S s_j."""
    found = luce_choice(GOLDEN["shown"], GOLDEN["best"])
    strength = dict(zip(found.items.tolist(), found.strength.tolist(), strict=True))
    below = dict.fromkeys(strength, 0.0)
    for one in GOLDEN["shown"]:
        for item in one:
            below[item] += 1 / sum(strength[other] for other in one)
    step = np.array([GOLDEN["best"].count(item) / below[item] for item in strength])
    assert step / step.sum() == pytest.approx(list(strength.values()), rel=1e-9)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("clustered", [False, True])
def test_lists_of_two_are_bradley_and_terry_s(prior: float, clustered: bool) -> None:
    generator = np.random.default_rng(3)
    lists, best = choices(generator, [1.5, 0.4, 0.0, -0.2, -1.4], 2, 600)
    clusters: Any = "naive"
    if clustered:
        clusters = {"item": generator.integers(40, size=600), "rater": generator.integers(12, size=600)}
    first, second = zip(*lists, strict=True)
    winners = [1 if one[0] == top else 2 for one, top in zip(lists, best, strict=True)]
    pairs = bradley_terry_of_comparisons(first, second, winners, prior=prior, clusters=clusters)
    found = luce_choice(lists, best, prior=prior, clusters=clusters)
    for name in ("strength", "log_strength", "standard_error", "low", "high", "covariance"):
        assert getattr(found, name) == pytest.approx(getattr(pairs, name), abs=1e-8)
    assert found.log_likelihood == pytest.approx(pairs.log_likelihood, abs=1e-8) or prior
    assert found.clusters == pairs.clusters


def test_one_list_has_the_shares_of_its_choices() -> None:
    """With all items in each list the best fit is how often each was chosen."""
    best = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]
    found = luce_choice([["a", "b", "c", "d"]] * 100, best)
    assert found.strength == pytest.approx([0.6, 0.3, 0.09, 0.01], abs=1e-9)
    assert found.best.tolist() == [60, 30, 9, 1]
    assert found.shown.tolist() == [100] * 4
    assert found.order.tolist() == [0, 1, 2, 3]
    # the variance of a multinomial's log-odds
    variance = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert variance == pytest.approx(1 / 60 + 1 / 30, rel=1e-8)


def test_an_option_that_two_items_share_counts_half_for_each() -> None:
    generator = np.random.default_rng(5)
    lists, best = choices(generator, [0.8, 0.1, -0.3, -0.6], 3, 500)
    alone = luce_choice(lists, best)
    owners = {0: ["a", "b"], 1: ["c"], 2: ["d"], 3: ["e"]}
    shared = luce_choice(lists, best, owners=owners)
    theta = dict(zip(shared.items.tolist(), shared.log_strength.tolist(), strict=True))
    assert theta["a"] == pytest.approx(theta["b"], abs=1e-8), "the same texts are equally strong"
    apart = alone.log_strength[0] - alone.log_strength[2]
    assert theta["a"] - theta["d"] == pytest.approx(apart, abs=1e-7), "and as strong as one alone"
    assert shared.best.tolist()[:2] == [alone.best[0]] * 2


def test_names_of_owners_that_are_options_change_nothing() -> None:
    found = luce_choice(GOLDEN["shown"], GOLDEN["best"])
    named = luce_choice(GOLDEN["shown"], GOLDEN["best"], owners={item: [item] for item in range(7)})
    assert named.log_strength == pytest.approx(found.log_strength, abs=1e-12)


def test_an_item_that_was_never_the_best_has_no_finite_strength_without_a_prior() -> None:
    lists, best = [["a", "b", "c"]] * 20, ["a", "b"] * 10
    found = luce_choice(lists, best)
    assert "infinite" in found.reason
    assert np.isnan(found.log_strength).all()
    kept = luce_choice(lists, best, prior=0.5)
    assert not kept.reason
    assert kept.order.tolist()[-1] == 2


def test_one_item_is_no_choice() -> None:
    found = luce_choice([["x", "y"]], ["x"], owners={"x": ["a"], "y": ["a"]})
    assert found.reason == TOO_FEW_ITEMS


def test_copies_of_judgments_under_one_name_narrow_nothing() -> None:
    generator = np.random.default_rng(8)
    lists, best = choices(generator, [0.5, 0.2, 0.0, -0.4], 4, 300)
    rater = generator.integers(30, size=300)
    once = luce_choice(lists, best, clusters={"rater": rater})
    twice = luce_choice(lists * 2, best * 2, clusters={"rater": np.tile(rater, 2)})
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=1e-6)


def test_ranks_hold_what_the_strengths_say() -> None:
    generator = np.random.default_rng(9)
    lists, best = choices(generator, [2.0, 0.1, 0.0, -2.0], 4, 900)
    found = luce_choice(lists, best, clusters={"item": np.arange(900) % 60})
    bands = rank_bands(found.log_strength, found.covariance, freedom=found.freedom.tolist())
    assert (bands.best[0], bands.worst[0]) == (1, 1)
    assert (bands.best[3], bands.worst[3]) == (4, 4)


def test_strengths_far_apart_are_found() -> None:
    best = ["a"] * 9_999 + ["b"]
    found = luce_choice([["a", "b"]] * 10_000, best)
    assert found.log_strength[0] - found.log_strength[1] == pytest.approx(np.log(9_999), abs=1e-6)


def test_a_weak_prior_holds_who_always_was_the_best() -> None:
    found = luce_choice([["a", "b"]] * 101, ["a"] * 101, prior=1e-6)
    assert found.converged
    assert found.log_strength[0] - found.log_strength[1] == pytest.approx(np.log(101e6), abs=1e-4)


@pytest.mark.parametrize(
    ("shown", "best", "options", "error", "words"),
    [
        ([["a"]], ["a"], {}, BadValue, "different options"),
        ([["a", "a"]], ["a"], {}, BadValue, "different options"),
        ([range(10_001)], [0], {}, BadValue, "10,001.*10,000"),
        ([["a", "b"]], ["c"], {}, BadValue, r"best\[0\] is 'c'"),
        ([["a", "b"]], ["a", "b"], {}, BadShape, "best has 2 entries"),
        ([["a", "b"]], ["a"], {"prior": -1}, BadOption, "prior is -1"),
        ([["a", "b"]], ["a"], {"tolerance": None}, BadOption, "tolerance is None"),
        ([["a", "b"]], ["a"], {"owners": {"a": ["x"]}}, BadValue, r"\bb\b"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(shown: Any, best: Any, options: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        luce_choice(shown, best, **options)


FIRST = ["a", "a", "b", "b", "a", "c"]
SECOND = ["b", "c", "c", "a", "b", "a"]
WINNERS = [1, 1, 0, 1, 0, 2]


def test_a_system_wins_a_part_of_its_comparisons() -> None:
    result = tournament(FIRST, SECOND, WINNERS, resamples=0)
    assert result.systems.tolist() == ["a", "b", "c"]
    assert result.wins.tolist() == [3, 1, 0]
    assert result.losses.tolist() == [1, 1, 2]
    assert result.tied.tolist() == [1, 2, 1]
    assert result.fraction.tolist() == pytest.approx([3.5 / 5, 2 / 4, 0.5 / 3])
    assert result.table[0, 1] == pytest.approx(1.5 / 3)
    assert result.table[1, 2] == 0.5
    assert math.isnan(result.table[0, 0])
    assert result.compared.tolist() == [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    assert result.order.tolist() == [0, 1, 2]
    assert np.isnan(result.low).all()


def test_a_tie_is_worth_what_the_rule_says() -> None:
    nothing = tournament(FIRST, SECOND, WINNERS, ties="no-win", resamples=0)
    assert nothing.fraction.tolist() == pytest.approx([3 / 5, 1 / 4, 0])
    aside = tournament(FIRST, SECOND, WINNERS, ties="set-aside", resamples=0)
    assert aside.fraction.tolist() == pytest.approx([3 / 4, 1 / 2, 0])
    assert aside.tied.tolist() == [1, 2, 1]


def test_ties_that_are_set_aside_leave_the_interval_of_the_other_comparisons() -> None:
    rows = [
        (*row, image // 2) for image, row in enumerate(zip(FIRST * 8, SECOND * 8, WINNERS * 8, strict=True))
    ]
    first, second, winners, images = zip(*rows, strict=True)
    aside = tournament(first, second, winners, ties="set-aside", clusters={"item": images})
    first, second, winners, images = zip(*(row for row in rows if row[2]), strict=True)
    decided = tournament(first, second, winners, clusters={"item": images})
    assert aside.fraction == pytest.approx(decided.fraction)
    assert aside.low == pytest.approx(decided.low)
    assert aside.high == pytest.approx(decided.high)


def test_a_system_without_a_decided_comparison_has_no_fraction_and_is_named() -> None:
    result = tournament(["a", "a", "a"], ["b", "b", "c"], [1, 2, 0], ties="set-aside", resamples=50)
    assert math.isnan(result.fraction[2])
    assert math.isnan(result.low[2])
    assert result.undefined_resamples[2] == 50
    assert_names(result.reason, "c")
    assert result.order.tolist()[-1] == 2


def test_one_comparison_has_fractions_and_says_why_it_has_no_interval() -> None:
    result = tournament(["a"], ["b"], [1])
    assert result.fraction.tolist() == [1, 0]
    assert "two rows" in result.reason
    clustered = tournament(["a"] * 3, ["b"] * 3, [1, 1, 2], clusters=["image"] * 3)
    assert "two clusters" in clustered.reason
    nothing = tournament([], [], [])
    assert nothing.fraction.tolist() == []
    assert nothing.comparisons == 0


def _redrawn(rows: list[tuple[str, str, int, int]], ties: str, times: int) -> Any:
    """The bootstrap as everyone would write it: draw clusters, count again."""
    generator = np.random.default_rng(1)
    clusters = defaultdict(list)
    for row in rows:
        clusters[row[3]].append(row)
    names = sorted(clusters)
    draws = []
    for _ in range(times):
        drawn = [
            row for place in generator.integers(0, len(names), len(names)) for row in clusters[names[place]]
        ]
        won, met = dict.fromkeys("abc", 0.0), dict.fromkeys("abc", 0)
        for one, two, winner, _ in drawn:
            if winner == 0 and ties == "set-aside":
                continue
            for name, side in ((one, 1), (two, 2)):
                met[name] += 1
                won[name] += 1.0 if winner == side else 0.5 if winner == 0 and ties == "half" else 0.0
        draws.append([won[name] / met[name] if met[name] else math.nan for name in "abc"])
    return np.nanquantile(np.array(draws), [0.025, 0.975], axis=0)


@pytest.mark.large
@pytest.mark.parametrize(("ties", "clustered"), [("half", False), ("no-win", True), ("set-aside", True)])
def test_intervals_are_those_of_drawing_rows_or_whole_images_again(ties: str, clustered: bool) -> None:
    generator = np.random.default_rng(3)
    rows = []
    for row in range(240):
        one, two = generator.choice(list("abc"), 2, replace=False)
        rows.append((str(one), str(two), int(generator.integers(0, 3)), row // 8 if clustered else row))
    first, second, winners, images = zip(*rows, strict=True)
    result = tournament(first, second, winners, ties=ties, clusters=images if clustered else None)
    assert result.resampled == ("clusters" if clustered else "rows")
    assert result.clusters == (30 if clustered else 240)
    low, high = _redrawn(rows, ties, 1500)
    assert result.low == pytest.approx(low, abs=0.02)
    assert result.high == pytest.approx(high, abs=0.02)


def test_images_that_agree_within_themselves_widen_the_interval() -> None:
    images = np.repeat(np.arange(40), 25)
    winners = np.repeat(np.random.default_rng(2).integers(1, 3, 40), 25)
    columns = (["a"] * 1000, ["b"] * 1000, winners)
    by_row = tournament(*columns)
    by_image = tournament(*columns, clusters=images)
    assert (by_image.high - by_image.low)[0] > 4 * (by_row.high - by_row.low)[0]


def test_the_fractions_of_people_and_of_a_metric_can_be_correlated() -> None:
    first, second = list("aabbcc"), list("bccaab")
    people = tournament(first, second, [1, 1, 1, 2, 2, 2], resamples=0)
    metric = metric_winners([0.9, 0.8, 0.4, 0.2, 0.1, 0.3], [0.5, 0.1, 0.3, 0.6, 0.7, 0.4])
    machine = tournament(first, second, metric, resamples=0)
    assert people.systems.tolist() == machine.systems.tolist()
    assert correlation(people.fraction, machine.fraction, "pearson", resamples=0).value == pytest.approx(1)


@pytest.mark.parametrize("winner", ["a", None])
def test_winners_are_told_by_number_not_by_name(winner: Any) -> None:
    with refuses(BadValue, "1", "a"):
        tournament(["a", "b"], ["b", "a"], np.array([1, winner], dtype=object))
    assert tournament(["a"], ["b"], np.array([2], dtype=object)).fraction.tolist() == [0.0, 1.0]
