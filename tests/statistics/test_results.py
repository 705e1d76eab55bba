"""Results as JSON."""

import json

from evaluation.presentation.content import as_json
from evaluation.statistics.aggregation import majority_vote
from evaluation.statistics.agreement import threshold_kappa


def test_undefined_numbers_become_null_and_results_within_results_objects() -> None:
    result = threshold_kappa([0.1, 0.2], [1.0, 2.0], resamples=20)
    found = as_json(result, "kappa", "n", "reason")
    assert found == {
        "kappa": {"value": None, "low": None, "high": None},
        "n": 2,
        "reason": "both sources say the same about every pair",
    }


def test_arrays_become_lists_and_all_fields_are_written_without_names() -> None:
    found = as_json(majority_vote(["u", "u", "v"], [1, 2, 2], ties="lowest"))
    assert found["counts"] == [[1, 1], [0, 1]]
    assert found["tie"] == [True, False]
    assert found["share"] == [0.5, 1.0]
    assert json.loads(json.dumps(found)) == found
