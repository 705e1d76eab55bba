"""The examples that metrics are compiled with."""

import pytest

from config.compiling import compile_metrics
from quorum.metrics.registry import METRICS


@pytest.mark.long
@pytest.mark.parametrize("tables", ["", "none"])
def test_all_metrics_score_what_they_are_compiled_with(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if tables:
        monkeypatch.setenv("QUORUM_METEOR_DATA", tables)
    assert {name.partition("|")[0] for name in compile_metrics().scores} == set(METRICS)
