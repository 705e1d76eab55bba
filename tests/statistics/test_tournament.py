"""Fractions of wins, by people and by a metric (V15 section 7.3)."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from evaluation.statistics.aggregation import tournament
from evaluation.statistics.correlation import correlation
from evaluation.statistics.inputs import BadValue
from evaluation.statistics.meta import metric_winners

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
    assert result.reason == "c has no comparison that counts"
    assert result.order.tolist()[-1] == 2


def test_one_comparison_has_fractions_and_says_why_it_has_no_interval() -> None:
    result = tournament(["a"], ["b"], [1])
    assert result.fraction.tolist() == [1, 0]
    assert result.reason == "there are fewer than two rows, which give no interval"
    clustered = tournament(["a"] * 3, ["b"] * 3, [1, 1, 2], clusters=["image"] * 3)
    assert clustered.reason == "there are fewer than two clusters, which give no interval"
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
    with pytest.raises(BadValue, match=r"winners\[1\] is .*, expected 1, 2, or 0 for a tie"):
        tournament(["a", "b"], ["b", "a"], np.array([1, winner], dtype=object))
    assert tournament(["a"], ["b"], np.array([2], dtype=object)).fraction.tolist() == [0.0, 1.0]
