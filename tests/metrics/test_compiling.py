"""Compiling all metrics ahead of their first use."""

import runpy


def test_all_metrics_score_what_they_are_compiled_with() -> None:
    runpy.run_module("evaluation.metrics.compiling", run_name="__main__")
