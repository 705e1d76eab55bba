"""What a result's signature says leads back to the call that made it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaluation.signatures import BadSignature, parse
from evaluation.statistics.catalogue import call_of
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import (
    accuracy_by_references,
    clusters_of_p_values,
    grouped_correlation,
    pair_accuracy,
    paired_correlation_test,
    pairwise_accuracy,
    system_clusters,
)
from evaluation.statistics.significance import (
    adjusted_p_values,
    bootstrap_interval,
    mcnemar_counts,
    mcnemar_test,
    randomization_test,
    williams_correlations,
    williams_test,
)

ONE, TWO, PEOPLE = [0.3, 2.0, 1.5, 3.1, 2.2, 0.9], [0.1, 1.0, 1.8, 2.5, 2.9, 1.9], [1.0, 2, 1, 3, 3, 1]
ITEMS, SYSTEMS = [1, 1, 1, 2, 2, 2], ["a", "b", "c"] * 2
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (accuracy_by_references, ({2: (ONE, TWO)}, [1, 2, 1, 2, 0, 1]), {"confidence": 0.8}),
    (adjusted_p_values, ([0.2, 0.01],), {"method": "benjamini-hochberg"}),
    (bootstrap_interval, (ONE,), {"statistic": "median", "method": "bca", "resamples": 50, "seed": 3}),
    (clusters_of_p_values, ([2, 1], [[1, 0.01], [0.01, 1]]), {"correction": "none", "level": 0.001}),
    (correlation, (ONE, TWO), {"coefficient": "kendall-tau-c", "resamples": 50, "seed": 9}),
    (grouped_correlation, (ONE, TWO, ITEMS, SYSTEMS), {"grouping": "system-level", "resamples": 50}),
    (mcnemar_counts, (5, 9), {}),
    (mcnemar_test, ([1, 0, 1], [0, 0, 1]), {}),
    (pair_accuracy, (ONE, TWO, [1, 2, 1, 2, 0, 1]), {"confidence": 0.9}),
    (
        paired_correlation_test,
        (ONE, TWO, PEOPLE, ITEMS, SYSTEMS),
        {"alternative": "less", "reassignments": 30},
    ),
    (pairwise_accuracy, (ONE, PEOPLE, ITEMS), {"epsilon": "calibrate", "resamples": 50}),
    (pairwise_accuracy, (ONE, PEOPLE, ITEMS), {"epsilon": 0.25, "resamples": 50}),
    (randomization_test, (ONE, TWO), {"statistic": "median", "reassignments": 200, "seed": 4}),
    (system_clusters, ([ONE, TWO],), {"reassignments": 100, "level": 0.1}),
    (williams_correlations, (0.5, 0.4, 0.1, 30), {}),
    (williams_test, (ONE, TWO, PEOPLE), {}),
]


@pytest.mark.parametrize(
    ("function", "data", "options"), CALLS, ids=lambda part: getattr(part, "__name__", "")
)
def test_a_signature_gives_the_same_result_again(
    function: Callable[..., Any], data: tuple[Any, ...], options: dict[str, Any]
) -> None:
    result = function(*data, **options)
    results = result if isinstance(result, dict) else {"": result}
    for key, one in results.items():
        assert str(parse(one.signature)) == one.signature
        again = call_of(one.signature)(*data)
        again = again[key] if isinstance(result, dict) else again
        for field in type(one).__dataclass_fields__:
            np.testing.assert_array_equal(getattr(again, field), getattr(one, field), strict=True)


def test_a_signature_names_every_option() -> None:
    result = randomization_test(ONE, TWO, reassignments=200)
    assert result.signature == (
        "randomization|statistic:mean|alternative:two-sided|reassignments:200|seed:0|v:1.0"
    )


def test_a_function_or_a_stream_that_only_the_caller_has_is_asked_for() -> None:
    def largest(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.max(axis=1))

    result = randomization_test(ONE, TWO, largest, reassignments=200)
    call = call_of(result.signature)
    with pytest.raises(BadSignature, match="leaves statistic to its caller"):
        call(ONE, TWO)
    assert call(ONE, TWO, statistic=largest) == result
