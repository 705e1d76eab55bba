"""How many new items, and people, would settle what a study leaves open."""

import math
from typing import Any

import numpy as np
import pytest
import scipy

from evaluation.results.larger_studies import LargerStudy, larger_study, larger_study_sentence
from evaluation.results.outputs import Outputs
from evaluation.results.standings import MEAN
from evaluation.results.systems import verdict_on_systems
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import Contrast, Spread


def graded(items: int, raters: int, gap: float, taste: float, seed: int) -> Outputs:
    """Two systems, each item graded by every rater, who differ in how much they prefer the first."""
    generator = np.random.default_rng(seed)
    item, rater = (codes.ravel() for codes in np.indices((items, raters)))
    first = gap + generator.normal(0, taste, raters)[rater] + generator.normal(0, 1, items)[item]
    grades = np.concatenate([first + generator.normal(0, 1, len(item)), generator.normal(0, 1, len(item))])
    row = np.concatenate([2 * item, 2 * item + 1])
    return Outputs(
        names=["first", "second"],
        item=np.repeat(np.arange(items), 2),
        system=np.tile([0, 1], items),
        cluster=np.arange(items),
        score=np.bincount(row, grades) / raters,
        deletions=means_without_raters(row, np.concatenate([rater, rater]), grades, 2 * items),
    )


def test_power_is_that_of_the_noncentral_t() -> None:
    """Cohen (1988), table 2.4.1 for paired samples: 33 or 34 pairs find half a deviation with power .8."""
    for pairs, expected in ((33, 0.795), (34, 0.808)):
        power = Spread(1 / pairs, pairs - 1).power(0.5, 0.05)
        exact = scipy.stats.nct.sf(scipy.stats.t.isf(0.025, pairs - 1), pairs - 1, 0.5 * math.sqrt(pairs))
        assert power == pytest.approx(exact)
        assert power == pytest.approx(expected, abs=2e-3)
    assert Spread(1 / 31, math.inf).power(0.5, 0.05) == pytest.approx(0.795, abs=1e-3)


@pytest.mark.parametrize("df", [1, 2, 5, 9, 30, 99, 500, 1000, 1001, 10**6])
def test_power_rises_with_the_difference_up_to_one(df: int) -> None:
    powers = [Spread(1.0, df).power(shift, 0.05) for shift in np.geomspace(0.1, 1e4, 400)]
    assert (np.diff(powers) >= -1e-9).all()
    assert powers[-1] == 1


def test_a_larger_study_divides_each_part_of_the_variance_by_its_number() -> None:
    spread = Spread(0.05, 7, by_raters=0.02, items=50, raters=8).of_larger_study(3, 2)
    assert spread.variance == pytest.approx(0.03 / 3 + 0.02 / 2)
    # Satterthwaite's, of 149 for the items' part and 15 for the most that sixteen people may add.
    most = 0.02 / 2 * 15 / scipy.stats.chi2.ppf(0.05, 15)
    assert spread.df == pytest.approx((0.03 / 3 + most) ** 2 / ((0.03 / 3) ** 2 / 149 + most**2 / 15))
    assert Spread(0.05, 3, by_raters=0.02, items=50, raters=4, rater_count=4).of_larger_study(3, 1).df == 3


def test_where_people_differ_no_number_of_items_settles_it_with_the_same_ones() -> None:
    spread = Spread(0.05, 7, by_raters=0.04, items=50, raters=8)
    study = larger_study([Contrast(0.4, spread)], 50, 8)
    assert study["more"] is not None
    assert study["more_raters"]
    assert study["more_of_same"] is None
    times = study["more"] / 50
    assert study["more_raters"] == pytest.approx(8 * (times - 1), abs=1)
    assert spread.of_larger_study(times, times).power(0.4, 0.05) > 0.8
    assert spread.of_larger_study(1e9, 1).power(0.4, 0.05) < 0.8
    few = Spread(0.05, 7, by_raters=0.01, items=50, raters=8)
    assert larger_study([Contrast(0.4, few)], 50, 8)["more_of_same"] is not None


def test_people_who_do_not_differ_are_as_many_as_before() -> None:
    study = larger_study([Contrast(0.3, Spread(0.03, 24, items=100, raters=25))], 100, 25)
    assert study["more_raters"] == 0
    assert study["more"] is not None
    assert study["more"] > 100


def test_several_open_systems_take_more_than_each() -> None:
    near, far = Contrast(0.2, Spread(0.01, 99, items=100)), Contrast(0.3, Spread(0.03, 99, items=100))
    alone = [larger_study([contrast], 100, None)["more"] or 0 for contrast in (near, far)]
    assert (larger_study([near, far], 100, None)["more"] or 0) > max(alone)


def test_nothing_is_claimed_after_one_person_or_where_systems_look_alike() -> None:
    nothing = LargerStudy(more=None, more_raters=None, more_of_same=None)
    assert larger_study([Contrast(0.3, Spread(0.03, 99, items=100))], 100, 1) == nothing
    assert larger_study([Contrast(0.001, Spread(0.03, 99, items=100))], 100, 20) == nothing
    verdict: dict[str, Any] = {"settled": False, "leaders": ["a", "b"], "p": 0.3, "items": 9, **nothing}
    assert larger_study_sentence(verdict | {"raters": 1}).startswith(
        "Only one participant answered, so it is unknown"
    )
    assert "Even 20 times as many items and participants" in larger_study_sentence(verdict | {"raters": 3})


def test_the_verdict_says_how_many_people_it_takes() -> None:
    verdict = verdict_on_systems(graded(50, 8, gap=0.4, taste=0.9, seed=1).standings(MEAN))
    assert not verdict["settled"]
    items, people = verdict["more"], verdict["more_raters"]
    assert (
        f"{items} new items and {people} more participants would find a winner with a probability of 80 %"
        in verdict["sentence"]
    )
    assert "With the same 8 participants, no number of items is enough." in verdict["sentence"]
    assert verdict_on_systems(graded(50, 8, gap=3.0, taste=0.5, seed=0).standings(MEAN))["more"] is None
