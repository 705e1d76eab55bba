"""Looking again and again accuses no more honest people than alpha says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from annotation.quality.detectors import make_rule
from annotation.quality.detectors.base import alpha_share, chance_in_words, look_schedule, pages_since_look
from tests.annotation.rules.people import ever_accused, of

LATE = 10_000


def test_looks_come_at_growing_steps() -> None:
    first = list(itertools.islice(look_schedule(20), 8))
    assert first == [20, 25, 31, 38, 47, 58, 72, 90]
    late = list(itertools.takewhile(lambda due: due < 3000, look_schedule(20)))
    assert {after - before for before, after in itertools.pairwise(late[-10:])} == {125}


@pytest.mark.parametrize("page", [1, 7, 20, 60, LATE])
def test_however_the_work_is_cut_all_looks_together_spend_no_more_than_alpha(page: int) -> None:
    spent = sum(alpha_share(20, total=total, fresh=page) for total in range(page, LATE + 1, page))
    assert 0.98 < spent < 1


def test_nothing_is_spent_before_there_is_enough() -> None:
    assert alpha_share(20, total=19, fresh=19) == 0
    assert alpha_share(20, total=20, fresh=1) == 0.5
    assert alpha_share(20, total=24, fresh=4) == 0


def test_the_worst_honest_worker_is_accused_in_no_more_than_alpha_of_all_studies() -> None:
    rule = make_rule("side-bias", {"alpha": 0.1, "tolerance": 0.1})
    rng = np.random.default_rng(5)
    workers = 250
    accused = sum(ever_accused(rule, pages=30, size=20, chance_left=0.6, rng=rng) for _ in range(workers))
    assert accused <= binom.ppf(0.999, workers, 0.1)


def test_the_same_test_at_every_page_would_accuse_many_more() -> None:
    """What is spared: the rule's two-sided test at its full level after every page, over the same honest work."""
    rng = np.random.default_rng(5)
    left = np.cumsum(rng.binomial(20, 0.6, size=(250, 30)), axis=1)
    n = 20 * np.arange(1, 31)
    p = 2 * binom.sf(np.maximum(left, n - left) - 1, n, 0.6)
    assert 1 / 10 <= np.mean(np.any(p <= 0.05, axis=1)) <= 1 / 7


def test_a_rule_is_silent_between_its_looks() -> None:
    rule = make_rule("side-bias", {})
    assert rule.is_due(total=20, fresh=20)
    assert not rule.is_due(total=24, fresh=4)
    one_sided = of([1.0] * 24)
    assert rule.examine(one_sided) is not None


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.25, "25 in 100"), (0.0123, "1 in 81"), (0.00001234, "1 in 81,000"), (1e-9, "a million")],
)
def test_chances_are_said_as_people_say_them(p: float, said: str) -> None:
    assert said in chance_in_words(p)


def test_the_rules_look_after_the_first_pages_and_then_at_growing_distances() -> None:
    looked = [page for page in range(1, 60) if pages_since_look(page)]
    assert looked[:8] == [1, 2, 3, 4, 6, 9, 13, 19]
    assert {after - before for before, after in itertools.pairwise(looked[-4:])} == {8}
    assert sum(pages_since_look(page) for page in looked) == looked[-1]
