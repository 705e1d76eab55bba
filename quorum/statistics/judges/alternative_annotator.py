"""The alternative annotator test: may a judge, such as a language model, replace a person?

Each person is left out in turn. On each unit that this person and the judge answered, the test finds which of the two
is nearer to the answers of the other people (Calderon, Reichart, Dror 2025, *The Alternative Annotator Test for
LLM-as-a-Judge*).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    check_confidence,
    renumber_codes,
    share_interval,
)
from quorum.statistics.inference import Inference, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    DuplicateJudgment,
    check_positive_int,
    encode,
    encode_both,
    finite_vector,
    first_repeated,
    one_of,
    same_length,
)
from quorum.statistics.judges.cluster_column import single_column
from quorum.statistics.significance import LEVEL, adjusted_p_values

ACCURACY, RMSE = "accuracy", "rmse"
SCORINGS = (ACCURACY, RMSE)
LEAVE_OUT, T_TEST, WILCOXON = "leave-out", "t", "wilcoxon"
SMALL_SAMPLE_RULES = (LEAVE_OUT, T_TEST, WILCOXON)

# The advice of Calderon et al. (section 3): 0.2 if people are experts, 0.15 if they are skilled, 0.1 for a crowd.
EPSILON = 0.2
# With fewer units, the mean of a person's comparisons is not close to normal.
MIN_UNITS = 30
MIN_WINNING_RATE = 0.5  # share of people against whom a judge must win to pass
DENSE_CELLS = 20_000_000  # largest number of cells (units times labels) that are counted in a dense array
NO_TESTED_PERSON = "no person judged {least} or more of the units that the judge and somebody else judged"
TOO_FEW_CLUSTERS = "no person judged items from enough clusters for the test"


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorResult(Inference):
    """The result of a test whether the judge may replace one of the people.

    R people were tested. The letters in brackets are those of the paper.

    Attributes:
        raters: the people who were tested, ascending.
        left_out: number of people who were compared with the judge on too few units.
        units: (R,) number of units on which the person was compared with the judge.
        judge_advantage: (R,) share of these units on which the judge is at least as near to the other people as the
            person is (rho_f).
        rater_advantage: (R,) share of these units on which the person is at least as near as the judge (rho_h).
        p: (R,) one-sided p of the hypothesis rho_h - rho_f >= epsilon.
        adjusted_p: (R,) p adjusted by Benjamini and Yekutieli.
        won: (R,) bool, whether `adjusted_p` is at most `level`.
        winning_rate: share of `won` among the people with a p (omega); the judge passes the test at 0.5 or more.
        advantage: mean of `judge_advantage` (rho), with an interval over units or clusters.
        all_units: number of units on which a tested person was compared with the judge.
    """

    raters: tuple[Any, ...]
    units: Ints
    judge_advantage: Floats
    rater_advantage: Floats
    p: Floats
    adjusted_p: Floats
    won: Flags
    left_out: int
    winning_rate: float
    advantage: float
    all_units: int
    epsilon: float
    level: float

    @property
    def passed(self) -> bool:
        """Whether the judge wins against half of the people or more."""
        return bool(self.winning_rate >= MIN_WINNING_RATE)


@signed("alternative-annotator", input="answers")
def alternative_annotator_test(
    units: Iterable[Any],
    raters: Iterable[Any],
    answers: Iterable[Any],
    judge: Iterable[Any],
    *,
    scoring: str = ACCURACY,
    epsilon: float = EPSILON,
    level: float = LEVEL,
    least_units: int = MIN_UNITS,
    few: str = LEAVE_OUT,
    clusters: ClusterColumns = NAIVE,
) -> AlternativeAnnotatorResult:
    """Test whether a judge is about as near to other people's answers as each person is.

    Args:
        units, raters, answers: (N,) columns with one person's answer to one unit in each row.
        judge: (N,) the judge's answer to the unit of each row.
        scoring: "accuracy" (mean agreement with the others, any values) or "rmse" (root mean squared distance,
            numbers).
        epsilon: the difference of shares by which the judge may be worse than a person, because it costs less.
        level: the largest `adjusted_p` with which the judge wins.
        least_units: smallest number of units with which a person is tested as usual.
        few: what happens to people with fewer units: "leave-out", "t" (they are tested all the same), or "wilcoxon"
            (they are tested by Wilcoxon's signed ranks, see contrib/judges/README.md).
        clusters: one column of clusters of units; by default each unit is a cluster.
    """
    one_of(scoring, SCORINGS, "scoring")
    one_of(few, SMALL_SAMPLE_RULES, "few")
    if not 0 <= epsilon < 1:
        raise BadOption(f"epsilon is {epsilon!r}, expected 0 or more and less than 1")
    level = check_confidence(level, "level")
    _, unit = encode(units, "units")
    names, rater = encode(raters, "raters")
    same_length(units=unit, raters=rater)
    if (repetition := first_repeated(unit, rater)) is not None:
        raise DuplicateJudgment(f"rater {names[repetition[1]]!r} judged a unit twice, expected once")
    nearness, judge_nearness = _nearness(unit, answers, judge, scoring)
    # A single unit has no variance, so at least two are needed.
    min_units = max(check_positive_int(least_units, "least_units"), 2) if few == LEAVE_OUT else 2
    cluster_name, cluster = single_column(clusters, unit, "a row")  # messages say "a row"
    # Leave out rows whose unit nobody else judged, and people with few units.
    has_nearness = ~np.isnan(nearness) & ~np.isnan(judge_nearness)
    unit_counts = np.bincount(rater[has_nearness], minlength=len(names))
    tested_raters = np.flatnonzero(unit_counts >= min_units)
    is_tested = has_nearness & np.isin(rater, tested_raters)
    comparisons = _Comparisons(
        rater=renumber_codes(rater[is_tested]),
        cluster=cluster[is_tested],
        cluster_name=cluster_name,
        judge_wins=(judge_nearness >= nearness)[is_tested].astype(np.float64),
        person_wins=(nearness >= judge_nearness)[is_tested].astype(np.float64),
        counts=unit_counts[tested_raters],
    )
    p = comparisons.p_values(epsilon, least_units if few == WILCOXON else 0)
    adjusted_p = adjusted_p_values(p, "benjamini-yekutieli").values
    judge_advantage = comparisons.shares_by_rater(comparisons.judge_wins)
    advantage = float(judge_advantage.mean()) if len(tested_raters) else math.nan
    low = high = math.nan
    cluster_counts: Mapping[str, int] = {}
    if len(tested_raters):
        low, high, cluster_counts = comparisons.advantage_interval(advantage, judge_advantage)
    won = adjusted_p <= level
    has_p = ~np.isnan(p)
    reason = TOO_FEW_CLUSTERS if len(tested_raters) else NO_TESTED_PERSON.format(least=min_units)
    return AlternativeAnnotatorResult(
        raters=tuple(names[tested_raters].tolist()),
        units=comparisons.counts,
        judge_advantage=judge_advantage,
        rater_advantage=comparisons.shares_by_rater(comparisons.person_wins),
        p=p,
        adjusted_p=adjusted_p,
        won=won,
        left_out=int((unit_counts > 0).sum() - len(tested_raters)),
        winning_rate=float(won[has_p].mean()) if has_p.any() else math.nan,
        advantage=advantage,
        low=low,
        high=high,
        all_units=int((np.bincount(unit[is_tested]) > 0).sum()),
        epsilon=float(epsilon),
        level=level,
        reason="" if has_p.any() else reason,
        clusters=cluster_counts,
    )


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """N comparisons of R people with the judge, one for each unit that a person judged.

    rater: (N,) codes of the people from 0. cluster: (N,) codes of the clusters of units. cluster_name: what a cluster
    is, such as "item". judge_wins, person_wins: (N,) 1 if the judge, or the person, is at least as near to the other
    people's answers as the other of the two, else 0; in a tie, both are 1. counts: (R,) number of each person's
    comparisons.
    """

    rater: Ints
    cluster: Ints
    cluster_name: str
    judge_wins: Floats
    person_wins: Floats
    counts: Ints

    def shares_by_rater(self, wins: Floats) -> Floats:
        return np.bincount(self.rater, weights=wins) / np.maximum(self.counts, 1)

    def p_values(self, epsilon: float, wilcoxon_below: int) -> Floats:
        """Return the (R,) one-sided p of the hypotheses that a person wins more often than the judge by `epsilon`.

        People with fewer than `wilcoxon_below` comparisons are tested by Wilcoxon's signed ranks, the others by t.
        """
        differences = self.person_wins - self.judge_wins
        # Sort the rows by person, and a person's rows by cluster.
        order = np.lexsort((self.cluster, self.rater))
        starts = np.cumsum(self.counts) - self.counts  # of each person's rows
        # Number the clusters of each person: a number starts where the cluster or the person changes.
        has_new_cluster = np.diff(self.cluster[order], prepend=-1) != 0
        has_new_rater = np.diff(self.rater[order], prepend=-1) != 0
        cluster_numbers = np.cumsum(has_new_cluster | has_new_rater) - 1
        p = np.empty(len(self.counts))
        for position, (start, size) in enumerate(zip(starts.tolist(), self.counts.tolist(), strict=True)):
            rows = order[start : start + size]
            if size < wilcoxon_below:
                p[position] = _signed_rank_p(differences[rows] - epsilon)
            else:
                clusters_of_person = cluster_numbers[start : start + size] - cluster_numbers[start]
                p[position] = _t_test_p(differences[rows], clusters_of_person, self.cluster_name, epsilon)
        return p

    def advantage_interval(
        self, advantage: float, judge_advantage: Floats
    ) -> tuple[float, float, Mapping[str, int]]:
        """Return the limits of the `advantage`, the mean of the (R,) `judge_advantage`, and the number of clusters."""
        clusters = Clusters.of_codes({self.cluster_name: renumber_codes(self.cluster)})
        deviations = self.judge_wins - judge_advantage[self.rater]
        influences = deviations / (self.counts[self.rater] * len(self.counts))
        spread, cluster_count = clusters.spread(influences), clusters.counts[self.cluster_name]
        low, high = share_interval(advantage, spread, cluster_count, CONFIDENCE)
        return low, high, clusters.counts


def _nearness(
    unit: Ints, answers: Iterable[Any], judge: Iterable[Any], scoring: str
) -> tuple[Floats, Floats]:
    """Return how near each row's answer, and the judge's, is to other people's answers to the unit; each (N,).

    Larger is nearer. `unit` (N,) are codes of the units. See `scoring` of `alternative_annotator_test`.
    """
    if scoring == ACCURACY:
        labels, answer_codes, judge_codes = encode_both(answers, judge, "answers", "judge")
        same_length(units=unit, answers=answer_codes)
        return _agreement_nearness(unit, answer_codes, judge_codes, len(labels))
    answer_numbers = finite_vector(np.asarray(answers), "answers")
    judge_numbers = finite_vector(np.asarray(judge), "judge")
    same_length(units=unit, answers=answer_numbers, judge=judge_numbers)
    return _distance_nearness(unit, answer_numbers, judge_numbers)


def _agreement_nearness(unit: Ints, answer: Ints, judge: Ints, labels: int) -> tuple[Floats, Floats]:
    """Return the shares of the unit's other answers that equal the row's answer, and the judge's answer; each (N,).

    unit, answer, judge: (N,) codes of the units, of people's answers and of the judge's. labels: number of different
    answers. Shares are nan for units without other answers.
    """
    other_count = np.bincount(unit)[unit] - 1.0
    other_count[other_count == 0] = np.nan
    # A cell is a unit with an answer. Count the people in the cells of the row's answer and of the judge's answer.
    person_cells, judge_cells = unit * labels + answer, unit * labels + judge
    if len(other_count) * labels <= DENSE_CELLS:
        counts = np.bincount(person_cells, minlength=int(judge_cells.max(initial=-1)) + 1)
        same_as_person, same_as_judge = counts[person_cells], counts[judge_cells]
    else:
        cells, counts = np.unique(person_cells, return_counts=True)
        same_as_person = counts[np.searchsorted(cells, person_cells)]
        # A cell of the judge's answer without people may come after all others.
        positions = np.minimum(np.searchsorted(cells, judge_cells), len(cells) - 1)
        same_as_judge = np.where(cells[positions] == judge_cells, counts[positions], 0)
    # Subtract the row's person, who is no other person.
    return (same_as_person - 1) / other_count, (same_as_judge - (answer == judge)) / other_count


def _distance_nearness(unit: Ints, answer: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """Return how near the row's answer, and the judge's, is to the unit's other answers; each (N,).

    The nearness is the negative mean squared distance, whose root has the same order. It is nan for units without other
    answers.
    """
    count = np.bincount(unit)[unit]
    total = np.bincount(unit, weights=answer)[unit]
    squares = np.bincount(unit, weights=answer * answer)[unit]
    other_count = np.where(count > 1, count - 1.0, np.nan)
    # The sum of (x - a)^2 over all answers a to the unit is sum a^2 - 2 x sum a + count x^2. For the row's answer, its
    # distance from itself is 0; for the judge's, the distance from the row's answer is subtracted.
    person_sum = squares - 2 * answer * total + count * answer * answer
    judge_sum = squares - 2 * judge * total + count * judge * judge - (judge - answer) ** 2
    # Make sums equal that differ by rounding alone, so that they are ties.
    size = squares + count * np.maximum(answer * answer, judge * judge)
    judge_sum = np.where(np.abs(judge_sum - person_sum) <= ROUNDING * size, person_sum, judge_sum)
    return -person_sum / other_count, -judge_sum / other_count


def _signed_rank_p(values: Floats) -> float:
    """Return Wilcoxon's one-sided p of the hypothesis that (N,) values are not below zero."""
    if not values.any():
        return 1.0
    return float(scipy.stats.wilcoxon(values, alternative="less", method="approx").pvalue)


def _t_test_p(values: Floats, cluster: Ints, name: str, epsilon: float) -> float:
    """Return the p by t of the hypothesis that the mean of the values is at least `epsilon`; nan for few clusters."""
    mean = float(values.mean())
    clusters = Clusters.of_codes({name: cluster})
    if clusters.reason:
        return math.nan
    if np.all(values == values[0]):  # no variance
        return 0.0 if mean < epsilon else 1.0
    return clusters.spread((values - mean) / len(values)).p(mean - epsilon, only_below=True)
