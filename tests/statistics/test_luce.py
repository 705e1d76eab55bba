"""Luce's choice model: what one of several being the best says of all of them."""

from typing import Any

import numpy as np
import pytest

from evaluation.statistics.aggregation import bradley_terry_of_comparisons, luce_choice, rank_bands
from evaluation.statistics.inputs import BadOption, BadShape, BadValue
from tests.statistics.golden import golden

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
    assert found.reason == "there are fewer than two items"


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
        ([["a"]], ["a"], {}, BadValue, "two or more different options"),
        ([["a", "a"]], ["a"], {}, BadValue, "two or more different options"),
        ([range(10_001)], [0], {}, BadValue, "10,001 items, expected 10,000 at most"),
        ([["a", "b"]], ["c"], {}, BadValue, r"best\[0\] is 'c'"),
        ([["a", "b"]], ["a", "b"], {}, BadShape, "best has 2 entries"),
        ([["a", "b"]], ["a"], {"prior": -1}, BadOption, "prior is -1"),
        ([["a", "b"]], ["a"], {"tolerance": None}, BadOption, "tolerance is None"),
        ([["a", "b"]], ["a"], {"owners": {"a": ["x"]}}, BadValue, "owners names no item of 'b'"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(shown: Any, best: Any, options: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        luce_choice(shown, best, **options)
