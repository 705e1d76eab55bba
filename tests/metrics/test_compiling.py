"""Compiling all metrics ahead of their first use."""

from evaluation.metrics.compiling import compile_metrics
from evaluation.metrics.registry import METRICS


def test_all_metrics_score_what_they_are_compiled_with() -> None:
    assert set(compile_metrics().scores) == set(METRICS)
