"""From a statistic's signature back to the call that made it."""

import importlib
import pkgutil

import numpy as np
import pytest

from evaluation import statistics
from evaluation.signatures import BadSignature
from evaluation.statistics.agreement import alpha_interval, kappa_interval
from evaluation.statistics.catalogue import STATISTICS, call_of
from evaluation.statistics.results import statistic_of
from evaluation.statistics.significance import randomization_test

TABLE = np.array([[1, 2, 3, 3, 2], [1, 2, 4, 3, 1], [2, 2, 3, 4, np.nan]])


def test_every_statistic_that_signs_its_results_can_be_found_again() -> None:
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.walk_packages(statistics.__path__, f"{statistics.__name__}.")
    ]
    signing = {
        function
        for module in modules
        for function in vars(module).values()
        if statistic_of(function) is not None
    }
    assert signing == set(STATISTICS)
    names = [(name, tuple(fixed.items())) for name, fixed in STATISTICS.values()]
    assert len(set(names)) == len(names)


def test_a_signature_gives_the_same_result_again() -> None:
    first = alpha_interval(TABLE, "ordinal", resamples=200, seed=5)
    assert first.signature == (
        "krippendorff-alpha|input:table|level:ordinal|confidence:0.95|resamples:200|seed:5|over:units|v:1.0"
    )
    assert call_of(first.signature)(TABLE) == first


def test_options_from_numpy_are_written_as_pythons_are() -> None:
    answers = [1, 2, 2, 3], [1, 2, 3, 3]
    first = kappa_interval(*answers, "linear", labels=np.array([1, 2, 3, 4]), seed=np.int64(7), resamples=50)
    assert "|labels:[1,2,3,4]|" in first.signature
    assert "|seed:7|" in first.signature
    assert call_of(first.signature)(*answers) == first


def test_what_only_the_caller_had_is_asked_for_by_name() -> None:
    scores = [1.0, 2.0, 4.0, 3.0], [1.0, 1.0, 2.0, 5.0]
    first = randomization_test(*scores, reassignments=99, seed=np.random.default_rng(3))
    call = call_of(first.signature)
    assert call.missing == ("seed",)
    with pytest.raises(BadSignature, match="leaves seed to its caller, expected it by name"):
        call(*scores)
    assert call(*scores, seed=np.random.default_rng(3)) == first


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("krippendorff-alpha", "is no signature"),
        ("krippendorff-alpha|input:table|v:0.1", "version 0.1, expected version 1.0"),
        (
            "krippendorff-alpha|input:rows|levels:ordinal|v:1.0",
            "field 'levels' that krippendorff-alpha does not",
        ),
        ("krippendorffs-alpha|v:1.0", "is of no statistic known here, expected one of accuracy"),
    ],
)
def test_a_signature_of_something_else_is_refused_with_the_reason(signature: str, reason: str) -> None:
    with pytest.raises(BadSignature, match=reason):
        call_of(signature)
