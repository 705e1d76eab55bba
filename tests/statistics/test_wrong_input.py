"""What no statistic can take is refused by a named error in one sentence, whatever it is."""

import re
from typing import Any

import numpy as np
import pytest

from evaluation import statistics
from evaluation.statistics.aggregation import (
    accuracy_weights,
    borda_count,
    bradley_terry,
    cumulative_shares,
    dawid_skene,
    is_relevant,
    majority_vote,
    mean_grade,
    pair_winners,
)
from evaluation.statistics.agreement import cohen_kappa, kappa_grid, kappa_interval
from evaluation.statistics.inputs import BadOption, BadShape, BadValue
from evaluation.statistics.meta import (
    accuracy_by_references,
    clusters_of_p_values,
    pairwise_accuracy,
    random_subsets,
    system_clusters,
    wilson_interval,
)
from evaluation.statistics.ranking import judge_run, recall_at_k
from evaluation.statistics.significance import mcnemar_counts, williams_correlations

untyped: Any = statistics  # its modules are called with what their types forbid

NONE: Any = None
NUMBER: Any = 3
COMPLEX: Any = np.array([[0, 1j], [1, 0]])
ROWS: Any = ([1, 1, 2], ["a", "b", "a"], [1, 2, 2])

REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: majority_vote(NONE, [1]), BadShape, "units is None, expected a sequence of values"),
    (lambda: majority_vote([1], [1], labels=NUMBER), BadShape, "labels is 3, expected a sequence"),
    (lambda: majority_vote([1], [1], labels=[[1]]), BadOption, "the scale holds a value that is no single"),
    (lambda: cohen_kappa(NONE, [1]), BadShape, "first is None, expected a sequence"),
    (lambda: mean_grade([1], NONE), BadShape, "values is None, expected a sequence"),
    (lambda: pair_winners(["a", "b"], [[1], [1, 2]]), BadValue, "winners holds something that is no number"),
    (lambda: kappa_interval([1, 2], [1, 2], confidence=NONE), BadOption, "confidence is None, expected"),
    (
        lambda: untyped.agreement.at_least([1.0], "high"),
        BadOption,
        "the threshold is 'high', expected a finite number",
    ),
    (lambda: kappa_grid([1], [1], NONE, [1]), BadShape, "first_thresholds is None, expected"),
    (lambda: cumulative_shares([1.0], NONE), BadShape, "thresholds is None, expected"),
    (
        lambda: untyped.agreement.gwet_ac([[1, 2], [1, 2]], categories=3),
        BadShape,
        "categories has 0 dimensions",
    ),
    (lambda: wilson_interval(NONE, 5), BadOption, "None successes of 5, expected"),
    (lambda: untyped.meta.wilson_interval(1, "all"), BadOption, "1 successes of 'all', expected"),
    (lambda: random_subsets(NONE, 1, 1), BadOption, "available is None, expected a whole number"),
    (lambda: accuracy_by_references(NONE, [1]), BadShape, "scores is of type NoneType, expected a mapping"),
    (
        lambda: untyped.meta.accuracy_by_references({"a": ([1], [1])}, [1]),
        BadOption,
        "a number of references is 'a'",
    ),
    (
        lambda: untyped.meta.accuracy_by_references({1: ([1],)}, [1]),
        BadShape,
        "scores[1] has 1 sides, expected those",
    ),
    (lambda: accuracy_by_references({1: (COMPLEX, [1])}, [1]), BadValue, "scores[1] holds complex numbers"),
    (lambda: pairwise_accuracy([1, 2], [1, 2], epsilon=NONE), BadOption, "epsilon is None, expected"),
    (lambda: dawid_skene(*ROWS, smoothing=NONE), BadOption, "smoothing is None, expected a number"),
    (lambda: bradley_terry([[0, 1], [1, 0]], prior=NONE), BadOption, "prior is None, expected a number"),
    (lambda: bradley_terry([[0, 1], [1, 0]], tolerance=NONE), BadOption, "tolerance is None, expected"),
    (lambda: bradley_terry([[0, 1], [1, 0]], items=NUMBER), BadShape, "items is 3, expected a sequence"),
    (lambda: bradley_terry(COMPLEX), BadValue, "wins holds complex numbers, expected real ones"),
    (lambda: clusters_of_p_values([1, 2], [[1], [1, 2]]), BadValue, "p_values holds something that is no"),
    (lambda: system_clusters(COMPLEX), BadValue, "scores holds complex numbers"),
    (lambda: system_clusters([[1], [2]], NUMBER), BadShape, "names is 3, expected a sequence"),
    (lambda: system_clusters([[1], [2]], level=NONE), BadOption, "level is None, expected a number"),
    (lambda: borda_count(NONE), BadShape, "rankings is None, expected a sequence"),
    (lambda: untyped.aggregation.borda_count([["a"], 3]), BadShape, "ranking 1 is 3, expected a sequence"),
    (lambda: is_relevant([1], [2], NONE), BadShape, "the share is None, expected"),
    (
        lambda: untyped.aggregation.is_relevant([1], [2], (0.5, 1)),
        BadOption,
        "the share is (0.5, 1), expected two whole numbers",
    ),
    (
        lambda: is_relevant([1e30], [1e30]),
        BadValue,
        "yes[0] is 1e+30, expected a whole number from zero on, 2^52 at most",
    ),
    (lambda: williams_correlations(NONE, 0.1, 0.1, 9), BadValue, "first is None, expected a correlation"),
    (lambda: mcnemar_counts(2**70, 1), BadValue, f"first_only is {2**70}, expected a whole number"),
    (lambda: recall_at_k(NUMBER, [{1}], 1), BadShape, "rankings is 3, expected a sequence"),
    (
        lambda: untyped.ranking.recall_at_k([[1]], [1], 1),
        BadShape,
        "relevant[0] is no collection, expected the items",
    ),
    (lambda: judge_run(NONE, [1], [1], [1], [1]), BadShape, "queries is None, expected a sequence"),
]


@pytest.mark.parametrize(("call", "error", "sentence"), REFUSED, ids=[sentence for *_, sentence in REFUSED])
def test_it_is_refused_by_name(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        call()


def test_a_worker_beyond_all_doubt_has_a_finite_weight() -> None:
    many = 2**52
    assert accuracy_weights([many], [many])[0] == pytest.approx(52 * np.log(2))
    assert accuracy_weights([0, 1], [0, 2]).tolist() == [0, 0]


def test_a_cut_deeper_than_any_list_looks_at_all_of_it() -> None:
    assert recall_at_k([["a", "b"]], [{"b"}], 2**70).value == 1


def test_ranks_of_any_size_put_items_in_order() -> None:
    run = judge_run(["q", "q"], ["a", "b"], [1.7e308, -1.7e308], ["q"], ["b"])
    assert recall_at_k(run, None, 1).value == 1
