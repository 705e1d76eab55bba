"""Every agreement figure says how it was made, in a text that leads back to the call."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from evaluation.signatures import BadSignature
from evaluation.statistics.agreement import (
    agreement_by_pair,
    agreement_by_unit,
    alpha_interval,
    alpha_of_judgments,
    fleiss_interval,
    gwet_interval,
    kappa_grid,
    kappa_interval,
    percent_interval,
    threshold_kappa,
)
from evaluation.statistics.catalogue import call_of

TABLE = [[1, 2, 3, 1, 2, 2], [1, 2, 3, 3, 2, 1], [1, 1, 3, 3, 2, 1]]
ROWS = (["a", "a", "b", "b", "c", "c"], ["v", "w"] * 3, [1, 2, 2, 2, 1, 1])
SCORES = ([0.1, 0.5, 0.9, 0.7], [1.0, 4.0, 3.0, 2.0])
CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (agreement_by_pair, (TABLE,), {"level": "ordinal", "weights": "linear"}),
    (agreement_by_unit, (TABLE,), {"level": "ratio"}),
    (alpha_interval, (TABLE,), {"level": "interval", "resamples": 50, "over": "both"}),
    (alpha_of_judgments, ROWS, {"level": "ordinal", "confidence": 0.9, "seed": 3}),
    (fleiss_interval, ([[2, 1], [0, 3], [3, 0]],), {"resamples": 100}),
    (gwet_interval, (TABLE,), {"weights": "quadratic", "categories": [1, 2, 3, 4], "over": "raters"}),
    (kappa_grid, SCORES, {"first_thresholds": [0.5, 0.8], "second_thresholds": (2, 3), "resamples": 20}),
    (kappa_interval, (TABLE[0], TABLE[1]), {"weights": "linear", "labels": [1, 2, 3, 5]}),
    (percent_interval, ([["1", "no"], ["no", "no"]],), {"categories": ["no", "1"], "weights": "linear"}),
    (threshold_kappa, SCORES, {"first_at_least": 0.6, "second_at_least": 2.5, "missing": "no"}),
]


@pytest.mark.parametrize(("function", "data", "options"), CALLS, ids=[call[0].__name__ for call in CALLS])
def test_a_signature_leads_back_to_the_same_result(
    function: Any, data: tuple[Any, ...], options: dict[str, Any]
) -> None:
    result = function(*data, **options)
    again = call_of(result.signature)(*data)
    assert again.signature == result.signature
    np.testing.assert_equal(asdict(again), asdict(result))


def test_the_signature_names_every_option() -> None:
    assert alpha_interval(TABLE, "ordinal", seed=7, over="raters").signature == (
        "krippendorff-alpha|input:table|level:ordinal|confidence:0.95|resamples:2000|seed:7|over:raters|v:1.0"
    )


def test_each_cell_of_a_grid_has_the_signature_of_its_own_call() -> None:
    for cell in kappa_grid(*SCORES, resamples=30).cells:
        assert call_of(cell.signature)(*SCORES) == cell
        expected = threshold_kappa(*SCORES, cell.first_at_least, cell.second_at_least, resamples=30)
        assert cell.signature == expected.signature


def test_a_running_stream_is_left_to_the_caller() -> None:
    made = gwet_interval(TABLE, seed=np.random.default_rng(5))
    call = call_of(made.signature)
    assert call.missing == ("seed",)
    with pytest.raises(BadSignature, match="leaves seed to its caller"):
        call(TABLE)
    assert call(TABLE, seed=np.random.default_rng(5)).low == made.low
    running: Any = np.random.default_rng(5)  # what the grid's types forbid
    grid = kappa_grid(*SCORES, seed=running, resamples=10)
    assert call_of(grid.cells[0].signature).missing == ("seed",)
